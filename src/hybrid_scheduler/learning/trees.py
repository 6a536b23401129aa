"""Forests of regression trees, grown by compiled code: bit by bit those of scikit-learn, without loading it.

A learner refits small trees while it runs. Loading scikit-learn takes longer than all trees of a comparison, and its
estimators check and dispatch every tree by itself, which takes longer than growing it. So the algorithms of its
random forests (Breiman 2001) and extremely randomised trees (Geurts et al. 2006) are written out here, down to the
order in which rows are sorted and added; a test compares them with scikit-learn's own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.compiler import kernel
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.learning.compiled_forest import CompiledForest

Float32s = npt.NDArray[np.float32]

MAX_SEED = np.iinfo(np.int32).max
UNLIMITED = np.iinfo(np.int32).max  # the depth of trees that are split down to single rows
SAME_VALUE = np.float32(1e-7)  # values of a feature that differ by no more are never separated
EPSILON = float(np.finfo(np.float64).eps)  # variance of a pure node, and how much worse a split may seem than none
FEW_VALUES = 15  # are sorted by inserting one after the other
SORT_STACK = 128  # parts that wait to be sorted: twice the binary logarithm of the rows is enough
LOW_BITS, DRAWS = 0xFFFFFFFF, 2**31  # of the generator that draws features and thresholds
TOTAL, LEFT, RIGHT = 0, 1, 2  # rows of the sums of targets: of a node, and on each side of a split
BEGIN, END, DEPTH, PARENT, CONSTANT = 0, 1, 2, 3, 4  # columns of the stack of nodes that are still to be split …
FIRST, LAST, LIMIT = 5, 6, 7  # … and of the parts of a node that are still to be sorted
# Whole numbers by node, in the order of growing, which is depth first …
LEFT_CHILD, RIGHT_CHILD, FEATURE, LEVEL_ORDER = 0, 1, 2, 3
LEVEL_FEATURE, LEVEL_CHILD, LEVEL_LEAF = 4, 5, 6  # … and level by level, as a `CompiledForest` has them
THRESHOLD, VARIANCE, WEIGHT, STACKED_VARIANCE, LEVEL_THRESHOLD, LEVEL_MEAN = 0, 1, 2, 3, 4, 5  # the other numbers


class Forest(NamedTuple):
    """The flat arrays of fitted trees, and how much each feature matters to them; importances add up to 1."""

    compiled: CompiledForest
    feature_importances: Floats


def fit_random_forest(rows: Floats, target: Floats, number: int, max_depth: int, seed: int) -> Forest:
    """Grow the trees of `RandomForestRegressor`: the best splits of rows that are drawn with replacement."""
    return _fit(rows, target, number, max_depth, seed, best=True)


def fit_extra_trees(rows: Floats, target: Floats, number: int, seed: int) -> Forest:
    """Grow the trees of `ExtraTreesRegressor`: random splits of all rows."""
    return _fit(rows, target, number, UNLIMITED, seed, best=False)


class _Scratch(NamedTuple):
    """Memory in which a tree grows. Few arrays: each takes a while to compile."""

    samples: Ints  # rows that were drawn, ordered so that those of a node are neighbours
    values: Float32s  # of a feature, in the same order
    features: Ints  # in the order in which they are drawn next; those that have one value only in the nodes above
    sums: Floats  # of the targets: of all, left and right
    stack: Ints
    nodes: Ints  # by number and node
    numbers: Floats  # by number and node
    means: Floats  # of the targets, by node
    leaves: Floats  # of the targets, by leaf

    @classmethod
    def allocate(cls, count: int, features: int, columns: int) -> _Scratch:
        """Allocate what trees of so many rows, features and targets need."""
        return cls(
            samples=np.empty(count, np.int64),
            values=np.empty(count, np.float32),
            features=np.empty((2, features), np.int64),
            sums=np.empty((3, columns)),
            stack=np.empty((count + SORT_STACK, LIMIT + 1), np.int64),
            nodes=np.empty((LEVEL_LEAF + 1, 2 * count + 1), np.int64),
            numbers=np.empty((LEVEL_MEAN + 1, 2 * count + 1)),
            means=np.empty((2 * count, columns)),
            leaves=np.empty((count, columns)),
        )


class _Tree(NamedTuple):
    """The parts of a `CompiledForest` for one tree, whose nodes and leaves are counted from 0."""

    feature: Ints
    child: Ints
    leaf: Ints
    threshold: Floats
    means: Floats
    values: Floats

    @classmethod
    def copy_from(cls, scratch: _Scratch, nodes: int, leaves: int) -> _Tree:
        """Copy the tree that has grown."""
        feature, child, leaf = scratch.nodes[LEVEL_FEATURE : LEVEL_LEAF + 1, :nodes].copy()
        threshold, means = scratch.numbers[LEVEL_THRESHOLD : LEVEL_MEAN + 1, :nodes].copy()
        return cls(feature, child, leaf, threshold, means, scratch.leaves[:leaves].copy())


def _fit(rows: Floats, target: Floats, number: int, max_depth: int, seed: int, best: bool) -> Forest:
    inputs = np.ascontiguousarray(rows, np.float32)
    outputs = np.ascontiguousarray(target, np.float64).reshape(len(inputs), -1)
    if not (np.isfinite(inputs).all() and np.isfinite(outputs).all()):
        raise ValueError("features and targets of a forest must be finite numbers")
    (count, features), columns = inputs.shape, outputs.shape[1]
    generator, own = np.random.RandomState(seed), np.random.RandomState(0)
    seeds = [int(generator.randint(MAX_SEED)) for _ in range(number)]
    scratch = _Scratch.allocate(count, features, columns)
    weights, trees, depths, importances = np.ones(count), list[_Tree](), list[int](), list[Floats]()
    for each in seeds:
        if best:
            own.seed(each)
            weights = np.bincount(own.randint(0, count, count), minlength=count).astype(np.float64)
        own.seed(each)  # rows and splits are drawn from the same beginning
        importance = np.zeros(features)
        state = int(own.randint(0, MAX_SEED))
        nodes, leaves, depth = _grow(inputs, outputs, weights, state, max_depth, best, importance, *scratch)
        trees.append(_Tree.copy_from(scratch, nodes, leaves))
        depths.append(depth)
        if nodes > 1:
            total = np.sum(importance)
            importances.append(importance / total if total > 0.0 else importance)
    return Forest(_join(trees, depths, features), _average(importances, features))


def _join(trees: list[_Tree], depths: list[int], features: int) -> CompiledForest:
    """Put trees one behind the other; no scaler stands before them yet."""
    nodes = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    leaves = np.cumsum([0, *(len(tree.values) for tree in trees)])
    return CompiledForest(
        roots=nodes[:-1].astype(np.int64),
        depth=np.array(depths, np.int64),
        feature=np.concatenate([tree.feature for tree in trees]).astype(np.int32),
        child=_join_shifted([tree.child for tree in trees], nodes),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        leaf=_join_shifted([tree.leaf for tree in trees], leaves),
        values=np.concatenate([tree.values for tree in trees]),
        mean=np.zeros(features),
        scale=np.ones(features),
        means=np.concatenate([tree.means for tree in trees]),
    )


def _join_shifted(parts: list[Ints], first: Ints) -> npt.NDArray[np.int32]:
    """Put numbers that are counted from 0 in every part one behind the other, counted through."""
    return np.concatenate([part + begin for part, begin in zip(parts, first, strict=False)]).astype(np.int32)


def _average(importances: list[Floats], features: int) -> Floats:
    """Return the mean importance of every feature over trees that split at all."""
    if not importances:
        return np.zeros(features)
    mean = np.mean(importances, axis=0, dtype=np.float64)
    shares: Floats = mean / mean.sum()
    return shares


# --- compiled code -------------------------------------------------------------------------------------------------


@kernel
def _sum_left(
    outputs: Floats,
    weights: Floats,
    samples: Ints,
    sums: Floats,
    before: int,
    position: int,
    end: int,
    weight: float,
    left_weight: float,
) -> float:
    """Move rows to the left of a split, or start anew from the other end if that is nearer; return their weight."""
    columns = outputs.shape[1]
    if position - before <= end - position:
        for p in range(before, position):
            i = samples[p]
            for k in range(columns):
                sums[LEFT, k] += weights[i] * outputs[i, k]
            left_weight += weights[i]
    else:
        for k in range(columns):
            sums[LEFT, k] = sums[TOTAL, k]
        left_weight = weight
        for p in range(end - 1, position - 1, -1):
            i = samples[p]
            for k in range(columns):
                sums[LEFT, k] -= weights[i] * outputs[i, k]
            left_weight -= weights[i]
    for k in range(columns):
        sums[RIGHT, k] = sums[TOTAL, k] - sums[LEFT, k]
    return left_weight


@kernel
def _swap(values: Float32s, samples: Ints, one: int, other: int) -> None:
    values[one], values[other] = values[other], values[one]
    samples[one], samples[other] = samples[other], samples[one]


@kernel
def _sort(values: Float32s, samples: Ints, begin: int, end: int, stack: Ints) -> None:
    """Sort values and the rows that they belong to (introsort); equal values keep the order that this leaves."""
    limit, rest = 0, end - begin
    while rest > 1:
        limit, rest = limit + 2, rest // 2
    stack[0, FIRST], stack[0, LAST], stack[0, LIMIT] = begin, end, limit
    height = 1
    while height > 0:
        height -= 1
        first, last, limit = stack[height, FIRST], stack[height, LAST], stack[height, LIMIT]
        while last - first > FEW_VALUES and limit > 0:
            limit -= 1
            low, middle, high = values[first], values[first + (last - first) // 2], values[last - 1]
            if low < middle:
                pivot = middle if middle < high else (high if low < high else low)
            elif middle < high:
                pivot = low if low < high else high
            else:
                pivot = middle
            at, less, more = first, first, last
            while at < more:
                if values[at] < pivot:
                    _swap(values, samples, at, less)
                    at, less = at + 1, less + 1
                elif values[at] > pivot:
                    more -= 1
                    _swap(values, samples, at, more)
                else:
                    at += 1
            stack[height, FIRST], stack[height, LAST], stack[height, LIMIT] = first, less, limit
            height, first = height + 1, more
        if last - first > FEW_VALUES:
            _sort_heap(values, samples, first, last - first)
            continue
        for i in range(first + 1, last):
            value, sample, at = values[i], samples[i], i
            while at > first and values[at - 1] > value:
                values[at], samples[at] = values[at - 1], samples[at - 1]
                at -= 1
            values[at], samples[at] = value, sample


@kernel
def _sort_heap(values: Float32s, samples: Ints, first: int, count: int) -> None:
    """Sort by a heap: what is left when quicksort has become quadratic."""
    begin, end = (count - 2) // 2, count
    while end > 0:
        root = begin
        while True:
            largest = root
            for child in range(2 * root + 1, min(2 * root + 3, end)):
                if values[first + largest] < values[first + child]:
                    largest = child
            if largest == root:
                break
            _swap(values, samples, first + root, first + largest)
            root = largest
        if begin > 0:
            begin -= 1
        else:
            end -= 1
            _swap(values, samples, first, first + end)


@kernel
def _draw(state: int) -> int:
    """Return the next state of the generator (xorshift, Marsaglia 2003), whose low bits are the number drawn."""
    state = 1 if state == 0 else state
    state ^= (state << 13) & LOW_BITS
    state ^= state >> 17
    return state ^ ((state << 5) & LOW_BITS)


@kernel
def _find_split(
    inputs: Float32s,
    outputs: Floats,
    weights: Floats,
    state: int,
    best: bool,
    begin: int,
    end: int,
    weight: float,
    known: int,
    samples: Ints,
    values: Float32s,
    drawn: Ints,
    sums: Floats,
    stack: Ints,
) -> tuple[int, int, float, int, int]:
    """Order the rows of a node by the best split, or by the best of one random split for every feature.

    Returns where the right side begins (at the end: nowhere), the feature, the threshold, how many features are
    constant in this node, and the state of the generator. Features known to be constant are never looked at.
    """
    features, constants, columns = drawn[0], drawn[1], outputs.shape[1]
    undrawn, found, passed = len(features), 0, 0  # features left, found to be constant here, known and drawn
    split, split_feature, split_threshold, split_score = end, 0, np.inf, -np.inf
    feature = -1
    while undrawn > known + found:
        state = _draw(state)
        place = passed + state % DRAWS % (undrawn - found - passed)
        if place < known:
            features[passed], features[place] = features[place], features[passed]
            passed += 1
            continue
        place += found
        feature = features[place]
        lowest, highest = inputs[samples[begin], feature], inputs[samples[begin], feature]
        for p in range(begin, end):
            values[p] = inputs[samples[p], feature]
            lowest, highest = min(lowest, values[p]), max(highest, values[p])
        if best:
            _sort(values, samples, begin, end, stack)
        if highest <= lowest + SAME_VALUE:
            features[place], features[known + found] = features[known + found], features[place]
            found += 1
            continue
        undrawn -= 1
        features[undrawn], features[place] = features[place], features[undrawn]
        threshold, position = 0.0, begin
        if not best:
            state = _draw(state)
            low, high = np.float64(lowest), np.float64(highest)
            threshold = (high - low) * np.float64(state % DRAWS) / np.float64(MAX_SEED) + low
            threshold = low if threshold == high else threshold
            position, beyond = begin, end
            while position < beyond:
                if values[position] <= threshold:
                    position += 1
                else:
                    beyond -= 1
                    _swap(values, samples, position, beyond)
            if position in (begin, end):
                continue
            position -= 1  # as if it were the last of equal values: the loop has one turn
        for k in range(columns):
            sums[LEFT, k] = 0.0
        left_weight, before = 0.0, begin
        while position < end:
            position += 1
            while best and position < end and values[position] <= values[position - 1] + SAME_VALUE:
                position += 1
            if position == end:
                break
            left_weight = _sum_left(outputs, weights, samples, sums, before, position, end, weight, left_weight)
            before, left, right = position, 0.0, 0.0
            for k in range(columns):
                left += sums[LEFT, k] * sums[LEFT, k]
                right += sums[RIGHT, k] * sums[RIGHT, k]
            score = left / left_weight + right / (weight - left_weight)
            if score > split_score:
                split, split_feature, split_score = position, feature, score
                split_threshold = threshold
                if best:
                    split_threshold = np.float64(values[position - 1]) / 2.0 + np.float64(values[position]) / 2.0
            if not best:
                break
    if split < end and (best or feature != split_feature):
        position, beyond = begin, end
        while position < beyond:
            if inputs[samples[position], split_feature] <= split_threshold:
                position += 1
            else:
                beyond -= 1
                samples[position], samples[beyond] = samples[beyond], samples[position]
    for f in range(known):
        features[f] = constants[f]
    for f in range(known, known + found):
        constants[f] = features[f]
    return split, split_feature, split_threshold, known + found, state


@kernel
def _write_levels(nodes: Ints, numbers: Floats, means: Floats, leaves: Floats, count: int, importance: Floats) -> int:
    """Write the nodes of a tree level by level, siblings side by side, and sum up importances; return its leaves."""
    for node in range(count):
        left, right = nodes[LEFT_CHILD, node], nodes[RIGHT_CHILD, node]
        if left >= 0:
            gain = numbers[WEIGHT, node] * numbers[VARIANCE, node]
            gain -= numbers[WEIGHT, left] * numbers[VARIANCE, left]
            gain -= numbers[WEIGHT, right] * numbers[VARIANCE, right]
            importance[nodes[FEATURE, node]] += gain
    for f in range(len(importance)):
        importance[f] /= numbers[WEIGHT, 0]
    nodes[LEVEL_ORDER, 0] = 0
    numbered, found = 1, 0
    for place in range(count):
        node = nodes[LEVEL_ORDER, place]
        numbers[LEVEL_MEAN, place] = means[node, 0]
        if nodes[LEFT_CHILD, node] >= 0:
            nodes[LEVEL_ORDER, numbered] = nodes[LEFT_CHILD, node]
            nodes[LEVEL_ORDER, numbered + 1] = nodes[RIGHT_CHILD, node]
            nodes[LEVEL_FEATURE, place], numbers[LEVEL_THRESHOLD, place] = (
                nodes[FEATURE, node],
                numbers[THRESHOLD, node],
            )
            nodes[LEVEL_CHILD, place], nodes[LEVEL_LEAF, place] = numbered, 0
            numbered += 2
        else:
            nodes[LEVEL_FEATURE, place], numbers[LEVEL_THRESHOLD, place] = 0, np.inf
            nodes[LEVEL_CHILD, place], nodes[LEVEL_LEAF, place] = place, found
            for k in range(means.shape[1]):
                leaves[found, k] = means[node, k]
            found += 1
    return found


@kernel
def _grow(
    inputs: Float32s,
    outputs: Floats,
    weights: Floats,
    state: int,
    max_depth: int,
    best: bool,
    importance: Floats,
    samples: Ints,
    values: Float32s,
    features: Ints,
    sums: Floats,
    stack: Ints,
    nodes: Ints,
    numbers: Floats,
    means: Floats,
    leaves: Floats,
) -> tuple[int, int, int]:
    """Grow a tree depth first and write it level by level; return its nodes, leaves and depth."""
    columns, drawn, all_weights = outputs.shape[1], 0, 0.0
    for i in range(len(weights)):
        if weights[i] != 0.0:
            samples[drawn] = i
            drawn += 1
        all_weights += weights[i]
    for f in range(inputs.shape[1]):
        features[0, f] = f
    stack[0, BEGIN], stack[0, END], stack[0, DEPTH], stack[0, PARENT], stack[0, CONSTANT] = 0, drawn, 0, -1, 0
    height, count, deepest = 1, 0, 0
    while height > 0:
        height -= 1
        begin, end, depth = stack[height, BEGIN], stack[height, END], stack[height, DEPTH]
        parent, constant, variance = stack[height, PARENT], stack[height, CONSTANT], numbers[STACKED_VARIANCE, height]
        weight, squares = 0.0, 0.0
        for k in range(columns):
            sums[TOTAL, k] = 0.0
        for p in range(begin, end):
            i = samples[p]
            for k in range(columns):
                weighted = weights[i] * outputs[i, k]
                sums[TOTAL, k] += weighted
                squares += weighted * outputs[i, k]
            weight += weights[i]
        if count == 0:
            variance = squares / weight
            for k in range(columns):
                variance -= (sums[TOTAL, k] / weight) * (sums[TOTAL, k] / weight)
            variance /= columns
        position, feature, threshold = end, 0, np.inf
        if depth < max_depth and end - begin >= 2 and not variance <= EPSILON:
            position, feature, threshold, constant, state = _find_split(
                inputs,
                outputs,
                weights,
                state,
                best,
                begin,
                end,
                weight,
                constant,
                samples,
                values,
                features,
                sums,
                stack,
            )
        node, splits = count, position < end
        count, deepest = count + 1, max(deepest, depth)
        if splits:
            for k in range(columns):
                sums[LEFT, k] = 0.0
            left_weight = _sum_left(outputs, weights, samples, sums, begin, position, end, weight, 0.0)
            left_squares = 0.0
            for p in range(begin, position):
                i = samples[p]
                for k in range(columns):
                    left_squares += weights[i] * outputs[i, k] * outputs[i, k]
            right_weight = weight - left_weight
            left, right = left_squares / left_weight, (squares - left_squares) / right_weight
            for k in range(columns):
                left -= (sums[LEFT, k] / left_weight) * (sums[LEFT, k] / left_weight)
                right -= (sums[RIGHT, k] / right_weight) * (sums[RIGHT, k] / right_weight)
            left, right = left / columns, right / columns
            lost = right_weight / weight * right
            gain = weight / all_weights * (variance - lost - left_weight / weight * left)
            splits = not gain + EPSILON < 0.0
            if splits:
                for side in range(2):  # the left child is on top of the stack, so it comes next
                    stack[height, BEGIN], stack[height, END] = (position, end) if side == 0 else (begin, position)
                    stack[height, DEPTH], stack[height, CONSTANT] = depth + 1, constant
                    stack[height, PARENT] = 2 * node + (1 - side)
                    numbers[STACKED_VARIANCE, height] = right if side == 0 else left
                    height += 1
        if parent >= 0:
            nodes[parent % 2, parent // 2] = node
        nodes[LEFT_CHILD, node], nodes[FEATURE, node] = (0 if splits else -1), feature
        numbers[THRESHOLD, node], numbers[VARIANCE, node], numbers[WEIGHT, node] = threshold, variance, weight
        for k in range(columns):
            means[node, k] = sums[TOTAL, k] / weight
    return count, _write_levels(nodes, numbers, means, leaves, count, importance), deepest
