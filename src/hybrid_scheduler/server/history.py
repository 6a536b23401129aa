"""`History`: the last minutes of a race and of the log, for pages that are opened late."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from hybrid_scheduler.server.encoding import encode_json

POINTS, SECONDS = 150, 2.0  # the last five minutes; a frame of a race at full speed is as large
LINES, NOTIFICATIONS, MARKS = 200, 20, 60
MAX_TEXT = 1000  # characters of a line
COLUMNS = {
    "turnaround": ("window", "mean_turnaround"),
    "p95": ("window", "p95_turnaround"),
    "execution": ("window", "avg_time"),
    "backlog": ("backlog",),
    "over_bound": ("makespan_over_bound",),
    "turnaround_over_bound": ("turnaround_over_bound",),
}  # name in the history: path in the figures of a scheduler


class Point(NamedTuple):
    """What is kept of an update."""

    clock: float
    time: float
    rate: float | None
    bound: float | None
    schedulers: dict[str, tuple[list[float | None], list[float | None]]]  # columns; busy share by device


class History:
    """Bounded columns of figures, and the last lines of the log; made of messages as they are sent."""

    def __init__(self) -> None:
        self._log: deque[dict[str, Any]] = deque(maxlen=LINES)
        self._notifications: deque[dict[str, Any]] = deque(maxlen=NOTIFICATIONS)
        self._text: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._points: deque[Point] = deque(maxlen=POINTS)
        self._marks: deque[Any] = deque(maxlen=MARKS)
        self._newest: Mapping[str, Any] | None = None

    def add(self, message: dict[str, Any]) -> None:
        """Add a message of the stream."""
        self._text = None
        if message["type"] == "simulation_update":
            self._add_update(message)
        else:
            lines = self._log if message["type"] == "log" else self._notifications
            lines.append(message | {"message": message["message"][:MAX_TEXT]})

    def _add_update(self, update: Mapping[str, Any]) -> None:
        """Remember the update before this one: the newest is sent to everybody as it is."""
        before, self._newest = self._newest, update
        if before is None:
            return
        if before["run_id"] != update["run_id"] or before["tasks_processed"] > update["tasks_processed"]:
            self._clear()
            self._newest = update
            return
        self._marks.extend(before["marks"])
        last = self._points[-1] if self._points else None
        if last is None or (before["time"] - last.clock >= SECONDS and before["sim_time"] > last.time):
            self._points.append(_read_point(before))

    def encode(self, seq: int) -> str:
        """Return the message for who joins after message number `seq`."""
        if self._text is None:
            self._text = encode_json(self._describe() | {"seq": seq}).decode()
        return self._text

    def _describe(self) -> dict[str, Any]:
        points = list(self._points)
        columns = {name: [getattr(each, name) for each in points] for name in ("clock", "time", "rate", "bound")}
        return {
            "type": "history",
            "run_id": self._newest["run_id"] if self._newest else None,
            **columns,
            "schedulers": {name: _build_columns(name, points) for name in (points[-1].schedulers if points else ())},
            "marks": self._marks,
            "log": self._log,
            "notifications": self._notifications,
        }


def _read_point(update: Mapping[str, Any]) -> Point:
    schedulers = {each["name"]: (_read_figures(each), each["utilisation"]) for each in update["schedulers"]}
    return Point(
        round(update["time"], 1), update["sim_time"], update["tasks_per_second"], update["bound"], schedulers
    )


def _read_figures(figures: Mapping[str, Any]) -> list[float | None]:
    start: Any = figures
    return [reduce(getitem, path, start) for path in COLUMNS.values()]


def _build_columns(name: str, points: Iterable[Point]) -> dict[str, Any]:
    """Return the columns of a scheduler; null before it joined, and of devices that were not there."""
    known = [each.schedulers.get(name, ([], [])) for each in points]
    columns = [[_get(figures, column) for figures, _ in known] for column in range(len(COLUMNS))]
    devices = range(len(known[-1][1]))
    busy = [[_get(shares, device) for _, shares in known] for device in devices]
    return dict(zip(COLUMNS, columns, strict=True)) | {"utilisation": busy}


def _get(values: list[float | None], place: int) -> float | None:
    return values[place] if place < len(values) else None
