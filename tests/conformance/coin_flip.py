"""A stochastic third-party policy: the conformance suite runs over it as over the built-in ones."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler import Scheduler, Tasks, TaskView, View


class CoinFlip(Scheduler):
    """Takes a device at random."""

    name = "coin_flip"
    clairvoyant = False
    stochastic = True

    def __init__(self, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)
        self.draws = np.empty(0)

    def prepare(self, tasks: Tasks, times: np.ndarray, view: View) -> None:
        self.draws = self._generator.random(len(tasks))

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        device = int(self.draws[task.row] * len(view.free))
        return float(view.kind[device]), device
