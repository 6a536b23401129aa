"""The questions that the store asks; every one is answered from an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.storage.database import RefusedError
from hybrid_scheduler.storage.rows import Batch, Record
from hybrid_scheduler.storage.tables import (
    metadata,
    models,
    runs,
    scheduler_results,
    settings_changes,
    tasks,
    training_data,
)

_result_columns = [column for column in scheduler_results.c if column.name not in ("id", "run_id")]
_task_columns = [column for column in tasks.c if column.name not in ("run_id", "task_id")]
_own_task: ColumnElement[bool] = and_(
    tasks.c.run_id == scheduler_results.c.run_id, tasks.c.task_id == scheduler_results.c.task_id
)
EXPORTED = tuple(column.name for column in (*_result_columns, *_task_columns))
"""The columns of an export: those of the result, then those of its task."""


RUN = tuple(column for column in runs.c if column.name != "last_batch")
"""What is told about a run; how batches are told apart is nobody's business."""


def one_run(run_id: int) -> Select[Any]:
    """Ask for one run."""
    return select(*RUN).where(runs.c.id == run_id)


def runs_page(before: int | None, limit: int, kind: str | None = None) -> Select[Any]:
    """Ask for runs, newest first, of one kind or of any."""
    page = select(*RUN).order_by(runs.c.id.desc()).limit(limit)
    if kind is not None:
        page = page.where(runs.c.kind == kind)
    return page if before is None else page.where(runs.c.id < before)


def unfinished(kind: str) -> Select[Any]:
    """Ask for runs of a kind that have not ended, oldest first."""
    return select(*RUN).where(runs.c.kind == kind, runs.c.status == "running").order_by(runs.c.id)


def last_tasks(run_ids: Sequence[int]) -> Select[Any]:
    """Ask for the newest task of each of these runs, each found in the index."""
    newest = select(func.max(tasks.c.task_id)).where(tasks.c.run_id == runs.c.id).scalar_subquery()
    return select(runs.c.id, newest.label("last")).where(runs.c.id.in_(run_ids))


def tasks_page(run_id: int, after: int | None, limit: int) -> Select[Any]:
    """Ask for tasks of a run in order of their ids."""
    page = select(tasks).where(tasks.c.run_id == run_id).order_by(tasks.c.task_id).limit(limit)
    return page if after is None else page.where(tasks.c.task_id > after)


def results_of(run_id: int, task_id: int) -> Select[Any]:
    """Ask what every scheduler made of a task."""
    key = (scheduler_results.c.scheduler_name, scheduler_results.c.attempt)
    mine = and_(scheduler_results.c.run_id == run_id, scheduler_results.c.task_id == task_id)
    return select(*_result_columns).where(mine).order_by(*key)


def history(run_id: int, limit: int) -> Select[Any]:
    """Ask for the results of the latest tasks, newest task first."""
    key = [scheduler_results.c[name].desc() for name in ("task_id", "scheduler_name", "attempt")]
    return _joined().where(scheduler_results.c.run_id == run_id).order_by(*key).limit(limit)


def export(run_id: int, after: Row[Any] | None, limit: int) -> Select[Any]:
    """Ask for the next block of results in order of their key, starting behind the row `after`."""
    key = [scheduler_results.c[name] for name in ("task_id", "scheduler_name", "attempt")]
    block = _joined().where(scheduler_results.c.run_id == run_id).order_by(*key).limit(limit)
    return block if after is None else block.where(tuple_(*key) > tuple_(*after[:3]))


def _joined() -> Select[Any]:
    return select(*_result_columns, *_task_columns).join_from(scheduler_results, tasks, _own_task)


def training(limit: int) -> Select[Any]:
    """Ask for the examples added last, newest first."""
    return select(training_data).order_by(training_data.c.id.desc()).limit(limit)


