"""What a run acknowledged, beside what its database holds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

SUBMITTED = 1.0  # sizes below are those of tasks that the soak has submitted: no preset has any
WAITING = 200  # of the newest tasks may wait with a learner that binds late: their results are stored when they start
_TABLES = ("tasks", "scheduler_results", "training_data", "settings_changes")


@dataclass(frozen=True)
class Stored:
    """The rows of a run in the database."""

    rows: int  # in all tables
    tasks: int
    last_task: int
    settled: int  # tasks that have long started everywhere
    fewest_results: int  # of those, by the scheduler that has the fewest
    submitted: frozenset[float] = frozenset()  # sizes of the tasks that came from outside

    def missing(self, acknowledged: int, tasks: int) -> int:
        """Return how many rows are not there that were acknowledged, or that placed tasks should have."""
        gaps = abs(self.last_task + 1 - self.tasks)
        return max(0, acknowledged - self.rows, tasks - self.tasks, self.settled - self.fewest_results, gaps)


def stored(url: str, run_id: int) -> Stored:
    """Count the rows of a run."""
    return asyncio.run(_count(url.replace("+asyncpg", ""), run_id))


async def _count(url: str, run_id: int) -> Stored:
    import asyncpg

    connection: Any = await asyncpg.connect(url)
    try:
        counts = [
            await connection.fetchval(f"SELECT count(*) FROM {table} WHERE run_id = $1", run_id)  # noqa: S608  # names of our own tables
            for table in _TABLES
        ]
        last = await connection.fetchval("SELECT max(task_id) FROM tasks WHERE run_id = $1", run_id)
        settled = max(0, (-1 if last is None else int(last)) + 1 - WAITING)
        by_scheduler = await connection.fetch(
            "SELECT count(*) AS n FROM scheduler_results WHERE run_id = $1 AND task_id < $2 GROUP BY scheduler_name",
            run_id,
            settled,
        )
        sizes = await connection.fetch("SELECT size FROM tasks WHERE run_id = $1 AND size < $2", run_id, SUBMITTED)
    finally:
        await connection.close()
    fewest = min((int(row["n"]) for row in by_scheduler), default=0)
    submitted = frozenset(float(row["size"]) for row in sizes)
    return Stored(sum(counts), counts[0], -1 if last is None else int(last), settled, fewest, submitted)
