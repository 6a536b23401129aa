"""The forests of `hybrid_ml`: GPU shares and durations from the basic features, refitted on a sliding window.

Tasks are labelled in retrospect with the GPU share that would have been best (`labels.py`). A refit happens when
it is due and worth it, and at once when the predicted shares have drifted from the labels.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.learning.durations import DurationModel, DurationObservation, DurationTrainer
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.insight import NAN, Reason, Retrain, mae_and_r2
from hybrid_scheduler.learning.labels import label_isolated, label_queued
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor

DURATION_TREES, DURATION_DEPTH = 20, 12
CHECK_INTERVAL = 5  # tasks between two checks whether the forest still fits
DRIFT_ERROR = 0.3  # mean error of the shares at which the forest is refitted at once
MIN_TASKS = 20  # tasks before the first fit
ISOLATED_TOLERANCE = 0.25  # × tolerance: an isolated label is a share, not a side, and small errors already cost time


class ShareObservation(NamedTuple):
    """Tasks that ran: features, seconds by class, and where."""

    rows: Floats
    times: Floats
    cluster: Cluster
    queued: bool
    energy_bias: float = 0.0  # 0 … 1: how much energy counts in the labels of queued tasks

    @classmethod
    def from_placements(cls, placements: Placements, energy_bias: float = 0.0) -> ShareObservation:
        """Take the tasks that ran."""
        ran = placements.ran
        rows = task_features(placements.tasks)[ran]
        return cls(rows, placements.times[ran], placements.cluster, placements.queued, energy_bias)


@dataclass
class ForestModels:
    """A model of GPU shares and, if it was trained too, one of the logarithm of seconds by class."""

    share: Predictor
    seconds: RandomForestPredictor | None = None
    typical: float = 1.0  # mean of the tasks' shortest seconds in the window
    classes: tuple[str, ...] = ()
    shape: dict[str, int] = field(default_factory=dict)  # devices by class where it was trained
    retrains: int = 0
    last_fit: Retrain | None = None  # its wall time has no place in a file
    durations: DurationModel | None = None  # in a file: the model for tasks with custom features

    def __setstate__(self, state: dict[str, Any]) -> None:
        for old, new in (("lesson", "last_fit"), ("more", "durations")):  # files of version 1.0
            if old in state:
                state[new] = state.pop(old)
        self.__dict__.update(state)


@dataclass
class ForestTrainer:
    """The window of tasks and the rule when to refit; the same observations and seed give the same forests."""

    interval: int
    window: int
    n_estimators: int
    max_depth: int
    tolerance: float
    seed: int
    models: ForestModels | None = None
    retrains: int = 0
    _since_fit: int = 0
    _unchecked: int = 0
    _rows: Floats | None = None
    _times: Floats | None = None

    def __post_init__(self) -> None:
        self.durations = DurationTrainer(max(1, self.interval // 2), self.seed)  # for tasks with custom features

    def train(self, observation: ShareObservation | DurationObservation) -> ForestModels | DurationModel | None:
        """Add tasks to the window; refit when it is due and worth it, and at once after drift."""
        if isinstance(observation, DurationObservation):
            return self.durations.train(observation)
        if not len(observation.rows):
            return None
        rows, times = self._extend_window(observation)
        if self._unchecked < CHECK_INTERVAL:
            return None
        if observation.queued:
            labels = label_queued(times, observation.cluster, observation.energy_bias)
        else:
            labels = label_isolated(times, observation.cluster)
        tolerance = self.tolerance * (1.0 if observation.queued else ISOLATED_TOLERANCE)
        new, self._unchecked = self._unchecked, 0
        reason = self._retrain_reason(rows, labels, new, tolerance)
        if reason is None:
            return None
        mae, r2, tested = self._test_models(rows, labels)
        begin = time.perf_counter()
        models = self.fit(rows, times, labels, observation.cluster)
        seconds = time.perf_counter() - begin
        self.models = replace(models, last_fit=Retrain(0, len(labels), mae, r2, tested, reason, seconds))
        self._since_fit = 0
        return self.models

    def _extend_window(self, new: ShareObservation) -> tuple[Floats, Floats]:
        rows, times = new.rows, new.times
        if self._rows is not None and self._times is not None and self._times.shape[1] == new.times.shape[1]:
            rows, times = np.concatenate([self._rows, rows]), np.concatenate([self._times, times])
        self._rows, self._times = rows[-self.window :], times[-self.window :]
        self._since_fit += len(new.rows)
        self._unchecked += len(new.rows)
        return self._rows, self._times

    def _retrain_reason(self, rows: Floats, labels: Floats, new: int, tolerance: float) -> Reason | None:
        """Return why a refit is due, None if it is not."""
        if self.models is None:
            return "first" if self._since_fit >= min(self.interval, MIN_TASKS) else None
        if self._share_error(self.models, rows, labels, new) > DRIFT_ERROR:
            return "drift"
        if self._since_fit < self.interval:
            return None
        is_early = self.retrains * self.interval < self.window // 4  # the first refits gain most
        inaccurate = is_early or self._share_error(self.models, rows, labels, self._since_fit) > tolerance
        return "interval" if inaccurate else None

    def _share_error(self, models: ForestModels, rows: Floats, labels: Floats, last: int) -> float:
        """Return the mean error of the shares on the last tasks."""
        rows = rows[-last:]
        return float(np.abs(models.share.predict(rows) - labels[-len(rows) :]).mean())

    def _test_models(self, rows: Floats, labels: Floats) -> tuple[float, float, int]:
        """Return MAE, R² and count of the tasks since the last fit, which the models have not seen."""
        if self.models is None:
            return NAN, NAN, 0
        rows = rows[-self._since_fit :]
        return *mae_and_r2(self.models.share.predict(rows), labels[-len(rows) :]), len(rows)

    def fit(self, rows: Floats, times: Floats, labels: Floats, cluster: Cluster) -> ForestModels:
        """Fit both forests on features, times by class and labels."""
        random_state = (self.seed * 1_000_003 + self.retrains) % 2**32
        share = RandomForestPredictor(self.n_estimators, self.max_depth, random_state=random_state)
        self.retrains += 1
        models = add_duration_forest(share.fit_all(rows, labels, FEATURES), rows, times, cluster, random_state)
        return replace(models, retrains=self.retrains)


def add_duration_forest(
    share: Predictor, rows: Floats, times: Floats, cluster: Cluster, random_state: int
) -> ForestModels:
    """Fit a forest of durations to features and times by class; return it with the model of the shares."""
    seconds = RandomForestPredictor(DURATION_TREES, DURATION_DEPTH, random_state=random_state)
    finite = np.where(np.isfinite(times), times, 10.0 * np.nanmax(np.where(np.isfinite(times), times, np.nan)))
    return ForestModels(
        share=share,
        seconds=seconds.fit_all(rows, np.log(finite), FEATURES),
        typical=float(finite.min(axis=1).mean()),
        classes=tuple(each.name for each in cluster.classes),
        shape=cluster.shape,
    )
