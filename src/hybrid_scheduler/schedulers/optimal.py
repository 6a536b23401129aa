"""Optimal: the waiting tasks as one batch, assigned by mixed-integer programming, with a proof where there is one."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.bounds.optimum import NODES, Effort, best_assignment
from hybrid_scheduler.core.tasks import Ints
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.search import BatchPlanner, Problem

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
