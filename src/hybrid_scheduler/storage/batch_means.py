"""The question how schedulers did in a long run, batch by batch, answered by the database in about a second.

The tasks in their order are cut into batches of equal size. Of a run with more results than `MOST_RESULTS` one task
of n is looked at, not every n-th: policies that take turns would show one side only. A task that had to start again
counts as it ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, case, func, select

from hybrid_scheduler.storage.tables import scheduler_results

MOST_RESULTS = 100_000
BATCHES = 20
LEAST_TASKS = 5  # in a batch
# Multiples of the golden ratio, cut to 16 bits, keep no step with any turn that policies take.
GOLDEN, WHOLE = 40_503, 65_536


@dataclass(frozen=True)
class Cut:
    """How a run is cut into batches: which tasks, how many batches, and of how many tasks one is looked at."""

    first: int
    last: int
    batches: int
    every: int

    @classmethod
    def of(cls, first: int, last: int, schedulers: int) -> Cut:
        """Cut the tasks `first` … `last`, each with so many results."""
        tasks = last - first + 1
        every = max(1, -(-tasks * max(1, schedulers) // MOST_RESULTS))
        return cls(first, last, max(1, min(BATCHES, tasks // (LEAST_TASKS * every))), every)


@dataclass(frozen=True)
class BatchMeans:
    """What one scheduler did in one batch."""

    scheduler: str
    batch: int
    tasks: int
    mean_turnaround: float
    mean_execution: float
    energy_per_task: float
    cost_per_task: float
    p95_turnaround: float


def question(run_id: int, cut: Cut) -> Select[Any]:
    """Ask for the rows of `BatchMeans`, in order of scheduler and batch."""
    rows = _rows(run_id, cut).subquery()
    mean, late = func.avg, case((rows.c.rank >= 0.95, rows.c.turnaround_time))  # the percentile by nearest rank
    return (
        select(
            rows.c.scheduler_name.label("scheduler"),
            rows.c.batch,
            func.count().label("tasks"),
            mean(rows.c.turnaround_time).label("mean_turnaround"),
            mean(rows.c.actual_time).label("mean_execution"),
            mean(rows.c.energy_consumption).label("energy_per_task"),
            mean(rows.c.execution_cost).label("cost_per_task"),
            func.min(late).label("p95_turnaround"),
        )
        .group_by(rows.c.scheduler_name, rows.c.batch)
        .order_by(rows.c.scheduler_name, rows.c.batch)
    )


def _rows(run_id: int, cut: Cut) -> Select[Any]:
    result = scheduler_results.c
    again = _restarted(run_id).subquery()
    batch = (result.task_id - cut.first) * cut.batches // (cut.last - cut.first + 1)
    rank = func.cume_dist().over(partition_by=(result.scheduler_name, batch), order_by=result.turnaround_time)
    same = and_(again.c.task_id == result.task_id, again.c.scheduler_name == result.scheduler_name)
    values = (result.turnaround_time, result.actual_time, result.energy_consumption, result.execution_cost)
    return (
        select(result.scheduler_name, batch.label("batch"), *values, rank.label("rank"))
        .join_from(scheduler_results, again, same, isouter=True)
        .where(
            result.run_id == run_id,
            result.task_id.between(cut.first, cut.last),
            result.task_id * GOLDEN % WHOLE < WHOLE // cut.every,
            result.turnaround_time.is_not(None),  # empty: it was rejected
            result.attempt == func.coalesce(again.c.last, 1),
        )
    )


def _restarted(run_id: int) -> Select[Any]:
    """Ask for tasks that had to start again, and their last attempt."""
    result = scheduler_results.c
    key = (result.task_id, result.scheduler_name)
    return (
        select(*key, func.max(result.attempt).label("last"))
        .where(result.run_id == run_id, result.attempt > 1)
        .group_by(*key)
    )
