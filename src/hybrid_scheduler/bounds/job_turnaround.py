"""A certified lower bound of the mean turnaround on shared clusters: priced work, served on one machine.

With prices as in `area.py` everything that runs at a moment costs at most 1 a second. A machine that does one second
of work a second, and works on every job as fast as the schedule pays for it, ends each job no later than the schedule
does; on it, shortest remaining processing time first has the least mean turnaround (Schrage 1968). That covers jobs
that are interrupted too. The other certificate needs no price: no job takes less than its seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.bounds.area import TOLERANCE, list_prices, price_job, price_jobs, spend
from hybrid_scheduler.bounds.turnaround import serve_shortest_first, verify_shortest_first
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.schedule import find_rejected


@dataclass(frozen=True)
class JobTurnaroundBound:
    """No schedule of the jobs that fit has a smaller mean turnaround; without prices each job runs alone."""

    mean: float
    prices: dict[str, float]


def job_turnaround_bound(jobs: Jobs, machines: Machines) -> JobTurnaroundBound:
    """Return the largest bound: of jobs that never wait, and of priced work served shortest first."""
    kept = jobs.select(~find_rejected(jobs, machines) & np.isfinite(jobs.seconds))
    if not len(kept):
        return JobTurnaroundBound(0.0, {})
    best = JobTurnaroundBound(float(kept.best_seconds(machines).mean()), {})
    for prices in list_prices(kept, machines):
        works = kept.seconds * price_jobs(kept, machines, prices)
        mean = serve_shortest_first(kept.arrival, works) / len(kept)
        if mean > best.mean:
            best = JobTurnaroundBound(float(mean), prices)
    return best


def verify_job_turnaround_bound(bound: JobTurnaroundBound, jobs: Jobs, machines: Machines) -> bool:
    """Whether a certificate proves its bound, checked job by job without what computed it."""
    rows = np.flatnonzero(~find_rejected(jobs, machines) & np.isfinite(jobs.seconds)).tolist()
    if not rows:
        return bound.mean <= 0.0
    if any(price < 0 for price in bound.prices.values()) or spend(bound.prices, machines) > 1 + TOLERANCE:
        return False
    seconds = [float(jobs.seconds[row]) * price_job(jobs, machines, row, bound.prices) for row in rows]
    total = verify_shortest_first(jobs.arrival[rows], np.array(seconds)) if bound.prices else sum(seconds)
    return bound.mean <= total / len(rows) * (1 + TOLERANCE)
