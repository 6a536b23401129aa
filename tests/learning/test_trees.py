"""Tests of the trees that learners grow themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.learning.compiled_forest import compile_forest
from hybrid_scheduler.learning.trees import Trees, fit_extra_trees, fit_random_forest


def draw_rows() -> tuple[Floats, Floats]:
    """Return features and two targets."""
    rows = np.random.default_rng(3).random((120, 4))
    return rows, np.column_stack([rows[:, 0] + rows[:, 1] * rows[:, 2], rows[:, 3] > 0.5])


def check_same(trees: Trees, forest: RandomForestRegressor | ExtraTreesRegressor) -> None:
    """Compare trees with a forest of scikit-learn, bit by bit."""
    for own, other in zip(compile_forest(trees), compile_forest(forest), strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(trees.feature_importances_, forest.feature_importances_)


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


def test_importances_of_trees_that_never_split_are_zero() -> None:
    trees = fit_extra_trees(np.ones((5, 2)), np.ones(5), 3, 0)
    assert trees.feature_importances_.tolist() == [0.0, 0.0]


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        fit_extra_trees(np.full((5, 2), np.inf), np.ones(5), 3, 0)
