"""A lane turns tasks into placements: one scheduler on its own simulated cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from hybrid_scheduler.core.placements import Placements, concatenate_placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.learner import Learner
    from hybrid_scheduler.schedulers.scheduler import Scheduler


@dataclass
class Lane:
    """A scheduler and the cluster that it has to itself."""

    scheduler: Scheduler
    machine: VirtualMultiGPU
    seconds: float = 0.0  # wall time spent on decisions and simulated clocks
    deaths: int = 0  # workers that died while executing a task for real

    def run(self, tasks: Tasks, times: Floats | None = None) -> Placements:
        """Place a block of tasks; a learning scheduler gets its placements every `learn_every` tasks."""
        every = self.scheduler.learn_every
        if not every or tasks.has_edges or len(tasks) <= every:
            return self._step(tasks, times)
        cuts = [*range(0, len(tasks), every), len(tasks)]
        parts = [
            self._step(tasks.part(first, last), None if times is None else times[first:last])
            for first, last in pairwise(cuts)
        ]
        return concatenate_placements(parts, tasks)

    def _step(self, tasks: Tasks, times: Floats | None) -> Placements:
        begin = time.perf_counter()
        placements = self.machine.step(tasks, self.scheduler, times=times)
        self.seconds += time.perf_counter() - begin
        if self.scheduler.learn_every:
            cast("Learner", self.scheduler).learn(placements)
        return placements
