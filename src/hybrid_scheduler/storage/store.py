"""A claim says who runs the simulation of a database; it ends by itself unless it is renewed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Executable, Row, Update, delete, exists, insert, or_, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.storage import batch_means, database, statements
from hybrid_scheduler.storage.batch_means import BatchMeans, Cut
from hybrid_scheduler.storage.database import (
    ClaimedError,
    DuplicateError,
    connect,
    prepare,
    read_url,
    shown,
    troubles,
)
from hybrid_scheduler.storage.rows import Batch
from hybrid_scheduler.storage.tables import (
    STATUSES,
    claims,
    models,
    runs,
    scheduler_results,
    settings_changes,
    tasks,
    training_data,
)

_NAME = "simulation"


async def now(connection: AsyncConnection) -> datetime:
    """Return the database's time: servers on several machines need one clock, a file has one machine."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    moment: datetime = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
    return moment


async def claim(connection: AsyncConnection, owner: str, ttl: float) -> None:
    """Take or renew the claim, in one statement, so that of two servers one wins."""
    moment = await now(connection)
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    wanted = dialect.insert(claims).values(name=_NAME, owner=owner, expires_at=moment + timedelta(seconds=ttl))
    taken = await connection.execute(
        wanted.on_conflict_do_update(
            index_elements=[claims.c.name],
            set_={"owner": wanted.excluded.owner, "expires_at": wanted.excluded.expires_at},
            where=or_(claims.c.owner == owner, claims.c.expires_at <= moment),
        )
    )
    if not taken.rowcount:
        other = (await connection.execute(select(claims).where(claims.c.name == _NAME))).one()
        raise ClaimedError(other.owner, (other.expires_at - moment).total_seconds())
    await connection.execute(update(runs).where(_running(), runs.c.owner == owner).values(heartbeat_at=moment))


async def release(connection: AsyncConnection, owner: str) -> None:
    """Give the claim up; nothing happens if it is another's by now."""
    await connection.execute(claims.delete().where(claims.c.name == _NAME, claims.c.owner == owner))


async def mark_interrupted(connection: AsyncConnection) -> list[int]:
    """Mark live runs whose owner holds no claim any more; return their ids."""
    moment = await now(connection)
    alive = exists().where(claims.c.name == _NAME, claims.c.owner == runs.c.owner, claims.c.expires_at > moment)
    marked = await connection.execute(
        update(runs)
        .where(_running(), runs.c.kind == "live", ~alive)
        .values(status="interrupted", ended_at=runs.c.heartbeat_at)
        .returning(runs.c.id)
    )
    return sorted(marked.scalars())


def _running() -> ColumnElement[bool]:
    return runs.c.status == "running"


Fields: TypeAlias = "dict[str, Any]"
COMPARISON = "comparison"
"""The kind of runs that are comparisons over seeds; the others are "live"."""


@dataclass(frozen=True)
class Run:
    """One simulation: what was asked for, who ran it, how it ended."""

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


