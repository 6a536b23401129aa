"""`Store`: a database of runs, tasks and results; all queries are here or in `batch_means`.

Every query is answered from an index. Everything a store raises is a `SchedulerError` of one line.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Executable,
    Row,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.schema import Table

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.storage.batch_means import BatchMeans, BatchPlan, batch_means_query
from hybrid_scheduler.storage.database import (
    ClaimedError,
    DuplicateError,
    check_file,
    describe_url,
    open_connection,
    open_engine,
    take_lock,
    translate_errors,
)
from hybrid_scheduler.storage.rows import Batch, insert_batch
from hybrid_scheduler.storage.tables import (
    STATUSES,
    checkpoints,
    claims,
    counters,
    models,
    runs,
    scheduler_results,
    settings_changes,
    tasks,
    training_data,
)

Fields: TypeAlias = "dict[str, Any]"
LIVE, COMPARISON = "live", "comparison"
"""The kinds of runs: a race, or schedulers compared over seeds."""
_SIMULATION = "simulation"  # the name of the claim
MAX_CLAIM = 60.0  # seconds that a claim lasts at most
_RUN_COLUMNS = [column for column in runs.c if column.name != "last_batch"]
_RESULT_COLUMNS = [column for column in scheduler_results.c if column.name not in ("id", "run_id")]
_TASK_COLUMNS = [column for column in tasks.c if column.name not in ("run_id", "task_id")]
_RESULT_KEY = [scheduler_results.c[name] for name in ("task_id", "scheduler_name", "attempt")]
EXPORT_COLUMNS = tuple(column.name for column in (*_RESULT_COLUMNS, *_TASK_COLUMNS))
"""The columns of an export: those of the result, then those of its task."""


@dataclass(frozen=True)
class Run:
    """One run: its settings, its owner, and how it ended."""

    id: int
    kind: str
    status: str
    seed: int
    version: str
    started_at: datetime
    ended_at: datetime | None
    owner: str | None
    heartbeat_at: datetime
    cluster: Fields
    settings: Fields
    summary: Fields | None
    title: str | None = None
    progress: Fields | None = None


@dataclass(frozen=True)
class Checkpoint:
    """The state of a race before a task arrived, after so many commands."""

    run_id: int
    at_task: int
    changes: int
    version: str
    state: bytes


class Store:
    """An open database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.where = describe_url(engine.url)
        self._dialect: Any = sqlite if engine.dialect.name == "sqlite" else postgresql

    @classmethod
    async def open(cls, url: str, patience: float = 5.0) -> Store:
        """Open a database and bring its tables up to date; a lock is waited for `patience` seconds."""
        return cls(await open_engine(url, patience))

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()

    async def ping(self) -> float:
        """Return how many seconds the database takes to answer; looks at the newest row of the large tables.

        One statement: with SQLite, each goes through a thread several times, which takes long if others are busy.
        """
        begin, columns = time.perf_counter(), (runs.c.status, scheduler_results.c.task_id, training_data.c.task_id)
        newest = (select(each).order_by(each.table.c.id.desc()).limit(1).scalar_subquery() for each in columns)
        await self._query(select(*newest))
        return time.perf_counter() - begin

    async def find_damage(self) -> str:
        """Return what is damaged in a file, empty if nothing; reads all of it, beside the other connections."""
        if self.engine.dialect.name != "sqlite":
            return ""
        with translate_errors(self.where):
            return await asyncio.to_thread(check_file, self.engine.url)

    # --- runs ------------------------------------------------------------------------------------------------

    async def begin_run(
        self,
        kind: str,
        seed: int,
        cluster: Mapping[str, Any],
        settings: Mapping[str, Any],
        owner: str | None = None,
        title: str | None = None,
        progress: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a running run; return its id."""
        fields = {"kind": kind, "status": "running", "seed": seed, "version": __version__, "owner": owner}
        fields |= {"cluster": cluster, "settings": settings, "title": title, "progress": progress}
        deleted = await self._first_value(select(counters.c.value).where(counters.c.name == runs.name))
        newest = await self._first_value(select(runs.c.id).order_by(runs.c.id.desc()))
        if deleted is not None and deleted > (newest or 0) and self.engine.dialect.name == "sqlite":
            fields["id"] = deleted + 1  # SQLite itself would give the number of a deleted run again
        return await self._insert(runs, fields, "started_at", "heartbeat_at")

    async def end_run(
        self,
        run_id: int,
        status: str = "finished",
        summary: Mapping[str, Any] | None = None,
        progress: Mapping[str, Any] | None = None,
    ) -> None:
        """Record how a run ended; progress that is not given stays as it was."""
        if status not in STATUSES:
            raise unknown_name("status", status, STATUSES)
        fields: Fields = {"status": status, "summary": summary}
        fields |= {} if progress is None else {"progress": progress}
        await self._update_run(run_id, fields, "ended_at", "heartbeat_at")

    async def note_progress(self, run_id: int, progress: Mapping[str, Any]) -> None:
        """Record the progress of a run, and that its owner is alive."""
        await self._update_run(run_id, {"progress": progress}, "heartbeat_at")

    async def rename_run(self, run_id: int, title: str | None) -> None:
        """Give a run a title, or remove it."""
        await self._update_run(run_id, {"title": title})

    async def resume_run(self, run_id: int, owner: str | None = None) -> None:
        """Mark an interrupted run as running again."""
        fields: Fields = {"status": "running", "owner": owner, "ended_at": None, "summary": None}
        await self._update_run(run_id, fields, "heartbeat_at")

    async def delete_run(self, run_id: int) -> None:
        """Delete a run with its rows, tasks first; if interrupted, it can be repeated."""
        await self.prune(run_id, 0)
        async with self._transaction() as connection:
            await connection.execute(update(models).where(models.c.run_id == run_id).values(run_id=None))
            for table in (training_data, settings_changes, checkpoints):
                await connection.execute(delete(table).where(table.c.run_id == run_id))
            if not (await connection.execute(delete(runs).where(runs.c.id == run_id))).rowcount:
                raise _no_run(run_id)
            given = self._dialect.insert(counters).values(name=runs.name, value=run_id)
            larger = {"set_": {"value": given.excluded.value}, "where": counters.c.value < given.excluded.value}
            await connection.execute(given.on_conflict_do_update(index_elements=[counters.c.name], **larger))

    async def run(self, run_id: int) -> Run:
        """Return one run."""
        found = await self._runs(select(*_RUN_COLUMNS).where(runs.c.id == run_id))
        if not found:
            raise _no_run(run_id)
        return found[0]

    async def runs(self, after: int | None = None, limit: int = 50, kind: str | None = None) -> list[Run]:
        """Return runs, newest first; `after` is the id of the last one of the page before."""
        page = select(*_RUN_COLUMNS).order_by(runs.c.id.desc()).limit(limit)
        if kind is not None:
            page = page.where(runs.c.kind == kind)
        return await self._runs(page if after is None else page.where(runs.c.id < after))

    async def active_runs(self, kind: str) -> list[Run]:
        """Return runs of a kind that have not ended, oldest first."""
        running = select(*_RUN_COLUMNS).where(runs.c.kind == kind, runs.c.status == "running")
        return await self._runs(running.order_by(runs.c.id))

    async def _runs(self, query: Select[Any]) -> list[Run]:
        return [Run(**row._mapping) for row in await self._query(query)]

    # --- the claim: which server runs the simulation ---------------------------------------------------------

    async def claim(self, owner: str, ttl: float) -> None:
        """Claim the simulation of this database for `ttl` seconds, or renew the claim.

        Raises `ClaimedError` while another server holds it.
        """
        async with self._transaction() as connection:
            await take_lock(connection)  # a time read before the wait is older than the claim that was waited for
            moment = await _now(connection)
            values = {"name": _SIMULATION, "owner": owner, "expires_at": moment + timedelta(seconds=ttl)}
            wanted = self._dialect.insert(claims).values(values)
            taken = await connection.execute(  # one statement, so that of two servers one wins
                wanted.on_conflict_do_update(
                    index_elements=[claims.c.name],
                    set_={"owner": wanted.excluded.owner, "expires_at": wanted.excluded.expires_at},
                    where=or_(claims.c.owner == owner, ~_is_valid(moment)),
                )
            )
            if not taken.rowcount:
                other = (await connection.execute(select(claims).where(claims.c.name == _SIMULATION))).one()
                raise ClaimedError(other.owner, (other.expires_at - moment).total_seconds())
            own = and_(runs.c.status == "running", runs.c.owner == owner)
            await connection.execute(update(runs).where(own).values(heartbeat_at=moment))

    async def release(self, owner: str) -> None:
        """Release the claim of an owner; nothing happens if another has it by now."""
        async with self._transaction() as connection:
            await connection.execute(claims.delete().where(claims.c.name == _SIMULATION, claims.c.owner == owner))

    async def mark_interrupted(self) -> list[int]:
        """Mark live runs whose owner holds no claim any more; return their ids."""
        async with self._transaction() as connection:
            await take_lock(connection)
            moment = await _now(connection)
            claimed = and_(claims.c.name == _SIMULATION, claims.c.owner == runs.c.owner, _is_valid(moment))
            marked = await connection.execute(
                update(runs)
                .where(runs.c.status == "running", runs.c.kind == LIVE, ~exists().where(claimed))
                .values(status="interrupted", ended_at=runs.c.heartbeat_at)
                .returning(runs.c.id)
            )
            return sorted(marked.scalars())

    # --- tasks and results -----------------------------------------------------------------------------------

    async def write(self, batch: Batch) -> None:
        """Store a batch, wholly or not at all; rows and batches that are stored already are skipped."""
        try:
            async with self._transaction() as connection:
                await insert_batch(connection, batch)
        except DuplicateError:
            async with self._transaction() as connection:
                await insert_batch(connection, batch, skip_duplicates=True)

    async def tasks_page(self, run_id: int, after: int | None = None, limit: int = 100) -> list[Fields]:
        """Return tasks in order of their ids; `after` is the last id of the page before."""
        page = select(tasks).where(tasks.c.run_id == run_id).order_by(tasks.c.task_id).limit(limit)
        return await self._fields(page if after is None else page.where(tasks.c.task_id > after))

    async def last_task(self, run_id: int) -> int | None:
        """Return the id of the newest stored task, None if there is none."""
        return await self._first_value(_task_ids(run_id, newest_first=True))

    async def last_tasks(self, run_ids: Sequence[int]) -> dict[int, int]:
        """Return the newest stored task of each of these runs that has any."""
        newest = select(func.max(tasks.c.task_id)).where(tasks.c.run_id == runs.c.id).scalar_subquery()
        rows = await self._query(select(runs.c.id, newest.label("last")).where(runs.c.id.in_(run_ids)))
        return {row.id: row.last for row in rows if row.last is not None}

    async def count_tasks(self, run_ids: Sequence[int]) -> dict[int, int]:
        """Return how many tasks of each of these runs are kept; ids of tasks follow each other."""
        ends = (func.max(tasks.c.task_id), func.min(tasks.c.task_id))
        last, first = (select(each).where(tasks.c.run_id == runs.c.id).scalar_subquery() for each in ends)
        rows = await self._query(
            select(runs.c.id, last.label("last"), first.label("first")).where(runs.c.id.in_(run_ids))
        )
        return {row.id: row.last - row.first + 1 for row in rows if row.last is not None}

    async def task_results(self, run_id: int, task_id: int) -> list[Fields]:
        """Return the results of a task, by scheduler and attempt."""
        of_task = and_(scheduler_results.c.run_id == run_id, scheduler_results.c.task_id == task_id)
        return await self._fields(select(*_RESULT_COLUMNS).where(of_task).order_by(*_RESULT_KEY[1:]))

    async def history(self, run_id: int, limit: int = 1000) -> list[Fields]:
        """Return the latest results with the columns of their tasks, newest task first."""
        newest_first = [column.desc() for column in _RESULT_KEY]
        return await self._fields(_results_with_tasks(run_id).order_by(*newest_first).limit(limit))

    async def export(self, run_id: int, block: int = 2000) -> AsyncIterator[Sequence[Row[Any]]]:
        """Return all results of a run in order of their key, in blocks of rows with `EXPORT_COLUMNS`.

        Every block is a query of its own, so a slow reader holds no lock.
        """
        query = _results_with_tasks(run_id).order_by(*_RESULT_KEY).limit(block)
        rows = await self._query(query)
        while rows:
            yield rows
            rows = await self._query(query.where(tuple_(*_RESULT_KEY) > tuple_(*rows[-1][:3])))

    async def batch_means(self, run_id: int, schedulers: int) -> tuple[BatchPlan, list[BatchMeans]] | None:
        """Return how a run is cut into batches, and the means of each; None without tasks."""
        first, last = await self._first_value(_task_ids(run_id)), await self.last_task(run_id)
        if first is None or last is None:
            return None
        plan = BatchPlan.for_tasks(first, last, schedulers)
        return plan, [BatchMeans(**row._mapping) for row in await self._query(batch_means_query(run_id, plan))]

    async def training_data(self, limit: int = 1000) -> list[Fields]:
        """Return the newest training examples of all runs, newest first."""
        return await self._fields(select(training_data).order_by(training_data.c.id.desc()).limit(limit))

    async def settings_changes(self, run_id: int) -> list[Fields]:
        """Return the settings changes of a run, oldest first."""
        of_run = settings_changes.c.run_id == run_id
        return await self._fields(select(settings_changes).where(of_run).order_by(settings_changes.c.id))

    async def presets(self, run: Run) -> list[str]:
        """Return the workloads of a live run in the order in which it turned to them."""
        preset = settings_changes.c.change["preset"].as_string()
        turns = select(preset).where(settings_changes.c.run_id == run.id, preset.is_not(None))
        rows = await self._query(turns.order_by(settings_changes.c.id))
        return [str(run.settings.get("preset", "")), *(str(row[0]) for row in rows)]

    async def prune(self, run_id: int, keep_tasks: int, chunk: int = 5000) -> int:
        """Delete all but the newest tasks of a run with their rows; return how many were deleted."""
        last = await self._first_value(_task_ids(run_id, newest_first=True).offset(keep_tasks))
        deleted, oldest = 0, _task_ids(run_id)
        while last is not None and (first := await self._first_value(oldest)) is not None and first <= last:
            end = min(first + chunk - 1, last)
            async with self._transaction() as connection:
                for table in (scheduler_results, training_data, tasks):
                    old = delete(table).where(table.c.run_id == run_id, table.c.task_id <= end)
                    done = await connection.execute(old)
                deleted += done.rowcount
        return deleted

    # --- checkpoints -----------------------------------------------------------------------------------------

    async def add_checkpoint(self, run_id: int, at_task: int, changes: int, state: bytes, keep: int = 2) -> None:
        """Store the state of a race before task `at_task`, and drop all but the newest ones."""
        row = {"run_id": run_id, "at_task": at_task, "changes": changes, "version": __version__, "state": state}
        of_run = checkpoints.c.run_id == run_id
        newest = select(checkpoints.c.at_task).where(of_run).order_by(checkpoints.c.at_task.desc()).limit(keep)
        async with self._transaction() as connection:
            await connection.execute(delete(checkpoints).where(of_run, checkpoints.c.at_task == at_task))
            await connection.execute(insert(checkpoints).values(row))
            await connection.execute(delete(checkpoints).where(of_run, checkpoints.c.at_task.not_in(newest)))

    async def checkpoints(self, run_id: int) -> list[Checkpoint]:
        """Return the checkpoints of a run, newest first."""
        of_run = select(checkpoints).where(checkpoints.c.run_id == run_id).order_by(checkpoints.c.at_task.desc())
        return [Checkpoint(**row._mapping) for row in await self._query(of_run)]

    # --- models ----------------------------------------------------------------------------------------------

    async def add_model(
        self, scheduler_name: str, path: str, sha256: str, training: Mapping[str, Any], run_id: int | None = None
    ) -> int:
        """Add a trained model; return its id."""
        fields: Fields = {"scheduler_name": scheduler_name, "path": path, "sha256": sha256, "training": training}
        return await self._insert(models, {**fields, "run_id": run_id}, "created_at")

    async def models(self, limit: int = 100) -> list[Fields]:
        """Return trained models, newest first."""
        return await self._fields(select(models).order_by(models.c.id.desc()).limit(limit))

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        with translate_errors(self.where):
            async with open_connection(self.engine) as connection, connection.begin():
                yield connection

    async def _insert(self, table: Table, fields: Mapping[str, Any], *moments: str) -> int:
        """Insert a row whose columns `moments` are now; return its id."""
        async with self._transaction() as connection:
            values = {**fields, **dict.fromkeys(moments, await _now(connection))}
            added = await connection.execute(insert(table).values(values).returning(table.c.id))
            return int(added.scalar_one())

    async def _update_run(self, run_id: int, fields: Mapping[str, Any], *moments: str) -> None:
        async with self._transaction() as connection:
            values = {**fields, **dict.fromkeys(moments, await _now(connection))}
            done = await connection.execute(update(runs).where(runs.c.id == run_id).values(values))
            if not done.rowcount:
                raise _no_run(run_id)

    async def _query(self, query: Executable) -> Sequence[Row[Any]]:
        with translate_errors(self.where):
            async with open_connection(self.engine) as connection:
                return (await connection.execute(query)).all()

    async def _fields(self, query: Executable) -> list[Fields]:
        return [dict(row._mapping) for row in await self._query(query)]

    async def _first_value(self, query: Select[Any]) -> int | None:
        rows = await self._query(query.limit(1))
        return int(rows[0][0]) if rows else None


async def _now(connection: AsyncConnection) -> datetime:
    """Return the database's time: servers on several machines need one clock, a file has one machine."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    moment: datetime = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
    return moment


def _is_valid(moment: datetime) -> ColumnElement[bool]:
    """Whether a claim has not ended; one that would last longer than any was made before the clock was set back."""
    return and_(claims.c.expires_at > moment, claims.c.expires_at <= moment + timedelta(seconds=MAX_CLAIM))


def _no_run(run_id: int) -> InputError:
    return InputError(f"run {run_id} is not in this database: the list of runs shows what is there")


def _task_ids(run_id: int, newest_first: bool = False) -> Select[Any]:
    task_id = tasks.c.task_id
    return select(task_id).where(tasks.c.run_id == run_id).order_by(task_id.desc() if newest_first else task_id)


def _results_with_tasks(run_id: int) -> Select[Any]:
    same_task = and_(tasks.c.run_id == scheduler_results.c.run_id, tasks.c.task_id == scheduler_results.c.task_id)
    joined = select(*_RESULT_COLUMNS, *_TASK_COLUMNS).join_from(scheduler_results, tasks, same_task)
    return joined.where(scheduler_results.c.run_id == run_id)
