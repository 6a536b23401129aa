"""A fitted scikit-learn forest as flat arrays, evaluated by compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.compiler import kernel
from hybrid_scheduler.core.tasks import Floats, Ints

INTERLEAVE = 8
"""Trees that are evaluated together: while one waits for memory, the others go on."""


class CompiledForest(NamedTuple):
    """All trees in one set of arrays; the right child of a node stands behind its left child.

    A leaf compares with infinity and is its own left child, so that descending needs no test for leaves.
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
    means: Floats  # of the first output, by node: the prediction of a tree cut off there

    def predict(self, rows: Floats) -> Floats:
        """Return the mean of the trees for every row: a column if there is one output, else a matrix."""
        if rows.shape[1] != len(self.mean):  # machine code looks at no limits
            raise ValueError(f"rows have {rows.shape[1]} features, the forest has {len(self.mean)}")
        predictions = np.zeros((len(rows), self.values.shape[1]))
        scaled = np.empty(rows.shape[1], np.float32)  # scikit-learn compares in single precision
        at = np.empty(INTERLEAVE, np.int64)
        _evaluate(*self[:-1], np.ascontiguousarray(rows, np.float64), scaled, at, predictions)
        return predictions[:, 0] if predictions.shape[1] == 1 else predictions

    def contributions(self, row: Floats) -> Floats:
        """Return how far each feature moves the prediction of one row from the forest's mean.

        Going down a tree, every step changes the mean of the node; the change belongs to the feature of the split.
        """
        scaled = ((np.asarray(row, np.float64) - self.mean) / self.scale).astype(np.float32)
        contributions = np.zeros(len(scaled))
        for root, depth in zip(self.roots, self.depth, strict=True):
            node = root
            for _ in range(depth):
                feature = self.feature[node]
                below = self.child[node] + int(scaled[feature] > self.threshold[node])
                contributions[feature] += self.means[below] - self.means[node]
                node = below
        mean: Floats = contributions / len(self.roots)
        return mean


def check_forest(forest: CompiledForest) -> CompiledForest:
    """Refuse arrays in which descending would leave them: a file can hold any numbers, machine code follows all."""
    nodes, features = len(forest.child), len(forest.mean)
    kinds = {"roots": "i8", "depth": "i8", "feature": "i4", "child": "i4", "leaf": "i4"}
    arrays = {name: (array, kinds.get(name, "f8")) for name, array in forest._asdict().items()}
    by_node = (forest.feature, forest.threshold, forest.leaf, forest.means)
    last = np.where(forest.threshold == np.inf, nodes, nodes - 1)  # the right child stands behind the left one
    whole = (
        all(array.dtype == kind and array.flags.c_contiguous for array, kind in arrays.values())
        and all(array.ndim == (2 if name == "values" else 1) for name, (array, _) in arrays.items())
        and all(len(each) == nodes for each in by_node)
        and 0 < len(forest.roots) == len(forest.depth)
        and len(forest.scale) == features
        and _within(forest.roots, nodes)
        and _within(forest.depth, nodes)
        and _within(forest.feature, features)
        and _within(forest.leaf, len(forest.values))
        and _within(forest.child, last)
    )
    if not whole:
        raise ValueError("the arrays of the forest do not belong together")
    return forest


def _within(numbers: Ints | npt.NDArray[np.int32], limit: int | Ints) -> bool:
    return bool(((numbers >= 0) & (numbers < limit)).all())


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
    left, right = tree.children_left, tree.children_right  # each access makes a new array
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


@kernel
def _evaluate(
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
    scaled: npt.NDArray[np.float32],
    at: Ints,
    predictions: Floats,
) -> None:
    trees, outputs = len(roots), values.shape[1]
    for i in range(len(rows)):
        for f in range(rows.shape[1]):
            scaled[f] = (rows[i, f] - mean[f]) / scale[f]
        for first in range(0, trees, INTERLEAVE):
            together = min(INTERLEAVE, trees - first)
            levels = 0
            for t in range(together):
                at[t] = roots[first + t]
                levels = max(levels, depth[first + t])
            for _ in range(levels):
                for t in range(together):
                    node = at[t]
                    at[t] = child[node] + (scaled[feature[node]] > threshold[node])
            for t in range(together):
                for k in range(outputs):
                    predictions[i, k] += values[leaf[at[t]], k]
        for k in range(outputs):
            predictions[i, k] /= trees
