"""A million rigid jobs on a shared cluster with EASY backfilling, in processor time of one core."""

from __future__ import annotations

import time

from benchmarks.rows import Row, require
from hybrid_scheduler import registry
from hybrid_scheduler.core.schedule import schedule_jobs
from hybrid_scheduler.workloads.job_presets import draw_jobs

MANY, FEW, LIMIT = 1_000_000, 100_000, 30.0


def million_jobs() -> list[Row]:
    """Measure a million jobs against the limit of 30 s, and against ten times a hundred thousand."""
    run(1000)  # compiles
    few, many = run(FEW), run(MANY)
    return [
        Row("million_jobs", many, LIMIT, "s", target=1.0, at_most=True),
        Row("million_jobs_linear", many / MANY * 1e6, few / FEW * 1e6, "µs/job", target=1.5, at_most=True),
    ]


def run(count: int) -> float:
    """Return the processor seconds of one run."""
    jobs, machines = draw_jobs("cluster_batch", 0, count)
    began = time.process_time()
    schedule = schedule_jobs(jobs, machines, registry.job_orders.create("fcfs"), "easy")
    seconds = time.process_time() - began
    require(bool(schedule.ran.all()), "some jobs did not run")
    return seconds
