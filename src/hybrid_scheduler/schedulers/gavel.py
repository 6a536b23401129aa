"""Gavel's policies: who gets what share of the time on which GPUs, by linear programming.

After Narayanan et al. 2020 ("Heterogeneity-aware cluster scheduling policies for deep learning workloads").
`core/rounds.py` carries the shares out.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.packing import FitRule
from hybrid_scheduler.core.rounds import ROUND, Demand, schedule_in_rounds
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.core.spot import Departures
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.schedulers.job_orders import JobOrder

GENEROSITY = 1e-3
"""How much all throughput together weighs against that of the job that is worst off: what is left over is used."""


def share_evenly(demand: Demand, need: Floats) -> Floats:
    """Return shares of time with the largest smallest throughput / need.

    A job runs at most all the time, and no more devices are held than there are.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, coo_array

    rows, kinds = np.nonzero((demand.speed > 0) & (demand.width[:, None] <= demand.amount))
    count, number, share = len(demand.speed), len(rows), np.zeros(demand.speed.shape)
    if not number:
        return share
    speed, pairs = demand.speed[rows, kinds], np.arange(number)
    needed = np.where(np.bincount(rows, minlength=count) > 0, need / need.max(), 0.0)  # who fits nowhere waits
    time = coo_array((np.ones(number), (rows, pairs)), shape=(count, number))
    held = coo_array((demand.width[rows], (kinds, pairs)), shape=(len(demand.amount), number))
    throughput = coo_array((speed, (rows, pairs)), shape=(count, number))
    found = linprog(
        -np.append(GENEROSITY / count * speed / speed.max(), 1.0),
        A_ub=block_array([[time, None], [held, None], [-throughput, needed[:, None]]], format="csr"),
        b_ub=np.concatenate([np.ones(count), demand.amount, np.zeros(count)]),
        bounds=(0.0, None),
        method="highs",
    )
    if found.status != 0:
        raise SchedulerError(f"no shares of time were found ({found.message}): please report this")
    share[rows, kinds] = found.x[:-1].clip(0.0, 1.0)
    return share


class InRounds(JobOrder):
    """Base of policies that share out time: override `need`."""

    preempts = True

    def __init__(
        self,
        period: Annotated[float, "seconds of a round"] = ROUND,
        cost: Annotated[float, "seconds that an interruption takes: checkpoint and restart"] = 30.0,
    ) -> None:
        super().__init__(float(cost))
        self.period = float(period)

    def need(self, demand: Demand) -> Floats:
        """Return what throughputs are divided by before the smallest is made as large as can be."""
        raise NotImplementedError

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
        """Run jobs in rounds; nobody waits in a queue that could be passed."""
        return schedule_in_rounds(
            jobs,
            machines,
            lambda demand: share_evenly(demand, self.need(demand)),
            fit,
            seconds=self.period,
            cost=self.checkpoint,
            departures=departures,
            interpreted=interpreted,
        )


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
