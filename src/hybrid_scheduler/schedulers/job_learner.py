"""`hybrid_ml` for queues: learns from past jobs how long jobs run and which order suits such a queue.

Run times come from a random forest over what is known before a job runs: the requested time, the width, and how long
its user's past jobs ran. How the queue is served is tried out: candidates run on windows of each half of the past,
with a forest that saw only the other half. The smallest area first, by requested times, serves unless another one has
a smaller mean logarithm of the bounded slowdown by more than its standard error. A candidate is an order by learnt or
by requested times in which jobs pass a head that waits for room where backfilling is asked for, or never: long jobs
that pass it make those wait that come later. A head is also passed by a better job that comes later, except in SJF
and F1 as they are, which take part too. Reservations always go by requested times, because a reservation must not
rest on an estimate that is too short.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np

from hybrid_scheduler.core.job_loop import Keys
from hybrid_scheduler.core.job_metrics import bounded_slowdown
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.schedule import find_rejected, schedule_jobs
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.schedulers.job_orders import (
    F1,
    NONE,
    JobOrder,
    ShortestJob,
    SmallestArea,
    SmallestLogArea,
    SmallestRootArea,
)

FEATURES = ("requested", "width", "user's past")
LESSON = 1024
"""Jobs of a window of the past; the next one begins after half as many."""
ENOUGH = 2 * LESSON
"""Past jobs below which nothing is learnt: the first candidate serves."""
SEEN = ("log seconds", "log width", "log gap")
"""What attention looks at."""
HEAD, LOOK = 4, 16  # figures of a head, and jobs that it looks at
PAIRS, SPREAD, STEP = 6, 0.3, 1.0  # of evolution


class Candidate(NamedTuple):
    """A way to serve a queue."""

    order: JobOrder
    learnt: bool = False  # by learnt run times, else by requested ones
    backfills: bool = True  # where backfilling is allowed; else the head is passed by nobody
    keeps_head: bool = False  # a head that waits for room is not passed by a better one that comes later


ORDERS = (SmallestArea(), SmallestRootArea(), SmallestLogArea(), F1(), ShortestJob())
CANDIDATES = (
    *(Candidate(*each) for each in product(ORDERS, (False, True), (True, False))),
    *(Candidate(order, keeps_head=True) for order in (F1(), ShortestJob())),
)


class LearntOrder(JobOrder):
    """Orders by learnt or requested run times, in the order that did best on the past."""

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
        self._choose(CANDIDATES[0])

    def learn(self, past: Jobs, machines: Machines, backfill: str) -> None:
        """Learn from jobs that have ended; the same past always teaches the same."""
        past = past.select(~find_rejected(past, machines))
        if len(past) < ENOUGH:
            return
        half = len(past) // 2
        older, newer = past.select(slice(0, half)), past.select(slice(half, None))
        exact = np.array_equal(past.requested, past.seconds)
        asked = backfill != "none"
        tried = [each for each in CANDIDATES if not (exact and each.learnt) and (asked or each.backfills)]
        losses = self._try_out(tried, older, newer, machines, backfill)
        losses = np.vstack([losses, self._try_out(tried, newer, older, machines, backfill)])
        gain = losses[:, :1] - losses
        sure = gain.mean(axis=0) - gain.std(axis=0) / np.sqrt(len(gain))
        self._choose(tried[int(np.argmax(sure))])
        self._fit(past)

    def _choose(self, candidate: Candidate) -> None:
        self.chosen, self.keeps_head = candidate, candidate.keeps_head

    def decide_backfilling(self, allowed: str) -> str:
        """Return what did best on the past: what is allowed, or none."""
        return allowed if self.chosen.backfills else "none"

    def _try_out(
        self, tried: Sequence[Candidate], known: Jobs, jobs: Jobs, machines: Machines, backfill: str
    ) -> Floats:
        """Return the logarithm of the mean bounded slowdown by window of jobs and candidate, knowing other jobs."""
        self._fit(known)
        losses = []
        for first in range(0, max(len(jobs) - LESSON // 2, 1), LESSON // 2):
            window = jobs.select(slice(first, first + LESSON))
            estimated = window.with_requested(self.estimate(window))
            for order, learnt, backfills, keeps_head in tried:
                trial, passes = _Fixed(order.keys(estimated if learnt else window)), backfill if backfills else "none"
                found = schedule_jobs(window, machines, trial, passes, keep_head=keeps_head)
                losses.append(np.log(np.nanmean(bounded_slowdown(found))))
        return np.reshape(losses, (-1, len(tried)))

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
        """Sort by the chosen order, with learnt run times in place of requested ones if those did better."""
        return self.chosen.order.keys(jobs.with_requested(self.estimate(jobs)) if self.chosen.learnt else jobs)


class AttentionOrder(LearntOrder):
    """Shifts the learnt order by attention: a job looks at those that came shortly before it.

    The weights are evolved on the past (antithetic evolution strategies, Salimans et al. 2017) and kept only if they
    do better on a part of it that they were not evolved on; else the order is that of `hybrid_ml`.
    """

    name = "attention_agent"

    def __init__(
        self,
        generations: Annotated[int, "steps of evolution for each past; 0: none"] = 12,
        trees: Annotated[int, "trees of the forest"] = 50,
        checkpoint: Annotated[float, "as for every order"] = np.inf,
    ) -> None:
        if isinstance(generations, bool) or not isinstance(generations, int) or generations < 0:
            raise InputError(f"attention_agent: generations is {generations!r}, expected a whole number, 0 or more")
        super().__init__(trees, checkpoint)
        self._generations = generations
        self.weights = np.zeros(3 * len(SEEN) * HEAD + len(SEEN) + HEAD)
        self._scale = np.zeros(len(SEEN)), np.ones(len(SEEN))

    def learn(self, past: Jobs, machines: Machines, backfill: str) -> None:
        """Learn the order, then evolve the weights on the older part of the past and test them on the newest."""
        super().learn(past, machines, backfill)
        self.weights[:] = 0.0
        if len(past) < ENOUGH:
            return
        seen = self._see(past)
        self._scale = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-9)
        train, test = past.select(slice(-2 * LESSON, -LESSON)), past.select(slice(-LESSON, None))
        evolved = self._evolve(train, machines, backfill)
        if self._judge(evolved, test, machines, backfill) < self._judge(0.0 * evolved, test, machines, backfill):
            self.weights[:] = evolved

    def _evolve(self, lesson: Jobs, machines: Machines, backfill: str) -> Floats:
        """Return weights after some steps against the loss, each along random directions weighed by rank."""
        generator, weights = np.random.default_rng(0), np.zeros(len(self.weights))
        weights[: 2 * len(SEEN) * HEAD] = generator.normal(0.0, 0.3, 2 * len(SEEN) * HEAD)
        for _ in range(self._generations):
            noise = generator.normal(0.0, 1.0, (PAIRS, len(weights)))
            noise = np.concatenate([noise, -noise])
            losses = [self._judge(weights + SPREAD * each, lesson, machines, backfill) for each in noise]
            rank = np.argsort(np.argsort(losses)) / (len(losses) - 1) - 0.5
            weights = weights - STEP * (rank @ noise) / len(noise)
        return weights

    def _judge(self, weights: Floats, lesson: Jobs, machines: Machines, backfill: str) -> float:
        """Return the mean bounded slowdown on a lesson with these weights."""
        self.weights[:] = weights
        found = self.run(lesson, machines, backfill)
        return float(np.nanmean(bounded_slowdown(found)))

    def _see(self, jobs: Jobs) -> Floats:
        gap = np.diff(jobs.arrival, prepend=jobs.arrival[:1])
        return np.column_stack([np.log(self.estimate(jobs)), np.log(jobs.width), np.log1p(gap)])

    def keys(self, jobs: Jobs) -> Keys:
        """Sort by the logarithm of the learnt key, shifted by what attention says."""
        learnt = super().keys(jobs)
        if not self.weights.any():
            return learnt
        seen = (self._see(jobs) - self._scale[0]) / self._scale[1]
        return Keys(np.log1p(np.maximum(learnt.static, 0.0)) + self._attend(seen), NONE, NONE, 1)

    def _attend(self, seen: Floats) -> Floats:
        """Return by how much each job's key is shifted; it looks at itself and those that came before it."""
        size = seen.shape[1] * HEAD
        query, key, value = (
            self.weights[part * size : (part + 1) * size].reshape(seen.shape[1], HEAD) for part in range(3)
        )
        back = np.maximum(np.arange(len(seen))[:, None] - np.arange(LOOK), 0)
        scores = np.einsum("nh,nlh->nl", seen @ query, (seen @ key)[back]) / np.sqrt(HEAD)
        attention = np.exp(scores - scores.max(axis=1, keepdims=True))
        attention /= attention.sum(axis=1, keepdims=True)
        context = np.einsum("nl,nlh->nh", attention, (seen @ value)[back])
        return np.asarray(np.column_stack([seen, context]) @ self.weights[3 * size :])


class _Fixed(JobOrder):
    """An order of one window whose keys are known."""

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self._keys = keys

    def keys(self, jobs: Jobs) -> Keys:
        return self._keys
