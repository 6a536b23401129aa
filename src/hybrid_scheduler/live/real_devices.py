"""A live race on real devices: every task runs as a kernel, and measured seconds move the lanes' clocks.

The lanes share the devices, so their tasks run one after another (`SerialExecutor`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

import numpy as np

from hybrid_scheduler.core.cluster import Cluster, Device
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.placements import LOST, Decision, Placements, concatenate_placements
from hybrid_scheduler.core.simulator import EXACT, VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.live.lane import ExecutionModel, reject_tasks
from hybrid_scheduler.live.settings import LiveSettings, MeasuredSettings
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.executor import create_backend, create_policy
from hybrid_scheduler.runtime.jobs import ERROR, VALUE, Answer, Call, Job, Share
from hybrid_scheduler.runtime.lane import KERNEL_SCALE
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.runtime.tasks import KERNEL_ORDER, MIN_EDGE, choose_kernel, kernel_task, nominal_intensity
from hybrid_scheduler.schedulers.scheduler import Scheduler

MAX_EDGE = 2000  # of a kernel's arrays, 16 MB each: tasks that come over HTTP must not fill the memory
ANSWER_TIMEOUT = 120.0  # seconds after which a device that does not answer is given up
CALIBRATION_SIZES = np.geomspace(100.0, 5000.0, 5)  # across the sizes of the presets
GRID = 32  # sizes at which the times of many tasks are predicted; between them they are interpolated

Parts = Sequence[tuple[int, float]]  # device and share of the task


class RealExecution(ExecutionModel):
    """Real devices and the times learnt from them; every lane knows what any of them has measured."""

    def __init__(self, settings: MeasuredSettings) -> None:
        self._cluster, self._specs = settings.cluster, settings.specs
        self._signatures = [
            next(spec.signature for spec in self._specs if spec.device_class == each.name)
            for each in self._cluster.classes
        ]
        self.times = MeasuredTimes()
        self.executor = SerialExecutor(create_backend(settings.backend, self._specs), self.times)
        # Time every kernel on every device; the first call of each is warm-up.
        sizes = (CALIBRATION_SIZES[0], *CALIBRATION_SIZES)
        try:
            for device, kernel, size in itertools.product(range(len(self._specs)), KERNEL_ORDER, sizes):
                self.executor.run(float(size), nominal_intensity(kernel), [(device, 1.0)])
        except BaseException:
            self.close()
            raise

    def with_known_times(self, tasks: Tasks) -> Tasks:
        """Return tasks with learnt times, which replace any times they had."""
        kernels = np.array([choose_kernel(float(each)) for each in tasks.compute_intensity])
        times = np.empty((len(tasks), len(self._signatures)))
        for kernel in np.unique(kernels):
            rows = np.flatnonzero(kernels == kernel)
            times[rows] = self._predict_seconds(kernel_task(str(kernel)).name, tasks.size[rows])
        columns = {each.name: times[:, column] for column, each in enumerate(self._cluster.classes)}
        return replace(tasks, measured=columns, expected={})

    def _predict_seconds(self, kind: str, sizes: Floats) -> Floats:
        few = len(sizes) <= GRID
        grid = sizes if few else np.geomspace(sizes.min(), sizes.max(), GRID)
        predicted = np.array([self.times.predict(kind, self._signatures, float(size)) for size in grid])
        if few:
            return predicted
        lines = [np.interp(np.log(sizes), np.log(grid), np.log(column)) for column in predicted.T]
        seconds: Floats = np.exp(np.column_stack(lines))
        return seconds

    def create_scheduler(self, name: str, settings: LiveSettings) -> Scheduler:
        """Return a scheduler without pretraining, which would be on formulas: it learns from measured times."""
        return create_policy(name, self.executor.backend, settings.seed)

    def create_lane(self, scheduler: Scheduler, cluster: Cluster) -> Lane:
        """Return a lane that runs its tasks."""
        return MeasuredLane(scheduler, VirtualMultiGPU(cluster=cluster, backlog=EXACT), executor=self.executor)

    def realized_times(self, times: Floats, placed: Mapping[str, Placements]) -> Floats:
        """Return the medians of the lanes' times, measured where they ran and learnt elsewhere."""
        for task in next(iter(placed.values())).tasks:
            self._refresh(choose_kernel(task.compute_intensity), task.size)
        return np.median([each.times for each in placed.values()], axis=0)

    def _refresh(self, kernel: str, size: float) -> None:
        """Time a kernel on a class where it has not run for long, since its time may have changed."""
        column = self.times.find_trial(kernel_task(kernel).name, self._signatures)
        devices = [each.index for each in self._cluster.devices if self._cluster.class_index[each.index] == column]
        if alive := [device for device in devices if self.executor.backend.is_alive(device)]:
            self.executor.run(size, nominal_intensity(kernel), [(alive[0], 1.0)])

    def display_name(self, device: Device) -> str:
        """Return the name of a device; an emulated one is called so."""
        return self._specs[device.index].label

    def close(self) -> None:
        """Stop the workers."""
        self.executor.close()


