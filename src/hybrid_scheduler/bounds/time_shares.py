"""Shares of time on kinds of devices by linear programming: whoever is worst off is as well off as can be."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.rounds import Demand
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import SchedulerError

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
