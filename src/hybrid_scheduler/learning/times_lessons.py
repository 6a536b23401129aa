"""How hybrid_ml learns times from tasks that say more than the five features: a window of them, and when to fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.learning.known import Known
from hybrid_scheduler.learning.learnt_times import LearntTimes
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.placements import RAN, Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.physics import class_times, rejections

WINDOW = 5000  # last tasks that are learnt from: graphs of a family differ, so several have to fit in
PART = 20  # a fit takes as long as its window: of a long one, so small a part has to be new
FIRST = 20  # tasks before the first fit: a handful teaches chance


class SeenMore(NamedTuple):
    """What became of a block of tasks that say more than the five features."""

    known: Known
    times: Floats
    finish: Floats
    now: float  # tasks that have not ended by then have yet to show how long they take
    cluster: Cluster

    @classmethod
    def of(cls, placements: Placements) -> SeenMore:
        """Take what can be learnt from placements: the tasks that ran, once they have ended."""
        ran, tasks = placements.ran, placements.tasks
        known, times, finish = Known.of(tasks).part(ran), placements.times[ran], placements.finish[ran]
        # A graph is learnt from when all of it is done; a stream goes on, and its last arrival is the present.
        now = np.inf if tasks.has_edges else float(tasks.arrival_time.max(initial=0.0))
        return cls(known, times, finish, now, placements.cluster)

    @classmethod
    def known_of(cls, tasks: Tasks, cluster: Cluster) -> SeenMore:
        """Take what can be learnt from tasks that others have run: those that the cluster could run."""
        times = class_times(tasks, cluster)
        runs = rejections(tasks, times, cluster) == RAN
        return cls(Known.of(tasks).part(runs), times[runs], np.zeros(int(runs.sum())), np.inf, cluster)

    def part(self, rows: npt.NDArray[np.bool_] | slice) -> SeenMore:
        """Return some of the tasks."""
        return self._replace(known=self.known.part(rows), times=self.times[rows], finish=self.finish[rows])

    def after(self, before: SeenMore | None) -> SeenMore:
        """Return these tasks behind earlier ones; alone if those have other columns or classes."""
        if before is None or before.known.names != self.known.names or before.times.shape[1] != self.times.shape[1]:
            return self
        rows = np.concatenate([before.known.rows, self.known.rows])
        times, finish = np.concatenate([before.times, self.times]), np.concatenate([before.finish, self.finish])
        return self._replace(known=Known(self.known.names, rows), times=times, finish=finish)


@dataclass
class TimesLessons:
    """The window and the rule when to fit; the same blocks and seed give the same trees."""

    interval: int
    seed: int
    retrains: int = 0
    _since: int = 0  # the last fit
    _running: SeenMore | None = None
    _seen: SeenMore | None = None

    def taught(self, lessons: Iterable[SeenMore]) -> LearntTimes | None:
        """Add whole lessons to the window and fit once; None if no task of them could run."""
        for seen in lessons:
            if len(seen.times):
                self._seen = seen.after(self._seen).part(slice(-WINDOW, None))
        return None if self._seen is None else self.fit()

    def study(self, seen: SeenMore) -> LearntTimes | None:
        """Add what has ended to the window; fit anew when there is enough that is new."""
        waiting = seen.after(self._running)
        ended = waiting.finish <= seen.now
        self._running = waiting.part(~ended)
        if not ended.any():
            return None
        self._seen = waiting.part(ended).after(self._seen).part(slice(-WINDOW, None))
        self._since += int(ended.sum())
        worth = max(self.interval, len(self._seen.times) // PART) if self.retrains else FIRST
        return self.fit() if self._since >= worth else None

    def fit(self) -> LearntTimes:
        """Fit on the window."""
        assert self._seen is not None  # noqa: S101  # there is a window when it is time to fit
        self.retrains, self._since = self.retrains + 1, 0
        lot = self.seed * 1_000_003 + self.retrains
        return LearntTimes.fitted(self._seen.known, self._seen.times, self._seen.cluster, lot, self.retrains)
