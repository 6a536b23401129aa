"""Calibration: the seconds of every kernel that tasks use, at sizes across theirs, on every device.

All devices are at work at once and each goes through the kernels in an order of its own, drawn by lot: as in a real
run, everyone shares memory and caches with anyone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.execution.backend import Backend
from hybrid_scheduler.execution.dispatcher import Dispatcher
from hybrid_scheduler.execution.execution_lane import Pace
from hybrid_scheduler.execution.jobs import Job
from hybrid_scheduler.execution.kernel_tasks import kernel_of, kernel_work, nominal_intensity
from hybrid_scheduler.execution.measured_times import MeasuredTimes
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.schedulers.round_robin import RoundRobin

SIZES, ROUNDS = 8, 2
"""Of every kernel: how many sizes are timed on every device, and how often others are drawn in a calibration."""


@dataclass
class Calibration:
    """Times the kernels of these tasks, as often as it is asked to."""

    backend: Backend
    tasks: Tasks
    pace: Pace
    _jobs: int = 0
    _warm: bool = False

    def times(self) -> MeasuredTimes:
        """Measure anew; before the first time everything is run once, for memory that is new is slow."""
        if not self._warm:
            self._measure(1)
            self._warm = True
        return self._measure(ROUNDS)

    def _measure(self, rounds: int) -> MeasuredTimes:
        times = MeasuredTimes()
        dispatcher = Dispatcher(RoundRobin(), self.backend, times)
        dispatcher.start()
        lots = np.random.default_rng(self._jobs)
        for _ in range(rounds):
            for device in range(len(self.backend.devices)):
                cases = self._cases(lots)
                for case in lots.permutation(len(cases)):
                    dispatcher.warm(self._job(*cases[case]), device)
            dispatcher.wait()  # not all at once: calls that wait are only memory
        return times

    def _cases(self, lots: np.random.Generator) -> list[tuple[str, float]]:
        """Draw sizes that tasks have, small and large: some, such as primes for an FFT, are slow by themselves."""
        parts = np.arange(SIZES) / SIZES
        return [
            (kernel, size)
            for kernel in sorted({kernel_of(float(each)) for each in self.tasks.compute_intensity})
            for size in np.quantile(self.tasks.size, parts + lots.random(SIZES) / SIZES, method="nearest").tolist()
        ]

    def _job(self, kernel: str, size: float) -> Job:
        self._jobs += 1
        intensity = nominal_intensity(kernel)
        job = Job(
            -self._jobs, kernel_work(kernel), (kernel, self.pace.edge(size)), {}, size, intensity, 0.0, 0.0, 0.0
        )
        job.nominal = intensity
        return job
