"""Deciding for real: the policy of the simulation is asked by the loop of the simulation.

The cluster that it sees is a simulated one whose clocks are set to what is believed of the real one, and the times
are those that were learnt. What no simulation knows is added here: types of tasks that must be tried on a class
first, work that cannot be split, and workers that are dead at the moment.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.engine.asking import asked
from hybrid_scheduler.execution.backend import Backend
from hybrid_scheduler.execution.beliefs import Beliefs
from hybrid_scheduler.execution.devices import cluster_of
from hybrid_scheduler.execution.jobs import Job
from hybrid_scheduler.execution.measured_times import MeasuredTimes
from hybrid_scheduler.execution.records import placements_of, tasks_of
from hybrid_scheduler.lane import Lane
from hybrid_scheduler.model.placements import RAN, REASONS, Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.simulator import VirtualMultiGPU


class Choice(NamedTuple):
    """Where a job goes: devices with their parts, none if it was rejected; `seconds` by class as predicted."""

    status: int
    parts: tuple[tuple[int, float], ...]
    seconds: list[float]


class Decider:
    """A policy, and what it is shown."""

    def __init__(self, policy: Scheduler, backend: Backend, times: MeasuredTimes) -> None:
        self.policy, self.times = policy, times
        self.machine = VirtualMultiGPU(cluster=cluster_of(backend.devices))
        self.cluster = self.machine.cluster
        self.class_of: list[int] = self.cluster.class_index.tolist()  # by device
        self.is_gpu: list[bool] = self.cluster.is_gpu.tolist()
        self.beliefs = Beliefs(len(backend.devices))
        self.seconds, self.count = 0.0, 0  # spent on decisions, and how many
        self._backend = backend
        self._signatures = [
            next(spec.signature for spec in backend.devices if spec.device_class == each.name)
            for each in self.cluster.classes
        ]
        # A policy that neither sees times nor learns has no use for trials, nor for being asked twice.
        self.looks = policy.sighted or policy.learn_every > 0

    # --- deciding ----------------------------------------------------------------------------------------------

    def decide(self, jobs: Sequence[Job], now: float, most: int) -> dict[Job, Choice]:
        """Let the policy decide on a block of jobs that are all ready now; keep what it says of the first to start.

        The others are to be asked about again, when more is known.
        """
        begin = time.perf_counter()
        predicted = self.predicted(jobs)
        self.beliefs.fill(self.machine.view.free, now)
        placed = self.machine.step(self._block(jobs, predicted, now), self.policy, times=predicted)
        choices, placements = {}, _Rows(placed, predicted)
        for row in _first_to_start(placed, most):
            job = jobs[row]
            job.remembered = {name: np.array(getattr(self.policy, name)[row]) for name in self.policy.remembered}
            choices[job] = self._choice(job, placements, row)
        self.seconds += time.perf_counter() - begin
        self.count += len(choices)
        return choices

    def predicted(self, jobs: Sequence[Job]) -> Floats:
        """Return learnt seconds of jobs by class; infinite where a job has no implementation."""
        known: dict[tuple[str, float], Floats] = {}
        rows = np.empty((len(jobs), len(self._signatures)))
        for row, job in enumerate(jobs):
            key = job.work.name, job.size
            if key not in known:
                known[key] = self.times.predict(job.work.name, self._signatures, job.size)
            rows[row] = known[key]
            if job.work.is_choosy:
                rows[row, [not job.work.runs_on(each.kind) for each in self.cluster.classes]] = np.inf
        return rows

    def knows(self, job: Job, device: int) -> bool:
        """Whether the job's type was ever timed on a device's class."""
        return self.times.knows(job.work.name, self._signatures[self.class_of[device]])

    def _block(self, jobs: Sequence[Job], predicted: Floats, now: float) -> Tasks:
        tasks = tasks_of(jobs, np.full(len(jobs), now))
        if np.isfinite(predicted).all():
            return tasks
        return replace(
            tasks, measured={each.name: predicted[:, column] for column, each in enumerate(self.cluster.classes)}
        )

    def _choice(self, job: Job, placed: _Rows, row: int) -> Choice:
        status, seconds = placed.status[row], placed.seconds[row]
        if status in REASONS:
            return Choice(status, (), seconds)
        gpu, cpu, share = placed.gpu[row], placed.cpu[row], placed.gpu_fraction[row]
        tried = self._trial(job, seconds)
        if tried >= 0:
            return Choice(RAN, ((tried, 1.0),), seconds)
        if 0.0 < share < 1.0 and job.work.can_split and self._backend.is_alive(gpu) and self._backend.is_alive(cpu):
            return Choice(status, ((gpu, share), (cpu, 1.0 - share)), seconds)
        # What cannot be split goes where most of it would have gone.
        return Choice(status, self.whole(job, gpu if share >= 0.5 else cpu, seconds), seconds)

    def _trial(self, job: Job, seconds: list[float]) -> int:
        """Return a device on which this type of task must be tried first, -1 if it was tried often enough."""
        if not self.looks:
            return -1
        able = [column for column, each in enumerate(seconds) if math.isfinite(each)]
        wanted = self.times.wants(job.work.name, [self._signatures[column] for column in able])
        if wanted < 0:
            return -1
        free = self.machine.view.free
        fitting = [each for each in self._able(job, seconds) if self.class_of[each] == able[wanted]]
        living = [each for each in fitting if self._backend.is_alive(each)]
        return min(living, key=lambda device: float(free[device]), default=-1)

    def whole(self, job: Job, device: int, seconds: list[float]) -> tuple[tuple[int, float], ...]:
        """Return the device for a whole job; if its worker is dead, the best one that lives; none if none is left."""
        if self._backend.is_alive(device):
            return ((device, 1.0),)
        free, class_of = self.machine.view.free, self.class_of
        able = self._able(job, seconds)
        living = [each for each in able if self._backend.is_alive(each)]
        if living:
            return ((min(living, key=lambda each: float(free[each] + seconds[class_of[each]])), 1.0),)
        return ((device, 1.0),) if device in able else ()  # all are down, and one may come back

    def _able(self, job: Job, seconds: list[float]) -> list[int]:
        able = np.isfinite(seconds)[self.cluster.class_index] & (job.memory <= self.machine.view.memory)
        devices: list[int] = np.flatnonzero(able).tolist()
        return devices

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, jobs: Sequence[Job]) -> None:
        """Hand the policy a block of jobs that have ended, in the order in which they did."""
        for name in self.policy.remembered:
            setattr(self.policy, name, np.stack([job.remembered[name] for job in jobs]))
        self.policy.learn(placements_of(jobs, self.cluster, self.predicted(jobs)))

    def explain(self, job: Job, now: float) -> Explanation:
        """Say where a job would go now and why; nothing is changed by the question."""
        predicted = self.predicted([job])
        self.beliefs.fill(self.machine.view.free, now)
        return asked(Lane(self.policy, self.machine), self._block([job], predicted, now), predicted)


class _Rows:
    """Columns of a block's placements as plain lists: a number from an array costs more than the rest of a choice."""

    def __init__(self, placed: Placements, predicted: Floats) -> None:
        self.status: list[int] = placed.status.tolist()
        self.gpu: list[int] = placed.gpu.tolist()
        self.cpu: list[int] = placed.cpu.tolist()
        self.gpu_fraction: list[float] = placed.gpu_fraction.tolist()
        self.seconds: list[list[float]] = predicted.tolist()


def _first_to_start(placed: Placements, most: int) -> list[int]:
    """Return the rows that start first, in that order; rejected ones first of all."""
    if len(placed) <= most:
        return list(range(len(placed)))
    rows: list[int] = np.argsort(np.where(placed.ran, placed.start, -np.inf), kind="stable")[:most].tolist()
    return rows
