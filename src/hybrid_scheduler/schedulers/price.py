"""Price: every second on a device class has a price; a task goes where its time costs least."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.bounds.makespan import find_prices
from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import (
    DeviceIndex,
    TaskView,
    View,
    can_run,
    end_of,
    find_cheapest,
    finish_on,
    is_better,
)
from hybrid_scheduler.errors import check_number
from hybrid_scheduler.schedulers.scheduler import Scheduler

TIE = 1e-9
"""Relative difference of two costs up to which they are equal: where a class is so many times as fast for all tasks,
prices make every class cost the same, and rounding must not send all tasks to one of them."""


class Price(Scheduler):
    """Uses the prices that prove the lower bound; leaves a GPU to the task that needs it more."""

    name = "price"
    batch_mode = True  # prices are those of the block
    indexes_devices = True

    def __init__(
        self, tie: Annotated[float, "relative difference of costs up to which they are equal; 0: as in 1.0"] = TIE
    ) -> None:
        check_number("price: tie", tie, 0, 1)
        self.tie = float(tie)
        self.prices = np.ones(1)

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Find the prices of this block: the dual of its assignment to classes."""
        counts = np.bincount(view.device_class, minlength=times.shape[1])
        self.prices = find_prices(times, counts)

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Take the class with the smallest price · time, and in it the device that ends first."""
        best = find_cheapest_class(self.prices, self.tie, task, view, view.device_index)
        return float(view.kind[best]), best


@jitable
def find_cheapest_class(prices: Floats, tie: float, task: TaskView, view: View, index: DeviceIndex | None) -> int:
    """Return the first device that ends earliest in a class with the least price · time."""
    best, cheapest, earliest = 0, np.inf, np.inf
    if index is None:
        for device in range(len(view.free)):
            if not can_run(task, view, device):
                continue
            number = view.device_class[device]
            price = prices[number] * task.times[number]
            finish = finish_on(task, view, device)
            if price < cheapest * (1.0 - tie) or (price <= cheapest * (1.0 + tie) and finish < earliest):
                best, cheapest, earliest = device, min(price, cheapest), finish
    else:
        for kind in range(len(index.first)):
            device, finish = find_cheapest(index, kind, task.ready_time, end_of, (task.times[kind],))
            if finish == np.inf or task.memory_required > view.memory[device]:
                continue
            price = prices[kind] * task.times[kind]
            tied = price <= cheapest * (1.0 + tie)
            if price < cheapest * (1.0 - tie) or (tied and is_better(finish, device, earliest, best)):
                best, cheapest, earliest = device, min(price, cheapest), finish
    return best
