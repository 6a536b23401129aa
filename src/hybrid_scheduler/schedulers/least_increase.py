"""Shortest first: policies that order the queue of every device and let short tasks overtake long ones.

`spt` goes where a task would end first and serves the shortest processing time first (Smith 1956, for one machine).
`least_increase` sends a task where the sum of all turnarounds grows least: the rest of what runs, the shorter ones
that wait, its own time, and its own time once more for each longer one that waits (Anand, Garg, Kumar 2012, "Resource
augmentation for weighted flow-time explained by dual fitting"). Tasks still to come count as well: a second of a
device costs as many seconds as tasks usually wait there. `srpt_age` is the same with ageing, which bounds the tail.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View, count_queue, data_ready_time
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.schedulers.learner import weigh
from hybrid_scheduler.schedulers.scheduler import Scheduler

MEMORY = 0.01  # weight of one arrival in the running mean of the queue lengths


@jitable
def find_least_increase(
    task: TaskView, seconds: Floats, view: View, behind: Floats, energy_weight: float = 0.0
) -> int:
    """Return the device on which a task adds least to the sum of all turnarounds by its `seconds` per class; or -1.

    `behind` says by class how many tasks still to come are delayed by whatever runs there; with an `energy_weight`
    the joules of the task count as well.
    """
    best, least = -1, np.inf
    for device in range(len(view.free)):
        kind = view.device_class[device]
        if task.memory_required > view.memory[device] or not np.isfinite(seconds[kind]):
            continue
        shorter, work = count_queue(view, device, seconds[kind])
        wait = max(view.running_end[device], data_ready_time(task.ready_time, view, device)) - task.ready_time
        growth = wait + work + seconds[kind] * (1.0 + view.waiting[device] - shorter + behind[kind])
        cost = weigh(growth, view.watts[device] * seconds[kind], energy_weight)
        if cost < least:
            best, least = device, cost
    return best


@jitable
def sum_by_class(view: View, waiting: Floats) -> None:
    """Count the tasks that wait for each class."""
    waiting[:] = 0.0
    for device in range(len(view.free)):
        waiting[view.device_class[device]] += view.waiting[device]


class ShortestFirst(EarliestFinish):
    """Earliest finish by the queues as they are, then the shortest task of each queue first."""

    name = "spt"
    batch_mode = True  # a block ends with empty queues, so its size is part of what happens

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        """Return the task's seconds on the device."""
        return task.times[view.device_class[device]]


class LeastIncrease(Scheduler):
    """Each task goes where it delays all tasks least, those still to come included; the shortest goes first."""

    name = "least_increase"
    batch_mode = True
    indexes_queues = True

    def __init__(
        self,
        price: Annotated[float, "weight of tasks still to come, as many as usually wait"] = 1.0,
        ageing: Annotated[float, "seconds that a task moves up per second of waiting, in a queue of one task"] = 0.0,
    ) -> None:
        for name, value in (("price", price), ("ageing", ageing)):
            if not 0 <= value < np.inf:
                raise InputError(f"{self.name}: {name} is {value:g}, expected a number of 0 or more")
        self.price, self.ageing = float(price), float(ageing)
        self.devices, self.waiting, self.length = np.ones(1), np.zeros(1), np.zeros(1)
        self.clock = np.zeros(2)  # by how many seconds tasks of time 0 have moved up, and when that was

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Count the devices of every class; what is known of their queues stays."""
        classes = times.shape[1]
        self.devices = np.maximum(np.bincount(view.device_class, minlength=classes), 1).astype(np.float64)
        self.waiting, self.clock = np.zeros(classes), np.zeros(2)
        if len(self.length) != classes:
            self.length = np.zeros(classes)  # running mean of what waits per device, by class, at its price

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Compare by how much the sum of all turnarounds grows; equal growth goes to the lower index."""
        best = max(find_least_increase(task, task.times, view, self.length), 0)
        sum_by_class(view, self.waiting)
        for kind in range(len(self.length)):
            now = self.price * self.waiting[kind] / self.devices[kind]
            self.length[kind] += MEMORY * (now - self.length[kind])
        # The longer the queues, the less may waiting count: all would be served in the order of their arrival.
        queued = self.waiting.sum() / self.devices.sum()
        self.clock[0] += self.ageing * max(task.ready_time - self.clock[1], 0.0) / max(queued, 1.0)
        self.clock[1] = max(self.clock[1], task.ready_time)
        return float(view.kind[best]), best

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        """Return the task's seconds on the device, and by how much those that wait have moved up."""
        return task.times[view.device_class[device]] + self.clock[0]

    @compiled
    def seconds(self, task: TaskView, view: View, device: int) -> float:
        """Return what the index of the queues counts."""
        return task.times[view.device_class[device]]


class AgedLeastIncrease(LeastIncrease):
    """Least increase with ageing: whoever has waited moves up, so that nobody waits for ever."""

    name = "srpt_age"

    def __init__(
        self,
        price: Annotated[float, "weight of tasks still to come, as many as usually wait"] = 1.0,
        ageing: Annotated[float, "seconds that a task moves up per second of waiting, in a queue of one task"] = 0.7,
    ) -> None:
        super().__init__(price, ageing)
