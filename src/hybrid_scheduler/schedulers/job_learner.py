"""`hybrid_ml` for queues: learns from past jobs how long jobs run and which order suits such a queue.

Run times come from a random forest over what is known before a job runs: the requested time, the width, and how long
its user's past jobs ran. Which order to serve the estimates in is tried out: candidates run on the later half of the
past, with a forest that saw only the earlier one, and the smallest mean bounded slowdown wins. Reservations still go
by requested times, because a reservation must not rest on an estimate that is too short. The head of the queue is
chosen anew at every event: a job that waits for room is passed by a better one that comes later.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.core.job_loop import Keys
from hybrid_scheduler.core.job_metrics import bounded_slowdown
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.schedule import schedule_jobs
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.schedulers.job_orders import (
    F1,
    JobOrder,
    ShortestJob,
    SmallestArea,
    SmallestLogArea,
    SmallestRootArea,
)

FEATURES = ("requested", "width", "user's past")
ENOUGH = 256
"""Past jobs below which nothing is learnt: the first candidate serves, by requested times."""
LESSON = 512
CANDIDATES: tuple[JobOrder, ...] = (SmallestLogArea(), SmallestArea(), SmallestRootArea(), F1(), ShortestJob())


class LearntOrder(JobOrder):
    """Orders by learnt run times, in the order that did best on the past."""

    name = "hybrid_ml"
    keeps_head = False
    learns = True

    def __init__(
        self,
        trees: Annotated[int, "trees of the forest"] = 50,
        checkpoint: Annotated[float, "as for every order"] = np.inf,
    ) -> None:
        super().__init__(checkpoint)
        if isinstance(trees, bool) or not isinstance(trees, int) or trees < 1:
            raise InputError(f"hybrid_ml: trees is {trees!r}, expected a whole number above 0")
        self._trees = trees
        self._forest: RandomForestPredictor | None = None
        self._past: dict[int, float] = {}
        self._usual = 0.0
        self.chosen: JobOrder = CANDIDATES[0]

    def learn(self, past: Jobs, machines: Machines, backfill: str) -> None:
        """Learn from jobs that have ended; the same past always teaches the same."""
        if len(past) < ENOUGH:
            return
        half = len(past) // 2
        self._fit(past.select(slice(0, half)))
        losses = [self._try_out(order, past.select(slice(half, None)), machines, backfill) for order in CANDIDATES]
        self.chosen = CANDIDATES[int(np.argmin(losses))]
        self._fit(past)

    def _try_out(self, order: JobOrder, past: Jobs, machines: Machines, backfill: str) -> float:
        """Return the mean bounded slowdown of an order on windows of the past."""
        losses = []
        trial = _Ordered(order, self)
        for first in range(0, max(len(past) - LESSON // 2, 1), LESSON):
            window = past.select(slice(first, first + LESSON))
            losses.append(
                np.nanmean(bounded_slowdown(schedule_jobs(window, machines, trial, backfill, keep_head=False)))
            )
        return float(np.mean(losses))

    def _fit(self, past: Jobs) -> None:
        """Fit the forest, unless users know exactly how long their jobs run."""
        logs = np.log(past.seconds)
        self._usual = float(logs.mean())
        self._past = {int(user): float(logs[past.user == user].mean()) for user in past.users}
        self._forest = None
        if not np.array_equal(past.requested, past.seconds):
            forest = RandomForestPredictor(n_estimators=self._trees, max_depth=10)
            self._forest = forest.fit_all(self._features(past), logs, FEATURES)

    def _features(self, jobs: Jobs) -> Floats:
        past = np.array([self._past.get(int(user), self._usual) for user in jobs.user])
        return np.column_stack([np.log(jobs.requested), jobs.width, past])

    def estimate(self, jobs: Jobs) -> Floats:
        """Return the seconds that jobs are expected to run; never more than requested."""
        if self._forest is None:
            return jobs.requested
        return np.minimum(np.exp(self._forest.predict(self._features(jobs))), jobs.requested)

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by the chosen order, with learnt run times in place of requested ones."""
        return self.chosen.keys(jobs.with_requested(self.estimate(jobs)))


class _Ordered(JobOrder):
    """A candidate with the estimates of a learner."""

    def __init__(self, order: JobOrder, learner: LearntOrder) -> None:
        super().__init__()
        self._order, self._learner = order, learner

    def keys(self, jobs: Jobs) -> Keys:
        return self._order.keys(jobs.with_requested(self._learner.estimate(jobs)))
