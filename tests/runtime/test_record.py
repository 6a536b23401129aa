"""A run that is kept, traced and shown: what the files and the page say is what ran."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import real_tasks
from helpers_cli import hms
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.dashboard import Dashboard, _format_milliseconds
from hybrid_scheduler.runtime.devices import build_cluster, parse_devices
from hybrid_scheduler.runtime.energy import EnergyAccount
from hybrid_scheduler.runtime.record import Event, RunRecord, load_run

DEADLINE = 300.0
TASKS = 12


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run with one graph, kept in every form; the page is read before and after its end."""
    folder = tmp_path_factory.mktemp("kept")
    with HybridScheduler(devices="cpu,gpu=emulated:slowdown=2", dashboard=True) as scheduler:
        naps: list[Any] = [scheduler.submit(real_tasks.nap, 0.02, number) for number in range(TASKS - 2)]
        last = scheduler.submit(real_tasks.double, scheduler.submit(sum, naps))
        assert last.result(DEADLINE) == 2 * sum(range(TASKS - 2))
        with pytest.raises(KeyError):
            scheduler.submit(real_tasks.complain, "fig").result(DEADLINE)
        url = scheduler.dashboard_url
        state = json.loads(urllib.request.urlopen(f"{url}state").read())  # noqa: S310  # our own server
        page = urllib.request.urlopen(url).read().decode()  # noqa: S310  # our own server
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(url.rsplit("/", 2)[0] + "/state")  # noqa: S310  # our own server
        scheduler.save_run(folder / "run.json")
        scheduler.save_trace(folder / "trace.json")
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)  # noqa: S310  # our own server, which has ended
    return {"folder": folder, "state": state, "page": page}


def test_the_page_shows_lanes_decisions_and_learnt_times(kept: dict[str, Any]) -> None:
    state = kept["state"]
    assert state["badge"] == "measured"
    assert state["devices"] == ["cpu", "gpu0 (emulated)"]
    assert state["counts"] == {"submitted": TASKS + 1, "waiting": 0, "placed": 0, "ended": TASKS + 1}
    assert len(state["spans"]) == TASKS + 1
    assert {each["end"] for each in state["decisions"]} == {"done", "raised"}
    assert any("expected cpu" in each["reason"] or "trial" in each["reason"] for each in state["decisions"])
    assert "real_tasks.nap" in {each["name"] for each in state["times"]}
    assert "state" in kept["page"]


def test_a_decision_for_the_slower_device_says_that_the_faster_were_busy() -> None:
    with HybridScheduler(devices="cpu,gpu=emulated:slowdown=2") as scheduler:
        record = RunRecord(scheduler.devices, "eft")
        for device, seconds in ((1, 0.3), (0, 0.1)):
            record.rows.append(
                Event(
                    device,
                    "nap",
                    1.0,
                    0.5,
                    0.0,
                    0.0,
                    0,
                    False,
                    1,
                    (),
                    ((device, 1.0, 0.0, seconds),),
                    (0.1, 0.3),
                    False,
                )
            )
        page = Dashboard(scheduler._dispatcher, record)
        fast, slow = (each["reason"] for each in page.describe()["decisions"])
        page.close()
    assert slow.endswith("the faster were busy")
    assert "busy" not in fast


