"""What a graph says about a task before anything has run: its place, its neighbours, the data it moves."""

from __future__ import annotations

import numpy as np
from numba import njit

from hybrid_scheduler.model.tasks import Floats, Ints, Tasks

GRAPH_FEATURES = ("depth", "height", "parents", "children", "megabytes_in", "megabytes_out")


def graph_features(tasks: Tasks) -> Floats:
    """Return one row a task, in the order of `GRAPH_FEATURES`; all 0 for a task that stands alone."""
    if not tasks.has_edges:
        return np.zeros((len(tasks), len(GRAPH_FEATURES)))
    edges, children = tasks.edges, tasks.children
    down, up = tasks.topological, tasks.topological[::-1]
    columns = (
        _longest(down, edges.start, edges.parents),
        _longest(up, children.start, children.parents),
        np.diff(edges.start),
        np.diff(children.start),
        np.bincount(edges.child, edges.megabytes, len(tasks)),
        np.bincount(edges.parents, edges.megabytes, len(tasks)),
    )
    return np.column_stack(columns).astype(np.float64)


def way_to_the_end(tasks: Tasks, seconds: Floats, backwards: bool = False) -> Floats:
    """Return the longest chain of `seconds` from a task to the end of the graph, or backwards to its beginning."""
    way, rows = (tasks.edges, tasks.topological) if backwards else (tasks.children, tasks.topological[::-1])
    longest: Floats = _longest_seconds(rows, seconds, way.start, way.parents)
    return longest


@njit(cache=True, error_model="numpy", nogil=True)
def _longest(rows: Ints, start: Ints, others: Ints) -> Ints:
    """Count the tasks of the longest chain that leads to each row; `rows` come after all their `others`."""
    length = np.zeros(len(rows), np.int64)
    for row in rows:
        for edge in range(start[row], start[row + 1]):
            length[row] = max(length[row], length[others[edge]] + 1)
    return length


@njit(cache=True, error_model="numpy", nogil=True)
def _longest_seconds(rows: Ints, seconds: Floats, start: Ints, others: Ints) -> Floats:
    length = seconds.copy()
    for row in rows:
        after = 0.0
        for edge in range(start[row], start[row + 1]):
            after = max(after, length[others[edge]])
        length[row] = seconds[row] + after
    return length
