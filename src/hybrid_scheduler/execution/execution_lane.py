"""An execution lane turns tasks into placements as any lane does, but time really passes: devices run kernels."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np

from hybrid_scheduler.execution.backend import Backend
from hybrid_scheduler.execution.dispatcher import AHEAD, Dispatcher
from hybrid_scheduler.execution.jobs import Job
from hybrid_scheduler.execution.kernel_tasks import LEAST, kernel_of, kernel_work, nominal_intensity
from hybrid_scheduler.execution.measured_times import MeasuredTimes
from hybrid_scheduler.execution.records import placements_of
from hybrid_scheduler.model.placements import NO_PARENT, RAN, Placements
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.schedulers.scheduler import Scheduler

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
