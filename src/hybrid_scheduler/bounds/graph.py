"""Window bound of task graphs: work that lies between a head and a tail.

The head of a task is the earliest time at which it can begin: its arrival, or the longest chain of fastest times
before it. Its tail is the longest chain of fastest times after it. Tasks with heads of at least h and tails of at
least q run after h and at least q before the end, so no schedule ends before h + work + q, whatever the prices of
the work. Data transfers do not count, for parent and child may share a device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.compiler import jit
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks

Bools = npt.NDArray[np.bool_]


class Window(NamedTuple):
    """The bound `seconds`, proved by the tasks with at least this head and this tail."""

    seconds: float
    head: float
    tail: float


def compute_heads_and_tails(tasks: Tasks, shortest: Floats, runs: Bools) -> tuple[Floats, Floats]:
    """Return head and tail of every task that runs."""
    edges = tasks.edges
    heads, tails = tasks.arrival_time.copy(), np.zeros(len(tasks))
    _extend_chains(tasks.topological, shortest, runs, edges.start, edges.parents, heads, tails)
    return heads, tails


@jit
def _extend_chains(
    topological: Ints, shortest: Floats, runs: Bools, start: Ints, parents: Ints, heads: Floats, tails: Floats
) -> None:
    for row in topological:
        if runs[row]:
            for parent in parents[start[row] : start[row + 1]]:
                heads[row] = max(heads[row], heads[parent] + shortest[parent])
    for row in topological[::-1]:
        if runs[row]:
            for parent in parents[start[row] : start[row + 1]]:
                tails[parent] = max(tails[parent], tails[row] + shortest[row])


def find_best_window(heads: Floats, tails: Floats, work: Floats) -> Window:
    """Return the window with the largest bound; `work` is the priced work of every task."""
    order = np.argsort(-heads, kind="stable")
    values, rank = np.unique(tails, return_inverse=True)
    seconds, head, tail = _sweep(heads[order], rank.ravel()[order], values, work[order])
    return Window(float(seconds), float(head), float(values[tail]))


@jit
def _sweep(heads: Floats, rank: Ints, values: Floats, work: Floats) -> tuple[float, float, int]:
    """Add tasks, latest heads first, to a segment tree over tails that keeps the largest tail + work.

    A task adds its work to its own tail and to all smaller ones. Tails that no added task reaches are -inf.
    """
    width = 1
    while width < len(values):
        width *= 2
    top, tag = np.full(2 * width, -np.inf), np.zeros(2 * width)
    reached = -1
    best, best_head, best_tail = -np.inf, 0.0, 0
    for k in range(len(heads)):
        for new in range(reached + 1, rank[k] + 1):
            top[new + width] = values[new]
            _update_ancestors(top, tag, new + width, 0.0)
        reached = max(reached, rank[k])
        top[rank[k] + width] += work[k]
        _update_ancestors(top, tag, rank[k] + width, work[k])
        if heads[k] + top[1] > best:
            best, best_head, best_tail = heads[k] + top[1], heads[k], _find_largest(top, width)
    return best, best_head, best_tail


@jit
def _update_ancestors(top: Floats, tag: Floats, node: int, add: float) -> None:
    """Update the nodes above a leaf; everything to its left grows by `add`."""
    while node > 1:
        if node % 2 == 1:
            top[node - 1] += add
            tag[node - 1] += add
        node //= 2
        top[node] = max(top[2 * node], top[2 * node + 1]) + tag[node]


@jit
def _find_largest(top: Floats, width: int) -> int:
    node = 1
    while node < width:
        node = 2 * node if top[2 * node] >= top[2 * node + 1] else 2 * node + 1
    return node - width


def select_window(tasks: Tasks, shortest: Floats, runs: Bools, head: float, tail: float) -> Bools:
    """Return which tasks have at least this head and tail, in plain Python, independent of the search above."""
    heads, tails = tasks.arrival_time.tolist(), [0.0] * len(tasks)
    for row in tasks.topological.tolist():
        for parent in tasks.edges.neighbours(row).tolist() if runs[row] else ():
            heads[row] = max(heads[row], heads[parent] + shortest[parent])
    for row in tasks.topological.tolist()[::-1]:
        for parent in tasks.edges.neighbours(row).tolist() if runs[row] else ():
            tails[parent] = max(tails[parent], tails[row] + shortest[row])
    inside: Bools = runs & (np.array(heads) >= head) & (np.array(tails) >= tail)
    return inside
