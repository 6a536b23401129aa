"""`hybrid_ml` for queues: learns from past jobs how long jobs run and which order suits such a queue.

Run times come from a random forest over what is known before a job runs: the requested time, the width, and how long
its user's past jobs ran. How the queue is served is tried out: candidates run on windows of each half of the past,
with a forest that saw only the other half. The smallest area first, by requested times, serves unless another one has
a smaller slowdown, over the best of each window, by more than the standard error of the difference. While it serves,
it looks back now and then: the candidates run, in its mind, on the jobs that have come so far, with the run times of
those that have ended, and what did better there takes over. A candidate is an order by learnt or by requested times
in which jobs pass a head that waits for room where backfilling is asked for, or never: long jobs that pass it make
those wait that come later. A head is also passed by a better job that comes later, except in SJF and F1 as they are,
which take part too. Reservations always go by requested times, because a reservation must not rest on an estimate
that is too short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.job_loop import Keys, Phases
from hybrid_scheduler.core.job_metrics import bounded_slowdown
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.packing import FitRule
from hybrid_scheduler.core.schedule import BACKFILLING, Schedule, find_rejected, schedule_jobs
from hybrid_scheduler.core.spot import Departures
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
ENOUGH = 256
"""Past jobs below which nothing is learnt: the first candidate serves at first."""
LOOKS, STEP_JOBS = 12, 64
"""How often a run is looked back at, at most, and jobs that come between two looks, at least."""
NOW = 8.0
"""Windows of the past that weigh as much as a whole window of the present."""
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
        self._losses: Floats = np.ones((0, len(CANDIDATES)))
        self._choose(CANDIDATES[0])

    def learn(self, past: Jobs, machines: Machines, backfill: str) -> None:
        """Learn from jobs that have ended; the same past always teaches the same."""
        past = past.select(~find_rejected(past, machines))
        self._losses = np.ones((0, len(CANDIDATES)))
        if len(past) < ENOUGH:
            return
        half = len(past) // 2
        older, newer = past.select(slice(0, half)), past.select(slice(half, None))
        tried = self._list_candidates(np.array_equal(past.requested, past.seconds), backfill)
        losses = [self._try_out(tried, older, newer, machines, backfill)]
        losses.append(self._try_out(tried, newer, older, machines, backfill))
        self._losses = np.vstack(losses)
        self._choose(self._prefer(self._losses, np.ones(len(self._losses))))
        self._fit(past)

    @staticmethod
    def _list_candidates(exact: bool, backfill: str) -> list[int]:
        """Return the numbers of the candidates that differ where estimates are exact, or nobody may pass."""
        return [
            number
            for number, each in enumerate(CANDIDATES)
            if not (exact and each.learnt) and (backfill != "none" or each.backfills)
        ]

    @staticmethod
    def _prefer(losses: Floats, weights: Floats) -> Candidate:
        """Return the candidate that was surely better than the first, by windows and how much each counts."""
        tried = np.flatnonzero(np.isfinite(losses).all(axis=0))
        gain = losses[:, :1] - losses[:, tried]
        mean = np.average(gain, axis=0, weights=weights)
        spread = np.sqrt(np.average((gain - mean) ** 2, axis=0, weights=weights) / len(gain))
        return CANDIDATES[int(tried[np.argmax(mean - spread)])]

    def _choose(self, candidate: Candidate) -> None:
        self.chosen, self.keeps_head = candidate, candidate.keeps_head

    def decide_backfilling(self, allowed: str) -> str:
        """Return what did best on the past: what is allowed, or none."""
        return allowed if self.chosen.backfills else "none"

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
        """Run jobs on machines; look back now and then, and go on as would have been better so far."""
        begin, chosen, now = list[float](), [self.chosen], -np.inf
        estimated = jobs.with_requested(self.estimate(jobs))

        def serve() -> Schedule:
            later = chosen[1:]
            phases = Phases(
                np.array(begin),
                np.array([_keys(each, jobs, estimated).static for each in later]).reshape(len(later), len(jobs)),
                np.array([BACKFILLING[backfill if each.backfills else "none"] for each in later], np.int64),
                np.array([keep_head and each.keeps_head for each in later], np.bool_),
            )
            return schedule_jobs(
                *(jobs, machines, self, self.decide_backfilling(backfill), fit),
                keep_head=keep_head and self.keeps_head,
                departures=departures,
                phases=phases,
                interpreted=interpreted,
            )

        found = serve()
        if backfill == "conservative":  # everybody's place is fixed on arrival
            return found
        exact = np.array_equal(jobs.requested, jobs.seconds)
        tried = self._list_candidates(exact, backfill)
        for count in range(step := max(STEP_JOBS, -(-len(jobs) // LOOKS)), len(jobs), step):
            if jobs.arrival[count] == now:
                continue
            now = float(jobs.arrival[count])
            window = _look_back(jobs, estimated.requested, found, count, now)
            known = window.with_requested(estimated.requested[max(0, count - LESSON) : count])
            present = self._run_all(tried, window, known, machines, backfill)
            weights = np.append(np.ones(len(self._losses)), NOW * len(window) / LESSON)
            best = self._prefer(np.vstack([self._losses, present]), weights)
            if best != chosen[-1]:
                begin.append(now)
                chosen.append(best)
                found = serve()
        return found

    def _try_out(self, tried: Sequence[int], known: Jobs, jobs: Jobs, machines: Machines, backfill: str) -> Floats:
        """Return the slowdown over the best one, by window of jobs and candidate, knowing other jobs."""
        self._fit(known)
        losses = []
        for first in range(0, max(len(jobs) - LESSON // 2, 1), LESSON // 2):
            window = jobs.select(slice(first, first + LESSON))
            estimated = window.with_requested(self.estimate(window))
            losses.append(self._run_all(tried, window, estimated, machines, backfill))
        return np.array(losses)

    @staticmethod
    def _run_all(
        tried: Sequence[int],
        window: Jobs,
        estimated: Jobs,
        machines: Machines,
        backfill: str,
    ) -> Floats:
        """Return the mean bounded slowdown over the best one, by candidate; infinite for those that are not tried."""
        losses = np.full(len(CANDIDATES), np.inf)
        for number in tried:
            each = CANDIDATES[number]
            trial, passes = _Fixed(_keys(each, window, estimated)), backfill if each.backfills else "none"
            found = schedule_jobs(window, machines, trial, passes, keep_head=each.keeps_head)
            losses[number] = np.nanmean(bounded_slowdown(found)) if found.ran.any() else 1.0
        return losses / losses.min()

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
        return _keys(self.chosen, jobs, jobs.with_requested(self.estimate(jobs)) if self.chosen.learnt else jobs)


def _keys(candidate: Candidate, jobs: Jobs, estimated: Jobs) -> Keys:
    return candidate.order.keys(estimated if candidate.learnt else jobs)


def _look_back(jobs: Jobs, estimated: Floats, found: Schedule, count: int, now: float) -> Jobs:
    """Return the latest jobs before `count` as they are known now: who has not ended runs as long as is estimated."""
    rows = slice(max(0, count - LESSON), count)
    started = np.where(found.start[rows] <= now, now - found.start[rows], 0.0)
    ended = found.finish[rows] <= now
    seconds = np.where(ended, jobs.seconds[rows], np.maximum(estimated[rows], started))
    return replace(jobs.select(rows), seconds=seconds)


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
        found = JobOrder.run(self, lesson, machines, backfill)
        return float(np.nanmean(bounded_slowdown(found)))

    def run(self, jobs: Jobs, machines: Machines, *rules: Any, **options: Any) -> Schedule:
        """Run jobs on machines: as `hybrid_ml` where attention does not help."""
        serve = JobOrder.run if self.weights.any() else LearntOrder.run
        return serve(self, jobs, machines, *rules, **options)

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