class Store:
    """A database and what can be asked of it. Everything it raises is a `SchedulerError` of one line."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.where = shown(engine.url)

    @classmethod
    async def open(cls, url: str, patience: float = 5.0) -> Store:
        """Open a database and bring its tables up to date; `patience` is how many seconds a lock is waited for."""
        store = cls(connect(read_url(url), patience))
        try:
            with troubles(store.where):
                await asyncio.to_thread(prepare, store.engine.url, patience)
                await database.upgrade(store.engine)
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()

    async def ping(self) -> float:
        """Return how many seconds the database takes to answer."""
        begin = time.perf_counter()
        await self._rows(text("SELECT 1"))
        return time.perf_counter() - begin

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
        """Add a run that is running from now on; return its id."""
        async with self._transaction() as connection:
            moment = await now(connection)
            fields = {"kind": kind, "status": "running", "seed": seed, "version": __version__, "owner": owner}
            fields |= {"started_at": moment, "heartbeat_at": moment, "cluster": cluster, "settings": settings}
            fields |= {"title": title, "progress": progress}
            added = await connection.execute(insert(runs).values(fields).returning(runs.c.id))
            return int(added.scalar_one())

    async def end_run(
        self,
        run_id: int,
        status: str = "finished",
        summary: Mapping[str, Any] | None = None,
        progress: Mapping[str, Any] | None = None,
    ) -> None:
        """Note how a run ended; progress that is not given stays as it was."""
        if status not in STATUSES:
            raise unknown_name("status", status, STATUSES)
        async with self._transaction() as connection:
            moment = await now(connection)
            fields: Fields = {"status": status, "summary": summary, "ended_at": moment, "heartbeat_at": moment}
            if progress is not None:
                fields["progress"] = progress
            await self._change(connection, run_id, update(runs).values(fields))

    async def note_progress(self, run_id: int, progress: Mapping[str, Any]) -> None:
        """Note how far a run is, and that whoever runs it lives."""
        async with self._transaction() as connection:
            fields: Fields = {"progress": progress, "heartbeat_at": await now(connection)}
            await self._change(connection, run_id, update(runs).values(fields))

    async def rename_run(self, run_id: int, title: str | None) -> None:
        """Give a run a name, or take it away."""
        async with self._transaction() as connection:
            await self._change(connection, run_id, update(runs).values(title=title))

    async def delete_run(self, run_id: int) -> None:
        """Delete a run with all that hangs on it, its tasks first; what is broken off can be done again."""
        await self.prune(run_id, 0)
        async with self._transaction() as connection:
            await connection.execute(update(models).where(models.c.run_id == run_id).values(run_id=None))
            for table in (training_data, settings_changes):
                await connection.execute(delete(table).where(table.c.run_id == run_id))
            if not (await connection.execute(delete(runs).where(runs.c.id == run_id))).rowcount:
                raise _no_run(run_id)

    async def resume_run(self, run_id: int, owner: str | None = None) -> None:
        """Let a run go on that was interrupted."""
        async with self._transaction() as connection:
            fields: Fields = {"status": "running", "owner": owner, "ended_at": None, "summary": None}
            fields["heartbeat_at"] = await now(connection)
            await self._change(connection, run_id, update(runs).values(fields))

    async def _change(self, connection: AsyncConnection, run_id: int, change: Update) -> None:
        done = await connection.execute(change.where(runs.c.id == run_id))
        if not done.rowcount:
            raise _no_run(run_id)

    async def run(self, run_id: int) -> Run:
        """Return one run."""
        found = await self._rows(statements.one_run(run_id))
        if not found:
            raise _no_run(run_id)
        return Run(**found[0]._mapping)

    async def runs(self, after: int | None = None, limit: int = 50, kind: str | None = None) -> list[Run]:
        """Return runs, newest first; `after` is the id of the last one of the page before."""
        return [Run(**row._mapping) for row in await self._rows(statements.runs_page(after, limit, kind))]

    async def unfinished(self, kind: str) -> list[Run]:
        """Return runs of a kind that have not ended, oldest first."""
        return [Run(**row._mapping) for row in await self._rows(statements.unfinished(kind))]

    async def batch_means(self, run_id: int, schedulers: int) -> tuple[Cut, list[BatchMeans]] | None:
        """Return how a run of so many schedulers was cut, and what each did in each batch; None without tasks."""
        first, last = await self._rows(statements.first_task(run_id)), await self.last_task(run_id)
        if not first or last is None:
            return None
        cut = Cut.of(int(first[0][0]), last, schedulers)
        return cut, [BatchMeans(**row._mapping) for row in await self._rows(batch_means.question(run_id, cut))]

    # --- who runs the simulation -----------------------------------------------------------------------------

    async def claim(self, owner: str, ttl: float) -> None:
        """Claim the simulation of this database for `ttl` seconds; `ClaimedError` if another server has it."""
        async with self._transaction() as connection:
            await claim(connection, owner, ttl)

    async def heartbeat(self, owner: str, ttl: float) -> None:
        """Renew a claim; `ClaimedError` if it ran out and another server took it."""
        await self.claim(owner, ttl)

    async def release(self, owner: str) -> None:
        """Give a claim up, one's own or that of an owner known to be dead."""
        async with self._transaction() as connection:
            await release(connection, owner)

    async def mark_interrupted(self) -> list[int]:
        """Mark runs that a dead owner left running; return their ids."""
        async with self._transaction() as connection:
            return await mark_interrupted(connection)

    # --- rows ------------------------------------------------------------------------------------------------

    async def write(self, batch: Batch) -> None:
        """Store a batch, wholly or not at all; what is stored already, by key of the batch or row, is left alone."""
        try:
            await self._write(batch)
        except DuplicateError:
            await self._write(batch, there_already=True)

    async def _write(self, batch: Batch, there_already: bool = False) -> None:
        async with self._transaction() as connection:
            if await statements.mark(connection, batch):
                await statements.insert(connection, batch, there_already)

    async def tasks_page(self, run_id: int, after: int | None = None, limit: int = 100) -> list[Fields]:
        """Return tasks in order of their ids; `after` is the last id of the page before."""
        return _fields(await self._rows(statements.tasks_page(run_id, after, limit)))

    async def last_task(self, run_id: int) -> int | None:
        """Return the id of the newest task that is stored, None if there is none."""
        found = await self._rows(statements.last_task(run_id))
        return int(found[0][0]) if found else None

    async def last_tasks(self, run_ids: Sequence[int]) -> dict[int, int]:
        """Return the newest stored task of each of these runs that has any."""
        rows = await self._rows(statements.last_tasks(run_ids))
        return {row.id: row.last for row in rows if row.last is not None}

    async def results_of(self, run_id: int, task_id: int) -> list[Fields]:
        """Return what every scheduler made of a task."""
        return _fields(await self._rows(statements.results_of(run_id, task_id)))

    async def history(self, run_id: int, limit: int = 1000) -> list[Fields]:
        """Return the latest results with the columns of their tasks, newest task first."""
        return _fields(await self._rows(statements.history(run_id, limit)))

    async def training(self, limit: int = 1000) -> list[Fields]:
        """Return the newest examples of all runs, newest first."""
        return _fields(await self._rows(statements.training(limit)))

    async def settings_changes(self, run_id: int) -> list[Fields]:
        """Return the settings changes of a run, oldest first."""
        return _fields(await self._rows(statements.changes_of(run_id)))

    async def export(self, run_id: int, block: int = 2000) -> AsyncIterator[Sequence[Row[Any]]]:
        """Return all results of a run in blocks of rows with the columns `statements.EXPORTED`, in order of key.

        Every block is a question of its own, so a slow reader holds up nobody.
        """
        after: Row[Any] | None = None
        while rows := await self._rows(statements.export(run_id, after, block)):
            yield rows
            after = rows[-1]

    async def prune(self, run_id: int, keep_tasks: int, chunk: int = 5000) -> int:
        """Delete all but the newest tasks of a run with all that hangs on them; return how many were deleted."""
        oldest, newest = statements.first_task(run_id), statements.last_task(run_id, keep_tasks)
        if not (edge := await self._rows(newest)):
            return 0
        deleted = 0
        while (first := await self._rows(oldest)) and first[0][0] <= edge[0][0]:
            deleted += await self._delete_tasks(run_id, min(first[0][0] + chunk - 1, edge[0][0]))
        return deleted

    async def _delete_tasks(self, run_id: int, last: int) -> int:
        async with self._transaction() as connection:
            for table in (scheduler_results, training_data, tasks):
                done = await connection.execute(
                    delete(table).where(table.c.run_id == run_id, table.c.task_id <= last)
                )
            return done.rowcount

    # --- models ----------------------------------------------------------------------------------------------

    async def add_model(
        self, scheduler_name: str, path: str, sha256: str, training: Mapping[str, Any], run_id: int | None = None
    ) -> int:
        """Note a trained model; return its id."""
        async with self._transaction() as connection:
            fields: Fields = {"scheduler_name": scheduler_name, "path": path, "sha256": sha256, "training": training}
            fields |= {"run_id": run_id, "created_at": await now(connection)}
            added = await connection.execute(insert(models).values(fields).returning(models.c.id))
            return int(added.scalar_one())

    async def models(self, limit: int = 100) -> list[Fields]:
        """Return trained models, newest first."""
        return _fields(await self._rows(statements.latest_models(limit)))

    # -----------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        with troubles(self.where):
            async with self.engine.begin() as connection:
                yield connection

    async def _rows(self, question: Executable) -> Sequence[Row[Any]]:
        with troubles(self.where):
            async with self.engine.connect() as connection:
                return (await connection.execute(question)).all()


def _fields(rows: Sequence[Row[Any]]) -> list[Fields]:
    return [dict(row._mapping) for row in rows]


def _no_run(run_id: int) -> InputError:
    return InputError(f"run {run_id} is not in this database: the list of runs shows what is there")
