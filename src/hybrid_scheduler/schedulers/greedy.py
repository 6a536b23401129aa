"""Greedy: the more compute-intensive a task, the larger its GPU share."""

from __future__ import annotations

from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.view import TaskView, View, least_loaded_cpu, least_loaded_gpu
from hybrid_scheduler.schedulers.scheduler import Scheduler


class Greedy(Scheduler):
    """GPU share = compute intensity, on the least-loaded GPU; ignores transfers and the CPU's queue."""

    name = "greedy"
    clairvoyant = False
    splits = True
    indexes_devices = True
    ignores_errors = True

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Take the intensity as the share."""
        if len(view.gpus) == 0:
            return 0.0, least_loaded_cpu(view)
        return task.compute_intensity, least_loaded_gpu(view)
