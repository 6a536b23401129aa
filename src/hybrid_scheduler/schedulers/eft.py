"""Earliest finish time: the whole task goes where it will end first, queues included."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.view import DeviceIndex, TaskView, View, end_of, find_cheapest, finish_on, is_better
from hybrid_scheduler.schedulers.scheduler import Scheduler


class EarliestFinish(Scheduler):
    """Minimum completion time, the rule behind StarPU's dm schedulers; knows the true times."""

    name = "eft"
    indexes_devices = True

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Take the device with the earliest end; equal ends go to the lower index."""
        best = find_earliest_finish(task, view, view.device_index)
        return float(view.kind[best]), best


@jitable
def find_earliest_finish(task: TaskView, view: View, index: DeviceIndex | None) -> int:
    """Return where a task ends first: try every device, or the first of every class if there is an index."""
    best, earliest = 0, np.inf
    if index is None:
        for device in range(len(view.free)):
            finish = finish_on(task, view, device)
            if finish < earliest:
                best, earliest = device, finish
    else:
        for kind in range(len(index.first)):
            device, finish = find_cheapest(index, kind, task.ready_time, end_of, (task.times[kind],))
            if is_better(finish, device, earliest, best) and task.memory_required <= view.memory[device]:
                best, earliest = device, finish
    return best
