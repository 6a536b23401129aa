"""Features of tasks that learners see before a task runs: five basic ones, custom columns, the place in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core import elementary
from hybrid_scheduler.core.compiler import jit
from hybrid_scheduler.core.tasks import FEATURE, Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError, unknown_name

FEATURES = ("size", "compute_intensity", "memory_required", "memory_per_size", "compute_to_memory")
GRAPH_FEATURES = ("depth", "height", "parents", "children", "megabytes_in", "megabytes_out")
MAX_RATIO_COLUMNS = 12  # custom columns up to which all n·(n − 1)/2 ratios are formed


def task_features(tasks: Tasks, names: tuple[str, ...] = FEATURES) -> Floats:
    """Return one row of basic features per task; none depends on how long the task takes."""
    size, intensity, memory = tasks.size, tasks.compute_intensity, tasks.memory_required
    columns = {
        "size": size,
        "task_size": size,  # the name in the guide's table
        "compute_intensity": intensity,
        "memory_required": memory,
        "memory_per_size": memory / (size + 1.0),
        "compute_to_memory": intensity / (memory + 1.0),
    }
    for name in names:
        if name not in columns:
            raise unknown_name("feature of the model:", name, FEATURES)
    return np.column_stack([columns[name] for name in names])


def has_custom_features(tasks: Tasks) -> bool:
    """Whether tasks carry more than the basic features: columns of their own, or dependencies."""
    return bool(tasks.features) or tasks.has_edges


@dataclass(frozen=True)
class FeatureTable:
    """Named columns on a logarithmic scale; NaN is unknown.

    A custom column is called `feature_…`, as in files. The ratio of every two of them is added: work per byte says
    more than either, and a tree that splits on one column at a time would never see it.
    """

    names: tuple[str, ...]
    rows: Floats

    @classmethod
    def from_tasks(cls, tasks: Tasks) -> FeatureTable:
        """Compute all features of tasks."""
        custom = {f"{FEATURE}{name}": _log_scale(tasks.features[name]) for name in sorted(tasks.features)}
        pairs = list(combinations(custom, 2)) if len(custom) <= MAX_RATIO_COLUMNS else []
        ratios = {f"{one}/{other}": custom[one] - custom[other] for one, other in pairs}
        basic, graph = _log_scale(task_features(tasks)), _log_scale(graph_features(tasks))
        names = (*FEATURES, *custom, *ratios, *GRAPH_FEATURES)
        return cls(names, np.column_stack([basic, *custom.values(), *ratios.values(), graph]))

    def select(self, names: Sequence[str]) -> Floats:
        """Return the columns that a model was trained on, in its order."""
        place = {name: number for number, name in enumerate(self.names)}
        missing = [name for name in names if name not in place and "/" not in name]
        if missing:
            custom = [name for name in self.names if name.startswith(FEATURE) and "/" not in name]
            raise InputError(
                f"the model was trained on {', '.join(missing)}, which these tasks do not carry "
                f"(their own: {', '.join(custom) or 'none'}): give them those columns or train on tasks like these"
            )
        return self.rows[:, [place[name] for name in names]]

    def take(self, rows: npt.NDArray[np.bool_] | slice) -> FeatureTable:
        """Return some of the rows."""
        return FeatureTable(self.names, self.rows[rows])


def graph_features(tasks: Tasks) -> Floats:
    """Return one row per task, in the order of `GRAPH_FEATURES`; all 0 for independent tasks."""
    if not tasks.has_edges:
        return np.zeros((len(tasks), len(GRAPH_FEATURES)))
    edges, children = tasks.edges, tasks.children
    down, up = tasks.topological, tasks.topological[::-1]
    columns = (
        _chain_lengths(down, edges.start, edges.parents),
        _chain_lengths(up, children.start, children.parents),
        np.diff(edges.start),
        np.diff(children.start),
        np.bincount(edges.child, edges.megabytes, len(tasks)),
        np.bincount(edges.parents, edges.megabytes, len(tasks)),
    )
    return np.column_stack(columns).astype(np.float64)


def longest_path(tasks: Tasks, seconds: Floats, backwards: bool = False) -> Floats:
    """Return the longest path in `seconds` from each task to the end of the graph, or back to its beginning."""
    links, rows = (tasks.edges, tasks.topological) if backwards else (tasks.children, tasks.topological[::-1])
    longest: Floats = _chain_seconds(rows, seconds, links.start, links.parents)
    return longest


@jit
def _chain_lengths(rows: Ints, start: Ints, others: Ints) -> Ints:
    """Count the tasks of the longest chain that leads to each row; `rows` come after all their `others`."""
    length = np.zeros(len(rows), np.int64)
    for row in rows:
        for edge in range(start[row], start[row + 1]):
            length[row] = max(length[row], length[others[edge]] + 1)
    return length


@jit
def _chain_seconds(rows: Ints, seconds: Floats, start: Ints, others: Ints) -> Floats:
    length = seconds.copy()
    for row in rows:
        after = 0.0
        for edge in range(start[row], start[row + 1]):
            after = max(after, length[others[edge]])
        length[row] = seconds[row] + after
    return length


def _log_scale(columns: Floats) -> Floats:
    scaled: Floats = np.sign(columns) * elementary.log1p(np.abs(columns))
    return scaled
