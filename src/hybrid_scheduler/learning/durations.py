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
from hybrid_scheduler.core import elementary
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.learning.compiled_forest import CompiledForest, check_forest, compile_forest
from hybrid_scheduler.learning.features import FeatureTable
from hybrid_scheduler.learning.trees import fit_extra_trees

Bools = npt.NDArray[np.bool_]

TREES = 60
UNRUNNABLE = 10.0  # × the longest duration seen stands for a class that cannot run a task
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
        cls,
        features: FeatureTable,
        times: Floats,
        cluster: Cluster,
        seed: int,
        retrains: int = 1,
        trees: int = TREES,
    ) -> DurationModel:
        """Fit to tasks whose times are known."""
        values = np.nan_to_num(features.rows, nan=-1e9)
        varying = np.flatnonzero(values.max(axis=0) > values.min(axis=0))
        varying = varying if len(varying) else np.zeros(1, np.int64)  # the first column stands in if none varies
        rows, names = features.rows[:, varying], tuple(features.names[number] for number in varying)
        unknown = np.nanmin(rows, axis=0) - 1.0
        seconds = np.where(np.isfinite(times), times, UNRUNNABLE * times[np.isfinite(times)].max())
        inputs, target = np.where(np.isnan(rows), unknown, rows), elementary.log(seconds)
        # Trees that split down to single tasks learn nothing more from repeated ones.
        unique = np.sort(np.unique(np.hstack([inputs, target]), axis=0, return_index=True)[1])
        inputs, target = inputs[unique], target[unique]
        grown = fit_extra_trees(inputs, target, trees, seed % 2**32)
        forest = compile_forest(grown)
        # Leaves answer in seconds and squares of seconds, so that the mean over trees gives both moments.
        leaves = elementary.exp(forest.values)
        forest = forest._replace(values=np.ascontiguousarray(np.hstack([leaves, leaves**2])))
        share, work = _optimal_shares(times, cluster)
        return cls(
            names=names,
            forest=forest,
            unknown=unknown,
            importances=grown.feature_importances_,
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

    def check(self) -> None:
        """Predict something: arrays from a file that do not belong together fail here and not in a race."""
        moments = self.forest.predict(self.unknown[None, :])
        if moments.shape != (1, 2 * len(self.classes)) or len(self.names) != len(self.unknown):
            raise ValueError("features or classes of the durations are not those that it names")

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> DurationModel:
        """Build the model that a file of version 1.0 holds as arrays."""
        forest = check_forest(CompiledForest(*(arrays[name] for name in CompiledForest._fields)))
        values: dict[str, Any] = json.loads(arrays["told"].tobytes())
        values |= {name: tuple(values[name]) for name in ("names", "classes")}
        values |= {name: arrays[name] for name in ("unknown", "importances", "share")}
        return cls(forest=forest, **values)

    def feature_importance(self) -> dict[str, float]:
        """Return how much each feature matters, largest first; they add up to 1."""
        pairs = zip(self.names, self.importances.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _optimal_shares(times: Floats, cluster: Cluster) -> tuple[Floats, float]:
    """Return how the linear optimum spreads tasks over devices of each class, and the cluster's seconds per task."""
    counts = cluster.counts
    runs = (counts > 0) & np.isfinite(times)  # a class that cannot run a task is not free where its price is 0
    priced = np.multiply(times, find_prices(times, counts), out=np.full(times.shape, np.inf), where=runs)
    chosen = np.bincount(priced.argmin(axis=1), minlength=len(counts))
    share: Floats = chosen / len(times) / np.maximum(counts, 1)
    return share, float(priced.min(axis=1).mean())


class DurationObservation(NamedTuple):
    """Features of tasks and the times they took."""

    features: FeatureTable
    times: Floats
    cluster: Cluster

    @classmethod
    def from_tasks(cls, tasks: Tasks, cluster: Cluster) -> DurationObservation:
        """Take the tasks that the cluster can run; nothing has to run."""
        times = class_times(tasks, cluster)
        runs = rejections(tasks, times, cluster) == RAN
        return cls(FeatureTable.from_tasks(tasks).take(runs), times[runs], cluster)

    def take(self, rows: Bools | slice) -> DurationObservation:
        """Return some of the tasks."""
        return self._replace(features=self.features.take(rows), times=self.times[rows])

    def append_to(self, before: DurationObservation | None) -> DurationObservation:
        """Return these tasks behind earlier ones; alone if those have other columns or classes."""
        if (
            before is None
            or before.features.names != self.features.names
            or before.times.shape[1] != self.times.shape[1]
        ):
            return self
        rows = np.concatenate([before.features.rows, self.features.rows])
        times = np.concatenate([before.times, self.times])
        return self._replace(features=FeatureTable(self.features.names, rows), times=times)


@dataclass
class UnfinishedTasks:
    """Holds placements back until their tasks have ended: before that nobody knows how long they take.

    Placements whose tasks still wait have no finish yet; it is filled in when they start, so blocks are kept and not
    copied.
    """

    _blocks: list[tuple[DurationObservation, Placements, Bools]] = field(default_factory=list)

    def exchange(self, placements: Placements) -> DurationObservation | None:
        """Add a block; return all tasks that have ended by its last arrival, None if there is none."""
        tasks = placements.tasks
        # A graph is trained on when all of it is done; a stream goes on, and its last arrival is the present.
        now = np.inf if tasks.has_edges else float(tasks.arrival_time.max(initial=0.0))
        new = DurationObservation(FeatureTable.from_tasks(tasks), placements.times, placements.cluster)
        self._blocks.append((new, placements, placements.ran.copy()))
        ended: DurationObservation | None = None
        for observation, block, unfinished in self._blocks:
            done = unfinished & (block.finish <= now)
            if np.count_nonzero(done):  # half of `any`'s time is its call, and under load blocks are thousands
                ended = observation.take(done).append_to(ended)
                unfinished &= ~done
        self._blocks = [block for block in self._blocks if np.count_nonzero(block[2])][-WINDOW:]
        return ended


@dataclass
class DurationTrainer:
    """Refits the duration model on a sliding window; the same observations and seed give the same trees."""

    interval: int
    seed: int
    trees: int = TREES
    window: int = WINDOW
    tolerance: float = 0.0  # mean error of the logarithms on new tasks up to which no refit is due
    model: DurationModel | None = None
    retrains: int = 0
    _since_fit: int = 0
    _window: DurationObservation | None = None

    def pretrain(self, observations: Iterable[DurationObservation]) -> DurationModel | None:
        """Fit once to whole workloads; None if no task of them can run."""
        for observation in observations:
            if len(observation.times):
                self._add(observation)
        return None if self._window is None else self.fit()

    def train(self, observation: DurationObservation | None) -> DurationModel | None:
        """Add tasks that have ended to the window; refit when enough of it is new."""
        if observation is None:
            return None
        window = self._add(observation)
        self._since_fit += len(observation.times)
        needed = max(self.interval, len(window.times) // MIN_NEW_FRACTION) if self.model else MIN_TASKS
        if self._since_fit < needed or self._error(window.take(slice(-needed, None))) <= self.tolerance:
            return None
        return self.fit()

    def _add(self, observation: DurationObservation) -> DurationObservation:
        self._window = observation.append_to(self._window).take(slice(-self.window, None))
        return self._window

    def _error(self, new: DurationObservation) -> float:
        """Return the mean error of the model on tasks, as a difference of logarithms; inf if it cannot read them."""
        if not self.tolerance or self.model is None or len(self.model.classes) != new.times.shape[1]:
            return np.inf
        if not set(self.model.names) <= set(new.features.names):
            return np.inf
        runs = np.isfinite(new.times)
        gaps = elementary.log(self.model.predict(new.features).mean[runs]) - elementary.log(new.times[runs])
        return float(np.abs(gaps).mean())

    def fit(self) -> DurationModel:
        """Fit on the window."""
        assert self._window is not None  # noqa: S101  # filled by both callers
        self.retrains, self._since_fit = self.retrains + 1, 0
        seed = self.seed * 1_000_003 + self.retrains
        window = self._window
        self.model = DurationModel.fit(window.features, window.times, window.cluster, seed, self.retrains, self.trees)
        return self.model
