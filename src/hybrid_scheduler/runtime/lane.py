"""Workloads on real devices: `ExecutionLane` runs tasks as kernels, `MeasuredComparison` compares schedulers."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue

import numpy as np

from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.physics import best_split_times
from hybrid_scheduler.core.placements import NO_PARENT, RAN, Placements
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import DeviceSpec
from hybrid_scheduler.runtime.dispatcher import Dispatcher, build_placements
from hybrid_scheduler.runtime.executor import create_backend, create_policy
from hybrid_scheduler.runtime.jobs import Job
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.runtime.tasks import MIN_EDGE, choose_kernel, create_kernel_job
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.compare import Comparison, Outcome, Progress, Result, measure_outcome
from hybrid_scheduler.studies.results import to_csv

MIN_RUNS = 3  # of a scheduler from which a ranking makes sense
MIN_LEAD = 0.01  # a lead that is smaller is none, even if the repeats agree
KERNEL_SCALE = 0.1  # edge of a kernel's arrays per unit of a task's size
PLACEMENTS_FILE, DEVICES_FILE = "placements.csv", "devices.txt"
"""Kept beside the measures: every placement, and the devices' names, emulated ones called so."""
PLACEMENT_COLUMNS = (
    *("seed", "scheduler", "task_id", "gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "gpu_seconds"),
    *("cpu_seconds", "arrival", "ready", "finish", "status"),
)
RunProgress = Callable[[str, int, int], None]
"""Called with a scheduler, how many tasks are done, and of how many."""


@dataclass(frozen=True)
class Pace:
    """When tasks arrive: as they say, `factor` times as fast, or all at once; and how large their kernels are."""

    factor: float = 1.0
    at_once: bool = False
    scale: float = KERNEL_SCALE

    def scale_arrivals(self, tasks: Tasks) -> Tasks:
        """Return the tasks with the times at which they are submitted."""
        return tasks.with_arrival_times(np.zeros(len(tasks)) if self.at_once else tasks.arrival_time / self.factor)

    def edge(self, size: float) -> int:
        """Return the edge of a kernel's arrays for a task's size."""
        return max(MIN_EDGE, round(size * self.scale))


class ExecutionLane:
    """One scheduler on real devices: tasks in, placements out; the backend stays open for the next lane."""

    def __init__(
        self, scheduler: Scheduler, backend: Backend, pace: Pace | None = None, times: MeasuredTimes | None = None
    ) -> None:
        self.scheduler, self.backend, self.pace = scheduler, backend, pace or Pace()
        self._finished: SimpleQueue[Job] = SimpleQueue()
        self.dispatcher = Dispatcher(scheduler, backend, times, self._finished.put)
        self.failed = 0  # tasks that raised

    def __enter__(self) -> ExecutionLane:
        self.dispatcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.dispatcher.abandon()
        if is_learner(self.scheduler):
            self.scheduler.close()

    def run(self, tasks: Tasks, progress: Progress | None = None) -> Placements:
        """Run every task once, when it has arrived and its parents have finished."""
        paced = self.pace.scale_arrivals(tasks)
        self._warm_up(paced)
        since, decider = self.dispatcher.now, self.dispatcher.decider
        jobs = self._create_jobs(paced, since)
        arrivals = _Arrivals(paced, jobs)
        while arrivals.left:
            for job in arrivals.pop_ready(self.dispatcher.now):
                self.dispatcher.submit(job)
            for job in self._wait_for_finished(arrivals.seconds_to_next(self.dispatcher.now)):
                arrivals.finish(job)
            if progress:
                progress(len(jobs) - arrivals.left, len(jobs))
        self.failed = sum(job.failed for job in jobs)
        return build_placements(jobs, decider.cluster, decider.predict(jobs), since, paced)

    def _wait_for_finished(self, seconds: float | None) -> Iterator[Job]:
        """Wait for a job to finish, at most so long, and yield all that have."""
        try:
            yield self._finished.get(timeout=seconds)
            while True:
                yield self._finished.get_nowait()
        except Empty:
            return

    def _create_jobs(self, tasks: Tasks, since: float) -> list[Job]:
        return [
            create_kernel_job(
                row,
                choose_kernel(each.compute_intensity),
                self.pace.edge(each.size),
                each.size,
                intensity=each.compute_intensity,
                memory=each.memory_required,
                arrival=since + each.arrival_time,
            )
            for row, each in enumerate(tasks)
        ]

    def _warm_up(self, tasks: Tasks) -> None:
        """Load libraries and compile before the clock starts: every device runs each kernel once, small."""
        if is_learner(self.scheduler):
            self.scheduler.warm_up()
        kernels = sorted({choose_kernel(float(each)) for each in tasks.compute_intensity})
        size = float(np.median(tasks.size)) if len(tasks) else 1.0
        for device in range(len(self.backend.devices)):
            for number, kernel in enumerate(kernels):
                job = create_kernel_job(-1 - device * len(kernels) - number, kernel, MIN_EDGE, size)
                self.dispatcher.run_on_device(job, device)
        self.dispatcher.wait()
        for job in self._wait_for_finished(0.0):
            job.future.result()  # raises here if a device cannot run a kernel
        if len(tasks):  # the loop of the policy is compiled by the first decision; an explanation changes nothing
            self.dispatcher.explain(self._create_jobs(tasks, self.dispatcher.now)[0])


class _Arrivals:
    """Which jobs are ready: those that have arrived and whose parents have finished."""

    def __init__(self, tasks: Tasks, jobs: list[Job]) -> None:
        self._tasks, self._jobs = tasks, jobs
        self._missing = np.diff(tasks.edges.start)  # parents that have not finished
        self._heap = [(job.arrival, row) for row, job in enumerate(jobs) if not self._missing[row]]
        heapq.heapify(self._heap)
        self.left = len(jobs)

    def pop_ready(self, now: float) -> Iterator[Job]:
        """Yield the jobs to submit now, in order."""
        while self._heap and self._heap[0][0] <= now:
            yield self._jobs[heapq.heappop(self._heap)[1]]

    def seconds_to_next(self, now: float) -> float | None:
        """Return the seconds until the next job is ready; None if none is known to become so."""
        return max(self._heap[0][0] - now, 0.0) if self._heap else None

    def finish(self, job: Job) -> None:
        """Note that a job has finished; its children become ready, or are rejected with it."""
        self.left -= 1
        if not self._tasks.has_edges:
            return
        for row in self._tasks.children.neighbours(job.number).tolist():
            child = self._jobs[row]
            self._missing[row] -= 1
            child.ready = max([child.ready, *(share.end for share in job.shares)])
            if job.failed or job.status > RAN + 1 or child.status == NO_PARENT:
                child.status = NO_PARENT
            if not self._missing[row]:
                if child.status == NO_PARENT:
                    self.finish(child)
                else:
                    heapq.heappush(self._heap, (child.ready, row))


@dataclass(frozen=True)
class SchedulerRun:
    """One scheduler on one seed: the repeat with the median makespan, tasks that raised, workers that died."""

    placements: Placements
    failed: int
    restarts: int
    decision_seconds: float = 0.0
    makespans: tuple[float, ...] = ()  # of all repeats


def _choose_median(repeats: Sequence[SchedulerRun]) -> SchedulerRun:
    """Return the run with the median makespan, with what happened in all of them."""
    ordered = sorted(repeats, key=lambda run: run.placements.makespan)
    return replace(
        ordered[(len(ordered) - 1) // 2],
        failed=sum(run.failed for run in repeats),
        restarts=sum(run.restarts for run in repeats),
        makespans=tuple(float(run.placements.makespan) for run in repeats),
    )


@dataclass
class MeasuredComparison:
    """A comparison on real devices; `backend` is a name of the registry."""

    comparison: Comparison
    devices: Sequence[DeviceSpec]
    backend: str = "local"
    address: str | None = None
    pace: Pace = field(default_factory=Pace)
    times: MeasuredTimes | None = None  # known beforehand; None: every scheduler starts without any
    repeats: int = 1
    runs: dict[tuple[int, str], SchedulerRun] = field(default_factory=dict)  # by seed and scheduler

    def run(self, progress: RunProgress | None = None) -> Result:
        """Run every scheduler on every seed."""
        with closing(create_backend(self.backend, self.devices, self.address)) as backend:
            outcomes = [self._run_seed(backend, seed, progress) for seed in self.comparison.seeds]
        return Result(self.comparison, tuple(outcomes))

    def _run_seed(self, backend: Backend, seed: int, progress: RunProgress | None) -> Outcome:
        comparison, repeats = self.comparison, dict[str, list[SchedulerRun]]()
        tasks = comparison.source.tasks(seed, comparison.cluster)
        for _ in range(self.repeats):  # in turns, so that a machine that becomes slower does so for all of them
            for spec in comparison.schedulers:
                repeats.setdefault(spec, []).append(self._run_once(backend, spec, seed, tasks, progress))
        for spec, found in repeats.items():
            self.runs[seed, spec] = _choose_median(found)
        own = {spec: self.runs[seed, spec] for spec in comparison.schedulers}
        runs = {spec: (run.placements, run.decision_seconds) for spec, run in own.items()}
        oracle, paced = runs["oracle"][0] if "oracle" in runs else None, next(iter(runs.values()))[0].tasks
        times = np.median([each.times for each, _ in runs.values()], axis=0)  # a bound for what all of them measured
        bound = lower_bound(paced, comparison.cluster, times)
        best = float(best_split_times(times, comparison.cluster).sum())

        def measure_regret(placements: Placements) -> float:
            gap = placements.turnaround - oracle.turnaround if oracle is not None else np.full(1, np.nan)
            return float(np.mean(gap[np.isfinite(gap)])) if np.isfinite(gap).any() else float("nan")

        return measure_outcome(comparison, seed, paced, bound, best, runs, measure_regret)

    def _run_once(
        self, backend: Backend, spec: str, seed: int, tasks: Tasks, progress: RunProgress | None
    ) -> SchedulerRun:
        policy, restarts = create_policy(spec, backend, seed), backend.restarts
        with ExecutionLane(policy, backend, self.pace, self.times) as lane:
            placed = lane.run(tasks, partial(progress, spec) if progress else None)
        return SchedulerRun(placed, lane.failed, backend.restarts - restarts, lane.dispatcher.decider.seconds)

    def measure_spread(self, spec: str) -> tuple[float, float]:
        """Return the least and the largest makespan of a scheduler, each over the mean of all on the same seed."""
        ratios = list[float]()
        for seed in self.comparison.seeds:
            every = [each for name in self.comparison.schedulers for each in self.runs[seed, name].makespans]
            ratios += [each / float(np.mean(every)) for each in self.runs[seed, spec].makespans]
        return min(ratios), max(ratios)

    def describe_ranking(self, ranking: Sequence[str]) -> str:
        """Return who is best in words; none is where repeats of the best overlap with those of others."""
        best, *others = ranking
        times = f"{self.repeats * len(self.comparison.seeds)} runs each"
        if not others:
            return f"{best} ran alone, {times}"
        if self.repeats * len(self.comparison.seeds) < MIN_RUNS:
            return f"no ranking: {times} cannot tell a difference from noise, use --repeats {MIN_RUNS} or more"
        slowest = self.measure_spread(best)[1]
        tied = [each for each in others if self.measure_spread(each)[0] <= slowest * (1.0 + MIN_LEAD)]
        if tied:
            return f"no ranking: within the noise of {times} {', '.join((best, *tied))} are equal"
        lead = self.measure_spread(others[0])[0] / slowest - 1.0
        return f"{best} is ahead of {others[0]} by {lead:.0%} at least, {times}"

    def files(self) -> dict[str, str]:
        """Return what is kept beside the measures, by file name."""
        rows = list[tuple[object, ...]]()
        for (seed, spec), run in self.runs.items():
            placed, tasks = run.placements, run.placements.tasks
            own = {"task_id": tasks.task_id, "arrival": tasks.arrival_time}
            columns = [own[name] if name in own else getattr(placed, name) for name in PLACEMENT_COLUMNS[2:]]
            rows += ((seed, spec, *row) for row in zip(*(column.tolist() for column in columns), strict=True))
        names = "".join(f"{each.label}\n" for each in self.devices)
        return {PLACEMENTS_FILE: to_csv(PLACEMENT_COLUMNS, rows), DEVICES_FILE: names}
