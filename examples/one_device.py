"""Two baselines: all tasks on the CPU, all tasks on the GPUs."""

from hybrid_scheduler import TaskView, View, compiled
from hybrid_scheduler.core.view import least_loaded_cpu, least_loaded_gpu


@compiled
def only_cpu(task: TaskView, view: View) -> tuple[float, int]:  # noqa: ARG001 - the same for every task
    """Run every task whole on the CPU."""
    return 0.0, least_loaded_cpu(view)


@compiled
def only_gpu(task: TaskView, view: View) -> tuple[float, int]:  # noqa: ARG001 - the same for every task
    """Run every task whole on the GPU with the shortest queue."""
    return 1.0, least_loaded_gpu(view)
