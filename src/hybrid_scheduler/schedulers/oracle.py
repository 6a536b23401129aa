"""Oracle: tries every share in steps on every GPU with the true times and queues, takes the earliest finish."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.view import TaskView, View, finish_on, least_loaded_node_cpu, start_on
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.scheduler import Scheduler


class Oracle(Scheduler):
    """Greedy with exact times: best for the task at hand, without regard to the tasks behind it."""

    name = "oracle"
    splits = True

    def __init__(self, step: Annotated[float, "step of the shares that it tries"] = 0.05) -> None:
        if not 0 < step <= 1:
            raise InputError(f"oracle: step is {step:g}, expected above 0 and at most 1, such as 0.05")
        self.shares = np.linspace(0.0, 1.0, round(1 / step) + 1)

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Try whole CPUs, then every share on every GPU; equal ends go to the smaller share and lower index."""
        best, share, earliest = 0, 0.0, np.inf
        for device in range(len(view.free)):
            if view.kind[device] != GPU:
                finish = finish_on(task, view, device)
                if finish < earliest:
                    best, earliest = device, finish
        for gpu in view.gpus:
            cpu = least_loaded_node_cpu(view, gpu)
            gpu_start, cpu_start = start_on(task, view, gpu), start_on(task, view, cpu)
            gpu_time, cpu_time = task.times[view.device_class[gpu]], task.times[view.device_class[cpu]]
            for f in self.shares[1:-1]:
                finish = max(gpu_start + f * gpu_time, cpu_start + (1.0 - f) * cpu_time)
                fits = f * task.memory_required <= view.memory[gpu]
                fits &= (1.0 - f) * task.memory_required <= view.memory[cpu]
                finish = finish if fits else np.inf
                if finish < earliest:
                    best, share, earliest = gpu, f, finish
            finish = finish_on(task, view, gpu)
            if finish < earliest:
                best, share, earliest = gpu, 1.0, finish
        return share, best
