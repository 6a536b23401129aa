"""Placements: where every task ran, from when to when, and the energy and cost that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks

RAN, SPILLED, NO_MEMORY, NO_DEVICE, NO_PARENT, QUEUE_FULL, LOST, WAITING = 0, 1, 2, 3, 4, 5, 6, 7
REASONS = {
    NO_MEMORY: "it needs more memory than any device has",
    NO_DEVICE: "no device class can run it",
    NO_PARENT: "a task it depends on was rejected",
    QUEUE_FULL: "too many tasks were waiting already",
}
RESULT_COLUMNS = (
    "gpu_fraction",
    "device",
    "status",
    "start",
    "finish",
    "execution",
    "waiting",
    "turnaround",
    "energy",
    "cost",
)
COLUMNS = ("times", "gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "ready", "finish", "status")
REAL_REASONS = {LOST: "its worker died every time it was tried"}
"""Only where tasks are executed for real."""


class Decision(NamedTuple):
    """What a scheduler returns: the share of the task for a GPU, and the device."""

    gpu_fraction: float
    device: int


class Aborts(NamedTuple):
    """Runs that were aborted to begin anew elsewhere; all entries but the first `number` are unused."""

    number: Ints  # one entry
    row: Ints
    device: Ints
    start: Floats
    end: Floats

    def part(self, first: int, last: int) -> Aborts:
        """Return those of consecutive rows, which are counted from 0 then."""
        row = self.row[: self.number[0]]
        kept = np.flatnonzero((row >= first) & (row < last))
        columns: Any = (column[kept] for column in self[2:])
        return Aborts(np.array([len(kept)]), row[kept] - first, *columns)


def build_aborts(room: int) -> Aborts:
    """Return room for so many aborts."""
    rows, devices = np.empty((2, room), np.int64)
    starts, ends = np.empty((2, room))
    return Aborts(np.zeros(1, np.int64), rows, devices, starts, ends)


NO_ABORTS = build_aborts(0)


@dataclass(frozen=True, eq=False)
class Placements:
    """Placements as columns, one row per task; -1 is "no device", NaN "does not apply"."""

    tasks: Tasks
    cluster: Cluster
    times: Floats  # actual whole-task seconds by (row, class)
    gpu_fraction: Floats
    gpu: npt.NDArray[np.int32]
    cpu: npt.NDArray[np.int32]
    gpu_start: Floats
    cpu_start: Floats
    ready: Floats
    finish: Floats
    status: npt.NDArray[np.uint8]
    queued: bool = True  # False: isolated mode
    measured: bool = False  # True: executed for real; classes on which a task did not run hold learnt times
    aborts: Aborts = NO_ABORTS  # runs before the one that the columns tell of

    def __len__(self) -> int:
        return len(self.finish)

    @cached_property
    def ran(self) -> npt.NDArray[np.bool_]:
        """Rows that were executed."""
        return self.status <= SPILLED

    @property
    def rejected(self) -> npt.NDArray[np.bool_]:
        """Rows that no device can run."""
        rejected: npt.NDArray[np.bool_] = ~self.ran & (self.status != WAITING)
        return rejected

    @property
    def spilled(self) -> npt.NDArray[np.bool_]:
        """Rows that ran elsewhere than the scheduler chose, because they do not fit there."""
        spilled: npt.NDArray[np.bool_] = self.status == SPILLED
        return spilled

    @property
    def split(self) -> npt.NDArray[np.bool_]:
        """Rows that ran on a CPU and a GPU at once; without any, this is a schedule of whole tasks."""
        split: npt.NDArray[np.bool_] = self.ran & (self.gpu_fraction > 0.0) & (self.gpu_fraction < 1.0)
        return split

    @cached_property
    def gpu_seconds(self) -> Floats:
        """Seconds of the GPU share, 0 where there is none."""
        return self._seconds(self.gpu, self.gpu_fraction)

    @cached_property
    def cpu_seconds(self) -> Floats:
        """Seconds of the CPU share, 0 where there is none."""
        return self._seconds(self.cpu, 1.0 - self.gpu_fraction)

    def _seconds(self, device: npt.NDArray[np.int32], share: Floats) -> Floats:
        rows = np.flatnonzero(device >= 0)
        seconds = np.zeros(len(self))
        seconds[rows] = share[rows] * self.times[rows, self.cluster.class_index[device[rows]]]
        return seconds

    @cached_property
    def lost_runs(self) -> Aborts:
        """The runs that were aborted, without unused entries."""
        return self.aborts.part(0, len(self))

    @cached_property
    def lost(self) -> Floats:
        """Seconds of each task's aborted runs; devices were busy with them, and energy and cost count them."""
        return self._lose(self.lost_runs.row, len(self))

    def _lose(self, index: Ints, count: int, rate: Floats | float = 1.0) -> Floats:
        seconds = self.lost_runs.end - self.lost_runs.start
        return np.bincount(index, rate * seconds, count).astype(np.float64)

    @cached_property
    def start(self) -> Floats:
        """When the first share started."""
        return np.fmin(self.gpu_start, self.cpu_start)

    @cached_property
    def execution(self) -> Floats:
        """The longer of the two shares."""
        return np.where(self.ran, np.maximum(self.gpu_seconds, self.cpu_seconds), np.nan)

    @cached_property
    def turnaround(self) -> Floats:
        """Seconds from arrival to finish."""
        return self.finish - self.tasks.arrival_time

    @cached_property
    def waiting(self) -> Floats:
        """Seconds that a ready task spent in queues, waiting for its parents' data, or in runs that were aborted."""
        return np.maximum(self.finish - self.ready - self.execution, 0.0)

    @cached_property
    def energy(self) -> Floats:
        """Joules of each task."""
        return self._charge("watts")

    @cached_property
    def cost(self) -> Floats:
        """Dollars of each task."""
        return self._charge("dollars_per_second")

    def _charge(self, name: str) -> Floats:
        rate = np.append(self.cluster.per_device(name), 0.0)  # index -1, no device, costs nothing
        amount: Floats = self.gpu_seconds * rate[self.gpu] + self.cpu_seconds * rate[self.cpu]
        if self.aborts.number[0]:
            amount += self._lose(self.lost_runs.row, len(self), rate[self.lost_runs.device])
        amount[self.status == WAITING] = np.nan
        return amount

    @cached_property
    def busy(self) -> Floats:
        """Busy seconds of every device."""
        busy = np.zeros(len(self.cluster.devices))
        for device, seconds in ((self.gpu, self.gpu_seconds), (self.cpu, self.cpu_seconds)):
            used = device >= 0
            busy += np.bincount(device[used], weights=seconds[used], minlength=len(busy))
        if self.aborts.number[0]:
            busy += self._lose(self.lost_runs.device, len(busy))
        return busy

    @cached_property
    def makespan(self) -> float:
        """End of the last task; 0 if none ran."""
        return float(self.finish[self.ran].max(initial=0.0))

    def reason(self, row: int) -> str:
        """Return why a row was rejected; empty if it ran."""
        return (REASONS | REAL_REASONS).get(int(self.status[row]), "")

    @property
    def device(self) -> npt.NDArray[np.int32]:
        """The device of each row, the GPU of a split task; -1 where it did not run."""
        return np.where(self.gpu >= 0, self.gpu, self.cpu)

    def result_columns(self, rows: slice | Ints = slice(None)) -> dict[str, npt.NDArray[Any]]:
        """Return what is recorded of each task, in the database and in the live feed, as columns by name."""
        return {name: getattr(self, name)[rows] for name in RESULT_COLUMNS}

    def decision(self, row: int) -> Decision:
        """Return where a row ran."""
        device = self.gpu[row] if self.gpu[row] >= 0 else self.cpu[row]
        return Decision(float(self.gpu_fraction[row]), int(device))

    def part(self, first: int, last: int) -> Placements:
        """Return a view of consecutive rows."""
        columns: dict[str, Any] = {name: getattr(self, name)[first:last] for name in COLUMNS}
        aborts = self.aborts.part(first, last) if self.aborts.number[0] else self.aborts
        return replace(self, tasks=self.tasks.part(first, last), aborts=aborts, **columns)

    def select(self, rows: npt.NDArray[np.bool_] | Ints) -> Placements:
        """Return a copy of some rows of a stream, in which nothing is aborted."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in COLUMNS}
        return replace(self, tasks=self.tasks.select(rows), aborts=NO_ABORTS, **columns)


def concatenate_placements(parts: list[Placements], tasks: Tasks) -> Placements:
    """Join the placements of consecutive blocks of `tasks`."""
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return replace(parts[0], tasks=tasks, aborts=_join_aborts(parts), **columns)


def _join_aborts(parts: list[Placements]) -> Aborts:
    firsts = np.cumsum([0, *map(len, parts[:-1])])
    lost = [
        each.lost_runs._replace(row=first + each.lost_runs.row) for first, each in zip(firsts, parts, strict=True)
    ]
    columns: Any = map(np.concatenate, zip(*lost, strict=True))
    joined = Aborts(*columns)
    return joined._replace(number=joined.number.sum(keepdims=True))
