"""A lane turns tasks into placements: one scheduler on its own simulated cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from hybrid_scheduler.core.placements import Placements, concatenate_placements
from hybrid_scheduler.core.simulator import OrderedStream, VirtualMultiGPU, reorders
from hybrid_scheduler.core.stream import EndlessStream, Progress
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
    stream: EndlessStream | None = None  # what waits, once a block of an endless stream had to be ordered

    def run(self, tasks: Tasks, times: Floats | None = None, *, last: bool = True) -> Placements:
        """Place the last block of tasks; a learning scheduler gets its placements every `learn_every` tasks."""
        every = self.scheduler.learn_every
        if not every or tasks.has_edges or len(tasks) <= every:
            return self._step(tasks, times, last)
        if self.machine.queued and reorders(self.scheduler, tasks):
            return self._run_ordered(tasks, times)
        cuts = [*range(0, len(tasks), every), len(tasks)]
        parts = [
            self._step(tasks.part(first, last), None if times is None else times[first:last])
            for first, last in pairwise(cuts)
        ]
        return concatenate_placements(parts, tasks)

    def _run_ordered(self, tasks: Tasks, times: Floats | None) -> Placements:
        """Place block after block with queues that persist: it learns while tasks of earlier blocks still wait."""
        stream = OrderedStream(self.machine, tasks, self.scheduler, times, interpreted=None)
        for first in range(0, len(tasks), self.scheduler.learn_every):
            begin = time.perf_counter()
            placements = stream.advance(min(first + self.scheduler.learn_every, len(tasks)))
            self.seconds += time.perf_counter() - begin
            cast("Learner", self.scheduler).learn(placements)
        return stream.placements

    def run_on(self, tasks: Tasks, times: Floats | None = None, ready: float | None = None) -> Progress:
        """Place the next block of an endless stream; ordered queues persist, and tasks start in later blocks.

        `ready` stands in for the times of arrival of tasks that come again.
        """
        if not self._is_ordered(tasks):
            seen = tasks if ready is None else replace(tasks, arrival_time=np.full(len(tasks), ready))
            placements = self.run(seen, times, last=False)
            return Progress(placements if seen is tasks else replace(placements, tasks=tasks), None)
        if self.stream is None:
            self.stream = EndlessStream(self.machine, self.scheduler)
        self.stream.append(tasks, times, ready)
        every = self.scheduler.learn_every or len(tasks)
        for first in range(0, len(tasks), every):
            begin = time.perf_counter()
            placements = self.stream.advance(min(every, len(tasks) - first))
            self.seconds += time.perf_counter() - begin
            if self.scheduler.learn_every:
                cast("Learner", self.scheduler).learn(placements)
        return self.stream.collect(tasks)

    def _is_ordered(self, tasks: Tasks) -> bool:
        """Whether the tasks may be overtaken, or may overtake others."""
        if not self.machine.queued or tasks.has_edges:
            return False
        return reorders(self.scheduler, tasks) or (self.stream is not None and self.stream.waiting > 0)

    def _step(self, tasks: Tasks, times: Floats | None, last: bool = False) -> Placements:
        begin = time.perf_counter()
        placements = self.machine.step(tasks, self.scheduler, times=times, interpreted=None, last=last)
        self.seconds += time.perf_counter() - begin
        if self.scheduler.learn_every:
            cast("Learner", self.scheduler).learn(placements)
        return placements
