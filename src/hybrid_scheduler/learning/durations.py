"""The model of task durations: seconds by device class from custom features and graphs, with their uncertainty.

A forest of extremely randomised trees (Geurts et al. 2006) predicts logarithms of seconds. Every tree is one opinion;
the means of the trees' seconds and of their squares are the expected duration and its second moment. Beside the
forest the model keeps what its training tasks say about the cluster as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds.makespan import find_prices
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.learning.compiled_forest import CompiledForest, compile_forest
from hybrid_scheduler.learning.features import FeatureTable

TREES = 60
UNRUNNABLE = 10.0  # × the longest duration seen stands for a class that cannot run a task
SCALARS = ("names", "classes", "shape", "work", "typical", "retrains")  # fields that a file of arrays holds as JSON
WINDOW = 5000  # last tasks that are trained on: graphs of a family differ, so several have to fit in
MIN_NEW_FRACTION = 20  # a fit costs as much as its window is long: at least 1/20 of it has to be new
MIN_TASKS = 20  # tasks before the first fit


class Moments(NamedTuple):
    """Expected seconds and expected squares of seconds, by (task, class)."""

    mean: Floats
    square: Floats


@dataclass
class DurationModel:
    """A fitted forest with the names of its features, and aggregates over its training tasks."""

    names: tuple[str, ...]
    forest: CompiledForest
    unknown: Floats  # by feature: what stands for NaN, below all training values
    importances: Floats
    classes: tuple[str, ...]
    shape: dict[str, int] = field(default_factory=dict)  # devices by class where it was trained
    share: Floats = field(default_factory=lambda: np.ones(1))  # of tasks that belong on a device of each class
    work: float = 1.0  # seconds that a task takes of the whole cluster at the optimal assignment
    typical: float = 1.0  # mean of the tasks' shortest seconds
    retrains: int = 1

    @classmethod
    def fit(
        cls, features: FeatureTable, times: Floats, cluster: Cluster, seed: int, retrains: int = 1
    ) -> DurationModel:
        """Fit to tasks whose times are known."""
        from sklearn.ensemble import ExtraTreesRegressor

        rows, names = _informative_columns(features)
        unknown = np.nanmin(rows, axis=0) - 1.0
        seconds = np.where(np.isfinite(times), times, UNRUNNABLE * times[np.isfinite(times)].max())
        trees = ExtraTreesRegressor(TREES, random_state=seed % 2**32, n_jobs=1)
        inputs, target = _drop_duplicates(np.where(np.isnan(rows), unknown, rows), np.log(seconds))
        trees.fit(inputs, target.ravel() if target.shape[1] == 1 else target)  # one class: a plain column is wanted
        share, work = _optimal_shares(times, cluster)
        return cls(
            names=names,
            forest=_with_second_moments(compile_forest(trees)),
            unknown=unknown,
            importances=np.asarray(trees.feature_importances_, np.float64),
            classes=tuple(each.name for each in cluster.classes),
            shape=cluster.shape,
            share=share,
            work=work,
            typical=float(seconds.min(axis=1).mean()),
            retrains=retrains,
        )

    def predict(self, features: FeatureTable) -> Moments:
        """Return the expected durations of tasks; tasks without a column of the training are an error."""
        rows = features.select(self.names)
        moments = self.forest.predict(np.where(np.isnan(rows), self.unknown, rows))
        count = len(self.classes)
        return Moments(np.ascontiguousarray(moments[:, :count]), np.ascontiguousarray(moments[:, count:]))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as arrays, for files that hold nothing else."""
        scalars = json.dumps({name: getattr(self, name) for name in SCALARS})
        arrays = {name: getattr(self, name) for name in ("unknown", "importances", "share")}
        return {**self.forest._asdict(), **arrays, "told": np.frombuffer(scalars.encode(), np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> DurationModel:
        """Build the model that `to_arrays` took apart."""
        forest = CompiledForest(*(arrays[name] for name in CompiledForest._fields))
        values: dict[str, Any] = json.loads(arrays["told"].tobytes())
        values |= {name: tuple(values[name]) for name in ("names", "classes")}
        values |= {name: arrays[name] for name in ("unknown", "importances", "share")}
        return cls(forest=forest, **values)

    def feature_importance(self) -> dict[str, float]:
        """Return how much each feature matters, largest first; they add up to 1."""
        pairs = zip(self.names, self.importances.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _informative_columns(features: FeatureTable) -> tuple[Floats, tuple[str, ...]]:
    """Return the columns that vary; the first one stands in if none does."""
    values = np.nan_to_num(features.rows, nan=-1e9)
    varying = np.flatnonzero(values.max(axis=0) > values.min(axis=0))
    varying = varying if len(varying) else np.zeros(1, np.int64)
    return features.rows[:, varying], tuple(features.names[number] for number in varying)


def _drop_duplicates(rows: Floats, logarithms: Floats) -> tuple[Floats, Floats]:
    """Drop repeated samples: trees that split down to single tasks learn nothing more from them."""
    _, first = np.unique(np.hstack([rows, logarithms]), axis=0, return_index=True)
    unique = np.sort(first)
    return rows[unique], logarithms[unique]


def _with_second_moments(forest: CompiledForest) -> CompiledForest:
    """Let leaves answer in seconds and squares of seconds, so that the mean over trees gives both moments."""
    seconds = np.exp(forest.values)
    return forest._replace(values=np.ascontiguousarray(np.hstack([seconds, seconds**2])))


def _optimal_shares(times: Floats, cluster: Cluster) -> tuple[Floats, float]:
    """Return how the linear optimum spreads tasks over devices of each class, and the cluster's seconds per task."""
    counts = cluster.counts
    runs = (counts > 0) & np.isfinite(times)  # a class that cannot run a task is not free where its price is 0
    priced = np.multiply(times, find_prices(times, counts), out=np.full(times.shape, np.inf), where=runs)
    chosen = np.bincount(priced.argmin(axis=1), minlength=len(counts))
    share: Floats = chosen / len(times) / np.maximum(counts, 1)
    return share, float(priced.min(axis=1).mean())


class DurationObservation(NamedTuple):
    """Tasks with custom features and the times they took."""

    features: FeatureTable
    times: Floats
    finish: Floats
    now: float  # the times of tasks that end later are not known yet
    cluster: Cluster

    @classmethod
    def from_placements(cls, placements: Placements) -> DurationObservation:
        """Take the tasks that ran."""
        ran, tasks = placements.ran, placements.tasks
        # A graph is trained on when all of it is done; a stream goes on, and its last arrival is the present.
        now = np.inf if tasks.has_edges else float(tasks.arrival_time.max(initial=0.0))
        features = FeatureTable.from_tasks(tasks).take(ran)
        return cls(features, placements.times[ran], placements.finish[ran], now, placements.cluster)

    @classmethod
    def from_tasks(cls, tasks: Tasks, cluster: Cluster) -> DurationObservation:
        """Take the tasks with measured times that the cluster can run; nothing has to run."""
        times = class_times(tasks, cluster)
        runs = rejections(tasks, times, cluster) == RAN
        features = FeatureTable.from_tasks(tasks).take(runs)
        return cls(features, times[runs], np.zeros(int(runs.sum())), np.inf, cluster)

    def take(self, rows: npt.NDArray[np.bool_] | slice) -> DurationObservation:
        """Return some of the tasks."""
        return self._replace(features=self.features.take(rows), times=self.times[rows], finish=self.finish[rows])

    def append_to(self, before: DurationObservation | None) -> DurationObservation:
        """Return these tasks behind earlier ones; alone if those have other columns or classes."""
        if (
            before is None
            or before.features.names != self.features.names
            or before.times.shape[1] != self.times.shape[1]
        ):
            return self
        rows = np.concatenate([before.features.rows, self.features.rows])
        times, finish = np.concatenate([before.times, self.times]), np.concatenate([before.finish, self.finish])
        return self._replace(features=FeatureTable(self.features.names, rows), times=times, finish=finish)


@dataclass
class DurationTrainer:
    """Refits the duration model on a sliding window; the same observations and seed give the same trees."""

    interval: int
    seed: int
    retrains: int = 0
    _since_fit: int = 0
    _running: DurationObservation | None = None
    _window: DurationObservation | None = None

    def pretrain(self, observations: Iterable[DurationObservation]) -> DurationModel | None:
        """Fit once to whole workloads; None if no task of them can run."""
        for observation in observations:
            if len(observation.times):
                self._window = observation.append_to(self._window).take(slice(-WINDOW, None))
        return None if self._window is None else self.fit()

    def train(self, observation: DurationObservation) -> DurationModel | None:
        """Add the tasks that have ended to the window; refit when enough of it is new."""
        waiting = observation.append_to(self._running)
        ended = waiting.finish <= observation.now
        self._running = waiting.take(~ended)
        if not ended.any():
            return None
        self._window = waiting.take(ended).append_to(self._window).take(slice(-WINDOW, None))
        self._since_fit += int(ended.sum())
        needed = max(self.interval, len(self._window.times) // MIN_NEW_FRACTION) if self.retrains else MIN_TASKS
        return self.fit() if self._since_fit >= needed else None

    def fit(self) -> DurationModel:
        """Fit on the window."""
        assert self._window is not None  # noqa: S101  # filled by both callers
        self.retrains, self._since_fit = self.retrains + 1, 0
        seed = self.seed * 1_000_003 + self.retrains
        return DurationModel.fit(self._window.features, self._window.times, self._window.cluster, seed, self.retrains)
