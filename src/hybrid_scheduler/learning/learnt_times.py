"""Learnt times: seconds by device class from what is known of a task, with how sure that is.

A forest of extremely randomised trees (Geurts et al. 2006) reads all that is known and answers in logarithms. Every
tree is one opinion; the mean of the opinions' seconds and of their squares say what to expect and how far it may
be off. Beside it stands what the tasks it learnt from say about the cluster as a whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds import work_prices
from hybrid_scheduler.learning.compiled_forest import CompiledForest, compile_forest
from hybrid_scheduler.learning.known import Known
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Floats

TREES = 60
FAR = 10.0  # times the longest time seen: what a class cannot run, as far as logarithms go


WORDS = ("names", "classes", "shape", "work", "typical", "retrains")


class Moments(NamedTuple):
    """Expected seconds and expected squares of seconds, by (task, class)."""

    mean: Floats
    square: Floats


@dataclass
class LearntTimes:
    """A fitted forest and the names it was fitted on; what it learnt of the cluster as a whole beside it."""

    names: tuple[str, ...]
    forest: CompiledForest
    unknown: Floats  # by feature: what stands for NaN, below all that was seen
    importances: Floats
    classes: tuple[str, ...]
    shape: dict[str, int] = field(default_factory=dict)  # devices by class where it learnt
    share: Floats = field(default_factory=lambda: np.ones(1))  # of tasks that belong on a device of each class
    work: float = 1.0  # seconds that a task takes of the whole cluster at its best use
    typical: float = 1.0  # mean of the tasks' shortest seconds
    retrains: int = 1

    @classmethod
    def fitted(cls, known: Known, times: Floats, cluster: Cluster, seed: int, retrains: int = 1) -> LearntTimes:
        """Fit to tasks whose times are known by now."""
        from sklearn.ensemble import ExtraTreesRegressor

        rows, names = _telling(known)
        unknown = np.nanmin(rows, axis=0) - 1.0  # a column that tells tasks apart has a number
        seconds = np.where(np.isfinite(times), times, FAR * times[np.isfinite(times)].max())
        trees = ExtraTreesRegressor(TREES, random_state=seed % 2**32, n_jobs=1)
        given, goal = _once(np.where(np.isnan(rows), unknown, rows), np.log(seconds))
        trees.fit(given, goal.ravel() if goal.shape[1] == 1 else goal)  # one class: scikit-learn wants a plain column
        share, work = _best_use(times, cluster)
        return cls(
            names=names,
            forest=_opinions(compile_forest(trees)),
            unknown=unknown,
            importances=np.asarray(trees.feature_importances_, np.float64),
            classes=tuple(each.name for each in cluster.classes),
            shape=cluster.shape,
            share=share,
            work=work,
            typical=float(seconds.min(axis=1).mean()),
            retrains=retrains,
        )

    def predict(self, known: Known) -> Moments:
        """Return what to expect of tasks; a task without a column that was learnt from is an error."""
        rows = known.under(self.names)
        said = self.forest.predict(np.where(np.isnan(rows), self.unknown, rows))
        count = len(self.classes)
        return Moments(np.ascontiguousarray(said[:, :count]), np.ascontiguousarray(said[:, count:]))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all of it as arrays, for files that hold nothing else."""
        words = {name: getattr(self, name) for name in WORDS}
        arrays = {name: getattr(self, name) for name in ("unknown", "importances", "share")}
        told = np.frombuffer(json.dumps(words).encode(), np.uint8)
        return {**self.forest._asdict(), **arrays, "told": told}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> LearntTimes:
        """Build what `to_arrays` took apart."""
        forest = CompiledForest(*(arrays[name] for name in CompiledForest._fields))
        told: dict[str, Any] = json.loads(arrays["told"].tobytes())
        told |= {name: tuple(told[name]) for name in ("names", "classes")}
        told |= {name: arrays[name] for name in ("unknown", "importances", "share")}
        return cls(forest=forest, **told)

    def feature_importance(self) -> dict[str, float]:
        """Return how much each feature matters, largest first; they add up to 1."""
        pairs = zip(self.names, self.importances.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _telling(known: Known) -> tuple[Floats, tuple[str, ...]]:
    """Return the columns that tell tasks apart; the first one stands in if none does."""
    different = np.nan_to_num(known.rows, nan=-1e9)
    kept = np.flatnonzero(different.max(axis=0) > different.min(axis=0))
    kept = kept if len(kept) else np.zeros(1, np.int64)
    return known.rows[:, kept], tuple(known.names[number] for number in kept)


def _once(rows: Floats, logarithms: Floats) -> tuple[Floats, Floats]:
    """Leave out what was seen twice: a tree that goes down to single tasks learns nothing more from it."""
    _, first = np.unique(np.hstack([rows, logarithms]), axis=0, return_index=True)
    kept = np.sort(first)
    return rows[kept], logarithms[kept]


def _opinions(forest: CompiledForest) -> CompiledForest:
    """Let leaves answer in seconds and in squares of seconds: a mean over trees is then one over their opinions."""
    seconds = np.exp(forest.values)
    return forest._replace(values=np.ascontiguousarray(np.hstack([seconds, seconds**2])))


def _best_use(times: Floats, cluster: Cluster) -> tuple[Floats, float]:
    """Return how the linear optimum spreads tasks over devices of each class, and the cluster's seconds per task."""
    counts = cluster.counts
    runs = (counts > 0) & np.isfinite(times)  # a class that cannot run a task is not free where its price is 0
    priced = np.multiply(times, work_prices(times, counts), out=np.full(times.shape, np.inf), where=runs)
    chosen = np.bincount(priced.argmin(axis=1), minlength=len(counts))
    share: Floats = chosen / len(times) / np.maximum(counts, 1)
    return share, float(priced.min(axis=1).mean())
