"""Batches of rows: columns from the engine, turned into rows for the driver and inserted in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import Any, ClassVar, TypeAlias
from uuid import uuid4

import numpy as np
import numpy.typing as npt
from sqlalchemy import Double, bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.core import Placements, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.database import RefusedError, to_json
from hybrid_scheduler.storage.tables import metadata, runs

Column: TypeAlias = "npt.NDArray[Any] | Sequence[float] | Sequence[int]"
Record: TypeAlias = "tuple[Any, ...]"
INSERT_COLUMNS = {
    table.name: tuple(column.name for column in table.columns if column.name != "id")
    for table in metadata.sorted_tables
}
"""The columns of each table that are inserted, in order; the database numbers `id` itself."""
_FLOATS = {(t.name, c.name) for t in metadata.sorted_tables for c in t.columns if isinstance(c.type, Double)}


class _Rows:
    """Rows of one table as columns named as there; a column of one value holds it for every row."""

    table: ClassVar[str]
    task_id: Column

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            column = getattr(self, each.name)
            if not isinstance(column, str | int | None) and len(column) != len(self):
                raise InputError(
                    f"column '{each.name}' has {len(column)} values, expected {len(self)}: one value a task"
                )

    def __len__(self) -> int:
        return len(self.task_id)

    def records(self, run_id: int) -> Iterator[Record]:
        """Return the rows as tuples, in the order of `INSERT_COLUMNS`."""
        columns = (self._values(name) for name in INSERT_COLUMNS[self.table] if name != "run_id")
        return zip(repeat(run_id), *columns, strict=False)

    def _values(self, name: str) -> Iterable[Any]:
        column = getattr(self, name)
        if isinstance(column, str | int):
            return repeat(column)
        if (self.table, name) not in _FLOATS:
            values: list[Any] = np.asarray(column).tolist()
            return values
        numbers = np.asarray(column, np.float64)
        values = numbers.tolist()
        # Nearly always there is no NaN, and the list is used as it is.
        return [None if each != each else each for each in values] if np.isnan(numbers).any() else values


@dataclass(frozen=True, eq=False)
class TaskRows(_Rows):
    """Tasks; `dependencies` are the ids of each task's parents, None if no task has any."""

    table = "tasks"
    task_id: Column
    size: Column
    compute_intensity: Column
    memory_required: Column
    arrival_time: Column
    dependencies: Sequence[Sequence[int]] | None = None

    @classmethod
    def from_tasks(cls, tasks: Tasks) -> TaskRows:
        """Take the columns of tasks."""
        columns = (tasks.size, tasks.compute_intensity, tasks.memory_required, tasks.arrival_time)
        parents = [tasks.task_id[tasks.edges.neighbours(row)].tolist() for row in range(len(tasks))]
        return cls(tasks.task_id, *columns, parents if tasks.has_edges else None)

    def _values(self, name: str) -> Iterable[Any]:
        if name != "dependencies":
            return super()._values(name)
        return repeat("[]") if self.dependencies is None else map(to_json, self.dependencies)


@dataclass(frozen=True, eq=False)
class ResultRows(_Rows):
    """Results of one scheduler; NaN means "does not apply" and is stored as NULL."""

    table = "scheduler_results"
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
    _: KW_ONLY
    attempt: Column | int = 1
    measured: bool = False

    @classmethod
    def from_placements(cls, scheduler_name: str, placed: Placements, attempt: Column | int = 1) -> ResultRows:
        """Take the columns of placements."""
        columns = placed.result_columns().values()
        return cls(scheduler_name, placed.tasks.task_id, *columns, attempt=attempt, measured=placed.measured)


@dataclass(frozen=True, eq=False)
class TrainingRows(_Rows):
    """Training examples, at most one for each task."""

    table = "training_data"
    task_id: Column
    size: Column
    compute_intensity: Column
    memory_required: Column
    optimal_gpu_fraction: Column
    optimal_time: Column


