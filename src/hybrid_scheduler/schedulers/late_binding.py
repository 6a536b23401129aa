"""Late binding by known times: tasks wait in common, and an idle device takes the one with the largest index for it.

`gcmu` is the generalised cμ rule: where waiting costs C(age), convex, an idle server j takes from the class i with
the largest μ_ij·C'(age of its oldest) (van Mieghem 1995, "Dynamic scheduling with convex delay costs"; for several
heterogeneous servers Mandelbaum and Stolyar 2004, "Scheduling flexible servers with convex delay costs"). Here each
task is a class of its own, and μ is 1 / its seconds.

`maxweight` serves the type with the largest length · rate (Tassiulas and Ephremides 1992, "Stability properties of
constrained queueing systems"). Tasks are of one type if the same class runs them fastest, and their seconds there and
what they lose on the slowest class agree within a factor of two.

Both leave no device idle that can run what waits; of several idle ones, the fastest has the first choice.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.late_binding import Waiting, find_idle, runs_fastest
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import View
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.eft import EarliestFinish

OCTAVES, LOSSES = 64, 16  # of seconds around 1 s, and of the slowest class over the fastest


class LateBinding(EarliestFinish):
    """Base of policies that answer `pick`; where every device is free for every task, the fastest takes it."""

    batch_mode = True  # a block ends with an empty pool, so its size is part of what happens

    def __init__(self) -> None:
        self.idle = np.empty(0)  # by class: the largest memory of an idle device, or -1

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> Ints | None:
        """Make room for what idle devices of every class can hold."""
        self.idle = np.empty(times.shape[1])
        return None


@jitable
def may_take(row: int, device: int, waiting: Waiting, view: View, idle: Floats) -> bool:
    """Whether a device can run a task and none is idle that would run it faster."""
    return runs_fastest(waiting.times[row], waiting.memory_required[row], device, view, idle)


class GeneralizedCmu(LateBinding):
    """Largest cost of waiting on, per second of the device: the older and the shorter, the sooner."""

    name = "gcmu"

    def __init__(
        self, power: Annotated[float, "waiting costs age ** power: 1 is the shortest first, more counts age"] = 2.0
    ) -> None:
        super().__init__()
        if not 1 <= power < np.inf:
            raise InputError(f"gcmu: power is {power:g}, expected a number of 1 or more")
        self.power = float(power)

    @compiled
    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        """Take the task with the largest C'(age) / seconds; equal ones in order of arrival."""
        best, most = -1, -1.0
        find_idle(waiting, view, self.idle)
        for position in range(waiting.length):
            row = waiting.row[position]
            if may_take(row, device, waiting, view, self.idle):
                age = waiting.now - waiting.ready_time[row]
                index = age ** (self.power - 1.0) / waiting.times[row, view.device_class[device]]
                if index > most:
                    best, most = position, index
        return best


class MaxWeight(LateBinding):
    """Largest number of waiting tasks of a type, times the rate at which the device serves that type."""

    name = "maxweight"

    def __init__(self) -> None:
        super().__init__()
        self.count, self.work = np.empty(0), np.empty(0)  # by type: what waits, and its seconds on the idle device

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Make room for the sums of every type."""
        super().prepare(tasks, times, view)
        self.count, self.work = np.zeros((2, times.shape[1] * OCTAVES * LOSSES))

    @compiled
    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        """Take the oldest task of the type with the largest length · rate."""
        find_idle(waiting, view, self.idle)
        for row in waiting.row:
            if may_take(row, device, waiting, view, self.idle):
                kind = find_type(waiting.times[row])
                self.count[kind] += 1.0
                self.work[kind] += waiting.times[row, view.device_class[device]]
        best, most = -1, 0.0
        for position in range(waiting.length):
            kind = find_type(waiting.times[waiting.row[position]])
            if self.count[kind] > 0.0:  # first of its type: the oldest, unless the device cannot run that one
                weight = self.count[kind] ** 2 / self.work[kind]  # the mean rate of a type is count / work
                if may_take(waiting.row[position], device, waiting, view, self.idle):
                    if weight > most:
                        best, most = position, weight
                    self.count[kind], self.work[kind] = 0.0, 0.0
        return best


@jitable
def find_type(seconds: Floats) -> int:
    """Return a task's type: its fastest class, the octave of its seconds there, and that of what it can lose."""
    fastest, slowest = 0, 0.0
    for kind in range(len(seconds)):
        if seconds[kind] < seconds[fastest]:
            fastest = kind
        if np.isfinite(seconds[kind]):
            slowest = max(slowest, seconds[kind])
    octave = min(max(math.frexp(seconds[fastest])[1] + OCTAVES // 2, 0), OCTAVES - 1)
    loss = min(math.frexp(slowest / seconds[fastest])[1], LOSSES) - 1
    return (fastest * OCTAVES + octave) * LOSSES + loss
