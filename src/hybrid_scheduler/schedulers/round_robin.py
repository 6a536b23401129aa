"""Round robin: GPU, CPU, GPU, CPU …, cycling through the GPUs and the CPUs."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.schedulers.scheduler import Scheduler


class RoundRobin(Scheduler):
    """Alternates; the baseline that looks at nothing."""

    name = "round_robin"
    clairvoyant = False
    ignores_backlog = True

    def __init__(self) -> None:
        self.turn = np.zeros(1, np.int64)
        self.cpus = np.zeros(1, np.int64)

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Note which devices are CPUs."""
        self.cpus = np.flatnonzero(view.kind != GPU)

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Even turns go to the next GPU, odd turns to the next CPU."""
        turn = self.turn[0]
        self.turn[0] += 1
        if turn % 2 == 0 and len(view.gpus) > 0:
            return 1.0, view.gpus[(turn // 2) % len(view.gpus)]
        return 0.0, self.cpus[(turn // 2) % len(self.cpus)]
