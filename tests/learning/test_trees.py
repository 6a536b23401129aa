"""Tests of the trees that learners grow themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.learning.compiled_forest import compile_forest
from hybrid_scheduler.learning.trees import Forest, fit_extra_trees, fit_random_forest


def draw_rows() -> tuple[Floats, Floats]:
    """Return features and two targets."""
    rows = np.random.default_rng(3).random((120, 4))
    return rows, np.column_stack([rows[:, 0] + rows[:, 1] * rows[:, 2], rows[:, 3] > 0.5])


def check_same(trees: Forest, forest: RandomForestRegressor | ExtraTreesRegressor) -> None:
    """Compare trees with a forest of scikit-learn, bit by bit."""
    for own, other in zip(trees.compiled, compile_forest(forest), strict=True):
        np.testing.assert_array_equal(own, other, strict=True)
    np.testing.assert_array_equal(trees.feature_importances, forest.feature_importances_)


@pytest.mark.parametrize("columns", [1, 2])
def test_trees_are_those_of_a_random_forest(columns: int) -> None:
    rows, target = draw_rows()
    target = target[:, 0] if columns == 1 else target
    forest = RandomForestRegressor(10, max_depth=6, random_state=5).fit(rows, target)
    check_same(fit_random_forest(rows, target, 10, 6, 5), forest)


@pytest.mark.parametrize("columns", [1, 2])
def test_trees_are_those_of_extremely_randomised_ones(columns: int) -> None:
    rows, target = draw_rows()
    target = target[:, 0] if columns == 1 else target
    check_same(fit_extra_trees(rows, target, 10, 5), ExtraTreesRegressor(10, random_state=5).fit(rows, target))


def draw_awkward_rows(kind: str) -> Floats:
    """Return features with many equal values, constant ones, sorted ones, or an order that quicksort dislikes."""
    generator = np.random.default_rng(7)
    rows = generator.normal(size=(300, 5)) * 10.0 ** generator.integers(-4, 4, 5)
    if kind == "equal":
        return generator.integers(0, 4, (300, 5)).astype(np.float64)
    if kind == "constant":
        return np.where(np.arange(5) % 2 == 0, 1.0, np.where(generator.random((300, 5)) < 0.7, 0.0, rows))
    if kind == "sorted":
        return np.sort(rows, axis=0)
    return np.abs(np.arange(300.0)[:, None] - 150.0) + (generator.random((300, 5)) < 0.01)


@pytest.mark.parametrize("kind", ["equal", "constant", "sorted", "organ pipe"])
def test_trees_of_awkward_rows_are_those_of_scikit_learn(kind: str) -> None:
    rows = draw_awkward_rows(kind)
    target = np.column_stack([np.log1p(np.abs(rows).sum(axis=1)), rows[:, 1] > np.median(rows[:, 1])])
    forest = RandomForestRegressor(5, max_depth=12, random_state=2).fit(rows, target)
    check_same(fit_random_forest(rows, target, 5, 12, 2), forest)
    check_same(fit_extra_trees(rows, target, 5, 2), ExtraTreesRegressor(5, random_state=2).fit(rows, target))


def test_importances_of_trees_that_never_split_are_zero() -> None:
    trees = fit_extra_trees(np.ones((5, 2)), np.ones(5), 3, 0)
    assert trees.feature_importances.tolist() == [0.0, 0.0]


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        fit_extra_trees(np.full((5, 2), np.inf), np.ones(5), 3, 0)
