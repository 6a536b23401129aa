"""Search: the waiting tasks as one batch, spread by prices and local search so that the last device ends early."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from hybrid_scheduler.bounds.local_search import find_start_prices, search_assignment
from hybrid_scheduler.core.loop import Batch
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import View
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.scheduler import BatchScheduler


class Problem(NamedTuple):
    """A batch and the devices at work, renumbered."""

    seconds: Floats  # by task and class; inf where a task cannot run
    kind: Ints  # class of every device
    start: Floats  # when it can begin, counted from the first that can
    device: Ints  # its number in the cluster


class BatchPlanner(BatchScheduler):
    """Base of policies that assign a whole batch to devices; a new one is formed when a device runs out of work."""

    def plan(self, batch: Batch, view: View) -> tuple[Ints, Floats, Ints]:
        """Assign the batch; every device then takes its short tasks first, so that the mean wait is short."""
        problem = build_problem(batch, view)
        if view.queued:
            device = problem.device[self.assign(problem)]
        else:  # every device is always free: each task takes its fastest
            device = problem.device[np.argmin(problem.seconds[:, problem.kind], axis=1)]
        order = np.argsort(batch.times[np.arange(len(device)), view.device_class[device]], kind="stable")
        return order, view.kind[device].astype(np.float64), device

    def assign(self, problem: Problem) -> Ints:
        """Return a device of the problem for every task."""
        raise NotImplementedError


class Search(BatchPlanner):
    """Starts from the prices of the linear programme, then moves, swaps and kicks tasks; same batch, same answer."""

    name = "search"

    def __init__(
        self,
        effort: Annotated[float, "how long to search: 1 is about a second for 512 tasks on 16 devices"] = 1.0,
        window: Annotated[int, "most tasks that are planned together"] = 4096,
    ) -> None:
        super().__init__(window)
        if isinstance(effort, bool) or not isinstance(effort, int | float) or not 0 <= effort <= 1e6:
            raise InputError(f"search: effort is {effort!r}, expected a number from 0 (no kicks) to 1e6")
        self.effort = float(effort)

    def assign(self, problem: Problem) -> Ints:
        """Search from the prices."""
        prices = find_start_prices(problem.seconds, problem.kind, problem.start)
        return search_assignment(problem.seconds, problem.kind, problem.start, prices, effort=self.effort)


def build_problem(batch: Batch, view: View) -> Problem:
    """Return the batch without devices that have failed, and without classes that a task does not fit."""
    device = np.flatnonzero(view.memory >= 0)
    kind = view.device_class[device]
    room = np.full(batch.times.shape[1], -1.0)
    np.maximum.at(room, kind, view.memory[device])
    seconds = np.where(batch.memory_required[:, None] <= room, batch.times, np.inf)
    start = np.maximum(view.free[device], batch.ready_time.max())
    return Problem(np.ascontiguousarray(seconds), kind, start - start.min(), device)
