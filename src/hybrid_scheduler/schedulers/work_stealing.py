"""Work stealing: a device that runs out of work takes a task that waits for another one.

Blumofe and Leiserson 1999, "Scheduling multithreaded computations by work stealing". It needs no times. A task goes
to the device that has been idle for longest, or to the next one in turn if none is. Queues are served in order, and a
thief takes the oldest task that it can run, from the longest queue or (`victim=random`, as published) from any.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View, next_fitting
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.scheduler import Scheduler

VICTIMS = ("longest", "random")


class WorkStealing(Scheduler):
    """Round-robin over the queues; whoever is idle steals the oldest task that it can run."""

    name = "work_stealing"
    clairvoyant = False
    stochastic = True
    batch_mode = True  # a block ends with empty queues, so its size is part of what happens

    def __init__(self, victim: Annotated[str, "whose queue is robbed: longest or random"] = "longest", seed: int = 0):
        if victim not in VICTIMS:
            raise InputError(f"work_stealing: victim is '{victim}', expected {' or '.join(VICTIMS)}")
        self.at_random = victim == "random"
        self._generator = np.random.default_rng([seed, 0x57EA1])
        self.draws = np.ones(1)
        self.turns = np.zeros(2, np.int64)  # of the queues, and of the random numbers

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Draw as many random numbers as there are tasks; they are used over and over."""
        if self.at_random:
            self.draws = 1.0 - self._generator.random(max(len(tasks), 1))  # above 0, as a gain has to be

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Take the device that has been idle for longest, or the next one in turn if none is."""
        best, since = next_fitting(self.turns[0] % len(view.free), task, view), np.inf
        for step in range(len(view.free)):
            device = (self.turns[0] + step) % len(view.free)
            idle = view.waiting[device] == 0 and view.running_end[device] <= task.ready_time
            if idle and view.running_end[device] < since and task.memory_required <= view.memory[device]:
                best, since = device, view.running_end[device]
        self.turns[0] = best + 1
        return float(view.kind[best]), best

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        """Return the time at which the task became ready: first come, first served."""
        return task.ready_time

    @compiled
    def steal(self, task: TaskView, view: View, device: int, victim: int) -> float:
        """Prefer the longest queue, or any."""
        if not self.at_random:
            return float(view.waiting[victim])
        self.turns[1] += 1
        return self.draws[self.turns[1] % len(self.draws)]
