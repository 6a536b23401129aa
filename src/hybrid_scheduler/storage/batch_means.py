"""Batch means of a stored run: how each scheduler did over time, computed by the database in about a second.

The tasks in order are cut into batches of equal size. Of a run with more results than `MAX_RESULTS` one task of
`stride` is sampled, but not every n-th one: a policy that alternates would show one side only. A task that was
restarted counts with its last attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, case, func, select

from hybrid_scheduler.storage.tables import scheduler_results

MAX_RESULTS = 100_000
BATCHES = 20
MIN_BATCH_TASKS = 5
# Multiples of the golden ratio modulo 2^16 do not align with any period of a policy.
GOLDEN, MODULUS = 40_503, 65_536


@dataclass(frozen=True)
class BatchPlan:
    """Which tasks of a run are cut into how many batches; one task of `stride` is sampled."""

    first: int
    last: int
    batches: int
    stride: int

    @classmethod
    def for_tasks(cls, first: int, last: int, schedulers: int) -> BatchPlan:
        """Plan batches of the tasks `first` … `last`, each with a result per scheduler."""
        tasks = last - first + 1
        stride = max(1, -(-tasks * max(1, schedulers) // MAX_RESULTS))
        return cls(first, last, max(1, min(BATCHES, tasks // (MIN_BATCH_TASKS * stride))), stride)


@dataclass(frozen=True)
class BatchMeans:
    """The means of one scheduler in one batch."""

    scheduler: str
    batch: int
    tasks: int
    mean_turnaround: float
    mean_execution: float
    energy_per_task: float
    cost_per_task: float
    p95_turnaround: float


def batch_means_query(run_id: int, plan: BatchPlan) -> Select[Any]:
    """Return the query for the rows of `BatchMeans`, in order of scheduler and batch."""
    rows = _results_query(run_id, plan).subquery()
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


def _results_query(run_id: int, plan: BatchPlan) -> Select[Any]:
    result = scheduler_results.c
    key = (result.task_id, result.scheduler_name)
    restarted = (
        select(*key, func.max(result.attempt).label("last"))
        .where(result.run_id == run_id, result.attempt > 1)
        .group_by(*key)
        .subquery()
    )
    same = and_(restarted.c.task_id == result.task_id, restarted.c.scheduler_name == result.scheduler_name)
    batch = (result.task_id - plan.first) * plan.batches // (plan.last - plan.first + 1)
    rank = func.cume_dist().over(partition_by=(result.scheduler_name, batch), order_by=result.turnaround_time)
    values = (result.turnaround_time, result.actual_time, result.energy_consumption, result.execution_cost)
    return (
        select(result.scheduler_name, batch.label("batch"), *values, rank.label("rank"))
        .join_from(scheduler_results, restarted, same, isouter=True)
        .where(
            result.run_id == run_id,
            result.task_id.between(plan.first, plan.last),
            result.task_id * GOLDEN % MODULUS < MODULUS // plan.stride,
            result.turnaround_time.is_not(None),  # NULL: rejected
            result.attempt == func.coalesce(restarted.c.last, 1),
        )
    )
