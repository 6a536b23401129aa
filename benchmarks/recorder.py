"""The recorder, from columns to committed rows, against the bare drivers handed finished tuples."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.rows import BenchmarkError, Row, require, side_by_side
from hybrid_scheduler.storage.recorder import Recorder, RecorderOptions
from hybrid_scheduler.storage.rows import INSERT_COLUMNS, Batch, Record, ResultRows, TaskRows
from hybrid_scheduler.storage.store import Store

SCHEDULERS = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")
TASKS, BATCHES, REPEATS = 1000, 10, 5  # 6000 results a batch, and the tasks they belong to
ROWS = BATCHES * TASKS * (1 + len(SCHEDULERS))
TARGET = 0.6
Tuples: TypeAlias = "list[list[tuple[str, list[Record]]]]"  # by batch and table
Raw: TypeAlias = "Callable[[str, asyncio.Runner], AbstractContextManager[Callable[[Tuples], None]]]"


def recorder_vs_raw() -> list[Row]:
    """Measure rows per second into the same tables, on SQLite and on PostgreSQL."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    try:
        from services import MissingServerError, Postgres
    except ModuleNotFoundError as error:
        raise BenchmarkError("starts PostgreSQL with tests/services.py: run it in a checkout") from error
    try:
        server = Postgres()
    except MissingServerError as error:
        raise BenchmarkError(str(error)) from error
    with tempfile.TemporaryDirectory() as folder, server:
        return [
            _compare("recorder_vs_sqlite3", f"sqlite:///{folder}/bench.db", _sqlite),
            _compare("recorder_vs_copy", server.url(), _postgres),
        ]


def _compare(name: str, url: str, raw: Raw) -> Row:
    columns = [_columns(np.arange(n * TASKS, (n + 1) * TASKS)) for n in range(BATCHES)]
    with asyncio.Runner() as runner:
        store = runner.run(Store.open(url))

        def batches() -> list[Batch]:
            """Return the rows again for a run of their own."""
            run_id = runner.run(store.begin_run("benchmark", 1, {}, {}))
            return [Batch(run_id, (tasks,), results) for tasks, results in columns]

        fresh = iter([batches() for _ in range(REPEATS + 1)])
        ready = iter([[_tuples(batch) for batch in batches()] for _ in range(REPEATS + 1)])
        with raw(url, runner) as write:
            ours, theirs = side_by_side(
                REPEATS, lambda: runner.run(_record(store, next(fresh))), lambda: write(next(ready))
            )
        counts = {runner.run(_count(store, run.id)) for run in runner.run(store.runs())}
        require(counts == {BATCHES * TASKS * len(SCHEDULERS)}, f"{name}: the two sides stored other rows: {counts}")
        runner.run(store.close())
    return Row(name, ROWS / ours, ROWS / theirs, "rows/s", target=TARGET)


async def _record(store: Store, batches: list[Batch]) -> None:
    # As many rows a transaction as the other side, though the recorder would put more together.
    recorder = Recorder(store, RecorderOptions(commit_rows=ROWS // BATCHES))
    recorder.start()
    for batch in batches:
        require(recorder.add(batch), "the buffer of the recorder is too small for this benchmark")
    await recorder.flush()
    await recorder.close()


async def _count(store: Store, run_id: int) -> int:
    return sum([len(block) async for block in store.export(run_id)])


def _columns(task_id: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[TaskRows, tuple[ResultRows, ...]]:
    rng = np.random.default_rng(int(task_id[0]))
    tasks = TaskRows(task_id, *rng.random((4, len(task_id))))
    device, status = rng.integers(0, 5, len(task_id)), np.zeros(len(task_id), np.uint8)
    return tasks, tuple(
        ResultRows(name, task_id, rng.random(len(task_id)), device, status, *rng.random((7, len(task_id))))
        for name in SCHEDULERS
    )


def _tuples(batch: Batch) -> list[tuple[str, list[Record]]]:
    return [(table, list(rows)) for table, rows in batch.records()]


@contextmanager
def _sqlite(url: str, _runner: asyncio.Runner) -> Iterator[Callable[[Tuples], None]]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")

    def write(batches: Tuples) -> None:
        for batch in batches:
            connection.execute("BEGIN")
            for table, rows in batch:
                names, places = ", ".join(INSERT_COLUMNS[table]), ", ".join("?" * len(INSERT_COLUMNS[table]))
                connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)  # noqa: S608  # names of our own tables
            connection.execute("COMMIT")

    yield write
    connection.close()


@contextmanager
def _postgres(url: str, runner: asyncio.Runner) -> Iterator[Callable[[Tuples], None]]:
    import asyncpg

    connection = runner.run(asyncpg.connect(url.replace("+asyncpg", "")))

    async def write(batches: Tuples) -> None:
        for batch in batches:
            async with connection.transaction():
                for table, rows in batch:
                    await connection.copy_records_to_table(table, records=rows, columns=INSERT_COLUMNS[table])

    yield lambda batches: runner.run(write(batches))
    runner.run(connection.close())
