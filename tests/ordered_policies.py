"""Policies that tests of ordered queues share."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.late_binding import Waiting
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.schedulers.oracle import Oracle
from hybrid_scheduler.schedulers.scheduler import Scheduler

SHORTEST_WAITING = f"{__file__}:ShortestWaiting"
"""As it is named in settings."""


class FifoEft(EarliestFinish):
    """Earliest finish with queues that are ordered by ready time: the order of decisions."""

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        return task.ready_time


class FifoOracle(Oracle):
    """The same with tasks that are split."""

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        return task.ready_time


class ShortestWaiting(Scheduler):
    """Late binding: an idle device takes the shortest task that it can run."""

    name = "shortest_waiting"

    @compiled
    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        best, least = -1, np.inf
        for position in range(waiting.length):
            row = waiting.row[position]
            seconds = waiting.times[row, view.device_class[device]]
            if waiting.memory_required[row] <= view.memory[device] and seconds < least:
                best, least = position, seconds
        return best
