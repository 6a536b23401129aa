"""Shares of tasks on the devices of one lane that run, wait or have just ended: as columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats

ROOM = 512
_ROW = np.dtype([("start", "f8"), ("end", "f8"), ("device", "i8"), ("task_id", "i8"), ("block", "i8"), ("row", "i8")])


class Share(NamedTuple):
    """A share of a task on a device."""

    start: float
    end: float
    placed: Placements
    row: int


class Shares:
    """Remembers blocks of placements, and answers what is going on at a moment."""

    def __init__(self) -> None:
        self._rows: npt.NDArray[np.void] = np.empty(ROOM, _ROW)
        self._count, self._enough = 0, ROOM
        self._blocks: dict[int, Placements] = {}
        self._next = 0

    def add(self, placed: Placements) -> None:
        """Remember a block."""
        self._blocks[self._next] = placed
        for device, start, seconds in (
            (placed.gpu, placed.gpu_start, placed.gpu_seconds),
            (placed.cpu, placed.cpu_start, placed.cpu_seconds),
        ):
            rows = np.flatnonzero(device >= 0)
            new = self._new(len(rows))
            new["start"] = start[rows]
            new["end"] = new["start"] + seconds[rows]
            new["device"], new["task_id"] = device[rows], placed.tasks.task_id[rows]
            new["block"], new["row"] = self._next, rows
        self._next += 1

    def _new(self, count: int) -> npt.NDArray[np.void]:
        if self._count + count > len(self._rows):
            larger = np.empty(2 * (self._count + count), _ROW)
            larger[: self._count] = self._now
            self._rows = larger
        self._count += count
        return self._rows[self._count - count : self._count]

    @property
    def _now(self) -> npt.NDArray[np.void]:
        return self._rows[: self._count]

    def forget(self, before: float) -> None:
        """Drop what ended before a moment; now and then, since what is too old does no harm."""
        if self._count >= self._enough:
            self._keep(self._now["end"] >= before)
            self._enough = max(ROOM, 2 * self._count)

    def _keep(self, wanted: npt.NDArray[np.bool_]) -> None:
        kept = self._now[wanted]
        self._count = len(kept)
        self._rows[: self._count] = kept
        alive = set(kept["block"].tolist())
        self._blocks = {number: placed for number, placed in self._blocks.items() if number in alive}

    def busy(self, first: float, now: float, devices: int) -> Floats:
        """Return the busy seconds of every device between two moments."""
        rows = self._now
        seconds = np.minimum(rows["end"], now) - np.maximum(rows["start"], first)
        busy: Floats = np.bincount(rows["device"], np.maximum(seconds, 0.0), devices).astype(np.float64)
        return busy

    def waiting(self, now: float) -> int:
        """Return how many shares have not begun."""
        return int((self._now["start"] > now).sum())

    def renumber(self, places: Sequence[int]) -> None:
        """Give devices other numbers; shares on a device with the number -1 are dropped."""
        rows = self._now
        rows["device"] = np.asarray(places)[rows["device"]]
        self._keep(rows["device"] >= 0)

    def lose(self, devices: Collection[int], now: float) -> list[Share]:
        """Forget the tasks that have not ended on some devices, all their shares; return one share of each."""
        rows = self._now
        hit = np.isin(rows["device"], list(devices)) & (rows["end"] > now)
        order = np.flatnonzero(hit)[np.argsort(rows["device"][hit], kind="stable")]
        lost = {int(rows["task_id"][number]): self._share(number) for number in order}  # no task is on two GPUs
        self._keep(~np.isin(rows["task_id"], list(lost)))
        return list(lost.values())

    def _share(self, number: int) -> Share:
        row = self._rows[number]
        return Share(float(row["start"]), float(row["end"]), self._blocks[int(row["block"])], int(row["row"]))
