"""The five features by which a model knows a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from numba import njit

from hybrid_scheduler.core.tasks import FEATURE, Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError, unknown_name

FEATURES = ("size", "compute_intensity", "memory_required", "memory_per_size", "compute_to_memory")


def task_features(tasks: Tasks, names: tuple[str, ...] = FEATURES) -> Floats:
    """Return one row of features a task; nothing here knows how long a task takes."""
    size, intensity, memory = tasks.size, tasks.compute_intensity, tasks.memory_required
    columns = {
        "size": size,
        "task_size": size,  # as the guide's table calls it
        "compute_intensity": intensity,
        "memory_required": memory,
        "memory_per_size": memory / (size + 1.0),
        "compute_to_memory": intensity / (memory + 1.0),
    }
    for name in names:
        if name not in columns:
            raise unknown_name("feature of the model:", name, FEATURES)
    return np.column_stack([columns[name] for name in names])


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


MOST_PAIRED = 12  # columns of their own that tasks may carry for ratios to be formed: there are n·(n − 1)/2 of them


@dataclass(frozen=True)
class Known:
    """Named columns on a scale on which tenfold is as far everywhere; NaN is unknown.

    A column that tasks carry themselves is called `feature_…`, as in files. The ratio of two of them stands beside
    them: work per byte says more than either, and a tree that asks one column at a time would never see it.
    """

    names: tuple[str, ...]
    rows: Floats

    @classmethod
    def of(cls, tasks: Tasks) -> Known:
        """Gather all that is known; nothing here knows how long a task takes."""
        own = {f"{FEATURE}{name}": _scaled(tasks.features[name]) for name in sorted(tasks.features)}
        pairs = list(combinations(own, 2)) if len(own) <= MOST_PAIRED else []
        ratios = {f"{one}/{other}": own[one] - own[other] for one, other in pairs}
        five, graph = _scaled(task_features(tasks)), _scaled(graph_features(tasks))
        names = (*FEATURES, *own, *ratios, *GRAPH_FEATURES)
        return cls(names, np.column_stack([five, *own.values(), *ratios.values(), graph]))

    def under(self, names: Sequence[str]) -> Floats:
        """Return the columns that a model has learnt from, in its order."""
        place = {name: number for number, name in enumerate(self.names)}
        missing = [name for name in names if name not in place and "/" not in name]
        if missing:
            own = [name for name in self.names if name.startswith(FEATURE) and "/" not in name]
            raise InputError(
                f"the model has learnt from {', '.join(missing)}, which these tasks do not carry "
                f"(their own: {', '.join(own) or 'none'}): give them those columns or train on tasks like these"
            )
        return self.rows[:, [place[name] for name in names]]

    def part(self, rows: npt.NDArray[np.bool_] | slice) -> Known:
        """Return some of the rows."""
        return Known(self.names, self.rows[rows])


def says_more(tasks: Tasks) -> bool:
    """Whether tasks say more than the five features: columns of their own, or who waits for whom."""
    return bool(tasks.features) or tasks.has_edges


def _scaled(columns: Floats) -> Floats:
    scaled: Floats = np.sign(columns) * np.log1p(np.abs(columns))
    return scaled
