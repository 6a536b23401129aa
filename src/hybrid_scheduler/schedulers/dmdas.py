"""Deque model data aware, sorted: queues by priority, as in StarPU.

A task joins the queue of the device with the earliest expected completion: after all work queued there and after the
arrival of its data, by its own seconds. Each queue serves the highest priority first (Augonnet et al. 2011, "StarPU:
a unified platform for task scheduling on heterogeneous multicore architectures"). The priorities of a graph are
upward ranks, the longest path to its end in mean times and transfers: what HEFT uses, and users of StarPU set.
Independent tasks have no priority and are served in order of arrival: there `dmdas` is `eft`.
"""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.schedulers.heft import Heft


class Dmdas(EarliestFinish):
    """Earliest finish, data included; each queue serves the highest upward rank first."""

    name = "dmdas"
    batch_mode = True  # ranks are those of the block

    def __init__(self) -> None:
        self.priority = np.empty(0)

    def reorders(self, tasks: Tasks) -> bool:
        """Whether there is an order other than that of arrival."""
        return tasks.has_edges

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Rank the tasks of a graph."""
        seconds = np.where(tasks.memory_required[:, None] <= view.memory, times[:, view.device_class], np.inf)
        self.priority = Heft().rank(tasks, seconds, view)[0] if tasks.has_edges else np.empty(0)

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        """Return the priority, the highest first."""
        return -self.priority[task.row]
