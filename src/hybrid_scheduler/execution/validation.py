"""Validation: the same tasks simulated with calibrated times and executed, and how far the two are apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.execution.backend import Backend
from hybrid_scheduler.execution.calibrating import Calibration
from hybrid_scheduler.execution.devices import cluster_of
from hybrid_scheduler.execution.execution_lane import ExecutionLane
from hybrid_scheduler.execution.hybrid_scheduler import made_policy
from hybrid_scheduler.execution.kernel_tasks import kernel_of, kernel_work
from hybrid_scheduler.execution.measured_times import MeasuredTimes
from hybrid_scheduler.lane import Lane
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.profiling.energy import Meter
from hybrid_scheduler.simulator import VirtualMultiGPU
from hybrid_scheduler.training import ready

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
