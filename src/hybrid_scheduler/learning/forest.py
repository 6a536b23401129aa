"""The forests of `hybrid_ml`: GPU shares and durations from the basic features, refitted on a sliding window.

Tasks are labelled in retrospect with the GPU share that would have been best (`labels.py`). A refit happens when
it is due and worth it, and at once when the predicted shares have drifted from the labels.
"""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core import Cluster, Placements, elementary
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.learning.compiled_forest import CompiledForest
from hybrid_scheduler.learning.durations import DurationModel, DurationObservation, DurationTrainer
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.insight import NAN, Reason, Retrain, mae_and_r2
from hybrid_scheduler.learning.labels import label_isolated, label_queued
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor, create_predictor

DURATION_TREES, DURATION_DEPTH = 20, 12
CHECK_INTERVAL = 5  # tasks between two checks whether the forest still fits
DRIFT_ERROR = 0.3  # mean error of the shares at which the forest is refitted at once
USUAL, MEMORY = 2.0, 0.1  # × the usual error, which is no drift however large, and what a check adds to that
HOPELESS, PATIENCE = 0.15, 10  # usual error of mere noise, for which a refit waits until a tenth of the window is new
MIN_TASKS = 20  # tasks before the first fit
ISOLATED_TOLERANCE = 0.25  # × tolerance: an isolated label is a share, not a side, and small errors already cost time


