"""Shares of time on kinds of devices by linear programming: whoever is worst off is as well off as can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_scheduler.core.jobs import Bools
from hybrid_scheduler.core.rounds import Demand
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import SchedulerError

GENEROSITY = 1e-3
"""How much all throughput together weighs against that of the job that is worst off: what is left over is used."""
INFEASIBLE = 2  # a status of SciPy's
CLOSE = 1e-9


def share_evenly(demand: Demand, need: Floats) -> Floats:
    """Return shares of time with the largest smallest throughput / need.

    A job runs at most all the time, and no more devices are held than there are. Whoever has a deadline gets at least
    the throughput that keeps it, if that can be; if not all can, as few as can be go without, by weight.
    """
    rows, kinds = np.nonzero((demand.speed > 0) & (demand.width[:, None] <= demand.amount))
    share = np.zeros(demand.speed.shape)
    if not len(rows):
        return share
    shares = _Shares(demand, rows, kinds)
    asked = np.where(demand.asked <= shares.fastest * (1 + CLOSE), np.minimum(demand.asked, shares.fastest), 0.0)
    found = shares.even_out(need, asked)
    if found is None:
        found = shares.even_out(need, np.where(shares.find_kept(asked), asked * (1 - CLOSE), 0.0))
    if found is None:
        raise SchedulerError("no shares of time were found that keep the deadlines which can be kept: report this")
    share[rows, kinds] = found.clip(0.0, 1.0)
    return share


@dataclass(frozen=True)
class _Shares:
    """The shares that there are to decide: pairs of a job and a kind of device that it runs on."""

    demand: Demand
    rows: Ints
    kinds: Ints

    @property
    def speed(self) -> Floats:
        """How fast the job of each pair runs there."""
        return self.demand.speed[self.rows, self.kinds]

    @property
    def fastest(self) -> Floats:
        """How fast each job runs if it always has the best devices."""
        most = np.zeros(len(self.demand.speed))
        np.maximum.at(most, self.rows, self.speed)
        return most

    def even_out(self, need: Floats, asked: Floats) -> Floats | None:
        """Return the shares with the largest smallest throughput / need; None if not everybody gets what it asks."""
        count, weight = len(self.demand.speed), self.demand.weight / self.demand.weight.max()
        needed = np.where(self.fastest > 0, need / need.max(), 0.0)  # who fits nowhere waits
        use = GENEROSITY / count * weight[self.rows] * self.speed / self.speed.max()
        rows: list[tuple[Any, Any, Floats]] = [(-self._throughput(), needed[:, None], np.zeros(count))]
        if (some := asked > 0).any():
            rows.append((-self._throughput(some), None, -asked[some]))
        return self._solve(-np.append(use, 1.0), rows)

    def find_kept(self, asked: Floats) -> Bools:
        """Return who gets what it asks where not everybody can: the smallest sum of missing parts, by weight."""
        from scipy.sparse import identity

        some = asked > 0
        number = int(some.sum())
        cost = np.append(np.zeros(len(self.rows)), self.demand.weight[some] / asked[some])
        found = self._solve(cost, [(-self._throughput(some), -identity(number), -asked[some])])
        kept = some.copy()
        if found is None:
            raise SchedulerError("no shares of time were found at all: please report this")
        kept[some] = self._throughput(some) @ found >= asked[some] * (1 - CLOSE)
        return kept

    def _throughput(self, some: Bools | None = None) -> Any:
        """Return the matrix that makes throughputs of shares, of all jobs or of some."""
        from scipy.sparse import csr_array

        pairs = np.arange(len(self.rows))
        every = csr_array((self.speed, (self.rows, pairs)), shape=(len(self.demand.speed), len(pairs)))
        return every if some is None else every[np.flatnonzero(some)]

    def _solve(self, cost: Floats, more: list[tuple[Any, Any, Floats]]) -> Floats | None:
        """Minimise a cost of shares and further figures, within time and devices; None if nothing does."""
        from scipy.optimize import linprog
        from scipy.sparse import block_array, coo_array

        demand, pairs = self.demand, np.arange(len(self.rows))
        shape = (len(demand.speed), len(pairs))
        time = coo_array((np.ones(len(pairs)), (self.rows, pairs)), shape=shape)
        held = coo_array((demand.width[self.rows], (self.kinds, pairs)), shape=(len(demand.amount), len(pairs)))
        found = linprog(
            cost,
            A_ub=block_array([[time, None], [held, None], *([left, right] for left, right, _ in more)], format="csr"),
            b_ub=np.concatenate([np.ones(shape[0]), demand.amount, *(limit for _, _, limit in more)]),
            bounds=(0.0, None),
            method="highs",
        )
        if found.status == INFEASIBLE:
            return None
        if found.status != 0:
            raise SchedulerError(f"no shares of time were found ({found.message}): please report this")
        chosen: Floats = found.x[: len(pairs)]
        return chosen
