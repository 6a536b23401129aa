"""Placements: where every task ran, from when to when, and the energy and cost that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Floats, Tasks

RAN, SPILLED, NO_MEMORY, NO_DEVICE, NO_PARENT, QUEUE_FULL, LOST = 0, 1, 2, 3, 4, 5, 6
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
REAL_REASONS = {LOST: "its worker died every time it was tried"}
"""Only where tasks are executed for real."""


class Decision(NamedTuple):
    """What a scheduler returns: the share of the task for a GPU, and the device."""

    gpu_fraction: float
    device: int


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

    def __len__(self) -> int:
        return len(self.finish)

    @cached_property
    def ran(self) -> npt.NDArray[np.bool_]:
        """Rows that were executed."""
        return self.status <= SPILLED

    @property
    def rejected(self) -> npt.NDArray[np.bool_]:
        """Rows that no device can run."""
        return ~self.ran

    @property
    def spilled(self) -> npt.NDArray[np.bool_]:
        """Rows that ran elsewhere than the scheduler chose, because they do not fit there."""
        spilled: npt.NDArray[np.bool_] = self.status == SPILLED
        return spilled

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
        """Seconds that a ready task spent in queues or waiting for its parents' data."""
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
        return amount

    @cached_property
    def busy(self) -> Floats:
        """Busy seconds of every device."""
        busy = np.zeros(len(self.cluster.devices))
        for device, seconds in ((self.gpu, self.gpu_seconds), (self.cpu, self.cpu_seconds)):
            used = device >= 0
            busy += np.bincount(device[used], weights=seconds[used], minlength=len(busy))
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

    def result_columns(self, rows: slice = slice(None)) -> dict[str, npt.NDArray[Any]]:
        """Return what is recorded of each task, in the database and in the live feed, as columns by name."""
        return {name: getattr(self, name)[rows] for name in RESULT_COLUMNS}

    def decision(self, row: int) -> Decision:
        """Return where a row ran."""
        device = self.gpu[row] if self.gpu[row] >= 0 else self.cpu[row]
        return Decision(float(self.gpu_fraction[row]), int(device))


def concatenate_placements(parts: list[Placements], tasks: Tasks) -> Placements:
    """Join the placements of consecutive blocks of `tasks`."""
    names = ("times", "gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "ready", "finish", "status")
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return replace(parts[0], tasks=tasks, **columns)
