"""CPOP for graphs: the critical path stays together on one device (Topcuoglu, Hariri, Wu 2002).

A task's priority is the length of the longest path through it: upward rank plus downward rank, in mean times
and mean transfers. Tasks on the critical path run on the device that takes least time for all of them; ready tasks
are taken by priority, and the others go where they end first.
"""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import jit
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import View
from hybrid_scheduler.schedulers.heft import StaticPlan, finite_mean, mean_transfers, upward_rank


class Cpop(StaticPlan):
    """Critical path on a processor."""

    name = "cpop"

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Priority: the longest path through a task. Devices beside the critical one are no choice for its path."""
        mean, transfers = finite_mean(seconds), mean_transfers(tasks, view)
        children = tasks.children
        up = upward_rank(tasks.topological, mean, transfers, children.start, children.parents)
        down = _downward_rank(tasks.topological, mean, transfers, children.start, children.parents)
        path = _critical_path(up + down, np.diff(tasks.edges.start), children.start, children.parents)
        path = path[np.isfinite(seconds[path]).any(axis=1)]
        outlook = np.zeros(seconds.shape)
        outlook[path] = np.inf
        outlook[path, _best_devices(seconds[path])] = 0.0
        return up + down, outlook


def _best_devices(seconds: Floats) -> Ints:
    """Return the device with the least time for all these tasks; where it cannot run one, that one's fastest."""
    one = np.argmin(seconds.sum(axis=0)) if len(seconds) else 0
    device: Ints = np.where(np.isfinite(seconds[:, one]), one, np.argmin(seconds, axis=1))
    return device


@jit
def _downward_rank(topological: Ints, mean: Floats, transfers: Floats, child_start: Ints, children: Ints) -> Floats:
    rank = np.zeros(len(mean))
    for row in topological:
        for edge in range(child_start[row], child_start[row + 1]):
            child = children[edge]
            rank[child] = max(rank[child], rank[row] + mean[row] + transfers[edge])
    return rank


@jit
def _critical_path(priority: Floats, parents: Ints, child_start: Ints, children: Ints) -> Ints:
    """Return the rows of a longest path: from the first of the highest priority down, always to the highest child."""
    row, path = -1, np.zeros(len(priority), np.int64)
    for each in range(len(priority)):
        if parents[each] == 0 and (row < 0 or priority[each] > priority[row]):
            row = each
    length = 0
    while row >= 0:
        path[length] = row
        length += 1
        best = -1
        for edge in range(child_start[row], child_start[row + 1]):
            if best < 0 or priority[children[edge]] > priority[best]:
                best = children[edge]
        row = best
    return path[:length]
