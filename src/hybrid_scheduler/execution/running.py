"""Running a comparison for real: every scheduler gets the same tasks, one after another on the same devices."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO

import numpy as np

from hybrid_scheduler.bounds import lower_bound
from hybrid_scheduler.execution.backend import Backend
from hybrid_scheduler.execution.device_spec import DeviceSpec
from hybrid_scheduler.execution.execution_lane import ExecutionLane, Pace
from hybrid_scheduler.execution.hybrid_scheduler import made_backend, made_policy
from hybrid_scheduler.execution.measured_times import MeasuredTimes
from hybrid_scheduler.metrics import device_utilisation, measure
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.physics import fastest
from hybrid_scheduler.race import Comparison, Outcome, Result

Progress = Callable[[str, int, int], None]
COLUMNS = (
    *("seed", "scheduler", "task_id", "gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "gpu_seconds"),
    *("cpu_seconds", "arrival", "ready", "finish", "status"),
)

PLACEMENTS, DEVICES = "placements.csv", "devices.txt"
"""What is kept beside the measures: every placement, and the devices' names, emulated ones called so."""


@dataclass(frozen=True)
class Laps:
    """What one scheduler did: placements, wall time of decisions, tasks that raised, workers that died."""

    placements: Placements
    decision_seconds: float
    failed: int
    restarts: int


@dataclass
class RealRun:
    """A comparison on real devices; `backend` is a name of the registry."""

    comparison: Comparison
    devices: Sequence[DeviceSpec]
    backend: str = "local"
    address: str | None = None
    pace: Pace = field(default_factory=Pace)
    times: MeasuredTimes | None = None  # known beforehand; None: every scheduler starts knowing nothing
    laps: dict[tuple[int, str], Laps] = field(default_factory=dict)

    def run(self, progress: Progress | None = None) -> Result:
        """Run every scheduler on every seed."""
        backend = made_backend(self.backend, self.devices, self.address)
        try:
            outcomes = [self._one_seed(backend, seed, progress) for seed in self.comparison.seeds]
        finally:
            backend.close()
        return Result(self.comparison, tuple(outcomes))

    def _one_seed(self, backend: Backend, seed: int, progress: Progress | None) -> Outcome:
        comparison = self.comparison
        tasks = comparison.source.tasks(seed, comparison.cluster)
        for spec in comparison.schedulers:
            self.laps[seed, spec] = self._lap(backend, spec, tasks, seed, progress)
        laps = {spec: self.laps[seed, spec] for spec in comparison.schedulers}
        return outcome_of(seed, comparison, laps)

    def _lap(self, backend: Backend, spec: str, tasks: Tasks, seed: int, progress: Progress | None) -> Laps:
        policy, restarts = made_policy(spec, backend, seed), backend.restarts
        with ExecutionLane(policy, backend, self.pace, self.times) as lane:
            placements = lane.run(tasks, (lambda done, total: progress(spec, done, total)) if progress else None)
        return Laps(placements, lane.seconds / max(1, len(tasks)), lane.failed, backend.restarts - restarts)

    def files(self) -> dict[str, str]:
        """Return what is kept beside the measures, by file name."""
        names = "".join(f"{each.label}\n" for each in self.devices)
        return {PLACEMENTS: self.placements_table(), DEVICES: names}

    def placements_table(self) -> str:
        """Return every measured placement as CSV."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (seed, spec), lap in self.laps.items():
            writer.writerows([seed, spec, *row] for row in _rows(lap.placements))
        return out.getvalue()


def _rows(placed: Placements) -> list[tuple[float, ...]]:
    columns = (
        placed.tasks.task_id,
        placed.gpu_fraction,
        placed.gpu,
        placed.cpu,
        placed.gpu_start,
        placed.cpu_start,
        placed.gpu_seconds,
        placed.cpu_seconds,
        placed.tasks.arrival_time,
        placed.ready,
        placed.finish,
        placed.status,
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def outcome_of(seed: int, comparison: Comparison, laps: dict[str, Laps]) -> Outcome:
    """Return the measures of all schedulers, against the bound for the times that were measured or learnt."""
    first = next(iter(laps.values())).placements
    times = np.median([lap.placements.times for lap in laps.values()], axis=0)
    bound = lower_bound(first.tasks, comparison.cluster, times)
    best = float(fastest(times, comparison.cluster).sum())
    oracle = laps["oracle"].placements if "oracle" in laps else None
    measures = {}
    for spec, lap in laps.items():
        figures = measure(lap.placements, bound.makespan)
        figures["execution_over_best"] = figures["total_time"] / best if best else float("nan")
        gap = lap.placements.turnaround - oracle.turnaround if oracle is not None else np.full(1, np.nan)
        figures["regret"] = float(np.mean(gap[np.isfinite(gap)])) if np.isfinite(gap).any() else float("nan")
        measures[spec] = figures
    names = [device.name for device in comparison.cluster.devices]
    return Outcome(
        seed=seed,
        workload=comparison.source.describe(first.tasks),
        bound=bound,
        measures=measures,
        decision_seconds={spec: lap.decision_seconds for spec, lap in laps.items()},
        utilisation={
            spec: dict(zip(names, device_utilisation(lap.placements).tolist(), strict=True))
            for spec, lap in laps.items()
        },
    )
