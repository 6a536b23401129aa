"""Learnt times: seconds by device class from what is known of a task, with how sure that is.

A forest of extremely randomised trees (Geurts et al. 2006) reads all that is known and answers in logarithms. Every
tree is one opinion; the mean of the opinions' seconds and of their squares say what to expect and how far it may
be off. Beside it stands what the tasks it learnt from say about the cluster as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds.makespan import work_prices
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.learning.compiled_forest import CompiledForest, compile_forest
from hybrid_scheduler.learning.features import Known

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
