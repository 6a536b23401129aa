"""A batch is what one transaction stores: columns that come from the engine, turned into rows for the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.database import to_json

Column: TypeAlias = "npt.NDArray[Any] | Sequence[float] | Sequence[int]"
Record: TypeAlias = "tuple[Any, ...]"


@dataclass(frozen=True, eq=False)
class TaskRows:
    """Tasks as columns; `dependencies` are the ids of each task's parents, None if no task has any."""

    task_id: Column
    size: Column
    compute_intensity: Column
    memory_required: Column
    arrival_time: Column
    dependencies: Sequence[Sequence[int]] | None = None

    @classmethod
    def of(cls, tasks: Tasks) -> TaskRows:
        """Take the columns of tasks."""
        parents = [tasks.task_id[tasks.edges.of(row)].tolist() for row in range(len(tasks))]
        return cls(
            tasks.task_id,
            tasks.size,
            tasks.compute_intensity,
            tasks.memory_required,
            tasks.arrival_time,
            parents if tasks.has_edges else None,
        )

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.task_id)

    def records(self, run_id: int) -> Iterator[Record]:
        """Return rows for the table `tasks`."""
        numbers = (self.size, self.compute_intensity, self.memory_required, self.arrival_time)
        parents = repeat("[]") if self.dependencies is None else map(to_json, self.dependencies)
        return zip(repeat(run_id), _whole(self.task_id), *map(_numbers, numbers), parents, strict=False)


@dataclass(frozen=True, eq=False)
class ResultRows:
    """What one scheduler made of tasks, as columns; NaN is "does not apply" and is stored as empty."""

    scheduler_name: str
    task_id: Column
    gpu_fraction: Column
    device: Column
    status: Column
    start_time: Column
    finish_time: Column
    actual_time: Column
    waiting_time: Column
    turnaround_time: Column
    energy_consumption: Column
    execution_cost: Column
    attempt: Column | int = 1
    measured: bool = False

    @classmethod
    def of(cls, scheduler_name: str, placements: Placements, attempt: Column | int = 1) -> ResultRows:
        """Take the columns of placements."""
        return cls(
            scheduler_name=scheduler_name,
            task_id=placements.tasks.task_id,
            gpu_fraction=placements.gpu_fraction,
            device=np.where(placements.gpu >= 0, placements.gpu, placements.cpu),
            status=placements.status,
            start_time=placements.start,
            finish_time=placements.finish,
            actual_time=placements.execution,
            waiting_time=placements.waiting,
            turnaround_time=placements.turnaround,
            energy_consumption=placements.energy,
            execution_cost=placements.cost,
            attempt=attempt,
            measured=placements.measured,
        )

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.task_id)

    def records(self, run_id: int) -> Iterator[Record]:
        """Return rows for the table `scheduler_results`."""
        numbers = (
            self.start_time,
            self.finish_time,
            self.actual_time,
            self.waiting_time,
            self.turnaround_time,
            self.energy_consumption,
            self.execution_cost,
        )
        return zip(
            repeat(run_id),
            _whole(self.task_id),
            repeat(self.scheduler_name),
            repeat(self.attempt) if isinstance(self.attempt, int) else _whole(self.attempt),
            _numbers(self.gpu_fraction),
            _whole(self.device),
            _whole(self.status),
            *map(_numbers, numbers),
            repeat(self.measured),
            strict=False,
        )


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Examples to learn from, as columns; one for a task at most."""

    task_id: Column
    size: Column
    compute_intensity: Column
    memory_required: Column
    optimal_gpu_fraction: Column
    optimal_time: Column

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.task_id)

    def records(self, run_id: int) -> Iterator[Record]:
        """Return rows for the table `training_data`."""
        labels = (self.optimal_gpu_fraction, self.optimal_time)
        numbers = (self.size, self.compute_intensity, self.memory_required, *labels)
        return zip(repeat(run_id), _whole(self.task_id), *map(_numbers, numbers), strict=False)


@dataclass(frozen=True)
class SettingsChange:
    """A setting that was changed while the run went on, after `at_task` tasks and `at_time` simulated seconds."""

    at_task: int
    at_time: float
    change: Mapping[str, Any]
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def record(self, run_id: int) -> Record:
        """Return the row for the table `settings_changes`."""
        return run_id, self.at_task, self.at_time, to_json(self.change), self.created_at.astimezone(UTC)


@dataclass(frozen=True, eq=False)
class Batch:
    """What is committed together. The key tells a retry from something new, so nothing is stored twice."""

    run_id: int
    tasks: tuple[TaskRows, ...] = ()
    results: tuple[ResultRows, ...] = ()
    training: tuple[TrainingRows, ...] = ()
    changes: tuple[SettingsChange, ...] = ()
    key: str = field(default_factory=lambda: uuid4().hex)

    def __len__(self) -> int:
        columns: tuple[Sized, ...] = (*self.tasks, *self.results, *self.training)
        return sum(map(len, columns)) + len(self.changes)

    def records(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """Return the rows of every table that gets some, parents first."""
        columns: dict[str, tuple[TaskRows | ResultRows | TrainingRows, ...]] = {
            "tasks": self.tasks,
            "scheduler_results": self.results,
            "training_data": self.training,
        }
        for table, parts in columns.items():
            if any(len(part) for part in parts):
                yield table, chain.from_iterable(part.records(self.run_id) for part in parts)
        if self.changes:
            yield "settings_changes", (each.record(self.run_id) for each in self.changes)


def merged(batches: Sequence[Batch]) -> Batch:
    """Make one batch of several of one run."""
    if len(batches) == 1:
        return batches[0]

    def parts(name: str) -> tuple[Any, ...]:
        return tuple(chain.from_iterable(getattr(each, name) for each in batches))

    return Batch(batches[0].run_id, parts("tasks"), parts("results"), parts("training"), parts("changes"))


def _check_lengths(rows: TaskRows | ResultRows | TrainingRows) -> None:
    columns = {each.name: getattr(rows, each.name) for each in fields(rows)}
    for name, column in columns.items():
        if not isinstance(column, str | int | None) and len(column) != len(rows):
            raise InputError(f"column '{name}' has {len(column)} values, expected {len(rows)}: one value a task")


def _whole(values: Column) -> list[Any]:
    listed: list[Any] = np.asarray(values).tolist()
    return listed


def _numbers(values: Column) -> Iterable[Any]:
    column = np.asarray(values, np.float64)
    listed: list[Any] = column.tolist()
    # NaN is asked for first: nearly always there is none, and the list is used as it is.
    return [None if each != each else each for each in listed] if np.isnan(column).any() else listed
