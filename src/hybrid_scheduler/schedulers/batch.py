"""Min-min, max-min and sufferage: batch policies that map the ready tasks whenever a device runs out of work.

Published for one batch (Ibarra and Kim 1977, Maheswaran et al. 1999); with arrivals a new batch is formed as
soon as a device is idle, from the tasks that wait then. No look into the future.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from hybrid_scheduler.compiling import compiled, jitable
from hybrid_scheduler.loop import Batch
from hybrid_scheduler.model.tasks import Floats, Ints
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.view import View

MIN, MAX, SUFFER = 0, 1, 2


class _BatchMapping(Scheduler):
    """What the three rules share."""

    def __init__(self, window: int = 4096) -> None:
        self.window = window


class MinMin(_BatchMapping):
    """Of all ready tasks, the one with the earliest possible finish goes first."""

    name = "min_min"

    @compiled
    def plan(self, batch: Batch, view: View) -> tuple[Ints, Floats, Ints]:
        """Map the batch."""
        return map_batch(batch, view, MIN)


class MaxMin(_BatchMapping):
    """Of all ready tasks, the one whose best finish is latest goes first."""

    name = "max_min"

    @compiled
    def plan(self, batch: Batch, view: View) -> tuple[Ints, Floats, Ints]:
        """Map the batch."""
        return map_batch(batch, view, MAX)


class Sufferage(_BatchMapping):
    """The task that would lose most by its second-best device goes first; looks again after every task."""

    name = "sufferage"

    @compiled
    def plan(self, batch: Batch, view: View) -> tuple[Ints, Floats, Ints]:
        """Map the batch."""
        return map_batch(batch, view, SUFFER)


@register_jitable(error_model="numpy")
def map_batch(batch: Batch, view: View, rule: int) -> tuple[Ints, Floats, Ints]:
    """Map task after task; after each one only the tasks that wanted its device look again."""
    count = len(batch.row)
    free = view.free.copy()
    device = np.empty(count, np.int64)
    score = np.empty(count)
    left = np.arange(count)
    order = np.empty(count, np.int64)
    for task in range(count):
        look(task, batch, view, free, rule, device, score)
    for position in range(count):
        chosen = 0
        for k in range(1, count - position):
            if score[left[k]] < score[left[chosen]]:
                chosen = k
        task = left[chosen]
        # Keep the rest in row order, so that ties are broken alike whatever came before.
        left[chosen : count - position - 1] = left[chosen + 1 : count - position].copy()
        order[position] = task
        used = device[task]
        start = max(batch.ready_time[task], free[used])
        free[used] = start + batch.times[task, view.device_class[used]]
        for k in range(count - position - 1):
            if rule == SUFFER or device[left[k]] == used:
                look(left[k], batch, view, free, rule, device, score)
    return order, view.kind[device].astype(np.float64), device


@jitable
def look(task: int, batch: Batch, view: View, free: Floats, rule: int, device: Ints, score: Floats) -> None:
    """Find a task's best device and its score; the lowest score goes first."""
    best, first, second = 0, np.inf, np.inf
    for d in range(len(free)):
        finish = max(batch.ready_time[task], free[d]) + batch.times[task, view.device_class[d]]
        if batch.memory_required[task] > view.memory[d]:
            finish = np.inf
        if finish < first:
            best, first, second = d, finish, first
        elif finish < second:
            second = finish
    device[task] = best
    if rule == MIN:
        score[task] = first
    elif rule == MAX:
        score[task] = -first
    elif second == np.inf:
        score[task] = -np.inf  # nowhere else to go: it would suffer most
    else:
        score[task] = first - second
