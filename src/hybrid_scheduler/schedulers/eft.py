"""Earliest finish time: the whole task goes where it will end first, queues included."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.view import TaskView, View, finish_on
from hybrid_scheduler.schedulers.scheduler import Scheduler


class EarliestFinish(Scheduler):
    """Minimum completion time, the rule behind StarPU's dm schedulers; knows the true times."""

    name = "eft"

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Try every device; equal ends go to the lower index."""
        best, earliest = 0, np.inf
        for device in range(len(view.free)):
            finish = finish_on(task, view, device)
            if finish < earliest:
                best, earliest = device, finish
        return float(view.kind[best]), best
