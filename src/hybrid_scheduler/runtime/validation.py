"""Calibration: the seconds of every kernel that tasks use, at sizes across theirs, on every device.

All devices are at work at once and each goes through the kernels in an order of its own, drawn by lot: as in a real
run, everyone shares memory and caches with anyone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.profiling.timing import Meter
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import cluster_of
from hybrid_scheduler.runtime.dispatcher import Dispatcher
from hybrid_scheduler.runtime.executor import made_policy
from hybrid_scheduler.runtime.jobs import Job
from hybrid_scheduler.runtime.lane import ExecutionLane, Pace
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.runtime.user_tasks import kernel_of, kernel_work, nominal_intensity
from hybrid_scheduler.schedulers.round_robin import RoundRobin
from hybrid_scheduler.studies.pretraining import ready

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


Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Validation:
    """One scheduler on one seed, simulated and measured; joules are None where no meter can be read."""

    scheduler: str
    seed: int
    simulated: Placements
    measured: Placements
    joules: float | None = None

    @property
    def makespan_error(self) -> float:
        """Simulated over measured makespan, minus 1."""
        return self.simulated.makespan / self.measured.makespan - 1.0

    @property
    def turnaround_error(self) -> float:
        """Simulated over measured mean turnaround, minus 1."""
        means = [float(np.nanmean(each.turnaround)) for each in (self.simulated, self.measured)]
        return means[0] / means[1] - 1.0

    @property
    def energy_error(self) -> float:
        """Simulated over metered energy, minus 1; NaN where no meter can be read."""
        return float("nan") if not self.joules else float(self.simulated.energy.sum()) / self.joules - 1.0

    @property
    def task_seconds(self) -> tuple[Floats, Floats]:
        """Calibrated and measured seconds of every share where it really ran, each as for the whole task."""
        real = self.measured
        on_gpu = np.flatnonzero(real.ran & (real.gpu_fraction > 0.0))
        on_cpu = np.flatnonzero(real.ran & (real.gpu_fraction < 1.0))
        rows = np.concatenate([on_gpu, on_cpu])
        column = real.cluster.class_index[np.concatenate([real.gpu[on_gpu], real.cpu[on_cpu]])]
        return self.simulated.times[rows, column], real.times[rows, column]

    @property
    def task_errors(self) -> Floats:
        """Calibrated over measured seconds of every share, minus 1."""
        calibrated, measured = self.task_seconds
        errors: Floats = calibrated / measured - 1.0
        return errors


@dataclass
class Validator:
    """Runs tasks between two calibrations and simulates them with the times of both.

    The speed of a shared machine drifts, by a tenth and more within a minute; what was timed just before and just
    after a run is as near to it as can be.
    """

    calibration: Calibration
    meter: Meter | None = None
    _before: MeasuredTimes | None = None

    def calibrate(self) -> MeasuredTimes:
        """Measure the times that the next run begins with."""
        self._before = self.calibration.times()
        return self._before

    def validate(self, spec: str, seed: int, tasks: Tasks, progress: Progress | None = None) -> Validation:
        """Run the tasks, measure again, and simulate; the policy of the run knows what was measured before it."""
        before, backend, pace = self._before or self.calibrate(), self.calibration.backend, self.calibration.pace
        with ExecutionLane(made_policy(spec, backend, seed), backend, pace, deepcopy(before)) as lane:
            start = self.meter.joules() if self.meter else None
            measured = lane.run(tasks, progress)
            end = self.meter.joules() if self.meter else None
        simulated = _simulated(spec, seed, pace.arrivals(tasks), before.and_also(self.calibrate()), backend)
        joules = end - start if start is not None and end is not None else None
        return Validation(spec, seed, simulated, measured, joules)


def _simulated(spec: str, seed: int, tasks: Tasks, times: MeasuredTimes, backend: Backend) -> Placements:
    cluster = cluster_of(backend.devices)
    return Lane(ready(spec, cluster, seed), VirtualMultiGPU(cluster=cluster)).run(
        tasks, expected(tasks, times, backend)
    )


def expected(tasks: Tasks, times: MeasuredTimes, backend: Backend) -> Floats:
    """Return the calibrated seconds of tasks by class: medians, raised to the level of what was measured in all.

    A device works through the sum of its tasks, slow moments included, which medians leave out.
    """
    names = [each.name for each in cluster_of(backend.devices).classes]
    signatures = [_signature(backend, name) for name in names]
    kinds = [kernel_work(kernel_of(float(each))).name for each in tasks.compute_intensity]
    medians = [times.predict(kind, signatures, float(size)) for kind, size in zip(kinds, tasks.size, strict=True)]
    seconds: Floats = np.array(medians) * np.array([times.level(each) for each in signatures])
    return seconds


def _signature(backend: Backend, name: str) -> str:
    return next(each.signature for each in backend.devices if each.device_class == name)


def summary(validations: Sequence[Validation]) -> list[dict[str, float | str]]:
    """Return a line per scheduler: means over the seeds, and the worst makespan error."""
    lines: list[dict[str, float | str]] = []
    for spec in dict.fromkeys(each.scheduler for each in validations):
        mine = [each for each in validations if each.scheduler == spec]
        errors = np.concatenate([np.abs(each.task_errors) for each in mine])
        lines.append(
            {
                "scheduler": spec,
                "simulated_makespan": float(np.mean([each.simulated.makespan for each in mine])),
                "measured_makespan": float(np.mean([each.measured.makespan for each in mine])),
                "makespan_error": float(np.mean([each.makespan_error for each in mine])),
                "worst_makespan_error": max((each.makespan_error for each in mine), key=abs),
                "turnaround_error": float(np.mean([each.turnaround_error for each in mine])),
                "median_task_error": float(np.median(errors)) if len(errors) else float("nan"),
                "p90_task_error": float(np.quantile(errors, 0.9)) if len(errors) else float("nan"),
                "energy_error": float(np.mean([each.energy_error for each in mine])),
            }
        )
    return lines