class ShareObservation(NamedTuple):
    """Tasks that ran: features, seconds by class, and where."""

    rows: Floats
    times: Floats
    cluster: Cluster
    queued: bool

    @classmethod
    def from_placements(cls, placements: Placements) -> ShareObservation:
        """Take the tasks that ran."""
        ran = placements.ran
        rows = task_features(placements.tasks)[ran]
        return cls(rows, placements.times[ran], placements.cluster, placements.queued)


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
    _expected: CompiledForest | None = None  # `seconds` with leaves in seconds, made when first asked for

    def median_seconds(self, rows: Floats) -> Floats:
        """Return seconds by class: the mean of the logarithms that the trees give."""
        assert self.seconds is not None  # noqa: S101  # asked only with a model of durations
        seconds: Floats = elementary.exp(self.seconds.predict(rows)).reshape(len(rows), -1)
        return seconds

    def expected_seconds(self, rows: Floats) -> Floats:
        """Return expected seconds by class: the mean of the seconds; where trees disagree it is above the median."""
        if self._expected is None:
            assert self.seconds is not None  # noqa: S101  # as above
            assert self.seconds.compiled_ is not None  # noqa: S101  # a forest that predicts is compiled
            forest = self.seconds.compiled_
            self._expected = forest._replace(values=elementary.exp(forest.values))
        return self._expected.predict(rows).reshape(len(rows), -1)

    def check(self) -> None:
        """Predict something: models from a file that do not belong together fail here and not in a race."""
        rows = np.zeros((1, len(FEATURES)))
        self.share.predict(rows)
        if self.seconds is not None and self.median_seconds(rows).shape[1] != len(self.classes):
            raise ValueError("durations of other classes than it names")
        if self.durations is not None:
            self.durations.check()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_expected": None}

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
    model_type: str = RandomForestPredictor.kind
    models: ForestModels | None = None
    retrains: int = 0
    _since_fit: int = 0
    _unchecked: int = 0
    _rows: Floats | None = None
    _times: Floats | None = None
    _predicted: Floats = field(default_factory=lambda: np.empty(0))  # shares of the last tasks, …
    _predictor: Predictor | None = None  # … by whom, …
    _unpredicted: int = 0  # … and how many have come since
    _usual_error: float = 0.0  # of the shares, at the last checks

    def __post_init__(self) -> None:
        self.durations = DurationTrainer(max(1, self.interval // 2), self.seed)  # for tasks with custom features

    def train(
        self, observation: ShareObservation | DurationObservation | None
    ) -> ForestModels | DurationModel | None:
        """Add tasks to the window; refit when it is due and worth it, and at once after drift."""
        if observation is None or isinstance(observation, DurationObservation):
            return self.durations.train(observation)
        if not len(observation.rows):
            return None
        rows, times = self._extend_window(observation)
        if self._unchecked < CHECK_INTERVAL:
            return None
        labels = (label_queued if observation.queued else label_isolated)(times, observation.cluster)
        tolerance = self.tolerance * (1.0 if observation.queued else ISOLATED_TOLERANCE)
        new, self._unchecked = self._unchecked, 0
        reason = self._retrain_reason(rows, labels, new, tolerance)
        if reason is None:
            return None
        mae, r2, tested = NAN, NAN, 0
        if self.models is not None:  # tested on the tasks since the last fit, which the models have not seen
            unseen = rows[-self._since_fit :]
            mae, r2 = mae_and_r2(self._predict_last(self.models, unseen), labels[-len(unseen) :])
            tested = len(unseen)
        begin = time.perf_counter()
        models = self.fit(rows, times, labels, observation.cluster)
        seconds = time.perf_counter() - begin
        self.models = replace(models, last_fit=Retrain(0, len(labels), mae, r2, tested, reason, seconds))
        self._since_fit = 0
        return self.models

    def warm_up(self) -> None:
        """Load and compile what the first fit needs; learn nothing."""
        draw, cluster = np.random.default_rng(0).random, Cluster.default(1)
        times = draw((MIN_TASKS, len(cluster.classes)))
        deepcopy(self).fit(draw((MIN_TASKS, len(FEATURES))), times, label_queued(times, cluster), cluster)

    def _extend_window(self, new: ShareObservation) -> tuple[Floats, Floats]:
        rows, times = new.rows, new.times
        if self._rows is not None and self._times is not None and self._times.shape[1] == new.times.shape[1]:
            rows, times = np.concatenate([self._rows, rows]), np.concatenate([self._times, times])
        self._rows, self._times = rows[-self.window :], times[-self.window :]
        self._since_fit += len(new.rows)
        self._unchecked += len(new.rows)
        self._unpredicted += len(new.rows)
        return self._rows, self._times

    def _retrain_reason(self, rows: Floats, labels: Floats, new: int, tolerance: float) -> Reason | None:
        """Return why a refit is due, None if it is not."""
        if self.models is None:
            return "first" if self._since_fit >= min(self.interval, MIN_TASKS) else None
        error, usual = self._share_error(self.models, rows, labels, new), self._usual_error
        self._usual_error += MEMORY * (error - usual)
        if error > max(DRIFT_ERROR, USUAL * usual):
            return "drift"
        if self._since_fit < max(self.interval, self.window // PATIENCE if usual > HOPELESS else 0):
            return None
        is_early = self.retrains * self.interval < self.window // 4  # the first refits gain most
        inaccurate = is_early or self._share_error(self.models, rows, labels, self._since_fit) > tolerance
        return "interval" if inaccurate else None

    def _share_error(self, models: ForestModels, rows: Floats, labels: Floats, last: int) -> float:
        """Return the mean error of the shares on the last tasks."""
        rows = rows[-last:]
        return float(np.abs(self._predict_last(models, rows) - labels[-len(rows) :]).mean())

    def _predict_last(self, models: ForestModels, rows: Floats) -> Floats:
        """Return the predicted shares of the last tasks: a task is predicted once by a model, not at every check."""
        known = len(rows) - self._unpredicted
        if self._predictor is models.share and 0 <= known <= len(self._predicted):
            new = [models.share.predict(rows[known:])] if known < len(rows) else []
            self._predicted = np.concatenate([self._predicted, *new])[-self.window :]
        else:
            self._predicted = models.share.predict(rows)
        self._predictor, self._unpredicted = models.share, 0
        return self._predicted[-len(rows) :]

    def fit(self, rows: Floats, times: Floats, labels: Floats, cluster: Cluster) -> ForestModels:
        """Fit both forests on features, times by class and labels."""
        random_state = (self.seed * 1_000_003 + self.retrains) % 2**32
        share = create_predictor(
            self.model_type, n_estimators=self.n_estimators, max_depth=self.max_depth, random_state=random_state
        )
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
        seconds=seconds.fit_all(rows, elementary.log(finite), FEATURES),
        typical=float(finite.min(axis=1).mean()),
        classes=tuple(each.name for each in cluster.classes),
        shape=cluster.shape,
    )
