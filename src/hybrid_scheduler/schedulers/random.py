"""Random: a uniform share of the task on a GPU drawn by lot."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiling import compiled
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.scheduler import Scheduler


class Random(Scheduler):
    """Decides by lot; what every other policy has to beat."""

    name = "random"
    sighted = False

    def __init__(self, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError(f"random: seed is {seed!r}, expected a whole number, 0 or more")
        self._generator = np.random.default_rng([seed, 0x5EED])
        self.lot = np.empty((0, 2))

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Draw the lots of a block; the same stream of lots whatever the size of the blocks."""
        self.lot = self._generator.random((len(tasks), 2))

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Use this task's two lots: one for the share, one for the device."""
        share, ticket = self.lot[task.row, 0], self.lot[task.row, 1]
        if len(view.gpus) == 0:
            return 0.0, int(ticket * len(view.free))
        return share, view.gpus[int(ticket * len(view.gpus))]