@dataclass
class MeasuredLane(Lane):
    """One scheduler on real devices: tasks in, measured placements out, one after another."""

    executor: SerialExecutor = field(kw_only=True)

    def run(self, tasks: Tasks, times: Floats | None = None, *, last: bool = True) -> Placements:
        """Decide, run and learn, task by task."""
        del last  # every task has ended before the next one is decided
        known = class_times(tasks, self.machine.cluster) if times is None else times
        parts = [self._run_task(tasks.part(row, row + 1), known[row : row + 1]) for row in range(len(tasks))]
        return concatenate_placements(parts, tasks)

    def _is_ordered(self, tasks: Tasks) -> bool:
        """Return False: the lanes share the devices, so their tasks run one by one as they are decided."""
        del tasks
        return False

    def _run_task(self, task: Tasks, known: Floats) -> Placements:
        begin = time.perf_counter()
        # On a twin: the seconds that will move the clocks are not known when the scheduler decides.
        wanted = self.machine.twin().step(task, self.scheduler, times=known, interpreted=None)
        self.seconds += time.perf_counter() - begin
        placed = replace(wanted, measured=True) if wanted.rejected[0] else self._place(task, known, wanted)
        if self.scheduler.learn_every and placed.ran[0]:
            self.scheduler.learn(placed)
        return placed

    def _place(self, task: Tasks, known: Floats, wanted: Placements) -> Placements:
        """Run a task and place it by the seconds that it took."""
        outcome, cluster = self._perform(task, known, wanted), self.machine.cluster
        self.deaths += outcome.deaths
        if not outcome.seconds:
            return replace(reject_tasks(task, cluster, known, LOST), measured=True)
        times, share = known.copy(), 0.0
        for (device, part), seconds in zip(outcome.parts, outcome.seconds, strict=True):
            times[0, cluster.class_index[device]] = seconds
            share += part if cluster.is_gpu[device] else 0.0
        expected = {each.name: known[:, column] for column, each in enumerate(cluster.classes)}
        decision = FixedDecision(Decision(share, outcome.parts[0][0]))
        placed = self.machine.step(replace(task, expected=expected), decision, times=times, interpreted=None)
        return replace(placed, tasks=task, status=wanted.status, measured=True)

    def _perform(self, task: Tasks, known: Floats, wanted: Placements) -> ExecutionOutcome:
        """Run a task where its scheduler wants it; if that device is dead, whole on the best that is left."""
        gpu, cpu, share = int(wanted.gpu[0]), int(wanted.cpu[0]), float(wanted.gpu_fraction[0])
        parts = [(device, part) for device, part in ((gpu, share), (cpu, 1.0 - share)) if device >= 0]
        outcome, deaths, tried = ExecutionOutcome((), ()), 0, set[int]()
        while parts:
            tried |= {device for device, _ in parts}
            if all(self.executor.backend.is_alive(device) for device, _ in parts):
                outcome = self.executor.run(float(task.size[0]), float(task.compute_intensity[0]), parts)
                deaths += outcome.deaths
                if outcome.seconds:
                    break
            parts = self._choose_other(task, known, tried)
        return replace(outcome, deaths=deaths)

    def _choose_other(self, task: Tasks, known: Floats, tried: set[int]) -> list[tuple[int, float]]:
        view, cluster = self.machine.view, self.machine.cluster
        ends = {
            device: float(view.free[device] + known[0, cluster.class_index[device]])
            for device in range(len(view.free))
            if self.executor.backend.is_alive(device)
            and device not in tried
            and task.memory_required[0] <= view.memory[device]
        }
        return [(min(ends, key=ends.__getitem__), 1.0)] if ends else []


