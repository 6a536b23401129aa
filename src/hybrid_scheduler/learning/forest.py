"""A fitted scikit-learn forest as flat arrays, walked by compiled code: the same predictions, far sooner.

Asked for one row, scikit-learn takes milliseconds, most of it on the way to its trees; this takes microseconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.learning.durations import LearntTimes, SeenMore, TimesLessons
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.insight import NAN, Reason, Retrain, errors
from hybrid_scheduler.learning.labels import isolated_labels, queued_labels
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor

TIME_TREES, TIME_DEPTH = 20, 12
CHECK = 5  # tasks between two looks whether the forest still fits the work
DRIFT = 0.3  # mean error of the shares at which waiting for the next retraining would be folly
FIRST = 20  # tasks before the first fit: a handful teaches chance
FINER = 0.25  # an isolated label is a share, not a side: errors that small already cost time


class Seen(NamedTuple):
    """What became of a block of tasks: features, seconds by class, and where that was."""

    rows: Floats
    times: Floats
    cluster: Cluster
    queued: bool
    pull: float = 0.0  # 0 … 1: how much energy counts in the labels of queued tasks

    @classmethod
    def of(cls, placements: Placements, pull: float = 0.0) -> Seen:
        """Take what can be learnt from placements: the tasks that ran."""
        ran = placements.ran
        rows = task_features(placements.tasks)[ran]
        return cls(rows, placements.times[ran], placements.cluster, placements.queued, pull)


@dataclass
class Models:
    """One state of knowledge: a model of the shares and, if it was learnt too, of the logarithm of times by class."""

    share: Predictor
    seconds: RandomForestPredictor | None = None
    typical: float = 1.0  # mean of the tasks' shortest seconds in the window
    classes: tuple[str, ...] = ()
    shape: dict[str, int] = field(default_factory=dict)  # devices by class where it learnt
    retrains: int = 0
    lesson: Retrain | None = None  # how the fit went; its wall time has no place in a file
    more: LearntTimes | None = None  # in a file: what was learnt beside it of tasks that say more


@dataclass
class ForestLessons:
    """The window and the rule when to fit; the same blocks and seed give the same forests."""

    interval: int
    window: int
    n_estimators: int
    max_depth: int
    tolerance: float
    seed: int
    models: Models | None = None
    retrains: int = 0
    more: TimesLessons | None = None  # for tasks that say more than the five features
    _since: int = 0  # the last fit
    _unchecked: int = 0
    _rows: Floats | None = None
    _times: Floats | None = None

    def study(self, seen: Seen | SeenMore) -> Models | LearntTimes | None:
        """Add a block to the window; fit anew when it is time and worth it, and at once when the work has changed."""
        if isinstance(seen, SeenMore):
            return self.more.study(seen) if self.more else None
        if not len(seen.rows):
            return None
        self._remember(seen)
        if self._unchecked < CHECK:
            return None
        labels = self._labels(seen)
        new, self._unchecked = self._unchecked, 0
        reason = self._stale(labels, new, self.tolerance * (1.0 if seen.queued else FINER))
        if reason is None:
            return None
        self.models = self._fitted(labels, seen.cluster, reason)
        self._since = 0
        return self.models

    def _fitted(self, labels: Floats, cluster: Cluster, reason: Reason) -> Models:
        """Fit on the window; note how the forest before did on the tasks since its fit."""
        assert self._rows is not None  # noqa: S101  # remembered before
        assert self._times is not None  # noqa: S101  # as the line above
        mae, r2, tested = self._tested(labels)
        begin = time.perf_counter()
        models = self.fit(self._rows, self._times, labels, cluster)
        seconds = time.perf_counter() - begin
        return replace(models, lesson=Retrain(0, len(labels), mae, r2, tested, reason, seconds))

    def _tested(self, labels: Floats) -> tuple[float, float, int]:
        if self.models is None or self._rows is None:
            return NAN, NAN, 0
        rows = self._rows[-self._since :]
        return *errors(self.models.share.predict(rows), labels[-len(rows) :]), len(rows)

    def _remember(self, seen: Seen) -> None:
        known = self._rows is not None and self._times is not None and self._times.shape[1] == seen.times.shape[1]
        rows = np.concatenate([self._rows, seen.rows]) if known and self._rows is not None else seen.rows
        times = np.concatenate([self._times, seen.times]) if known and self._times is not None else seen.times
        self._rows, self._times = rows[-self.window :], times[-self.window :]
        self._since += len(seen.rows)
        self._unchecked += len(seen.rows)

    def _labels(self, seen: Seen) -> Floats:
        assert self._times is not None  # noqa: S101  # remembered before
        if seen.queued:
            return queued_labels(self._times, seen.cluster, seen.pull)
        return isolated_labels(self._times, seen.cluster)

    def _stale(self, labels: Floats, new: int, tolerance: float) -> Reason | None:
        """Return why it is time to fit, None if it is not."""
        if self.models is None:
            return "first" if self._since >= min(self.interval, FIRST) else None
        if self._error(labels, new) > DRIFT:
            return "drift"
        if self._since < self.interval:
            return None
        first_lessons = self.retrains * self.interval < self.window // 4  # they teach most
        return "interval" if first_lessons or self._error(labels, self._since) > tolerance else None

    def _error(self, labels: Floats, new: int) -> float:
        """Return the mean error of the forest on the last tasks."""
        assert self.models is not None and self._rows is not None  # noqa: S101, PT018  # asked after the first fit
        rows = self._rows[-new:]
        return float(np.abs(self.models.share.predict(rows) - labels[-len(rows) :]).mean())

    def fit(self, rows: Floats, times: Floats, labels: Floats, cluster: Cluster) -> Models:
        """Fit both forests on features, times by class and labels."""
        lot = (self.seed * 1_000_003 + self.retrains) % 2**32
        share = RandomForestPredictor(self.n_estimators, self.max_depth, random_state=lot)
        self.retrains += 1
        models = with_times(share.fit_all(rows, labels, FEATURES), rows, times, cluster, lot)
        return replace(models, retrains=self.retrains)


def with_times(share: Predictor, rows: Floats, times: Floats, cluster: Cluster, lot: int) -> Models:
    """Return a model of the shares with one of the times beside it, fitted to features and times by class."""
    seconds = RandomForestPredictor(TIME_TREES, TIME_DEPTH, random_state=lot)
    finite = np.where(np.isfinite(times), times, 10.0 * np.nanmax(np.where(np.isfinite(times), times, np.nan)))
    return Models(
        share=share,
        seconds=seconds.fit_all(rows, np.log(finite), FEATURES),
        typical=float(finite.min(axis=1).mean()),
        classes=tuple(each.name for each in cluster.classes),
        shape=cluster.shape,
    )
