"""Validation of the simulator: run tasks between two calibrations of the devices, and simulate the same.

A calibration times every kernel that tasks use, at sizes across theirs, on every device. All devices work at once and
each runs the kernels in a random order of its own: as in a real run they share memory and caches. What passes between
two kernels of a device counts in the simulation as if the device were busy: there is no task without it. So do the
seconds for which devices that had nothing left waited for a decision. The half of a kernel takes more than half of
its seconds: tasks that a policy splits are simulated with those of their parts. What a learner learns comes as many
tasks later as in the run. Deciding and training take a part of the cores and caches that the tasks need: the
calibrations for a learner are made while another one of its kind decides and trains at the pace of the run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import cycle, pairwise

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.profiling.timing import Meter
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import build_cluster, class_signatures
from hybrid_scheduler.runtime.dispatcher import Dispatcher
from hybrid_scheduler.runtime.executor import create_policy
from hybrid_scheduler.runtime.lane import ExecutionLane, Pace
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.runtime.tasks import choose_kernel, create_kernel_job, kernel_task, part_edge
from hybrid_scheduler.schedulers.learner import Learner, is_learner
from hybrid_scheduler.studies.compare import Progress
from hybrid_scheduler.studies.pretraining import load_or_train

SIZES, PARTS, ROUNDS = 8, 4, 2
"""Sizes at which a kernel is timed on every device, parts of others, and how often new ones are drawn."""


@dataclass
class Calibration:
    """Times the kernels of these tasks."""

    backend: Backend
    tasks: Tasks
    pace: Pace
    _jobs: int = 0  # created so far
    _gaps: list[Floats] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """The mean seconds between two kernels of a device for which others wait: sending, deciding, waking up."""
        return float(np.mean(np.concatenate(self._gaps))) if self._gaps else 0.0

    def measure(self) -> MeasuredTimes:
        """Measure anew; the first time everything is run once before, because fresh memory is slow."""
        if not self._jobs:
            self._measure(1)
            self._gaps.clear()
        return self._measure(ROUNDS)

    def measure_beside(self, learner: Learner, tasks: Tasks, seconds: float) -> MeasuredTimes:
        """Measure twice, while a learner decides on these tasks and learns from them at a pace of so many seconds."""
        gaps = list(self._gaps)  # of a run, how long it waited for decisions is known
        try:
            with _rehearse(learner, tasks, build_cluster(self.backend.devices), seconds):
                return self.measure().merge(self.measure())
        finally:
            self._gaps = gaps

    def _measure(self, rounds: int) -> MeasuredTimes:
        times, spans = MeasuredTimes(), list[tuple[int, float, float]]()
        dispatcher = Dispatcher(
            registry.schedulers.create("round_robin"),
            self.backend,
            times,
            lambda job: spans.extend((share.device, share.start, share.end) for share in job.shares),
        )
        dispatcher.start()
        rng = np.random.default_rng(self._jobs)
        for _ in range(rounds):
            spans.clear()
            for device in range(len(self.backend.devices)):
                cases = self._draw_cases(rng)
                for case in rng.permutation(len(cases)):
                    kernel, size = cases[case]
                    self._jobs += 1
                    job = create_kernel_job(-self._jobs, kernel, self.pace.edge(size), size)
                    dispatcher.run_on_device(job, device)
            dispatcher.wait()  # not all rounds at once: waiting calls only take memory
            self._note_gaps(spans)
        return times

    def _note_gaps(self, spans: Sequence[tuple[int, float, float]]) -> None:
        for device in range(len(self.backend.devices)):
            own = sorted((start, end) for each, start, end in spans if each == device)
            self._gaps.append(np.array([max(0.0, later[0] - earlier[1]) for earlier, later in pairwise(own)]))

    def _draw_cases(self, rng: np.random.Generator) -> list[tuple[str, float]]:
        """Draw sizes that tasks have, small and large: some, such as primes for an FFT, are slow by themselves."""
        cases = list[tuple[str, float]]()
        for kernel in sorted({choose_kernel(float(each)) for each in self.tasks.compute_intensity}):
            cases += ((kernel, size) for size in self._draw_sizes(rng, SIZES))
            shares = (np.arange(PARTS) + rng.random(PARTS)) / PARTS
            sizes = zip(self._draw_sizes(rng, PARTS), rng.permutation(shares).tolist(), strict=True)
            cases += ((kernel, self.part_size(kernel, size, share)) for size, share in sizes)
        return cases

    def _draw_sizes(self, rng: np.random.Generator, count: int) -> list[float]:
        places = (np.arange(count) + rng.random(count)) / count
        sizes: list[float] = np.quantile(self.tasks.size, places, method="nearest").tolist()
        return sizes

    def part_size(self, kernel: str, size: float, share: float) -> float:
        """Return the size of the whole task that runs what is run for a share of this one."""
        edge = self.pace.edge(size)
        return size * part_edge(kernel, edge, share) / edge

    def predict(self, times: MeasuredTimes, tasks: Tasks, cluster: Cluster, gpu_fraction: Floats) -> Floats:
        """Return the seconds of tasks by class, gaps left out; of a part as if the whole task took as long."""
        signatures = class_signatures(self.backend.devices, cluster)
        shares = share_by_class(gpu_fraction, cluster)
        seconds = np.empty(shares.shape)
        for row, (intensity, size) in enumerate(
            zip(tasks.compute_intensity.tolist(), tasks.size.tolist(), strict=True)
        ):
            kernel = choose_kernel(intensity)
            for share in np.unique(shares[row]).tolist():
                part = self.part_size(kernel, size, share)
                predicted = times.predict(kernel_task(kernel).name, signatures, part) / share
                seconds[row] = np.where(shares[row] == share, predicted, seconds[row])
        # Scaled, because a device works through the sum of its tasks, slow moments included, which medians leave out.
        biased: Floats = seconds * np.array([times.bias(each) for each in signatures])
        return biased


@dataclass(frozen=True)
class Validation:
    """One scheduler on one seed, simulated and measured; joules are None where no meter can be read."""

    scheduler: str
    seed: int
    simulated: Placements
    measured: Placements
    joules: float | None = None
    gap: float = 0.0  # seconds between two kernels: of the simulated ones of every part

    @property
    def makespan_error(self) -> float:
        """Simulated over measured makespan, minus 1."""
        return self.simulated.makespan / self.measured.makespan - 1.0

    @property
    def turnaround_error(self) -> float:
        """Simulated over measured mean turnaround, minus 1."""
        return float(np.nanmean(self.simulated.turnaround)) / float(np.nanmean(self.measured.turnaround)) - 1.0

    @property
    def energy_error(self) -> float:
        """Simulated over metered energy, minus 1; NaN where no meter can be read."""
        return float("nan") if not self.joules else float(self.simulated.energy.sum()) / self.joules - 1.0

    @property
    def task_seconds(self) -> tuple[Floats, Floats]:
        """Calibrated and measured seconds of every share where it ran, each as for the whole task."""
        real = self.measured
        on_gpu = np.flatnonzero(real.ran & (real.gpu_fraction > 0.0))
        on_cpu = np.flatnonzero(real.ran & (real.gpu_fraction < 1.0))
        rows = np.concatenate([on_gpu, on_cpu])
        column = real.cluster.class_index[np.concatenate([real.gpu[on_gpu], real.cpu[on_cpu]])]
        gaps = self.gap / share_by_class(self.simulated.gpu_fraction, real.cluster)
        return (self.simulated.times - gaps)[rows, column], real.times[rows, column]

    @property
    def task_errors(self) -> Floats:
        """Calibrated over measured seconds of every share, minus 1."""
        calibrated, measured = self.task_seconds
        errors: Floats = calibrated / measured - 1.0
        return errors


@dataclass
class Validator:
    """Runs tasks between two calibrations and simulates them with the times of both.

    The speed of a shared machine drifts, by a tenth and more within a minute; times measured just before and just
    after a run are as near to it as can be.
    """

    calibration: Calibration
    meter: Meter | None = None
    _before: MeasuredTimes | None = None

    def calibrate(self) -> MeasuredTimes:
        """Measure the times that the next run begins with."""
        self._before = self.calibration.measure()
        return self._before

    def validate(self, spec: str, seed: int, tasks: Tasks, progress: Progress | None = None) -> Validation:
        """Run the tasks, measure again, and simulate; the policy of the run knows the times measured before it."""
        before, backend, pace = self._before or self.calibrate(), self.calibration.backend, self.calibration.pace
        policy = create_policy(spec, backend, seed)
        with ExecutionLane(policy, backend, pace, deepcopy(before)) as lane:
            start = self.meter.joules() if self.meter else None
            measured = lane.run(tasks, progress)
            end = self.meter.joules() if self.meter else None
        paced = pace.scale_arrivals(tasks)
        joules = end - start if start is not None and end is not None else None
        lag = policy.training_lag if is_learner(policy) else 0
        other = create_policy(spec, backend, seed)
        if is_learner(other) and other.learn_every:
            times = self.calibration.measure_beside(other, paced, measured.makespan)
            self.calibrate()  # for the next run
        else:
            times = before.merge(self.calibrate())
        parts = int((measured.gpu_fraction > 0.0).sum() + (measured.gpu_fraction < 1.0).sum())
        gap = self.calibration.gap + lane.dispatcher.decider.idle_seconds / max(parts, 1)
        simulated = self._simulate(spec, seed, paced, times, lag, gap)
        return Validation(spec, seed, simulated, measured, joules, gap)

    def _simulate(self, spec: str, seed: int, tasks: Tasks, times: MeasuredTimes, lag: int, gap: float) -> Placements:
        """Simulate with seconds of whole tasks; if the policy splits some, once more with those of their parts."""
        cluster, calibration = build_cluster(self.calibration.backend.devices), self.calibration

        def run(gpu_fraction: Floats) -> Placements:
            gaps = gap / share_by_class(gpu_fraction, cluster)
            seconds = calibration.predict(times, tasks, cluster, gpu_fraction) + gaps
            policy = load_or_train(spec, cluster, seed)
            lane = Lane(policy, VirtualMultiGPU(cluster=cluster))
            if not is_learner(policy):
                return lane.run(tasks, seconds)
            if policy.learn_every:
                policy.train_in_background(lag)
            with closing(policy):
                return lane.run(tasks, seconds)

        simulated = run(np.zeros(len(tasks)))
        return run(simulated.gpu_fraction) if simulated.split.any() else simulated


@contextmanager
def _rehearse(learner: Learner, tasks: Tasks, cluster: Cluster, seconds: float) -> Iterator[None]:
    """Let a learner decide and train block by block, all tasks within so many seconds, again and again."""
    ended, errors = threading.Event(), list[Exception]()
    every = learner.learn_every
    blocks = [tasks.part(first, min(first + every, len(tasks))) for first in range(0, len(tasks), every)]

    def run() -> None:
        lane = Lane(learner, VirtualMultiGPU(cluster=cluster))
        try:
            for block in cycle(blocks):
                lane.run(block)
                if ended.wait(seconds / len(blocks)):
                    return
        except Exception as error:  # noqa: BLE001  # raised below
            errors.append(error)

    with closing(learner):
        learner.warm_up()
        thread = threading.Thread(target=run, name="rehearsal", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
    if errors:
        raise errors[0]


def share_by_class(gpu_fraction: Floats, cluster: Cluster) -> Floats:
    """Return the part of every task that a device of each class gets if it gets any; 1 of one that is not split."""
    on_gpu = np.array([each.kind == "gpu" for each in cluster.classes])
    share = np.where(on_gpu, gpu_fraction[:, None], 1.0 - gpu_fraction[:, None])
    return np.where((share > 0.0) & (share < 1.0), share, 1.0)


def summarise(validations: Sequence[Validation]) -> list[dict[str, float | str]]:
    """Return a line per scheduler: medians over its runs, of which one may be spoilt by others, and the range."""
    lines: list[dict[str, float | str]] = []
    for spec in dict.fromkeys(each.scheduler for each in validations):
        own = [each for each in validations if each.scheduler == spec]
        errors = np.concatenate([np.abs(each.task_errors) for each in own])
        lines.append(
            {
                "scheduler": spec,
                "runs": float(len(own)),
                "simulated_makespan": float(np.median([each.simulated.makespan for each in own])),
                "measured_makespan": float(np.median([each.measured.makespan for each in own])),
                "makespan_error": float(np.median([each.makespan_error for each in own])),
                "least_makespan_error": min(each.makespan_error for each in own),
                "most_makespan_error": max(each.makespan_error for each in own),
                "worst_makespan_error": max((each.makespan_error for each in own), key=abs),
                "turnaround_error": float(np.median([each.turnaround_error for each in own])),
                "median_task_error": float(np.median(errors)) if len(errors) else float("nan"),
                "p90_task_error": float(np.quantile(errors, 0.9)) if len(errors) else float("nan"),
                "energy_error": float(np.mean([each.energy_error for each in own])),
            }
        )
    return lines
