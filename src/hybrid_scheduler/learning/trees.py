"""Trees of a forest, fitted one by one: the same as those of scikit-learn's forests, without what those add.

A forest of scikit-learn clones, checks and dispatches every tree by itself, which takes twice as long as growing the
small trees that a learner refits while it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.learning import LOADING

MAX_SEED = np.iinfo(np.int32).max


class Trees(NamedTuple):
    """Fitted trees and how much each feature matters to them; importances add up to 1."""

    estimators_: Sequence[Any]
    feature_importances_: Floats
    n_features_in_: int


def fit_random_forest(rows: Floats, target: Floats, number: int, max_depth: int, seed: int) -> Trees:
    """Grow the trees of `RandomForestRegressor`: the best splits of rows that are drawn with replacement."""
    with LOADING:
        from sklearn.tree import DecisionTreeRegressor

    return _fit(DecisionTreeRegressor, rows, target, number, seed, max_depth=max_depth, max_features=1.0)


def fit_extra_trees(rows: Floats, target: Floats, number: int, seed: int) -> Trees:
    """Grow the trees of `ExtraTreesRegressor`: random splits of all rows."""
    with LOADING:
        from sklearn.tree import ExtraTreeRegressor

    return _fit(ExtraTreeRegressor, rows, target, number, seed, max_features=1.0)


def _fit(kind: type, rows: Floats, target: Floats, number: int, seed: int, **options: Any) -> Trees:
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    inputs = np.ascontiguousarray(rows, np.float32)
    outputs = np.ascontiguousarray(target, np.float64).reshape(len(inputs), -1)
    if not (np.isfinite(inputs).all() and np.isfinite(outputs).all()):
        raise ValueError("features and targets of a forest must be finite numbers")
    generator = np.random.RandomState(seed)
    seeds = [generator.randint(MAX_SEED) for _ in range(number)]
    trees: list[Any] = []
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for own in seeds:  # seeding one generator anew takes microseconds, making another hundreds
            weights = None
            if kind is not ExtraTreeRegressor:
                generator.seed(own)
                weights = _draw_weights(generator, len(inputs))
            generator.seed(own)
            tree = kind(random_state=generator, **options)
            trees.append(tree.fit(inputs, outputs, sample_weight=weights, check_input=False))
    return Trees(trees, _weigh_features(trees, inputs.shape[1]), inputs.shape[1])


def _draw_weights(generator: np.random.RandomState, rows: int) -> Floats:
    """Return how often every row is drawn."""
    drawn = generator.randint(0, rows, rows)
    return np.bincount(drawn, minlength=rows).astype(np.float64)


def _weigh_features(trees: Sequence[Any], features: int) -> Floats:
    """Return the mean importance of every feature over trees that split at all."""
    known = [each.tree_.compute_feature_importances() for each in trees if each.tree_.node_count > 1]
    if not known:
        return np.zeros(features)
    mean = np.mean(known, axis=0, dtype=np.float64)
    shares: Floats = mean / mean.sum()
    return shares
