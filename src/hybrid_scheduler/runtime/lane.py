"""Placements of jobs that really ran: measured times where they ran, learnt ones where they did not."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from queue import Empty, SimpleQueue

import numpy as np

from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.metrics import device_utilisation, measure
from hybrid_scheduler.core.physics import fastest
from hybrid_scheduler.core.placements import NO_PARENT, RAN, Placements
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import DeviceSpec
from hybrid_scheduler.runtime.dispatcher import AHEAD, Dispatcher
from hybrid_scheduler.runtime.executor import made_backend, made_policy
from hybrid_scheduler.runtime.jobs import Job, placements_of
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.runtime.user_tasks import LEAST, kernel_of, kernel_work, nominal_intensity
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.compare import Comparison, Outcome, Result

SCALE = 0.1  # edge of a kernel's arrays per unit of a task's size
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Pace:
    """How tasks come: as they arrive, `factor` times as fast, or all at once; and how large their kernels are."""

    factor: float = 1.0
    at_once: bool = False
    scale: float = SCALE

    def arrivals(self, tasks: Tasks) -> Tasks:
        """Return the tasks with the times at which they are really submitted."""
        return tasks.arriving_at(np.zeros(len(tasks)) if self.at_once else tasks.arrival_time / self.factor)

    def edge(self, size: float) -> int:
        """Return the edge of a kernel's arrays for a task's size."""
        return max(LEAST, round(size * self.scale))


class ExecutionLane:
    """One scheduler before real devices: tasks in, placements out; the backend stays open for the next lane."""

    measured = True

    def __init__(
        self,
        scheduler: Scheduler,
        backend: Backend,
        pace: Pace | None = None,
        times: MeasuredTimes | None = None,
        ahead: int = AHEAD,
    ) -> None:
        self.scheduler, self.backend, self.pace = scheduler, backend, pace or Pace()
        self._ended: SimpleQueue[Job] = SimpleQueue()
        self.dispatcher = Dispatcher(scheduler, backend, times, self._ended.put, ahead)
        self.failed, self.attempts = 0, 0

    @property
    def seconds(self) -> float:
        """Wall time spent on decisions."""
        return self.dispatcher.decider.seconds

    def __enter__(self) -> ExecutionLane:
        self.dispatcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.dispatcher.abandon()
        self.scheduler.close()

    def run(self, tasks: Tasks, progress: Progress | None = None) -> Placements:
        """Run every task once, when it has arrived and its parents have ended."""
        paced = self.pace.arrivals(tasks)
        self._warm(paced)
        since = self.dispatcher.now
        jobs = self._jobs(paced, since)
        walk = _Walk(paced, jobs, since)
        while walk.left:
            for job in walk.due(self.dispatcher.now):
                self.dispatcher.submit(job)
            for job in self._heard(walk.pause(self.dispatcher.now)):
                walk.ended(job)
            if progress:
                progress(len(jobs) - walk.left, len(jobs))
        self.failed = sum(job.failed for job in jobs)
        self.attempts = sum(max(job.attempts, 1) for job in jobs)
        return placements_of(
            jobs, self.dispatcher.decider.cluster, self.dispatcher.decider.predicted(jobs), since, paced
        )

    def _heard(self, seconds: float | None) -> Iterator[Job]:
        """Wait for a job to end, no longer than that, and return all that have."""
        try:
            yield self._ended.get(timeout=seconds)
            while True:
                yield self._ended.get_nowait()
        except Empty:
            return

    def _jobs(self, tasks: Tasks, since: float) -> list[Job]:
        jobs = []
        for row, each in enumerate(tasks):
            kernel = kernel_of(each.compute_intensity)
            arrival = since + each.arrival_time
            figures = each.size, each.compute_intensity, each.memory_required
            arguments = (kernel, self.pace.edge(each.size))
            job = Job(row, kernel_work(kernel), arguments, {}, *figures, arrival, arrival)
            job.nominal = nominal_intensity(kernel)
            jobs.append(job)
        return jobs

    def _warm(self, tasks: Tasks) -> None:
        """Load libraries and compile before the clock starts: every device runs each kernel once, small."""
        kernels = sorted({kernel_of(float(each)) for each in tasks.compute_intensity})
        size = float(np.median(tasks.size)) if len(tasks) else 1.0
        for device in range(len(self.backend.devices)):
            for number, kernel in enumerate(kernels):
                job = Job(
                    -1 - device * len(kernels) - number,
                    kernel_work(kernel),
                    (kernel, LEAST),
                    {},
                    size,
                    0.5,
                    0.0,
                    0.0,
                    0.0,
                )
                self.dispatcher.warm(job, device)
        self.dispatcher.wait()
        for job in self._heard(0.0):
            job.future.result()  # a device that cannot run a kernel says so here
        if len(tasks):  # the loop of the policy is compiled when it is first asked; a question changes nothing
            self.dispatcher.explain(self._jobs(tasks, self.dispatcher.now)[0])


class _Walk:
    """Which tasks are due: those that have arrived and whose parents have ended."""

    def __init__(self, tasks: Tasks, jobs: list[Job], since: float) -> None:
        self._tasks, self._jobs, self._since = tasks, jobs, since
        self._missing = np.diff(tasks.edges.start)
        self._heap = [(job.arrival, row) for row, job in enumerate(jobs) if not self._missing[row]]
        heapq.heapify(self._heap)
        self.left = len(jobs)

    def due(self, now: float) -> Iterator[Job]:
        """Return the jobs to submit now, in order."""
        while self._heap and self._heap[0][0] <= now:
            yield self._jobs[heapq.heappop(self._heap)[1]]

    def pause(self, now: float) -> float | None:
        """Return the seconds until the next task is due; None if none is."""
        return max(self._heap[0][0] - now, 0.0) if self._heap else None

    def ended(self, job: Job) -> None:
        """Note the end of a job; its children become due, or are rejected with it."""
        self.left -= 1
        if not self._tasks.has_edges:
            return
        for row in self._tasks.children.of(job.number).tolist():
            child = self._jobs[row]
            self._missing[row] -= 1
            child.ready = max(child.ready, job.finish if job.shares else child.ready)
            if job.failed or job.status > RAN + 1 or child.status == NO_PARENT:
                child.status = NO_PARENT
            if not self._missing[row]:
                if child.status == NO_PARENT:
                    self.ended(child)
                else:
                    heapq.heappush(self._heap, (child.ready, row))


RunProgress = Callable[[str, int, int], None]
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

    def run(self, progress: RunProgress | None = None) -> Result:
        """Run every scheduler on every seed."""
        backend = made_backend(self.backend, self.devices, self.address)
        try:
            outcomes = [self._one_seed(backend, seed, progress) for seed in self.comparison.seeds]
        finally:
            backend.close()
        return Result(self.comparison, tuple(outcomes))

    def _one_seed(self, backend: Backend, seed: int, progress: RunProgress | None) -> Outcome:
        comparison = self.comparison
        tasks = comparison.source.tasks(seed, comparison.cluster)
        for spec in comparison.schedulers:
            self.laps[seed, spec] = self._lap(backend, spec, tasks, seed, progress)
        laps = {spec: self.laps[seed, spec] for spec in comparison.schedulers}
        return outcome_of(seed, comparison, laps)

    def _lap(self, backend: Backend, spec: str, tasks: Tasks, seed: int, progress: RunProgress | None) -> Laps:
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
