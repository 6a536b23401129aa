"""Random: a uniform share of the task on a random GPU."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.scheduler import Scheduler


class Random(Scheduler):
    """Decides at random; what every other policy has to beat."""

    name = "random"
    clairvoyant = False
    ignores_backlog = True
    stochastic = True
    splits = True

    def __init__(self, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError(f"random: seed is {seed!r}, expected a whole number, 0 or more")
        self._generator = np.random.default_rng([seed, 0x5EED])
        self.draws = np.empty((0, 2))

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Draw the random numbers of a block; the same stream whatever the size of the blocks."""
        self.draws = self._generator.random((len(tasks), 2))

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Use one random number for the share and one for the device."""
        share, draw = self.draws[task.row, 0], self.draws[task.row, 1]
        if len(view.gpus) == 0:
            return 0.0, int(draw * len(view.free))
        return share, view.gpus[int(draw * len(view.gpus))]
