"""Join the shortest queue, of all or of a few: how balancers without knowledge of times spread work.

`jsq` counts tasks, not seconds, and serves each queue in order. Looking at `d` devices drawn at random is nearly as
good as looking at all of them (Mitzenmacher 2001, "The power of two choices in randomized load balancing").
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View, next_fitting
from hybrid_scheduler.errors import check_number
from hybrid_scheduler.schedulers.scheduler import Scheduler


class JoinShortestQueue(Scheduler):
    """The device with the fewest tasks, waiting or running; ties at random."""

    name = "jsq"
    clairvoyant = False
    stochastic = True
    batch_mode = True  # a block ends with empty queues, so its size is part of what happens

    def __init__(
        self, d: Annotated[int, "devices to look at, drawn at random; 0: all of them"] = 0, seed: int = 0
    ) -> None:
        for name, value, most in (("d", d, 10_000), ("seed", seed, 2**53)):
            check_number(f"jsq: {name}", value, 0, most, whole=True)
        self.d = d
        self._generator = np.random.default_rng([seed, 0x75C])
        self.draws = np.empty((0, 1))

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Draw the random numbers of a block: the devices to look at, or the one at which to begin."""
        self.draws = self._generator.random((len(tasks), max(self.d, 1)))

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Compare the devices drawn, or those that follow and can hold the task; equal queues go to the first."""
        best, least, devices = 0, -1, len(view.free)
        for look in range(self.d if self.d > 0 else devices):
            drawn = self.draws[task.row, look] * devices if self.d > 0 else self.draws[task.row, 0] * devices + look
            device = next_fitting(int(drawn) % devices, task, view)
            queued = view.waiting[device] + (1 if view.running_end[device] > task.ready_time else 0)
            if queued < least or least < 0:
                best, least = device, queued
        return float(view.kind[best]), best

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        """Return the time at which the task became ready: first come, first served."""
        return task.ready_time
