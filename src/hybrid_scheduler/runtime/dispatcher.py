"""The dispatcher: queues jobs, asks a policy where they run, sends them to a backend, and collects the results.

Jobs are decided on in blocks, and no earlier than devices need them, because decisions improve with every measured
time. `EstimatedQueues` knows how busy the devices are, `Decider` asks the policy, `Dispatcher` does the rest.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import LOST as LOST_STATUS
from hybrid_scheduler.core.placements import RAN, REASONS, Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks, base_duration, no_edges
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import build_cluster, class_signatures
from hybrid_scheduler.runtime.jobs import (
    CANCELLED,
    ERROR,
    KINDS,
    LOST,
    VALUE,
    Answer,
    Call,
    Job,
    Share,
    WorkerLostError,
)
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.schedulers.explain import Explanation, explain_next
from hybrid_scheduler.schedulers.learner import Learner
from hybrid_scheduler.schedulers.scheduler import Scheduler, plans_batches

BUSY_CALLS = 2  # that keep a device busy: one that runs, one for the moment when that has ended
LOOKAHEAD = 16  # jobs per device that are decided on before they can run
SMALL_JOB_FACTOR = 16  # times as many at most if they are small, as many as the devices run in SMALL_JOB_SECONDS
SMALL_JOB_SECONDS = 0.02
DECISION_BLOCK = 16  # waiting jobs that justify a decision while all devices are busy
PLANNING_WINDOW = 128  # waiting jobs that a policy which plans batches sees together
OnFinished = Callable[[Job], None]


class EstimatedQueues:
    """Seconds of work in front of every device, as far as can be estimated from outside."""

    def __init__(self, count: int) -> None:
        self._calls: list[dict[int, float]] = [{} for _ in range(count)]  # seconds by number, oldest first
        self._seconds = [0.0] * count
        self._since = [0.0] * count  # when the first of them began, at the earliest
        self._count = 0
        self.idle = count  # devices with fewer than BUSY_CALLS

    def add(self, device: int, number: int, seconds: float, now: float) -> None:
        """Note a call that was sent to a device."""
        if not self._calls[device]:
            self._seconds[device], self._since[device] = 0.0, now
        self._calls[device][number] = seconds
        self._seconds[device] += seconds
        self._count += 1
        self.idle -= len(self._calls[device]) == BUSY_CALLS

    def end(self, device: int, number: int, now: float) -> None:
        """Note that a call has ended; the next one began at that moment."""
        self.remove(device, number)
        self._since[device] = now

    def remove(self, device: int, number: int) -> None:
        """Note that a call will not run on a device after all."""
        if number in self._calls[device]:
            self._count -= 1
            self.idle += len(self._calls[device]) == BUSY_CALLS
            self._seconds[device] -= self._calls[device].pop(number)

    @property
    def all_idle(self) -> bool:
        """Whether no device has enough calls."""
        return self.idle == len(self._calls)

    @property
    def mean_seconds(self) -> float:
        """Estimated seconds of a call; NaN if none is under way."""
        return sum(self._seconds) / self._count if self._count else float("nan")

    def write_free_times(self, free: Floats, now: float) -> None:
        """Write when each device will be free; a call that takes longer than estimated may end any moment."""
        for device, calls in enumerate(self._calls):
            if not calls:
                free[device] = now
                continue
            first = next(iter(calls.values()))
            elapsed = min(now - self._since[device], first)
            free[device] = now + max(self._seconds[device] - elapsed, 0.0)


class Choice(NamedTuple):
    """Where a job runs: devices with their parts, none if it was rejected; `seconds` are predictions by class."""

    status: int
    parts: tuple[tuple[int, float], ...]
    seconds: list[float]


class Decider:
    """Asks a policy, on a simulated cluster whose clocks say when the real devices are estimated to be free."""

    def __init__(self, policy: Scheduler, backend: Backend, times: MeasuredTimes) -> None:
        self.policy, self.times = policy, times
        self.machine = VirtualMultiGPU(cluster=build_cluster(backend.devices))
        self.cluster = self.machine.cluster
        self.class_index: list[int] = self.cluster.class_index.tolist()  # by device
        self.is_gpu: list[bool] = self.cluster.is_gpu.tolist()
        self.queues = EstimatedQueues(len(backend.devices))
        self.seconds, self.count = 0.0, 0  # spent on decisions, and how many
        self._backend = backend
        self._signatures = class_signatures(backend.devices, self.cluster)
        self._row_arrays: Sequence[str] = getattr(policy, "row_arrays", ())
        # A policy that neither sees times nor learns gains nothing from trials, nor from deciding again.
        self.uses_times = policy.clairvoyant or policy.learn_every > 0

    def decide(self, jobs: Sequence[Job], now: float, limit: int) -> dict[Job, Choice]:
        """Let the policy place a block of jobs that are all ready; keep the decisions on the first `limit` to start.

        The others are decided on again, when more is known.
        """
        begin = time.perf_counter()
        predicted = self.predict(jobs)
        self.queues.write_free_times(self.machine.view.free, now)
        placed = self.machine.step(self._build_block(jobs, predicted, now), self.policy, times=predicted)
        # As lists, because reading an item of an array costs more than the rest of a choice.
        columns = (placed.status, placed.gpu, placed.cpu, placed.gpu_fraction, predicted)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        choices = {}
        for row in _first_to_start(placed, limit):
            job = jobs[row]
            job.saved = {name: np.array(getattr(self.policy, name)[row]) for name in self._row_arrays}
            choices[job] = self._choose(job, *rows[row])
        self.seconds += time.perf_counter() - begin
        self.count += len(choices)
        return choices

    def predict(self, jobs: Sequence[Job]) -> Floats:
        """Return predicted seconds of jobs by class; infinite where a job has no implementation."""
        known: dict[tuple[str, float], tuple[Floats, list[bool]]] = {}
        rows = np.empty((len(jobs), len(self._signatures)))
        for row, job in enumerate(jobs):
            name = job.task.name
            if (name, job.size) not in known:
                seconds = self.times.predict(name, self._signatures, job.size)
                known[name, job.size] = seconds, [self.times.has_measured(name, each) for each in self._signatures]
            rows[row], job.is_measured = known[name, job.size]
            if len(job.task.kinds) < len(KINDS):
                rows[row, [each.kind not in job.task.kinds for each in self.cluster.classes]] = np.inf
        return rows

    def _build_block(self, jobs: Sequence[Job], predicted: Floats, now: float) -> Tasks:
        tasks = build_tasks(jobs, np.full(len(jobs), now))
        if np.isfinite(predicted).all():
            return tasks
        return replace(
            tasks, measured={each.name: predicted[:, column] for column, each in enumerate(self.cluster.classes)}
        )

    def _choose(self, job: Job, status: int, gpu: int, cpu: int, share: float, seconds: list[float]) -> Choice:
        if status in REASONS:
            return Choice(status, (), seconds)
        trial = self._find_trial(job, seconds)
        if trial >= 0:
            return Choice(RAN, ((trial, 1.0),), seconds)
        if 0.0 < share < 1.0 and job.task.can_split and self._backend.is_alive(gpu) and self._backend.is_alive(cpu):
            return Choice(status, ((gpu, share), (cpu, 1.0 - share)), seconds)
        # A task that cannot be split runs where most of it would have run.
        return Choice(status, self.place_whole(job, gpu if share >= 0.5 else cpu, seconds), seconds)

    def _find_trial(self, job: Job, seconds: list[float]) -> int:
        """Return a device on which this task must be timed first, -1 if it was timed often enough."""
        if not self.uses_times:
            return -1
        able = [column for column, each in enumerate(seconds) if math.isfinite(each)]
        trial = self.times.find_trial(job.task.name, [self._signatures[column] for column in able])
        if trial < 0:
            return -1
        free = self.machine.view.free
        of_class = [each for each in self._find_able(job, seconds) if self.class_index[each] == able[trial]]
        alive = [each for each in of_class if self._backend.is_alive(each)]
        return min(alive, key=lambda device: float(free[device]), default=-1)

    def place_whole(self, job: Job, device: int, seconds: list[float]) -> tuple[tuple[int, float], ...]:
        """Return the device for a whole job; the best one alive if its worker is dead, none if none is left."""
        if self._backend.is_alive(device):
            return ((device, 1.0),)
        free, class_index = self.machine.view.free, self.class_index
        able = self._find_able(job, seconds)
        alive = [each for each in able if self._backend.is_alive(each)]
        if alive:
            return ((min(alive, key=lambda each: float(free[each] + seconds[class_index[each]])), 1.0),)
        return ((device, 1.0),) if device in able else ()  # all are down, and one may come back

    def _find_able(self, job: Job, seconds: list[float]) -> list[int]:
        able = np.isfinite(seconds)[self.cluster.class_index] & (job.memory <= self.machine.view.memory)
        devices: list[int] = np.flatnonzero(able).tolist()
        return devices

    def learn(self, jobs: Sequence[Job]) -> None:
        """Train the policy on a block of jobs, in the order in which they ended."""
        for name in self._row_arrays:
            setattr(self.policy, name, np.stack([job.saved[name] for job in jobs]))
        cast("Learner", self.policy).learn(build_placements(jobs, self.cluster, self.predict(jobs)))

    def explain(self, job: Job, now: float) -> Explanation:
        """Explain where a job would run now; nothing is changed."""
        predicted = self.predict([job])
        self.queues.write_free_times(self.machine.view.free, now)
        return explain_next(Lane(self.policy, self.machine), self._build_block([job], predicted, now), predicted)


def _first_to_start(placed: Placements, limit: int) -> list[int]:
    """Return the rows that start first, in that order; rejected ones first of all."""
    if len(placed) <= limit:
        return list(range(len(placed)))
    rows: list[int] = np.argsort(np.where(placed.ran, placed.start, -np.inf), kind="stable")[:limit].tolist()
    return rows


class Dispatcher:
    """Runs jobs on one backend as one policy decides; every job ends exactly once."""

    def __init__(
        self,
        policy: Scheduler,
        backend: Backend,
        times: MeasuredTimes | None = None,
        on_finished: OnFinished | None = None,
        lookahead: int = LOOKAHEAD,
    ) -> None:
        if lookahead < 1:
            raise InputError(f"ahead is {lookahead}, expected a whole number of jobs per device above 0")
        self.backend = backend
        self.times = MeasuredTimes() if times is None else times
        self.decider = Decider(policy, backend, self.times)
        self._policy, self._on_finished = policy, on_finished
        self._plans_batches = plans_batches(policy)
        self._queues = self.decider.queues
        self._lookahead = lookahead * len(backend.devices)
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._waiting: deque[Job] = deque()
        self._dispatched: dict[int, Job] = {}  # decided on, not ended
        self._ended: deque[Job] = deque()  # whose futures are not resolved yet
        self._unresolved = 0  # jobs in `_ended` or being resolved by some thread
        self._training_block: list[Job] = []
        self._numbers = itertools.count()
        self._origin = time.perf_counter()

    @property
    def now(self) -> float:
        """Seconds since the dispatcher was created."""
        return time.perf_counter() - self._origin

    def start(self) -> None:
        """Start the workers."""
        self.backend.listen(self._receive, self._reassign, self._reset_warm_up)

    def submit(self, job: Job) -> None:
        """Queue a job; it is decided on at once unless the devices have enough to do."""
        with self._lock:
            self._waiting.append(job)
            if self._is_urgent() or len(self._waiting) >= DECISION_BLOCK:
                self._decide_waiting()
        self._resolve_ended()

    def run_on_device(self, job: Job, device: int) -> None:
        """Run a job on a device without asking the policy, for warm-up and calibration."""
        job.trains_policy = False
        with self._lock:
            self._dispatched[job.number] = job
            seconds = self.decider.predict([job])[0].tolist()
            self.backend.send(self._create_calls(job, Choice(RAN, ((device, 1.0),), seconds)))
        self._resolve_ended()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every job has ended and its future is resolved."""
        with self._idle:
            return self._idle.wait_for(lambda: not (self._dispatched or self._waiting or self._unresolved), timeout)

    def cancel_waiting(self) -> None:
        """Cancel jobs that have not begun."""
        with self._lock:
            jobs = [*self._waiting, *self._dispatched.values()]
        for job in jobs:
            job.future.cancel()

    def abandon(self) -> None:
        """Fail all jobs that have not ended; called when the backend is closed."""
        with self._lock:
            for job in [*self._dispatched.values(), *self._waiting]:
                self._fail(job, WorkerLostError(f"task '{job.task.name}' was abandoned: the scheduler was shut down"))
            self._waiting.clear()
        self._resolve_ended()

    def explain(self, job: Job) -> Explanation:
        """Explain where a job would run now."""
        with self._lock:
            return self.decider.explain(job, self.now)

    # --- sending -----------------------------------------------------------------------------------------------

    def _is_urgent(self) -> bool:
        """Whether a new job should not wait for others to be decided on with it."""
        if self._queues.all_idle:
            return True
        # Where jobs are small, an answer that triggers the next decision is about to come.
        return bool(self._queues.idle) and self._limit == self._lookahead

    @property
    def _limit(self) -> int:
        """How many jobs may be dispatched; more if they are small, because answers take their time to get here."""
        seconds = self._queues.mean_seconds
        if not seconds * self._lookahead < SMALL_JOB_SECONDS * len(self.backend.devices):  # also if unknown: NaN
            return self._lookahead
        small = SMALL_JOB_SECONDS * len(self.backend.devices) / max(seconds, 1e-9)
        return int(min(small, self._lookahead * SMALL_JOB_FACTOR))

    def _decide_waiting(self) -> None:
        while self._waiting and (room := self._limit - len(self._dispatched)) > 0:
            if self._plans_batches and not self._queues.idle:
                return  # batches are formed when a device runs out of work, a moment before it does
            count = min(max(room, PLANNING_WINDOW) if self._plans_batches else room, len(self._waiting))
            jobs = [self._waiting.popleft() for _ in range(count)]
            self._dispatch([job for job in jobs if not self._end_if_cancelled(job)], room)

    def _end_if_cancelled(self, job: Job) -> bool:
        if not job.future.cancelled():
            return False
        job.status = LOST_STATUS
        self._end(job)
        return True

    def _dispatch(self, jobs: list[Job], room: int) -> None:
        """Let the policy decide and send the calls; jobs that it keeps for later wait again."""
        if not jobs:
            return
        try:
            choices = self.decider.decide(jobs, self.now, room)
        except Exception as error:  # noqa: BLE001  # an error of the policy belongs to the callers of these jobs
            for job in jobs:
                self._fail(job, error)
            return
        if len(choices) < len(jobs):
            self._waiting.extendleft(job for job in reversed(jobs) if job not in choices)
        calls = list[Call]()
        for job, choice in choices.items():
            self._dispatched[job.number] = job
            job.status = choice.status
            if choice.status in REASONS:
                self._fail(job, InputError(f"task '{job.task.name}' was rejected: {REASONS[choice.status]}"))
            else:
                calls += self._create_calls(job, choice)
        self.backend.send(calls)

    def _create_calls(self, job: Job, choice: Choice) -> list[Call]:
        """Return the calls of a job; none if it fails here, because it cannot be sent."""
        if not choice.parts:
            names = ", ".join(each.label for each in self.backend.devices)
            self._fail(job, WorkerLostError(f"task '{job.task.name}' has no device left of {names}: start others"))
            return []
        is_gpu, class_index = self.decider.is_gpu, self.decider.class_index
        job.shares = [Share(device, part, is_gpu[device]) for device, part in choice.parts]
        job.gpu_fraction = sum(share.part for share in job.shares if share.on_gpu)
        seconds = [share.part * choice.seconds[class_index[share.device]] for share in job.shares]
        calls = list[Call]()
        try:
            for share, each in zip(job.shares, seconds, strict=True):
                expected = each if job.is_measured[class_index[share.device]] else float("nan")
                calls.append(job.create_call(share, next(self._numbers), expected))
        except Exception as error:  # noqa: BLE001  # arguments that cannot be pickled belong to the caller
            self._fail(job, error)
            return []
        for call, each in zip(calls, seconds, strict=True):
            self._queues.add(call.device, call.number, each, self.now)
        return calls

    def _reassign(self, calls: list[Call]) -> None:
        """Send jobs elsewhere, whole, whose device is gone."""
        with self._lock:
            for call in calls:
                self._queues.end(call.device, call.number, self.now)
                job, share = call.tag
                if share in job.shares and job.number in self._dispatched:
                    self.backend.send(self._create_calls_elsewhere(call, job, share))
            self._decide_waiting()
        self._resolve_ended()

    def _create_calls_elsewhere(self, call: Call, job: Job, share: Share) -> list[Call]:
        seconds = self.decider.predict([job])[0].tolist()
        parts = self.decider.place_whole(job, call.device, seconds)
        elsewhere = parts if parts and parts[0][0] != call.device else ()
        if elsewhere or self.backend.is_gone(call.device):
            return self._create_calls(job, Choice(job.status, elsewhere, seconds))
        # No other device can run it, and its worker may come back: it keeps its place and its attempts.
        needed = share.part * seconds[self.decider.class_index[call.device]]
        self._queues.add(call.device, call.number, needed, self.now)
        return [call]

    def _reset_warm_up(self, device: int) -> None:
        with self._lock:
            self.times.reset_warm_up(self.backend.devices[device].name)

    # --- receiving ---------------------------------------------------------------------------------------------

    def _receive(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        with self._lock:
            now = self.now
            for call, answer in ended:
                self._record(call, answer, now)
            if not self._waiting and self._queues.idle:
                self._recall()
            if self._waiting and (self._queues.idle or 2 * len(self._dispatched) <= self._lookahead):
                self._decide_waiting()
        self._resolve_ended()

    def _record(self, call: Call, answer: Answer, now: float) -> None:
        """Record an answer; the last one of a job ends it, and may complete a block for training."""
        self._queues.end(call.device, call.number, now)
        job, share = call.tag
        if share not in job.shares or job.number not in self._dispatched:
            return
        share.answer = answer
        share.start, share.end = answer.start - self._origin, answer.end - self._origin
        job.attempts = max(job.attempts, call.attempts + (answer.outcome != LOST))
        if answer.outcome == VALUE:
            spec = self.backend.devices[share.device]
            seconds = (share.end - share.start) / share.part
            self.times.observe(job.task.name, spec.signature, spec.name, job.size, seconds)
        if job.is_done:
            self._finish(job)

    def _finish(self, job: Job) -> None:
        outcomes = {share.answer.outcome for share in job.shares if share.answer is not None}
        job.failed = ERROR in outcomes
        if outcomes & {LOST, CANCELLED}:
            job.status = LOST_STATUS
        self._end(job)
        if outcomes == {VALUE} and self._policy.learn_every and job.trains_policy:
            self._training_block.append(job)
            if len(self._training_block) >= self._policy.learn_every:
                block, self._training_block = self._training_block, []
                self.decider.learn(block)

    def _recall(self) -> None:
        """Let the policy decide again on calls that no worker holds: a device runs dry, and no other job waits."""
        if not self.decider.uses_times or self._limit > self._lookahead:
            return  # small jobs end sooner than they are decided on again
        jobs = []
        for call in self.backend.recall(_is_movable):
            job, _ = call.tag
            self._queues.remove(call.device, call.number)
            del self._dispatched[job.number]
            jobs.append(job)
        self._waiting.extend(sorted(jobs, key=lambda job: job.number))

    def _fail(self, job: Job, error: BaseException) -> None:
        job.error = error
        job.status = job.status if job.status in REASONS else LOST_STATUS
        self._end(job)

    def _end(self, job: Job) -> None:
        """Note that a job has ended; its future is resolved when the lock is free."""
        self._dispatched.pop(job.number, None)
        self._unresolved += 1
        self._ended.append(job)

    def _resolve_ended(self) -> None:
        """Resolve the futures of ended jobs, without the lock: their callbacks may do anything."""
        resolved = 0
        while self._ended:
            try:
                job = self._ended.popleft()
            except IndexError:
                break  # another thread was quicker
            resolved += 1
            job.resolve()
            if self._on_finished is not None:
                self._on_finished(job)
        if resolved:
            with self._idle:
                self._unresolved -= resolved
                self._idle.notify_all()


def _is_movable(call: Call) -> bool:
    """Whether a call is a whole job that was sent to its device for its time, not for a trial or warm-up."""
    job, share = call.tag
    known = not math.isnan(call.expected)
    return bool(known and job.trains_policy and share.part == 1.0 and not call.attempts)


def build_tasks(jobs: Sequence[Job], arrival: Floats | None = None) -> Tasks:
    """Return jobs as the tasks that policies see; their features were checked when they were submitted."""
    size = np.array([job.size for job in jobs])
    intensity = np.array([job.intensity for job in jobs])
    return Tasks(
        size=size,
        compute_intensity=intensity,
        memory_required=np.array([job.memory for job in jobs]),
        arrival_time=np.array([job.arrival for job in jobs]) if arrival is None else arrival,
        task_id=np.array([job.number for job in jobs], np.int64),
        duration_estimate=base_duration(size, intensity),
        edges=no_edges(len(jobs)),
    )


def build_placements(
    jobs: Sequence[Job], cluster: Cluster, predicted: Floats, since: float = 0.0, tasks: Tasks | None = None
) -> Placements:
    """Return where and when jobs ran.

    `predicted` fills in the seconds on classes where they did not run, `since` becomes time 0.
    """
    count, times = len(jobs), predicted.copy()
    fraction, status = np.full(count, np.nan), np.zeros(count, np.uint8)
    devices = np.full((2, count), -1, np.int32)
    starts = np.full((2, count), np.nan)
    for row, job in enumerate(jobs):
        status[row] = job.status
        if not job.shares:
            continue
        fraction[row] = job.gpu_fraction
        for share in job.shares:
            side = 0 if share.on_gpu else 1
            devices[side, row], starts[side, row] = share.device, share.start - since
            times[row, cluster.class_index[share.device]] = (share.end - share.start) / share.part
    placed = Placements(
        tasks=build_tasks(jobs, np.array([job.arrival - since for job in jobs])) if tasks is None else tasks,
        cluster=cluster,
        times=times,
        gpu_fraction=fraction,
        gpu=devices[0],
        cpu=devices[1],
        gpu_start=starts[0],
        cpu_start=starts[1],
        ready=np.array([job.ready - since for job in jobs]),
        finish=np.full(count, np.nan),
        status=status,
        measured=True,
    )
    # The same sums as in the simulator, so that a finish is bit-identical to start plus seconds.
    ends = np.fmax(placed.gpu_start + placed.gpu_seconds, placed.cpu_start + placed.cpu_seconds)
    placed.finish[:] = np.where(placed.ran, ends, np.nan)
    return placed
