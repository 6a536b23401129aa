"""Gavel's policies: who gets what share of the time on which GPUs, by linear programming.

After Narayanan et al. 2020 ("Heterogeneity-aware cluster scheduling policies for deep learning workloads"). A job's
weight is its priority, and a deadline asks for the throughput that keeps it, by what users say that is left.
`bounds/time_shares.py` solves it, `core/rounds.py` carries the shares out.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from hybrid_scheduler.bounds.time_shares import share_evenly
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.packing import FitRule
from hybrid_scheduler.core.rounds import ROUND, Demand, schedule_in_rounds
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.job_orders import JobOrder


class InRounds(JobOrder):
    """Base of policies that share out time: override `need`."""

    preempts = True

    def __init__(
        self,
        period: Annotated[float, "seconds of a round"] = ROUND,
        cost: Annotated[float, "seconds that an interruption takes: checkpoint and restart"] = 30.0,
        deadlines: Annotated[bool, "give jobs the throughput that keeps their deadlines, where it can be"] = True,
    ) -> None:
        super().__init__(float(cost))
        if deadlines not in (0, 1):
            raise InputError(f"{self.name}: deadlines is {deadlines!r}, expected 1 or 0")
        self.period, self.deadlines = float(period), bool(deadlines)

    def need(self, demand: Demand) -> Floats:
        """Return what throughputs are divided by before the smallest is made as large as can be."""
        raise NotImplementedError

    def take_turns(self, jobs: Jobs, machines: Machines, fit: FitRule | None, **options: Any) -> Schedule:
        """Run jobs in rounds."""
        return schedule_in_rounds(
            jobs, machines, self._share_out, fit, seconds=self.period, cost=self.checkpoint, **options
        )

    def _share_out(self, demand: Demand) -> Floats:
        if not self.deadlines:
            demand = demand._replace(asked=np.zeros(len(demand.asked)))
        return share_evenly(demand, self.need(demand))


class MaxMinFairness(InRounds):
    """The job that is worst off runs as fast as can be, against an equal share of all GPUs, by width and weight."""

    name = "max_min_fairness"

    def need(self, demand: Demand) -> Floats:
        """Return weight · speed on an equal share of every kind / devices."""
        usable = np.maximum((demand.speed > 0) @ demand.amount, 1.0)
        equal = np.maximum(demand.speed @ demand.amount / usable, 1e-9)
        return demand.weight * equal / demand.width


class MinMakespan(InRounds):
    """The job that would end last ends as soon as can be, by what users say that is left."""

    name = "min_makespan"

    def need(self, demand: Demand) -> Floats:
        """Return the work that is left."""
        return demand.remaining
