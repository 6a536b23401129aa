"""The history that a page gets when it is opened late."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from hybrid_scheduler.server.schemas.messages import messages
from hybrid_scheduler.server.websocket import LINES, MARKS, MAX_TEXT, NOTIFICATIONS, POINT_SECONDS, POINTS, History


def figures(name: str, value: float, devices: int = 2) -> dict[str, Any]:
    window = {"mean_turnaround": value, "p95_turnaround": 2 * value, "avg_time": 3 * value}
    busy = [value + device for device in range(devices)]
    rest = {"backlog": 4 * value, "makespan_over_bound": 5 * value, "turnaround_over_bound": None}
    return {"name": name, "window": window, "utilisation": busy, **rest}


def update(second: float, *schedulers: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return what a history reads of an update."""
    frame = {"type": "simulation_update", "seq": int(second), "time": 1000.0 + second, "run_id": 1, "marks": []}
    race = {"sim_time": 10 * second, "tasks_processed": int(20 * second), "tasks_per_second": 20.0, "bound": second}
    return frame | race | {"schedulers": list(schedulers or [figures("eft", second)])} | values


def log(seq: int, message: str = "a line") -> dict[str, Any]:
    return {"type": "log", "seq": seq, "time": 1.0, "level": "INFO", "message": message, "source": "test"}


def read(*updates: dict[str, Any], seq: int = 99) -> dict[str, Any]:
    history = History()
    for each in updates:
        history.add(each)
    text = history.encode(seq)
    messages.validate_json(text)
    found: dict[str, Any] = orjson.loads(text)
    return found


def test_figures_become_columns_and_the_newest_update_is_left_to_itself() -> None:
    history = read(update(0), update(2), update(4))
    assert (history["clock"], history["time"], history["bound"]) == ([1000, 1002], [0, 20], [0, 2])
    eft = history["schedulers"]["eft"]
    assert (eft["turnaround"], eft["p95"], eft["execution"], eft["backlog"]) == ([0, 2], [0, 4], [0, 6], [0, 8])
    assert (eft["over_bound"], eft["turnaround_over_bound"]) == ([0, 10], [None, None])
    assert eft["utilisation"] == [[0, 2], [1, 3]]
    assert history["seq"] == 99


def test_moments_are_some_seconds_apart_and_never_while_the_race_stands_still() -> None:
    half = [update(0.5 * number) for number in range(20)]
    assert read(*half)["clock"] == [1000 + POINT_SECONDS * number for number in range(5)]
    still = [update(second, sim_time=7.0) for second in (0, 5, 10, 15)]
    assert read(*still)["clock"] == [1000]


def test_it_is_bounded() -> None:
    many = 3 * max(POINTS, LINES, MARKS)
    mark = {"at_task": 1, "at_time": 1.0, "change": {}}
    noise: list[dict[str, Any]] = []
    for number in range(many):
        noise += [log(number, "x" * 5000), {**log(number), "type": "notification", "level": "info"}]
        noise.append(update(2.0 * number, marks=[mark]))
    history = read(*noise)
    assert (len(history["time"]), len(history["schedulers"]["eft"]["backlog"])) == (POINTS, POINTS)
    assert (len(history["log"]), len(history["notifications"]), len(history["marks"])) == (
        LINES,
        NOTIFICATIONS,
        MARKS,
    )
    assert {len(line["message"]) for line in history["log"]} == {MAX_TEXT}
    assert history["log"][-1]["seq"] == many - 1


def test_another_run_begins_anew_and_the_log_goes_on() -> None:
    history = read(log(1), update(0), update(2), update(4, run_id=2))
    assert (history["run_id"], history["time"], history["schedulers"]) == (2, [], {})
    assert len(history["log"]) == 1
    again = read(update(0), update(2, tasks_processed=500), update(4, tasks_processed=3))
    assert again["time"] == []


def test_who_joined_later_and_devices_that_came_later_have_gaps() -> None:
    early, late = [figures("eft", 1.0, 1)], [figures("eft", 2.0), figures("spt", 3.0)]
    history = read(update(0, *early), update(2, *late), update(4, *late))
    assert history["schedulers"]["spt"]["turnaround"] == [None, 3]
    assert history["schedulers"]["spt"]["utilisation"] == [[None, 3], [None, 4]]
    assert history["schedulers"]["eft"]["utilisation"] == [[1, 2], [None, 3]]
    gone = read(update(0, *late), update(2, *early), update(4, *early))
    assert list(gone["schedulers"]) == ["eft"]


@pytest.mark.parametrize("kind", ["log", "update"])
def test_what_came_since_is_in_the_next_one(kind: str) -> None:
    history = History()
    history.add(update(0))
    before = history.encode(1)
    assert history.encode(1) is before  # many pages that open at once cost one
    history.add(log(2) if kind == "log" else update(2))
    assert history.encode(2) != before
