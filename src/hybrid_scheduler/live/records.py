"""Task records: plain data about placed tasks for the REST API, the WebSocket and the dashboard.

`build_task_records` is the only conversion from placements (columns) to records (rows); the recorder stores the same
columns, `Placements.result_columns`, without making rows of them first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hybrid_scheduler.core.float_or_nan import FloatOrNaN
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.schedulers.explain import Explanation

TASK_COLUMNS = ("size", "compute_intensity", "memory_required", "arrival_time")
ToList = Callable[[str, Floats], list[float]]


@dataclass(frozen=True)
class TaskResult:
    """The placement of one task by one scheduler; null where the task was rejected."""

    gpu_fraction: FloatOrNaN
    device: int
    """-1: rejected"""
    start: FloatOrNaN
    finish: FloatOrNaN
    time: FloatOrNaN
    """Execution, s."""
    waiting: FloatOrNaN
    turnaround: FloatOrNaN
    energy: FloatOrNaN
    """J"""
    cost: FloatOrNaN
    """USD"""
    status: int
    attempt: int = 1


@dataclass(frozen=True)
class TaskRecord:
    """One task and its placements by all schedulers."""

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    optimal_gpu_fraction: FloatOrNaN
    optimal_time: FloatOrNaN
    results: dict[str, TaskResult]
    explained: bool = False
    """Whether GET /api/tasks/{task_id} explains the decisions; the last 500 of them are kept."""
    measured: bool = False
    """Whether it really ran."""


@dataclass(frozen=True)
class PlacedBlock:
    """A block of tasks and its placements by every scheduler."""

    tasks: Tasks
    placements: dict[str, Placements]
    optimal_gpu_fraction: Floats
    optimal_time: Floats
    explanations: dict[str, Explanation] = field(default_factory=dict)  # of the first task; may be empty
    devices: tuple[tuple[str, str], ...] = ()  # display names and kinds

    @property
    def is_measured(self) -> bool:
        """Whether the tasks really ran."""
        return any(each.measured for each in self.placements.values())


def _to_list(_name: str, column: Floats) -> list[float]:
    values: list[float] = column.tolist()
    return values


def build_task_records(block: PlacedBlock, rows: slice = slice(None), to_list: ToList = _to_list) -> list[TaskRecord]:
    """Return records of some tasks of a block; `to_list` converts each column of floats and may round it."""
    tasks = block.tasks
    columns = {name: getattr(tasks, name) for name in TASK_COLUMNS}
    columns |= {"optimal_gpu_fraction": block.optimal_gpu_fraction, "optimal_time": block.optimal_time}
    values = [to_list(name, column[rows]) for name, column in columns.items()]
    results = {name: _build_results(each, rows, to_list) for name, each in block.placements.items()}
    by_task = [dict(zip(results, each, strict=True)) for each in zip(*results.values(), strict=True)]
    explained = [bool(block.explanations) and row == 0 for row in range(len(tasks))][rows]
    measured = [block.is_measured] * len(explained)
    records = zip(tasks.task_id[rows].tolist(), *values, by_task, explained, measured, strict=True)
    return [TaskRecord(*record) for record in records]


def _build_results(placed: Placements, rows: slice, to_list: ToList) -> list[TaskResult]:
    columns = placed.result_columns(rows)
    device, status = columns.pop("device").tolist(), columns.pop("status").tolist()
    columns["gpu_fraction"] = np.where(placed.ran[rows], columns["gpu_fraction"], 0.0)
    fraction, *figures = (to_list(name, column) for name, column in columns.items())
    return [TaskResult(*row) for row in zip(fraction, device, *figures, status, strict=True)]