@dataclass(frozen=True)
class SettingsChange:
    """A change of settings before task `at_task`, at `at_time` simulated seconds."""

    at_task: int
    at_time: float
    change: Mapping[str, Any]
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def record(self, run_id: int) -> Record:
        """Return the row for the table `settings_changes`."""
        return run_id, self.at_task, self.at_time, to_json(self.change), self.created_at.astimezone(UTC)


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that are committed together; the key identifies a retry, so that nothing is stored twice."""

    run_id: int
    tasks: tuple[TaskRows, ...] = ()
    results: tuple[ResultRows, ...] = ()
    training: tuple[TrainingRows, ...] = ()
    changes: tuple[SettingsChange, ...] = ()
    key: str = field(default_factory=lambda: uuid4().hex)

    def __len__(self) -> int:
        return sum(map(len, (*self.tasks, *self.results, *self.training))) + len(self.changes)

    def records(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """Return the rows of every table that gets some, parents first."""
        for parts in (self.tasks, self.results, self.training):
            if any(map(len, parts)):
                yield parts[0].table, chain.from_iterable(part.records(self.run_id) for part in parts)
        if self.changes:
            yield "settings_changes", (each.record(self.run_id) for each in self.changes)


def merge_batches(batches: Sequence[Batch]) -> Batch:
    """Merge batches of one run."""
    if len(batches) == 1:
        return batches[0]
    parts: dict[str, Any] = {}
    for name in ("tasks", "results", "training", "changes"):
        parts[name] = tuple(chain.from_iterable(getattr(each, name) for each in batches))
    return Batch(batches[0].run_id, **parts)


# --- inserting -----------------------------------------------------------------------------------------------------

_INSERT = {
    name: f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) ON CONFLICT DO NOTHING"  # noqa: S608  # names of our own tables and columns
    for name, columns in INSERT_COLUMNS.items()
}
_MARK = (
    update(runs)
    .where(runs.c.id == bindparam("run"), runs.c.last_batch.is_distinct_from(bindparam("key")))
    .values(last_batch=bindparam("key"))
)


async def insert_batch(connection: AsyncConnection, batch: Batch, skip_duplicates: bool = False) -> None:
    """Insert the rows of a batch unless it was committed before; rows whose key is stored already are skipped.

    PostgreSQL's COPY cannot skip rows and fails with a broken unique constraint; with `skip_duplicates` a slower
    way is taken, through a temporary table.
    """
    marked = await connection.execute(_MARK, {"run": batch.run_id, "key": batch.key})
    if not marked.rowcount:
        if (await connection.execute(select(runs.c.id).where(runs.c.id == batch.run_id))).first() is None:
            raise RefusedError(f"run {batch.run_id} is not in this database: begin a run first")
        return  # it was the last one committed
    for table, records in batch.records():
        if connection.dialect.name == "sqlite":
            await _executemany(connection, table, records)
        elif skip_duplicates:
            await _copy_new(connection, table, records)
        else:
            await _copy(connection, table, table, records)


async def _executemany(connection: AsyncConnection, table: str, records: Iterator[Record]) -> None:
    if table == "settings_changes":  # SQLite holds moments as text
        records = ((*rest, moment.strftime("%Y-%m-%d %H:%M:%S.%f")) for *rest, moment in records)
    driver: Any = (await connection.get_raw_connection()).driver_connection
    # Past SQLAlchemy: the driver's thread then iterates over the records, not the event loop.
    await (await driver.executemany(_INSERT[table], records)).close()


async def _copy(connection: AsyncConnection, table: str, into: str, records: Iterator[Record]) -> None:
    driver: Any = (await connection.get_raw_connection()).driver_connection
    await driver.copy_records_to_table(into, records=records, columns=INSERT_COLUMNS[table])


async def _copy_new(connection: AsyncConnection, table: str, records: Iterator[Record]) -> None:
    names, scratch = ", ".join(INSERT_COLUMNS[table]), f"new_{table}"
    columns = f"SELECT {names} FROM {table} WITH NO DATA"  # noqa: S608  # names of our own tables and columns
    await connection.exec_driver_sql(f"CREATE TEMPORARY TABLE {scratch} ON COMMIT DROP AS {columns}")
    await _copy(connection, table, scratch, records)
    fill = f"INSERT INTO {table} ({names}) SELECT {names} FROM {scratch} ON CONFLICT DO NOTHING"  # noqa: S608  # names of our own tables and columns
    await connection.exec_driver_sql(fill)
