"""Greedy: the more compute-intensive a task, the larger its GPU share."""

from __future__ import annotations

from hybrid_scheduler.core.compiling import compiled
from hybrid_scheduler.core.view import TaskView, View, least_loaded_cpu, least_loaded_gpu
from hybrid_scheduler.schedulers.scheduler import Scheduler


class Greedy(Scheduler):
    """GPU share = compute intensity, on the least-loaded GPU; blind to transfers and to the CPU's queue."""

    name = "greedy"
    sighted = False

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Take the intensity as the share."""
        if len(view.gpus) == 0:
            return 0.0, least_loaded_cpu(view)
        return task.compute_intensity, least_loaded_gpu(view)
