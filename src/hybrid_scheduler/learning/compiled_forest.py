"""A fitted scikit-learn forest as flat arrays, evaluated by compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from hybrid_scheduler.core.tasks import Floats, Ints

ABREAST = 8
"""Trees that are walked side by side: while one waits for memory, the others go on."""


class CompiledForest(NamedTuple):
    """All trees in one set of arrays; the right child of a node stands behind its left child.

    A leaf asks whether anything exceeds infinity and is its own left child, so a walk may go on below it without
    harm and needs no test for leaves.
    """

    roots: Ints
    depth: Ints  # of every tree
    feature: npt.NDArray[np.int32]
    child: npt.NDArray[np.int32]
    threshold: Floats
    leaf: npt.NDArray[np.int32]  # the row of a leaf's values
    values: Floats  # (leaf, output)
    mean: Floats  # of the scaler
    scale: Floats
    means: Floats  # of the first output, by node: what a tree would say if it were asked no further

    def predict(self, rows: Floats) -> Floats:
        """Return the mean of the trees for every row: a column if there is one output, else a matrix."""
        answers: Floats = _walk(*self[:-1], np.ascontiguousarray(rows, np.float64))
        return answers[:, 0] if answers.shape[1] == 1 else answers

    def contributions(self, row: Floats) -> Floats:
        """Return how far each feature moves the prediction of one row from the forest's mean.

        Going down a tree, every step changes the mean of the node; the change belongs to the feature asked.
        """
        asked = ((np.asarray(row, np.float64) - self.mean) / self.scale).astype(np.float32)
        moved = np.zeros(len(asked))
        for root, depth in zip(self.roots, self.depth, strict=True):
            node = root
            for _ in range(depth):
                feature = self.feature[node]
                below = self.child[node] + int(asked[feature] > self.threshold[node])
                moved[feature] += self.means[below] - self.means[node]
                node = below
        answer: Floats = moved / len(self.roots)
        return answer


def compile_forest(forest: Any, mean: Floats | None = None, scale: Floats | None = None) -> CompiledForest:
    """Flatten a fitted forest of regression trees and the scaler before it."""
    number = forest.n_features_in_
    trees = [_flatten(estimator.tree_) for estimator in forest.estimators_]
    nodes = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    leaves = np.cumsum([0, *(len(tree.values) for tree in trees)])
    return CompiledForest(
        roots=nodes[:-1].astype(np.int64),
        depth=np.array([estimator.tree_.max_depth for estimator in forest.estimators_], np.int64),
        feature=np.concatenate([tree.feature for tree in trees]).astype(np.int32),
        child=np.concatenate([tree.child + first for tree, first in zip(trees, nodes, strict=False)]).astype(
            np.int32
        ),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        leaf=np.concatenate([tree.leaf + first for tree, first in zip(trees, leaves, strict=False)]).astype(np.int32),
        values=np.ascontiguousarray(np.concatenate([tree.values for tree in trees])),
        mean=np.zeros(number) if mean is None else np.ascontiguousarray(mean, np.float64),
        scale=np.ones(number) if scale is None else np.ascontiguousarray(scale, np.float64),
        means=np.concatenate([tree.means for tree in trees]),
    )


class _Tree(NamedTuple):
    feature: Ints
    child: Ints
    threshold: Floats
    leaf: Ints
    values: Floats
    means: Floats


def _flatten(tree: Any) -> _Tree:
    """Renumber a tree level by level, so that siblings are neighbours."""
    left, right = tree.children_left, tree.children_right  # each question makes a new array
    levels, level = list[Ints](), np.zeros(1, np.int64)
    while len(level):
        levels.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack((left[inner], right[inner])).ravel()
    rows = np.concatenate(levels)
    is_leaf = left[rows] < 0
    return _Tree(
        feature=np.where(is_leaf, 0, tree.feature[rows]),
        child=np.where(is_leaf, np.arange(len(rows)), 2 * np.cumsum(~is_leaf) - 1),
        threshold=np.where(is_leaf, np.inf, tree.threshold[rows]),
        leaf=np.where(is_leaf, np.cumsum(is_leaf) - 1, 0),
        values=tree.value[rows[is_leaf], :, 0].astype(np.float64),
        means=tree.value[rows, 0, 0].astype(np.float64),
    )


@njit(cache=True, error_model="numpy", nogil=True)
def _walk(
    roots: Ints,
    depth: Ints,
    feature: npt.NDArray[np.int32],
    child: npt.NDArray[np.int32],
    threshold: Floats,
    leaf: npt.NDArray[np.int32],
    values: Floats,
    mean: Floats,
    scale: Floats,
    rows: Floats,
) -> Floats:
    trees, outputs = len(roots), values.shape[1]
    answers = np.zeros((len(rows), outputs))
    asked = np.empty(rows.shape[1], np.float32)  # scikit-learn compares in single precision
    at = np.empty(ABREAST, np.int64)
    for i in range(len(rows)):
        for f in range(rows.shape[1]):
            asked[f] = (rows[i, f] - mean[f]) / scale[f]
        for first in range(0, trees, ABREAST):
            together = min(ABREAST, trees - first)
            levels = 0
            for t in range(together):
                at[t] = roots[first + t]
                levels = max(levels, depth[first + t])
            for _ in range(levels):
                for t in range(together):
                    node = at[t]
                    at[t] = child[node] + (asked[feature[node]] > threshold[node])
            for t in range(together):
                for k in range(outputs):
                    answers[i, k] += values[leaf[at[t]], k]
        for k in range(outputs):
            answers[i, k] /= trees
    return answers
