"""The recorder, from columns to committed rows, against the bare drivers handed finished tuples."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler.storage.bulk import COLUMNS
from hybrid_scheduler.storage.recorder import Pace, Recorder
from hybrid_scheduler.storage.rows import Batch, Record, ResultRows, TaskRows
from hybrid_scheduler.storage.store import Store

SCHEDULERS = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")
TASKS, BATCHES, REPEATS = 1000, 10, 5  # 6000 results a batch, and the tasks they belong to
ROWS = BATCHES * TASKS * (1 + len(SCHEDULERS))
TARGET = 0.6
Tuples: TypeAlias = "list[list[tuple[str, list[Record]]]]"  # by batch and table
Raw: TypeAlias = "Callable[[Tuples], None]"


def recorder_vs_raw() -> list[Row]:
    """Measure rows per second into the same tables, on SQLite and on PostgreSQL."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from services import Postgres

    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        return [
            _compare("recorder_vs_sqlite3", f"sqlite:///{folder}/bench.db", _sqlite_raw),
            _compare("recorder_vs_copy", server.url(), _postgres_raw),
        ]


class Bench:
    """A database, an event loop that lives as long, and the rows."""

    def __init__(self, url: str, runner: asyncio.Runner) -> None:
        self.url, self.runner = url, runner
        self.store = runner.run(Store.open(url))
        self.results = [_results(np.arange(n * TASKS, (n + 1) * TASKS)) for n in range(BATCHES)]

    def new_run(self) -> int:
        return self.runner.run(self.store.begin_run("benchmark", 1, {}, {}))

    def batches(self, run_id: int) -> list[Batch]:
        return [Batch(run_id, (tasks,), results) for tasks, results in self.results]

    async def record(self, run_id: int) -> None:
        # As many rows a transaction as the other side, though the recorder would put more together.
        recorder = Recorder(self.store, Pace(commit_rows=ROWS // BATCHES))
        recorder.start()
        for batch in self.batches(run_id):
            while not recorder.add(batch):
                await asyncio.sleep(0)
        await recorder.flush()
        await recorder.close()


def _results(task_id: np.ndarray) -> tuple[TaskRows, tuple[ResultRows, ...]]:
    rng = np.random.default_rng(int(task_id[0]))
    tasks = TaskRows(task_id, *rng.random((4, len(task_id))))
    device, status = rng.integers(0, 5, len(task_id)), np.zeros(len(task_id), np.uint8)
    return tasks, tuple(
        ResultRows(name, task_id, rng.random(len(task_id)), device, status, *rng.random((7, len(task_id))))
        for name in SCHEDULERS
    )


def _compare(name: str, url: str, raw: Callable[[Bench], Raw]) -> Row:
    with asyncio.Runner() as runner:
        bench = Bench(url, runner)
        store_raw = raw(bench)
        prepared = iter([_tuples(bench, bench.new_run()) for _ in range(REPEATS + 1)])
        fresh = iter([bench.new_run() for _ in range(REPEATS + 1)])
        ours, theirs = side_by_side(
            REPEATS, lambda: runner.run(bench.record(next(fresh))), lambda: store_raw(next(prepared))
        )
        counts = {len(runner.run(_count(bench.store, run.id))) for run in runner.run(bench.store.runs())}
        require(
            counts == {BATCHES * TASKS * len(SCHEDULERS)}, f"{name}: the two sides stored different rows: {counts}"
        )
        runner.run(bench.store.close())
    return Row(name, ROWS / ours, ROWS / theirs, "rows/s", target=TARGET)


async def _count(store: Store, run_id: int) -> list[object]:
    return [row async for block in store.export(run_id) for row in block]


def _tuples(bench: Bench, run_id: int) -> Tuples:
    return [[(table, list(rows)) for table, rows in batch.records()] for batch in bench.batches(run_id)]


def _sqlite_raw(bench: Bench) -> Raw:
    connection = sqlite3.connect(bench.url.removeprefix("sqlite:///"), isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")

    def store(batches: Tuples) -> None:
        for batch in batches:
            connection.execute("BEGIN")
            for table, rows in batch:
                places = ", ".join("?" * len(COLUMNS[table]))
                connection.executemany(f"INSERT INTO {table} ({', '.join(COLUMNS[table])}) VALUES ({places})", rows)  # noqa: S608
            connection.execute("COMMIT")

    return store


def _postgres_raw(bench: Bench) -> Raw:
    import asyncpg  # type: ignore[import-untyped]

    connection = bench.runner.run(asyncpg.connect(bench.url.replace("+asyncpg", "")))

    async def copy(batches: Tuples) -> None:
        for batch in batches:
            async with connection.transaction():
                for table, rows in batch:
                    await connection.copy_records_to_table(table, records=rows, columns=COLUMNS[table])

    return lambda batches: bench.runner.run(copy(batches))
