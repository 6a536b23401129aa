"""Work between heads and tails: a lower bound for graphs that counts what must come before and after.

A task's head is the earliest time at which it can begin: its arrival, or the longest chain of fastest times before
it. Its tail is the longest chain of fastest times after it. Tasks with heads of at least h and tails of at least q
run after h and before the end less q, so no schedule ends before h + work + q, whatever the prices of the work.
Data moves do not count, for parent and child may sit on one device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from hybrid_scheduler.core.tasks import Floats, Ints, Tasks

Bools = npt.NDArray[np.bool_]


class Window(NamedTuple):
    """No schedule ends before `seconds`: the tasks with these heads and tails do not let it."""

    seconds: float
    head: float
    tail: float


def heads_and_tails(tasks: Tasks, shortest: Floats, runs: Bools) -> tuple[Floats, Floats]:
    """Return head and tail of every task that runs."""
    edges = tasks.edges
    heads, tails = tasks.arrival_time.copy(), np.zeros(len(tasks))
    _chains(tasks.topological, shortest, runs, edges.start, edges.parents, heads, tails)
    return heads, tails


@njit(cache=True, error_model="numpy", nogil=True)
def _chains(
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


def best_window(heads: Floats, tails: Floats, work: Floats) -> Window:
    """Return the heads and tails that prove most, if the tasks are worth this much work."""
    order = np.argsort(-heads, kind="stable")
    values, rank = np.unique(tails, return_inverse=True)
    seconds, head, tail = _sweep(heads[order], rank.ravel()[order], values, work[order])
    return Window(float(seconds), float(head), float(values[tail]))


@njit(cache=True, error_model="numpy", nogil=True)
def _sweep(heads: Floats, rank: Ints, values: Floats, work: Floats) -> tuple[float, float, int]:
    """Let tasks in, latest heads first; a tree keeps the largest tail plus work of the tasks with at least that tail.

    A task adds its work to its own tail and to all smaller ones. Tails that nobody in has reached count as -inf.
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
            _climb(top, tag, new + width, 0.0)
        reached = max(reached, rank[k])
        top[rank[k] + width] += work[k]
        _climb(top, tag, rank[k] + width, work[k])
        if heads[k] + top[1] > best:
            best, best_head, best_tail = heads[k] + top[1], heads[k], _largest(top, width)
    return best, best_head, best_tail


@njit(cache=True, error_model="numpy", nogil=True)
def _climb(top: Floats, tag: Floats, node: int, add: float) -> None:
    """Bring the nodes above up to date; all that stands to the left grows by `add`."""
    while node > 1:
        if node % 2 == 1:
            top[node - 1] += add
            tag[node - 1] += add
        node //= 2
        top[node] = max(top[2 * node], top[2 * node + 1]) + tag[node]


@njit(cache=True, error_model="numpy", nogil=True)
def _largest(top: Floats, width: int) -> int:
    node = 1
    while node < width:
        node = 2 * node if top[2 * node] >= top[2 * node + 1] else 2 * node + 1
    return node - width


def inside_window(tasks: Tasks, shortest: Floats, runs: Bools, head: float, tail: float) -> Bools:
    """Return which tasks have at least this head and this tail, in plain Python for whoever checks a bound."""
    heads, tails = tasks.arrival_time.tolist(), [0.0] * len(tasks)
    for row in tasks.topological.tolist():
        for parent in tasks.edges.of(row).tolist() if runs[row] else ():
            heads[row] = max(heads[row], heads[parent] + shortest[parent])
    for row in tasks.topological.tolist()[::-1]:
        for parent in tasks.edges.of(row).tolist() if runs[row] else ():
            tails[parent] = max(tails[parent], tails[row] + shortest[row])
    inside: Bools = runs & (np.array(heads) >= head) & (np.array(tails) >= tail)
    return inside