def test_a_trace_has_a_span_for_every_call_on_the_thread_of_its_device(kept: dict[str, Any]) -> None:
    events = json.loads((kept["folder"] / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert [each["args"]["name"] for each in events if each["ph"] == "M"] == ["cpu", "gpu0 (emulated)"]
    spans = [each for each in events if each["ph"] == "X"]
    assert len(spans) == TASKS + 1
    assert all(each["dur"] >= 20_000 - 5_000 for each in spans if each["name"] == "real_tasks.nap")


def test_a_kept_run_is_the_very_tasks_with_their_graph_and_measured_times(kept: dict[str, Any]) -> None:
    run = load_run(kept["folder"] / "run.json")
    assert len(run.tasks) == TASKS, "the one that raised is left out"
    assert run.policy == "eft"
    assert len(run.tasks.edges.parents) == TASKS - 2 + 1
    assert run.tasks.arrival_time.min() == 0.0
    naps = run.tasks.measured["cpu"] > 0.015
    assert naps.sum() >= TASKS - 2
    assert np.isfinite(run.makespan)


def test_simulate_says_what_others_would_have_made_of_it(kept: dict[str, Any]) -> None:
    path = str(kept["folder"] / "run.json")
    found = json.loads(hms("simulate", path, "-s", "eft,round_robin,heft", "--json").out)
    assert found["verified"] is True
    rows = {row["scheduler"]: row for row in found["schedulers"]}
    assert set(rows) == {"eft", "round_robin", "heft"}
    assert all(row["makespan"] >= found["bound"] * (1 - 1e-9) for row in rows.values())
    assert [row["makespan"] for row in found["schedulers"]] == sorted(row["makespan"] for row in rows.values())
    said = hms("simulate", path, "-s", "eft").out
    assert "eft took" in said
    assert "would have saved" in said
    assert "eft itself takes" in said
    assert "no other is shorter" in said
    assert max(map(len, said.splitlines())) <= 80
    assert "itself" not in hms("simulate", path, "-s", "round_robin").out, "nothing is known of the policy of the run"


def test_files_that_are_no_run_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"kind": "other"}', encoding="utf-8")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    (tmp_path / "half.json").write_text('{"kind": "hybrid_scheduler_run", "schema": 1}', encoding="utf-8")
    for name, complaint in (
        ("other", "no kept run"),
        ("bad", "no JSON"),
        ("half", "damaged"),
        ("none", "cannot be read"),
    ):
        with pytest.raises(InputError, match=complaint):
            load_run(tmp_path / f"{name}.json")


def test_progress_is_written_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with HybridScheduler(devices="cpu", progress=True) as scheduler:
        for number in range(4):
            assert scheduler.submit(real_tasks.double, number).result() == 2 * number
        scheduler.warm(real_tasks.double, 1)
    written = capsys.readouterr().err
    assert "5 of 5 tasks" in written
    assert written.count("\n") == 1, "one line, written over and over"
    assert written.endswith("\n")


@pytest.mark.parametrize(("seconds", "shown"), [(1e-5, "0.01"), (0.01234, "12.3"), (0.1234, "123"), (7.5, "7,500")])
def test_milliseconds_are_never_shown_as_powers_of_ten(seconds: float, shown: str) -> None:
    assert _format_milliseconds(seconds) == shown


class FakeMeter:
    """Counts ten joules with every reading."""

    name = "RAPL, all CPU packages"

    def __init__(self) -> None:
        self.count = 0.0

    def joules(self) -> float | None:
        self.count += 10.0
        return self.count


def test_energy_is_metered_where_it_can_be_and_says_where_it_is_from() -> None:
    record = RunRecord(parse_devices("cpu,gpu=emulated:slowdown=1"), "eft")
    metered = EnergyAccount(record, find_cpu=lambda: (FakeMeter(), ""))
    configured = EnergyAccount(record, find_cpu=lambda: (None, "no RAPL counters"))
    spans = ((0, 1.0, 0.0, 2.0), (1, 1.0, 0.0, 3.0))
    record.rows.append(Event(0, "f", 1.0, 0.5, 0.0, 0.0, 0, False, 1, (), spans, (), False))
    cpu, gpu = metered.readings()
    assert (cpu.joules, cpu.is_measured, cpu.source) == (10.0, True, FakeMeter.name)
    watts = {each.name: each.watts for each in build_cluster(record.devices).classes}
    assert (gpu.part, gpu.joules, gpu.is_measured) == ("gpu0 (emulated)", 3.0 * watts["gpu"], False)
    assert "an emulated device" in gpu.source
    cpu = configured.readings()[0]
    assert (cpu.joules, cpu.is_measured) == (2.0 * watts["cpu"], False)
    assert "as configured: no RAPL counters" in cpu.source
