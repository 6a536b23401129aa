"""The waiting tasks as one batch: `search` by prices and local search, `optimal` by mixed-integer programming.

The last device shall end early; `optimal` proves how early that can be, where it can.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from hybrid_scheduler.bounds.local_search import find_start_prices, search_assignment
from hybrid_scheduler.bounds.optimum import NODES, Effort, best_assignment
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


PLACES = 4000
"""Most pairs of a task and a device that the solver is asked about; a larger batch is left to the local search."""


class Optimal(BatchPlanner):
    """The shortest schedule of the batch within `gap`: local search first, then HiGHS unless that is good enough.

    The solver stops after `nodes` nodes of its search tree, which does not depend on the machine. With `seconds` it
    also stops by the clock, and what it has found by then is not repeatable. `insight` says how far from proved
    the last batch is, and how many of all batches are proved.
    """

    name = "optimal"

    def __init__(
        self,
        gap: Annotated[float, "share of the makespan at which a batch counts as solved"] = 5e-3,
        nodes: Annotated[int, "most nodes of the solver's search tree for one batch"] = NODES,
        seconds: Annotated[float, "also stop after this many seconds (not repeatable); 0 is never"] = 0.0,
        window: Annotated[int, "most tasks that are planned together"] = 4096,
    ) -> None:
        super().__init__(window)
        for name, value, most in (("gap", gap, 1.0), ("nodes", nodes, 2**31 - 1), ("seconds", seconds, 1e9)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
                raise InputError(f"optimal: {name} is {value!r}, expected a number from 0 to {most:g}")
        self.gap, self.nodes, self.seconds = float(gap), int(nodes), float(seconds)
        self.batches, self.proved, self.last_gap = 0, 0, 0.0

    def assign(self, problem: Problem) -> Ints:
        """Search, then solve."""
        small = len(problem.seconds) * len(problem.kind) <= PLACES
        effort = Effort(self.gap, self.nodes if small else 0, self.seconds or np.inf)
        found = best_assignment(problem.seconds, problem.kind, problem.start, effort)
        self.batches += 1
        self.proved += found.proved
        self.last_gap = found.gap
        return found.device

    @property
    def insight(self) -> dict[str, float]:
        """Batches so far, how many are proved to be optimal within the gap, and the gap of the last one."""
        return {"batches": self.batches, "proved": self.proved, "last_gap": self.last_gap}
