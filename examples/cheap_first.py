"""A policy in ten lines: a task goes to the CPU while that costs at most half a second of waiting."""

from hybrid_scheduler import TaskView, View, compiled
from hybrid_scheduler.core.view import finish_on, least_loaded_gpu


@compiled
def cheap_first(task: TaskView, view: View) -> tuple[float, int]:
    """Prefer the cheap device unless a GPU would end more than half a second earlier."""
    gpu = least_loaded_gpu(view)
    if finish_on(task, view, 0) <= finish_on(task, view, gpu) + 0.5:
        return 0.0, 0
    return 1.0, gpu
