"""Min-min, max-min and sufferage: batch policies that map the ready tasks whenever a device runs out of work.

Published for one batch (Ibarra and Kim 1977, Maheswaran et al. 1999); with arrivals a new batch is formed as
soon as a device is idle, from the tasks that wait then. No look into the future.
"""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import compiled, counted, jitable
from hybrid_scheduler.core.loop import Batch
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import View
from hybrid_scheduler.schedulers.scheduler import BatchScheduler

MIN, MAX, SUFFER = 0, 1, 2


class MinMin(BatchScheduler):
    """Of all ready tasks, the one with the earliest possible finish goes first."""

    name = "min_min"

    @compiled
    def plan(self, batch: Batch, view: View) -> tuple[Ints, Floats, Ints]:
        """Map the batch."""
        return map_batch(batch, view, MIN)


class MaxMin(BatchScheduler):
    """Of all ready tasks, the one whose best finish is latest goes first."""

    name = "max_min"

    @compiled
    def plan(self, batch: Batch, view: View) -> tuple[Ints, Floats, Ints]:
        """Map the batch."""
        return map_batch(batch, view, MAX)


class Sufferage(BatchScheduler):
    """The task that would lose most by its second-best device goes first; rated again after every task."""

    name = "sufferage"

    @compiled
    def plan(self, batch: Batch, view: View) -> tuple[Ints, Floats, Ints]:
        """Map the batch."""
        return map_batch(batch, view, SUFFER)


@counted
def map_batch(batch: Batch, view: View, rule: int) -> tuple[Ints, Floats, Ints]:
    """Map task after task; after each one only the tasks that preferred its device are rated again."""
    ready, seconds = batch.ready_time, seconds_by_device(batch, view)
    count = len(ready)
    free = view.free.copy()
    device = np.empty(count, np.int64)
    score = np.empty(count)
    left = np.arange(count)
    order = np.empty(count, np.int64)
    for task in range(count):
        device[task], score[task] = rate(ready[task], seconds[task], free, rule)
    for position in range(count):
        chosen = 0
        for k in range(1, count - position):
            if score[left[k]] < score[left[chosen]]:
                chosen = k
        task = left[chosen]
        for k in range(chosen, count - position - 1):  # keeps row order, so ties go to the lower row
            left[k] = left[k + 1]
        order[position] = task
        used = device[task]
        free[used] = max(ready[task], free[used]) + seconds[task, used]
        for k in range(count - position - 1):
            other = left[k]
            if rule == SUFFER or device[other] == used:
                device[other], score[other] = rate(ready[other], seconds[other], free, rule)
    return order, view.kind[device].astype(np.float64), device


@counted
def seconds_by_device(batch: Batch, view: View) -> Floats:
    """Return seconds by task and device; inf where the task does not fit."""
    seconds = np.empty((len(batch.row), len(view.free)))
    for task in range(len(seconds)):
        for device in range(len(view.free)):
            fits = batch.memory_required[task] <= view.memory[device]
            seconds[task, device] = batch.times[task, view.device_class[device]] if fits else np.inf
    return seconds


@jitable
def rate(ready: float, seconds: Floats, free: Floats, rule: int) -> tuple[int, float]:
    """Return a task's best device and its score; the lowest score goes first."""
    best, first, second = 0, np.inf, np.inf
    for device in range(len(free)):
        finish = max(ready, free[device]) + seconds[device]
        if finish < first:
            best, first, second = device, finish, first
        elif finish < second:
            second = finish
    if rule == MIN:
        return best, first
    if rule == MAX:
        return best, -first
    # A task that fits no other device would suffer most.
    return best, first - second if second < np.inf else -np.inf
