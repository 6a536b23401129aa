"""What rl_agent sees beyond the bare task where it has been taught more: learnt times and the place in a graph."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.graph_features import graph_features, way_to_the_end
from hybrid_scheduler.learning.known import Known
from hybrid_scheduler.learning.learnt_times import LearntTimes
from hybrid_scheduler.model.tasks import Floats, Tasks

PLACE = ("upward rank", "depth over chain", "log parents", "log children", "log MB in", "log MB out")
MORE = ("log of learnt seconds", "learnt seconds over the best", "learnt end after the earliest", *PLACE)
"""Names of the features that a wide network reads after those of a plain one; the ranks are in learnt seconds."""
SHARPNESS = 4.0  # how fast a task's weight falls as its longest chain gets shorter than the longest of all


class Sight:
    """What is seen of a block of tasks: expected seconds by class, the place in the graph, and how critical it is."""

    def __init__(self, learnt: LearntTimes, tasks: Tasks) -> None:
        self.expected = learnt.predict(Known.of(tasks)).mean
        self.place = np.zeros((len(tasks), len(PLACE)), np.float32)
        self.critical = np.zeros(len(tasks))
        if tasks.has_edges:
            self._look_at_graph(tasks, self.expected.min(axis=1))

    def _look_at_graph(self, tasks: Tasks, seconds: Floats) -> None:
        depth, height, parents, children, moved_in, moved_out = graph_features(tasks).T
        rank = way_to_the_end(tasks, seconds)
        through = way_to_the_end(tasks, seconds, backwards=True) + rank - seconds
        columns = (
            rank / rank.max(),
            depth / np.maximum(depth + height, 1.0),
            np.log1p(parents) / 3.0,
            np.log1p(children) / 3.0,
            np.log1p(moved_in) / 10.0,
            np.log1p(moved_out) / 10.0,
        )
        self.place = np.column_stack(columns).astype(np.float32)
        self.critical = (through / through.max()) ** SHARPNESS
