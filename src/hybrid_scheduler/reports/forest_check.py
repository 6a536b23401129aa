"""How well a forest predicts the best GPU share of tasks that it has not seen, on the workload of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.bounds import present_times
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.labels import isolated_labels, queued_labels
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.placements import RAN
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.physics import rejections
from hybrid_scheduler.race import Comparison, Result
from hybrid_scheduler.training import LESSON_SEED

MOST_ROWS, MOST_SEEDS, FEWEST = 2000, 5, 20


@dataclass(frozen=True)
class Checked:
    """Predicted and best shares of unseen tasks of one seed, and how much each feature counted."""

    seed: int
    learnt_from: int
    predicted: Floats
    actual: Floats
    importance: dict[str, float]

    @property
    def mae(self) -> float:
        """Mean absolute error of the share, 0 to 1."""
        return float(np.abs(self.predicted - self.actual).mean())

    @property
    def r2(self) -> float:
        """Share of the variance that is explained; NaN if all tasks have the same best share."""
        spread = float(((self.actual - self.actual.mean()) ** 2).sum())
        return 1.0 - float(((self.predicted - self.actual) ** 2).sum()) / spread if spread > 0 else float("nan")


Check = tuple[Checked, ...]


def can_check(result: Result) -> bool:
    """Whether there are GPUs to predict shares for, and tasks enough to learn and to be judged on."""
    comparison = result.comparison
    if not comparison.cluster.is_gpu.any():
        return False
    tasks = comparison.source.tasks(comparison.seeds[0], comparison.cluster)
    runs = rejections(tasks, present_times(tasks, comparison.cluster), comparison.cluster) == RAN
    return int(runs.sum()) >= 2 * FEWEST


def check_forest(result: Result) -> Check:
    """Fit a forest on other tasks of the same workload and judge it on the comparison's own, for a few seeds."""
    return tuple(_checked(result.comparison, seed) for seed in result.comparison.seeds[:MOST_SEEDS])


def _checked(comparison: Comparison, seed: int) -> Checked:
    source, cluster = comparison.source, comparison.cluster
    unseen = _labelled(source.tasks(seed, cluster), cluster, comparison.mode)
    if source.is_file:  # there are no other tasks: a half to learn from, a half to be judged on
        rows, labels = unseen
        order = np.random.default_rng(seed).permutation(len(rows))
        half = len(rows) // 2
        known, unseen = (rows[order[:half]], labels[order[:half]]), (rows[order[half:]], labels[order[half:]])
    else:
        known = _labelled(source.tasks(LESSON_SEED + seed, cluster), cluster, comparison.mode)
    if min(len(known[0]), len(unseen[0])) < FEWEST:
        raise InputError(f"{source.name} has seeds with too few tasks to judge a forest: give {2 * FEWEST} or more")
    rows, labels = known[0][:MOST_ROWS], known[1][:MOST_ROWS]
    forest = RandomForestPredictor(random_state=seed).fit_all(rows, labels, FEATURES)
    test, actual = unseen[0][:MOST_ROWS], unseen[1][:MOST_ROWS]
    return Checked(seed, len(rows), forest.predict(test), actual, forest.feature_importance())


def _labelled(tasks: Tasks, cluster: Cluster, mode: str) -> tuple[Floats, Floats]:
    times = present_times(tasks, cluster)
    runs = rejections(tasks, times, cluster) == RAN
    label = queued_labels if mode == "queued" else isolated_labels
    return task_features(tasks)[runs], label(times[runs], cluster)


def checked(found: Result | Check) -> Check:
    """Return a check, making one if a comparison was given."""
    return check_forest(found) if isinstance(found, Result) else found