def changes_of(run_id: int) -> Select[Any]:
    """Ask for settings changes of a run in the order in which they were made."""
    mine = settings_changes.c.run_id == run_id
    return select(settings_changes).where(mine).order_by(settings_changes.c.id)


def latest_models(limit: int) -> Select[Any]:
    """Ask for models added last, newest first."""
    return select(models).order_by(models.c.id.desc()).limit(limit)


def first_task(run_id: int) -> Select[Any]:
    """Ask for the oldest task of a run."""
    return select(tasks.c.task_id).where(tasks.c.run_id == run_id).order_by(tasks.c.task_id).limit(1)


def last_task(run_id: int, behind: int = 0) -> Select[Any]:
    """Ask for the newest task of a run, or the one that has `behind` newer ones."""
    newest = select(tasks.c.task_id).where(tasks.c.run_id == run_id).order_by(tasks.c.task_id.desc())
    return newest.limit(1).offset(behind)


COLUMNS = {
    table.name: tuple(column.name for column in table.columns if column.name != "id")
    for table in metadata.sorted_tables
}
"""The columns that rows of a batch fill, in their order; `id` is left to the database."""
_INSERT = {
    name: f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) ON CONFLICT DO NOTHING"  # noqa: S608  # names of our own tables and columns
    for name, columns in COLUMNS.items()
}
_MARK = (
    update(runs)
    .where(runs.c.id == bindparam("run"), runs.c.last_batch.is_distinct_from(bindparam("key")))
    .values(last_batch=bindparam("key"))
)


async def mark(connection: AsyncConnection, batch: Batch) -> bool:
    """Note the batch in its run, in the batch's own transaction; False if it was committed before."""
    done = await connection.execute(_MARK, {"run": batch.run_id, "key": batch.key})
    if done.rowcount:
        return True
    if (await connection.execute(select(runs.c.id).where(runs.c.id == batch.run_id))).first() is None:
        raise RefusedError(f"run {batch.run_id} is not in this database: begin a run first")
    return False


async def insert(connection: AsyncConnection, batch: Batch, there_already: bool = False) -> None:
    """Store all rows of a batch; rows whose key is stored already are left as they are.

    COPY cannot do that, so on PostgreSQL it fails with a broken unique constraint; `there_already` takes the
    slower way around.
    """
    for table, records in batch.records():
        if connection.dialect.name == "sqlite":
            await _executemany(connection, table, records)
        elif there_already:
            await _copy_new(connection, table, records)
        else:
            await _copy(connection, table, table, records)


async def _executemany(connection: AsyncConnection, table: str, records: Iterator[Record]) -> None:
    if table == "settings_changes":  # SQLite holds moments as text
        records = ((*rest, moment.strftime("%Y-%m-%d %H:%M:%S.%f")) for *rest, moment in records)
    driver: Any = (await connection.get_raw_connection()).driver_connection
    # Past SQLAlchemy: the driver's thread then walks the records, not the event loop.
    await (await driver.executemany(_INSERT[table], records)).close()


async def _copy(connection: AsyncConnection, table: str, into: str, records: Iterator[Record]) -> None:
    driver: Any = (await connection.get_raw_connection()).driver_connection
    await driver.copy_records_to_table(into, records=records, columns=COLUMNS[table])


async def _copy_new(connection: AsyncConnection, table: str, records: Iterator[Record]) -> None:
    names, scratch = ", ".join(COLUMNS[table]), f"new_{table}"
    columns = f"SELECT {names} FROM {table} WITH NO DATA"  # noqa: S608  # names of our own tables and columns
    await connection.exec_driver_sql(f"CREATE TEMPORARY TABLE {scratch} ON COMMIT DROP AS {columns}")
    await _copy(connection, table, scratch, records)
    fill = f"INSERT INTO {table} ({names}) SELECT {names} FROM {scratch} ON CONFLICT DO NOTHING"  # noqa: S608  # names of our own tables and columns
    await connection.exec_driver_sql(fill)