class FixedDecision(Scheduler):
    """Repeats a decision that was carried out, so that the loop places it by measured seconds."""

    name = "fixed"

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Return the decision."""
        return self.decision


@dataclass(frozen=True)
class ExecutionOutcome:
    """How a task ran: seconds of each part as if its device had run the whole task; none if it was lost."""

    parts: Parts
    seconds: tuple[float, ...]
    deaths: int = 0  # of workers


class SerialExecutor:
    """Runs the kernels of tasks one after another; every measured time is learnt."""

    def __init__(self, backend: Backend, times: MeasuredTimes) -> None:
        self.backend, self.times = backend, times
        self._ended: SimpleQueue[tuple[Call, Answer]] = SimpleQueue()
        self._new_workers: SimpleQueue[int] = SimpleQueue()
        self._numbers = itertools.count()
        self._closed = False
        backend.listen(self._receive, on_new_worker=self._new_workers.put)

    def _receive(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        for each in ended:
            self._ended.put(each)

    def run(self, size: float, intensity: float, parts: Parts) -> ExecutionOutcome:
        """Run a task, its parts in parallel; the backend replaces a worker that dies and tries again."""
        kernel = choose_kernel(intensity)
        job = Job(0, kernel_task(kernel), (kernel, array_edge(size)), {}, size, intensity, 0.0, 0.0, 0.0)
        job.device_intensity = nominal_intensity(kernel)
        job.shares = [Share(device, part, self.backend.devices[device].kind == "gpu") for device, part in parts]
        job.gpu_fraction = sum(share.part for share in job.shares if share.on_gpu)
        self.backend.send([job.create_call(share, next(self._numbers), float("nan")) for share in job.shares])
        deaths = sum(self._wait() for _ in job.shares)
        return self._build_outcome(job, parts, deaths)

    def _wait(self) -> int:
        """Wait for the answer to a call; return how many workers died at it."""
        try:
            call, answer = self._ended.get(timeout=ANSWER_TIMEOUT)
        except Empty:
            raise SchedulerError(
                f"no device answered within {ANSWER_TIMEOUT:g} s: look at its worker, start again"
            ) from None
        _, share = call.tag
        share.answer, share.start, share.end = answer, answer.start, answer.end
        return call.attempts

    def _build_outcome(self, job: Job, parts: Parts, deaths: int) -> ExecutionOutcome:
        answers = [share.answer for share in job.shares if share.answer is not None]
        if failed := next((each for each in answers if each.outcome == ERROR), None):
            raise SchedulerError(f"{job.task.name} cannot run here: {failed.error()}") from failed.error()
        # Noted here and not in the backend's thread, which must not touch the times.
        while not self._new_workers.empty():
            self.times.reset_warm_up(self.backend.devices[self._new_workers.get()].name)
        if any(each.outcome != VALUE for each in answers):
            return ExecutionOutcome(parts, (), deaths)
        seconds = tuple((share.end - share.start) / share.part for share in job.shares)
        for share, each in zip(job.shares, seconds, strict=True):
            spec = self.backend.devices[share.device]
            self.times.observe(job.task.name, spec.signature, spec.name, job.size, each)
        return ExecutionOutcome(parts, seconds, deaths)

    def close(self) -> None:
        """Stop the workers; may be called again."""
        if not self._closed:
            self._closed = True
            self.backend.close()


def array_edge(size: float) -> int:
    """Return the edge length of a kernel's arrays for a task's size."""
    return max(MIN_EDGE, min(MAX_EDGE, round(size * KERNEL_SCALE)))
