"""Orders of the queue of a shared cluster: the job with the smallest key is served first.

An order sees what is known of a job before it runs: when it came, how long its user says that it will run, how wide
it is, whose it is. `wfp3` and `unicep` are from Tang, Lan, Desai and Buettner 2009 ("Fault-aware, utility-based job
scheduling on Blue Gene/P systems"), `f1` from Carastan-Santos and de Camargo 2017 ("Obtaining dynamic scheduling
policies with simulation and machine learning"), `edf` from Liu and Layland 1973, `fair_share` from Kay and Lauder
1988 ("A fair share scheduler").
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from hybrid_scheduler.core import elementary
from hybrid_scheduler.core.job_loop import Keys
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.packing import FitRule
from hybrid_scheduler.core.preemption import THRESHOLDS, schedule_by_service
from hybrid_scheduler.core.schedule import Schedule, schedule_jobs
from hybrid_scheduler.core.spot import Departures
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError

NONE: Floats = np.empty(0)
SMALL = 1e-15
"""Keeps the logarithm of a width of 1 from dividing by 0."""


class JobOrder:
    """Base of all orders: override `keys`."""

    name: str = ""

    def __init__(
        self,
        checkpoint: Annotated[float, "seconds to save and restart a job when its node leaves; inf: none"] = np.inf,
    ) -> None:
        if not checkpoint >= 0:
            raise InputError(f"{self.name}: a checkpoint takes {checkpoint:g} s, expected 0 or more, or inf for none")
        self.checkpoint = float(checkpoint)

    preempts: ClassVar[bool] = False
    """Whether what runs may be interrupted: `take_turns` then serves jobs in place of a queue."""
    keeps_head: bool = True
    """Whether a head that waits for room keeps its place; else the order is asked anew at every event."""
    learns: ClassVar[bool] = False
    """Whether it has a method `learn(past, machines, backfill)`."""

    def keys(self, jobs: Jobs) -> Keys:
        """Return what the queue is sorted by; equal keys are served in order of arrival."""
        return Keys(np.zeros(len(jobs)), NONE, NONE, 1)

    def run(
        self,
        jobs: Jobs,
        machines: Machines,
        backfill: str = "none",
        fit: FitRule | None = None,
        *,
        keep_head: bool = True,
        departures: Departures | None = None,
        interpreted: bool = False,
    ) -> Schedule:
        """Run jobs on machines in this order; where jobs are interrupted there is no queue that could be passed."""
        if self.preempts:
            return self.take_turns(jobs, machines, fit, departures=departures, interpreted=interpreted)
        return schedule_jobs(
            jobs, machines, self, self.decide_backfilling(backfill), fit, keep_head=keep_head and self.keeps_head,
            departures=departures, interpreted=interpreted,
        )  # fmt: skip

    def decide_backfilling(self, allowed: str) -> str:
        """Return who may really pass the head, of those that are allowed to."""
        return allowed

    def take_turns(self, jobs: Jobs, machines: Machines, fit: FitRule | None, **options: Any) -> Schedule:
        """Run jobs that may be interrupted: overridden by orders that preempt."""
        raise NotImplementedError


class FirstCome(JobOrder):
    """First come, first served."""

    name = "fcfs"


class ShortestJob(JobOrder):
    """Shortest job first, by the requested time."""

    name = "sjf"

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by requested seconds."""
        return Keys(jobs.requested, NONE, NONE, 1)


class SmallestArea(JobOrder):
    """Smallest requested · width first."""

    name = "saf"

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by requested seconds · width."""
        return Keys(jobs.requested * jobs.width, NONE, NONE, 1)


class SmallestLogArea(JobOrder):
    """Smallest log10(requested) · width first: F1 without the age."""

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by log10(requested seconds) · width."""
        return Keys(elementary.log10(np.maximum(jobs.requested, 1.0)) * jobs.width, NONE, NONE, 1)


class SmallestRootArea(JobOrder):
    """Smallest √requested · width first: between the smallest area and the narrowest job."""

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by √(requested seconds) · width."""
        return Keys(np.sqrt(jobs.requested) * jobs.width, NONE, NONE, 1)


class LeastAttained(JobOrder):
    """Who has had the least width · seconds first, interrupting others (Gu et al. 2019, Tiresias)."""

    name = "las"
    preempts = True

    def __init__(
        self,
        first: Annotated[float, "width · seconds after which a job sinks to the second queue"] = THRESHOLDS[0],
        second: Annotated[float, "… and to the third"] = THRESHOLDS[1],
        cost: Annotated[float, "seconds that an interruption takes: checkpoint and restart"] = 30.0,
    ) -> None:
        super().__init__(float(cost))
        self.thresholds = (float(first), float(second))

    def take_turns(self, jobs: Jobs, machines: Machines, fit: FitRule | None, **options: Any) -> Schedule:
        """Run jobs by least attained service."""
        return schedule_by_service(jobs, machines, fit, thresholds=self.thresholds, cost=self.checkpoint, **options)


class F1(JobOrder):
    """Smallest log10(requested) · width + 870 · log10(arrival), which regression found on simulated queues."""

    name = "f1"

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by the formula; an arrival in the first second counts as 1 s."""
        age = 870.0 * elementary.log10(np.maximum(jobs.arrival, 1.0))
        return Keys(elementary.log10(jobs.requested) * jobs.width + age, NONE, NONE, 1)


class Wfp3(JobOrder):
    """Largest (waiting / requested)³ · width: what waits long for its length, and is wide."""

    name = "wfp3"

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by −width / requested³ · waiting³."""
        return Keys(np.zeros(len(jobs)), -jobs.width / jobs.requested**3, NONE, 3)


class Unicep(JobOrder):
    """Largest waiting / (log2(width) · requested): what waits long, is short and narrow."""

    name = "unicep"

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by −waiting / (log2(width) · requested)."""
        spread = np.maximum(elementary.log2(np.maximum(jobs.width, 1.0)), SMALL)
        return Keys(np.zeros(len(jobs)), -1.0 / (spread * jobs.requested), NONE, 1)


class EarliestDeadline(JobOrder):
    """Earliest deadline first; jobs without one come last."""

    name = "edf"

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by deadline."""
        return Keys(jobs.deadline, NONE, NONE, 1)


class FairShare(JobOrder):
    """Whose user was charged least, over the weight of the job: width · requested seconds, refunded at the end."""

    name = "fair_share"

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by what the user was charged, over the weight."""
        return Keys(np.zeros(len(jobs)), np.zeros(len(jobs)), 1.0 / jobs.weight, 1)
