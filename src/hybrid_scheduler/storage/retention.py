"""Retention over all runs: which are deleted by age and by bytes, and how the disk gets its space back."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import URL, text

from hybrid_scheduler.storage.database import connect, translate_errors
from hybrid_scheduler.storage.store import Run, Store

LOW_WATER = 0.8  # of the bytes that are kept: deleting down to the limit itself would begin again at once
VACUUM_SECONDS = 3600.0  # that giving space back may take
RUN_ROWS = 100  # tasks that take as many bytes as the summary of a run, about
TABLES = ("scheduler_results", "training_data", "tasks", "checkpoints")  # that hold almost all bytes


@dataclass(frozen=True)
class DiskUse:
    """Bytes of the database, those in it that hold nothing, and those that its disk has left."""

    used: int
    unused: int = 0
    free: int | None = None  # None: unknown, a server has it


@dataclass(frozen=True)
class RetentionPlan:
    """What a retention limit deletes: whole runs, oldest first, and the oldest tasks of a run that goes on."""

    runs: tuple[int, ...] = ()
    trimmed: tuple[int, int] | None = None  # run, and how many of its tasks are kept
    freed: int = 0  # bytes, estimated from the number of tasks

    def __bool__(self) -> bool:
        return bool(self.runs or self.trimmed)

    def describe(self) -> str:
        """Return what is deleted, for people."""
        parts = [f"runs {', '.join(map(str, self.runs))}"] if self.runs else []
        parts += [f"all but the newest {self.trimmed[1]:,} tasks of run {self.trimmed[0]}"] if self.trimmed else []
        return f"{' and '.join(parts) or 'nothing'}, about {self.freed / 1e6:,.1f} MB"


async def measure_disk(store: Store) -> DiskUse:
    """Measure the database and its disk."""
    with translate_errors(store.where):
        if store.engine.dialect.name == "sqlite":
            return await asyncio.to_thread(_measure_file, store.engine.url)
        async with store.engine.connect() as connection:
            size = await connection.execute(text("SELECT pg_database_size(current_database())"))
            return DiskUse(int(size.scalar_one()))


def _measure_file(url: URL) -> DiskUse:
    file = Path(str(url.database).removeprefix("file:"))
    with closing(sqlite3.connect(str(url.database), uri="uri" in url.query)) as connection:
        page, unused = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "freelist_count")
        )
    files = (file, file.with_name(f"{file.name}-wal"))
    used = sum(each.stat().st_size for each in files if each.exists())
    return DiskUse(used, page * unused, shutil.disk_usage(file.parent).free)


async def plan_retention(store: Store, keep_bytes: int | None, keep_days: float | None) -> RetentionPlan:
    """Return what exceeds the limits: runs that ended too long ago, then the oldest until the rest fits.

    The newest run and those that have not ended are kept; of the newest one, tasks go last.
    """
    runs = await _list_runs(store)
    if not runs:
        return RetentionPlan()
    tasks = await store.count_tasks([run.id for run in runs])
    disk = await measure_disk(store)
    each = (disk.used - disk.unused) / (sum(tasks.values()) + RUN_ROWS * len(runs))
    left, chosen = float(disk.used - disk.unused), list[int]()
    oldest = datetime.now(UTC) - timedelta(days=keep_days) if keep_days is not None else None
    excess = keep_bytes is not None and left > keep_bytes
    for run in runs[:-1]:
        is_old = oldest is not None and (run.ended_at or run.started_at) < oldest
        is_too_much = excess and keep_bytes is not None and left > LOW_WATER * keep_bytes
        if run.status != "running" and (is_old or is_too_much):
            chosen.append(run.id)
            left -= each * (tasks.get(run.id, 0) + RUN_ROWS)
    trimmed = None
    newest = runs[-1].id
    if excess and keep_bytes is not None and left > keep_bytes and tasks.get(newest):
        kept = max(0, int(tasks[newest] - (left - LOW_WATER * keep_bytes) / each))
        trimmed, left = (newest, kept), left - each * (tasks[newest] - kept)
    return RetentionPlan(tuple(chosen), trimmed, round(disk.used - disk.unused - left))


async def _list_runs(store: Store) -> Sequence[Run]:
    """Return all runs, oldest first."""
    runs, page = list[Run](), await store.runs(limit=500)
    while page:
        runs += page
        page = await store.runs(after=page[-1].id, limit=500)
    return runs[::-1]


async def apply_retention(store: Store, plan: RetentionPlan) -> None:
    """Delete what a plan names and give the space back."""
    for run_id in plan.runs:
        await store.delete_run(run_id)
    if plan.trimmed:
        await store.prune(*plan.trimmed)
    await give_back_space(store)


async def give_back_space(store: Store) -> None:
    """Return space that holds nothing to the disk.

    A SQLite file is cut at its end, page by page; one of version 1.0 is first written anew, for which the disk needs
    room. PostgreSQL writes its tables anew and locks them meanwhile.
    """
    with translate_errors(store.where):
        if store.engine.dialect.name == "sqlite":
            await asyncio.to_thread(_shrink_file, store.engine.url)
            return
        engine = connect(store.engine.url, VACUUM_SECONDS)
        try:
            async with engine.connect() as connection:
                alone = await connection.execution_options(isolation_level="AUTOCOMMIT")
                for table in TABLES:
                    await alone.execute(text(f"VACUUM FULL {table}"))
        finally:
            await engine.dispose()


def _shrink_file(url: URL) -> None:
    with closing(sqlite3.connect(str(url.database), uri="uri" in url.query, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {int(30e3)}")
        if connection.execute("PRAGMA auto_vacuum").fetchone()[0] == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("VACUUM")
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would take one step of it, which is a page
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
