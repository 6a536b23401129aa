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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import LOST as LOST_STATUS
from hybrid_scheduler.core.placements import RAN, REASONS, Placements
from hybrid_scheduler.core.simulator import EXACT, VirtualMultiGPU, reorders
from hybrid_scheduler.core.tasks import Floats, Tasks, base_duration, no_edges
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.context import capture
from hybrid_scheduler.runtime.deferred import DeferredCall, call_when_done
from hybrid_scheduler.runtime.devices import build_cluster, class_signatures
from hybrid_scheduler.runtime.jobs import (
    CANCELLED,
    DEFAULT_OPTIONS,
    ERROR,
    KINDS,
    LOST,
    MISSING,
    NAN,
    VALUE,
    Answer,
    Call,
    CallOptions,
    Job,
    Share,
    TaskFunction,
    TaskFuture,
    WorkerLostError,
    create_job_again,
    note_number,
)
from hybrid_scheduler.runtime.loops import LoopLoader
from hybrid_scheduler.runtime.measured_times import MeasuredTimes, TransferTimes
from hybrid_scheduler.runtime.objects import ObjectLostError, ObjectStore, StoredObject
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.schedulers.explain import Explanation, explain_next
from hybrid_scheduler.schedulers.learner import Learner
from hybrid_scheduler.schedulers.least_increase import LeastIncrease
from hybrid_scheduler.schedulers.scheduler import Scheduler, plans_batches

BUSY_CALLS = 2  # that keep a device busy: one that runs, one for the moment when that has ended
LOOKAHEAD = 16  # jobs per device that are decided on before they can run
SMALL_JOB_FACTOR = 16  # times as many at most if they are small, as many as the devices run in SMALL_JOB_SECONDS
SMALL_JOB_SECONDS = 0.02
MAX_RESTORES = 3  # of the arguments of a job, each after they were lost
DECISION_BLOCK = 16  # waiting jobs that justify a decision while all devices are busy
TINY_SECONDS = 2e-4  # of jobs that take less than a decision on one does: many are decided on together
TINY_BLOCK = 64  # of them that justify a decision
REFILL_BLOCK = 64  # places, half of all at most, that justify a decision: for hundreds, answers would have to wait
BURST_SECONDS = 2e-4  # between two jobs of a burst: the next one is about to come
PLANNING_WINDOW = 128  # waiting jobs that a policy which plans batches or orders queues sees together
FOREIGN_GRACE = 2.0  # seconds at the end for futures of others that nobody runs, before what waits for them fails
FOREIGN_TICK = 0.05  # seconds between two looks at them


class EstimatedQueues:
    """Seconds of work in front of every device, as far as can be estimated from outside."""

    def __init__(self, count: int) -> None:
        self._calls: list[dict[int, float]] = [{} for _ in range(count)]  # seconds by number, oldest first
        self._seconds = [0.0] * count
        self._since = [0.0] * count  # when the first of them began, at the earliest
        self._count, self._total = 0, 0.0  # of all devices
        self.idle = count  # devices with fewer than BUSY_CALLS
        self.recent_seconds = math.nan  # estimated for a call, when the last one was added

    def add(self, device: int, number: int, seconds: float, now: float) -> None:
        """Note a call that was sent to a device."""
        if not self._calls[device]:
            self._seconds[device], self._since[device] = 0.0, now
        self._calls[device][number] = seconds
        self._seconds[device] += seconds
        self._total = self._total + seconds if self._count else seconds  # no error of rounding is kept for long
        self._count += 1
        self.recent_seconds = self._total / self._count
        self.idle -= len(self._calls[device]) == BUSY_CALLS

    def remove(self, device: int, number: int, ended: float | None = None) -> None:
        """Note when a call has ended, and the next one begun; None: it will not run there after all."""
        if number in self._calls[device]:
            self._count -= 1
            self.idle += len(self._calls[device]) == BUSY_CALLS
            seconds = self._calls[device].pop(number)
            self._seconds[device] -= seconds
            self._total -= seconds
        if ended is not None:
            self._since[device] = ended

    def find_idle(self) -> set[int]:
        """Return the devices with fewer than BUSY_CALLS."""
        return {device for device, calls in enumerate(self._calls) if len(calls) < BUSY_CALLS}

    @property
    def mean_seconds(self) -> float:
        """Estimated seconds of a call; NaN if none is under way."""
        return self._total / self._count if self._count else math.nan

    def write_free_times(self, free: Floats, now: float) -> None:
        """Write when each device will be free; a call that takes longer than estimated may end any moment."""
        for device, calls in enumerate(self._calls):
            free[device] = now
            if calls:
                elapsed = min(now - self._since[device], next(iter(calls.values())))
                free[device] += max(self._seconds[device] - elapsed, 0.0)


TaskKey = tuple[str, frozenset[str]]  # name of a task and kinds of devices that can run it


class Choice(NamedTuple):
    """Where a job runs: devices with their parts, none if it was rejected; `seconds` are predictions by class."""

    status: int
    parts: tuple[tuple[int, float], ...]
    seconds: list[float]


HOLD = Choice(RAN, (), [])
"""A job that waits until its task was timed somewhere."""


class Decider:
    """Asks a policy, on a simulated cluster whose clocks say when the real devices are estimated to be free."""

    def __init__(self, policy: Scheduler, backend: Backend, times: MeasuredTimes) -> None:
        self.policy, self.times = policy, times
        # Backlogs are exact: those of its own estimates. Devices are looked at one by one: a decision is on one call
        # or on hundreds, and an index would take longer to build.
        self.machine = VirtualMultiGPU(cluster=build_cluster(backend.devices), backlog=EXACT, indexed=False)
        self.cluster = self.machine.cluster
        self.class_index: list[int] = self.cluster.class_index.tolist()  # by device
        self.is_gpu: list[bool] = self.cluster.is_gpu.tolist()
        self.queues = EstimatedQueues(len(backend.devices))
        self.seconds, self.count = 0.0, 0  # spent on decisions, and how many
        self.idle_seconds = 0.0  # for which devices that had nothing left waited for decisions on what they got
        self._backend = backend
        self._signatures = class_signatures(backend.devices, self.cluster)
        self._row_arrays: Sequence[str] = getattr(policy, "row_arrays", ())
        # A policy that neither sees times nor learns gains nothing from trials, nor from deciding again.
        self.uses_times = policy.clairvoyant or policy.learn_every > 0
        self.reorders = reorders(policy, build_tasks((), np.empty(0)))
        # Calls under way of a task on a class on which it was never timed: each device may have one.
        self._max_trials = np.maximum(np.bincount(self.class_index), times.trials).tolist()
        self._trials: dict[tuple[str, int], set[int]] = {}
        self._untrained = LeastIncrease() if self.reorders else EarliestFinish()
        self.transfers = TransferTimes()
        self._loop = LoopLoader()
        self._whole = [((device, 1.0),) for device in range(len(backend.devices))]  # parts of whole jobs, by device

    @property
    def _deciding(self) -> Scheduler:
        """The policy; measured times decide until a learner has learnt something, in the order that it asks for."""
        return self.policy if getattr(self.policy, "is_trained", True) else self._untrained

    def decide(self, jobs: Sequence[Job], now: float, limit: int) -> dict[Job, Choice]:
        """Let the policy place a block of jobs that are all ready; keep the decisions on the first `limit` to start.

        The others are decided on again, when more is known. Choices come in the order of their starts if the policy
        orders queues.
        """
        begin = time.perf_counter()
        predicted = self.predict(jobs)
        self.queues.write_free_times(self.machine.view.free, now)
        free = self.machine.view.free.tolist()
        block = self._build_block(jobs, predicted, now)
        placed = self._loop.step(self.machine, self._deciding, block, predicted)
        # As lists, because reading an item of an array costs more than the rest of a choice.
        columns = (placed.status, placed.gpu, placed.cpu, placed.gpu_fraction, predicted)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        choices, first_to_start = {}, range(len(placed))
        if len(placed) > limit or self.reorders:  # rejected ones first of all
            first_to_start = np.argsort(np.where(placed.ran, placed.start, -np.inf), kind="stable")[:limit].tolist()
        settled = set[TaskKey]()
        for row in first_to_start:
            job = jobs[row]
            if self._row_arrays:
                job.saved = {name: np.array(getattr(self.policy, name)[row]) for name in self._row_arrays}
            choices[job] = self._choose(job, settled, *rows[row])
        seconds = time.perf_counter() - begin
        self.seconds += seconds
        self.count += len(choices)
        for device in {device for choice in choices.values() for device, _ in choice.parts}:
            self.idle_seconds += max(seconds - max(free[device] - now, 0.0), 0.0)
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
            if job.data:
                rows[row] += [self.transfers.predict(job.data, each) for each in self._signatures]
            if len(kinds := job.kinds) < len(KINDS):
                rows[row, [each.kind not in kinds for each in self.cluster.classes]] = np.inf
        return rows

    def predict_sizes(self, tasks: Sequence[TaskFunction], sizes: Sequence[float]) -> tuple[Floats, list[bool]]:
        """Return predicted seconds of tasks by class, and whether each was timed on all that can run it."""
        able = [[each.kind in task.kinds for each in self.cluster.classes] for task in tasks]
        pairs = list(zip(tasks, sizes, strict=True))
        seconds = np.array([self.times.predict(task.name, self._signatures, size) for task, size in pairs])
        known = [
            all(
                self.times.has_measured(task.name, name)
                for name, can in zip(self._signatures, row, strict=True)
                if can
            )
            for task, row in zip(tasks, able, strict=True)
        ]
        return np.where(able, seconds, np.inf), known

    def _build_block(self, jobs: Sequence[Job], predicted: Floats, now: float) -> Tasks:
        # Where tasks age while they wait, since when is what counts.
        tasks = build_tasks(jobs, np.array([min(job.ready, now) for job in jobs]) if self.reorders else now)
        if np.isfinite(predicted).all():
            return tasks
        columns = {each.name: predicted[:, column] for column, each in enumerate(self.cluster.classes)}
        return replace(tasks, measured=columns)

    def _choose(
        self, job: Job, settled: set[TaskKey], status: int, gpu: int, cpu: int, share: float, seconds: list[float]
    ) -> Choice:
        """Return the choice that a decision of the policy means.

        `settled` are tasks that this block of jobs has found to be timed everywhere: nothing else is asked of them.
        """
        if status in REASONS:
            return Choice(status, (), seconds)
        task, device = job.task, gpu if share >= 0.5 else cpu
        key = task.name, task.kinds
        if (
            key in settled
            and job.options is DEFAULT_OPTIONS
            and not task.can_split
            and self._backend.is_alive(device)
        ):
            return Choice(status, self._whole[device], seconds)
        if job.options is not DEFAULT_OPTIONS and (wanted := self._find_wanted(job)):
            return Choice(status, wanted, seconds)
        trial = self._find_trial(job, seconds)
        if trial < 0 and (not self.uses_times or all(job.is_measured)):
            settled.add(key)
        if trial >= 0:
            parts: tuple[tuple[int, float], ...] = ((trial, 1.0),)
        elif 0.0 < share < 1.0 and job.task.can_split and self._backend.is_alive(gpu) and self._backend.is_alive(cpu):
            parts = ((gpu, share), (cpu, 1.0 - share))
        else:  # a task that cannot be split runs where most of it would have run
            parts = self.place_whole(job, device, seconds)
        return (
            self._limit_trials(job, Choice(status, parts, seconds))
            if self.uses_times
            else Choice(status, parts, seconds)
        )

    def _find_wanted(self, job: Job) -> tuple[tuple[int, float], ...]:
        """Return the parts that the options of a call ask for, if they do."""
        share, free = job.options.gpu_share, self.machine.view.free
        if job.options.device >= 0:
            return ((job.options.device, 1.0),)
        if job.options.planned >= 0 and self._backend.is_alive(job.options.planned):
            return ((job.options.planned, 1.0),)
        if share is None or not 0.0 < share < 1.0 or not any(self.is_gpu):
            return ()
        gpu, cpu = (
            min(
                (each for each, on_gpu in enumerate(self.is_gpu) if on_gpu is kind),
                key=lambda each: (not self._backend.is_alive(each), float(free[each])),
            )
            for kind in (True, False)
        )
        return (gpu, share), (cpu, 1.0 - share)

    def _limit_trials(self, job: Job, choice: Choice) -> Choice:
        """Return a choice that sends no more than a few calls of a task to a class whose times are unknown.

        The others go where it was timed, or wait until it was: a call that was sent does not come back.
        """
        unknown = [self.class_index[each] for each, _ in choice.parts if not job.is_measured[self.class_index[each]]]
        if not unknown or job.options.nested or sum(map(math.isfinite, choice.seconds)) == 1:
            return choice  # a nested call cannot wait for the trials of its task: one of them may wait for it
        under_way = self._trials.setdefault((job.task.name, unknown[0]), set())
        if len(under_way) < self._max_trials[unknown[0]]:
            under_way.add(job.number)
            job.trial = unknown[0]
            return choice
        free, seconds = self.machine.view.free, choice.seconds
        known = [each for each in self._find_able(job, seconds) if job.is_measured[self.class_index[each]]]
        alive = list(filter(self._backend.is_alive, known))
        if not alive:
            return HOLD
        device = min(alive, key=lambda each: float(free[each] + seconds[self.class_index[each]]))
        free[device] += seconds[self.class_index[device]]
        return Choice(choice.status, ((device, 1.0),), seconds)

    def end_trial(self, job: Job) -> None:
        """Note that a job whose task was unknown to its class has ended, or was taken back."""
        self._trials[job.task.name, job.trial].discard(job.number)
        job.trial = -1

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
        return min(filter(self._backend.is_alive, of_class), key=lambda device: float(free[device]), default=-1)

    def place_whole(self, job: Job, device: int, seconds: list[float]) -> tuple[tuple[int, float], ...]:
        """Return the device for a whole job; the best one alive if its worker is dead, none if none is left."""
        if self._backend.is_alive(device):
            return ((device, 1.0),)
        free, class_index = self.machine.view.free, self.class_index
        able = self._find_able(job, seconds)
        if alive := list(filter(self._backend.is_alive, able)):
            return ((min(alive, key=lambda each: float(free[each] + seconds[class_index[each]])), 1.0),)
        return ((device, 1.0),) if device in able else ()  # all are down, and one may come back

    def _find_able(self, job: Job, seconds: list[float]) -> list[int]:
        able = np.isfinite(seconds)[self.cluster.class_index] & (job.memory <= self.machine.view.memory)
        devices: list[int] = np.flatnonzero(able).tolist()
        return devices

    def learn(self, jobs: Sequence[Job]) -> None:
        """Train the policy on a block of jobs, in the order in which they ended."""
        for name in self._row_arrays:
            setattr(self.policy, name, np.stack([cast("Mapping[str, Any]", job.saved)[name] for job in jobs]))
        cast("Learner", self.policy).learn(build_placements(jobs, self.cluster, self.predict(jobs)))

    def explain(self, job: Job, now: float) -> Explanation:
        """Explain where a job would run now; nothing is changed. The seconds of a candidate contain its transfer."""
        predicted = self.predict([job])
        self.queues.write_free_times(self.machine.view.free, now)
        found = explain_next(Lane(self._deciding, self.machine), self._build_block([job], predicted, now), predicted)
        moving = [self.transfers.predict(job.data or {}, each) for each in self._signatures]
        candidates = [replace(each, transfer=moving[self.class_index[each.device]]) for each in found.candidates]
        return replace(found, candidates=tuple(candidates))


class _Draining(threading.local):
    """Whether the calling thread is resolving futures."""

    active = False


class Dispatcher:
    """Runs jobs on one backend as one policy decides; every job ends exactly once."""

    def __init__(
        self,
        policy: Scheduler,
        backend: Backend,
        times: MeasuredTimes | None = None,
        on_finished: Callable[[Job], None] | None = None,
        lookahead: int = LOOKAHEAD,
    ) -> None:
        if lookahead < 1:
            raise InputError(f"ahead is {lookahead}, expected a whole number of jobs per device above 0")
        self.backend = backend
        self.times = MeasuredTimes() if times is None else times
        self.decider = Decider(policy, backend, self.times)
        self._policy, self._on_finished = policy, on_finished
        # Batches are planned, and queues ordered, from all that waits: nothing is sent before a device needs it.
        self._decides_late = plans_batches(policy) or self.decider.reorders
        self._queues = self.decider.queues
        ahead = min(lookahead, BUSY_CALLS) if self.decider.reorders else lookahead
        self._lookahead = ahead * len(backend.devices)
        self._refill_at = self._lookahead - min(self._lookahead // 2, REFILL_BLOCK)
        self._places = [(each.name, each.signature, f"node {each.node}") for each in backend.devices]
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._waiting: deque[Job] = deque()
        self._held: dict[str, deque[Job]] = {}  # by task: until one of that task has ended
        self._dispatched: dict[int, Job] = {}  # decided on, not ended
        self._ended: deque[Job] = deque()  # whose futures are not resolved yet
        self._submitted = 0
        self._queued_at = -math.inf  # when the last job that was ready had been queued
        self._is_awake = False  # whether the backend's thread is about to decide
        self._has_bound = False  # whether a job came that not every device may run
        self.context: dict[str, ContextVar[Any]] = {}  # variables that calls take along
        self._unresolved = 0  # jobs in `_ended` or being resolved by some thread
        self._deferred: set[DeferredCall] = set()  # that wait for arguments
        self._released: deque[DeferredCall] = deque()  # whose arguments are there
        self._restoring: dict[StoredObject, Future[Any]] = {}  # lost values that are made again
        self._draining = _Draining()
        self._is_closed = False
        self._training_block: list[Job] = []
        self._numbers, self._job_numbers = itertools.count(), itertools.count()
        self._origin = time.perf_counter()

    @property
    def now(self) -> float:
        """Seconds since the dispatcher was created."""
        return time.perf_counter() - self._origin

    def start(self) -> None:
        """Start the workers."""
        if self.backend.objects is not None:
            self.backend.objects.restore = self._restore_now
        self.backend.listen(self._receive, self._reassign, self._reset_warm_up, self._decide_overdue)

    def create_job(
        self,
        task: TaskFunction,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: CallOptions = DEFAULT_OPTIONS,
        arrival: float | None = None,
        context: dict[str, Any] | None = None,
    ) -> Job:
        """Return the job of a call that is ready now, and arrived now unless that was before."""
        job = task.create_job(next(self._job_numbers), args, kwargs, self.now)
        job.arrival = job.arrival if arrival is None else arrival
        if self.context:
            job.context = self.capture_context() if context is None else context
        note_number(job)
        if options is not DEFAULT_OPTIONS:
            job.options, job.retries = options, options.retries
            job.memory = job.memory if options.memory is None else options.memory
        return job

    def capture_context(self) -> dict[str, Any]:
        """Return the values that the chosen context variables have where a call is submitted."""
        return capture(self.context) if self.context else {}

    def submit(self, job: Job) -> None:
        """Queue a job; it is decided on at once unless the devices have enough to do."""
        self._submitted += 1
        self._enqueue(job)
        self._drain()

    def submit_deferred(self, call: DeferredCall) -> None:
        """Submit a call when the futures that it waits for are done."""
        with self._lock:
            self._deferred.add(call)
            self._submitted += 1
        call.notify(self._release)

    def _release(self, call: DeferredCall) -> None:
        with self._lock:
            if call not in self._deferred:
                return  # it has failed
            self._deferred.remove(call)
            self._unresolved += 1
            self._released.append(call)
        self._drain()

    def _enqueue(self, job: Job) -> None:
        with self._lock:
            if self._is_closed:
                self._fail(job, self._abandonment(job.task.name))
                return
            if job.options.nested:  # who waits for it keeps a place among those that may be dispatched
                self._dispatch([job], 1)
                return
            job.urgency = job.find_urgency()
            if job.task.name in self._held:
                self._held[job.task.name].append(job)
                return
            self._has_bound = self._has_bound or job.is_bound
            self._insert(job)
            idle = self._queues.idle
            # Where jobs are small, an answer that triggers the next decision is about to come.
            is_urgent = idle == len(self.backend.devices) or (idle and self._limit == self._lookahead)
            is_tiny = self._queues.recent_seconds < TINY_SECONDS
            is_burst = job.ready - self._queued_at < BURST_SECONDS
            if is_burst and (is_tiny or self._dispatched):
                is_block = len(self._waiting) >= (TINY_BLOCK if is_tiny else DECISION_BLOCK)
                if is_block or (is_urgent and not self._decide_soon()):
                    self._decide_waiting()
            elif is_urgent or len(self._waiting) >= DECISION_BLOCK:
                self._decide_waiting()
            self._queued_at = max(job.ready, self.now)  # a burst does not end where decisions take long

    def _decide_soon(self) -> bool:
        """Have another thread decide when this one pauses; False if the backend has none that can be woken."""
        if not self._is_awake:
            self._is_awake = self.backend.wake()
        return self._is_awake

    def _insert(self, job: Job) -> None:
        """Let a job wait behind those of its priority; among these, jobs that go on with large results come first.

        Results are then needed no more soon after they were made, and not all of a stage are kept at once.
        """
        if not self._waiting or self._waiting[-1].urgency >= job.urgency:
            self._waiting.append(job)
            return
        place = next(place for place, other in enumerate(self._waiting) if other.urgency < job.urgency)
        self._waiting.insert(place, job)

    def cancel_running(self, future: Future[Any]) -> bool:
        """End the job of a future, together with its worker if it runs; False if it is not under way."""
        with self._lock:
            job = next((each for each in self._dispatched.values() if each.future is future), None)
        return job is not None and self.backend.end_calls(lambda call: call.tag[0] is job, Answer(CANCELLED))

    def run_on_device(self, job: Job, device: int) -> None:
        """Run a job on a device without asking the policy, for warm-up and calibration."""
        job.trains_policy = False
        with self._lock:
            self._submitted += 1
            self._dispatched[job.number] = job
            seconds = self.decider.predict([job])[0].tolist()
            self.backend.send(self._create_calls(job, Choice(RAN, ((device, 1.0),), seconds)))
        self._drain()

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many jobs were submitted, wait for a decision or an argument, and are with the devices."""
        waiting = len(self._waiting) + sum(map(len, self._held.values())) + len(self._deferred)
        return self._submitted, waiting, len(self._dispatched)

    @property
    def is_resolving(self) -> bool:
        """Whether the calling thread runs a callback of a future: it must not wait for others."""
        return self._draining.active

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every job has ended and its future is resolved."""
        with self._idle:
            return self._idle.wait_for(lambda: not (self._has_work or self._deferred), timeout)

    def finish(self) -> None:
        """Wait as `wait` does, but not for ever for futures of others: what waits for these alone fails at last."""
        since = time.monotonic()
        with self._idle:
            while self._has_work or self._deferred:
                if self._has_work or any(call.is_awaiting_work for call in self._deferred):
                    since = time.monotonic()
                elif time.monotonic() - since > FOREIGN_GRACE:
                    break
                self._idle.wait(None if self._has_work else FOREIGN_TICK)
        self._fail_deferred("waits for a future of another executor that has not ended: end that one first")

    @property
    def _has_work(self) -> bool:
        return bool(self._dispatched or self._waiting or self._held or self._unresolved)

    def cancel_waiting(self) -> None:
        """Cancel jobs that have not begun."""
        with self._lock:
            self._release_held()
            jobs, deferred = [*self._waiting, *self._dispatched.values()], list(self._deferred)
            futures = [each.future for each in jobs] + [each.future for each in deferred]
        for future in futures:
            future.cancel()
        for call in deferred:
            self._release(call)

    def abandon(self) -> None:
        """Fail all jobs that have not ended, and those that are still to come; called when the backend is closed."""
        with self._lock:
            self._is_closed = True
            self._release_held()
            for job in [*self._dispatched.values(), *self._waiting]:
                self._fail(job, self._abandonment(job.task.name))
            self._waiting.clear()
        self._fail_deferred("was abandoned: the scheduler was shut down")
        self._drain()

    def _abandonment(self, name: str) -> WorkerLostError:
        return WorkerLostError(f"task '{name}' was abandoned: the scheduler was shut down")

    def _fail_deferred(self, reason: str) -> None:
        with self._lock:
            calls, self._deferred = self._deferred, set()
        for call in calls:
            call.fail(WorkerLostError(f"a task with futures among its arguments {reason}"))

    def explain(self, job: Job) -> Explanation:
        """Explain where a job would run now."""
        with self._lock:
            return self.decider.explain(job, self.now)

    # --- sending -----------------------------------------------------------------------------------------------

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
            if self._decides_late and not self._queues.idle:
                return  # a moment before a device runs out of work
            count, jobs = max(room, PLANNING_WINDOW) if self._decides_late else room, list[Job]()
            while self._waiting and len(jobs) < count:
                job = self._waiting.popleft()
                if job.future.cancelled():
                    self._end(job, LOST_STATUS)
                elif job.task.name in self._held:
                    self._held[job.task.name].append(job)
                else:
                    jobs.append(job)
            if jobs:
                self._dispatch(jobs, room)
        if self._waiting and self._queues.idle and self._has_bound:
            self._feed_idle()

    def _decide_overdue(self) -> None:
        """Decide on jobs that wait beside idle devices: the answer that was to trigger it is late."""
        with self._lock:
            self._is_awake = False
            if self._waiting and self._queues.idle:
                self._decide_waiting()
        self._drain()

    def _feed_idle(self) -> None:
        """Dispatch jobs that are bound to idle devices: all that was dispatched before may be bound to others."""
        idle = self._queues.find_idle()
        kinds = {self.backend.devices[each].kind for each in idle}
        able = (job for job in self._waiting if job.is_bound and job.task.name not in self._held)
        jobs = [job for job in able if (job.options.device in idle if job.options.device >= 0 else job.kinds & kinds)]
        for job in jobs[: BUSY_CALLS * len(idle)]:
            self._waiting.remove(job)
            self._dispatch([job], 1)

    def _dispatch(self, jobs: list[Job], room: int) -> None:
        """Let the policy decide and send the calls; jobs that it keeps for later wait again."""
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
            if choice is HOLD:
                self._held.setdefault(job.task.name, deque()).append(job)
                continue
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
        job.predicted, job.was_trial = choice.seconds, job.trial >= 0
        if len(choice.parts) == 1 and choice.parts[0][1] == 1.0:
            return self._create_call(job, choice)
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
        now = self.now
        for call, each in zip(calls, seconds, strict=True):
            self._queues.add(call.device, call.number, each, now)
        return calls

    def _create_call(self, job: Job, choice: Choice) -> list[Call]:
        """Do the same for a job that one device runs, as nearly all are: without lists of one."""
        device, class_index = choice.parts[0][0], self.decider.class_index[choice.parts[0][0]]
        on_gpu, seconds = self.decider.is_gpu[device], choice.seconds[class_index]
        share = Share(device, 1.0, on_gpu)
        job.shares, job.gpu_fraction = (share,), float(on_gpu)
        try:
            expected = seconds if job.is_measured[class_index] else NAN
            call = job.create_call(share, next(self._numbers), expected)
        except Exception as error:  # noqa: BLE001  # arguments that cannot be pickled belong to the caller
            self._fail(job, error)
            return []
        self._queues.add(device, call.number, seconds, self.now)
        return [call]

    def _reassign(self, calls: list[Call]) -> None:
        """Send jobs elsewhere, whole, whose device is gone."""
        with self._lock:
            for call in calls:
                self._queues.remove(call.device, call.number, ended=self.now)
                job, share = call.tag
                if share not in job.shares or job.number not in self._dispatched:
                    continue
                if job.options.device >= 0:
                    self._fail(job, WorkerLostError(f"task '{job.task.name}': the worker of its device is gone"))
                    continue
                seconds = self.decider.predict([job])[0].tolist()
                parts = self.decider.place_whole(job, call.device, seconds)
                elsewhere = parts if parts and parts[0][0] != call.device else ()
                if elsewhere or self.backend.queues[call.device].is_gone:
                    self.backend.send(self._create_calls(job, Choice(job.status, elsewhere, seconds)))
                    continue
                # No other device can run it, and its worker may come back: it keeps its place and its attempts.
                needed = share.part * seconds[self.decider.class_index[call.device]]
                self._queues.add(call.device, call.number, needed, self.now)
                self.backend.send([call])
            self._decide_waiting()
        self._drain()

    def _reset_warm_up(self, device: int) -> None:
        with self._lock:
            self.times.reset_warm_up(self.backend.devices[device].name)

    # --- lost data ---------------------------------------------------------------------------------------------

    def _restore_inputs(self, job: Job, call: Call) -> None:
        """Run again what made the stored arguments of a job that are gone, then send it again."""

        def send_again(error: BaseException | None) -> None:
            with self._lock:
                if error is not None:
                    self._fail(job, error)
                else:
                    self._queues.add(call.device, call.number, 0.0, self.now)
                    self.backend.send([call])
            self._drain()

        call_when_done([self._restore(each) for each in job.inputs if not each.exists], send_again)

    def _restore(self, stored: StoredObject) -> Future[Any]:
        """Run again what made a stored value; the future is done when the value is back in its place."""
        with self._lock:
            if stored in self._restoring:
                return self._restoring[stored]
            restored: Future[Any] = Future()
            job = create_job_again(stored.origin, next(self._job_numbers), self.now)
            if job is None:
                restored.set_exception(
                    ObjectLostError("a result is gone from the object store, and its arguments too")
                )
                return restored
            self._restoring[stored] = restored

        def note_made(_: Future[Any]) -> None:
            with self._lock:
                del self._restoring[stored]
            error = job.future.exception()
            if error is None:
                value = cast("TaskFuture", job.future).refer()
                made = (
                    value if type(value) is StoredObject else cast("ObjectStore", self.backend.objects).store(value)
                )
                stored.blob, stored.segments = made.blob, made.segments
                restored.set_result(None)
            else:
                restored.set_exception(error)

        def submit(error: BaseException | None) -> None:
            if error is not None:
                job.future.set_exception(error)
            else:
                self.submit(job)

        job.future.add_done_callback(note_made)
        call_when_done([self._restore(each) for each in job.inputs if not each.exists], submit)
        return restored

    def _restore_now(self, stored: StoredObject) -> None:
        if self.is_resolving:
            raise ObjectLostError("a result is gone from the object store: it cannot be made again in a callback")
        self._restore(stored).result()

    # --- receiving ---------------------------------------------------------------------------------------------

    def _receive(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        with self._lock:
            now, observed = self.now, list[tuple[str, str, str, float, float]]()
            for call, answer in ended:
                self._record(call, answer, now, observed)
            self.times.observe_all(observed)
            if not self._waiting and self._queues.idle:
                self._recall()
            if self._waiting and (self._queues.idle or len(self._dispatched) <= self._refill_at):
                self._decide_waiting()
        self._drain()

    def _record(
        self, call: Call, answer: Answer, now: float, observed: list[tuple[str, str, str, float, float]]
    ) -> None:
        """Record an answer; the last one of a job ends it, and may complete a block for training."""
        self._queues.remove(call.device, call.number, ended=now)
        job, share = call.tag
        if share not in job.shares or job.number not in self._dispatched:
            return
        if answer.outcome == MISSING and job.restores < MAX_RESTORES:
            job.restores += 1
            self._restore_inputs(job, call)
            return
        share.answer = answer
        share.start, share.end = answer.start - self._origin, answer.end - self._origin
        job.attempts = max(job.attempts, call.attempts + (answer.outcome != LOST))
        if answer.outcome == VALUE:
            if job.trial >= 0:
                self._take_back_after_trial(job.task.name)
            name, signature, node = self._places[share.device]
            if answer.segments:
                answer.place = node
            if job.data and answer.load_seconds > 0.0:
                is_first = not self.times.is_warm(job.task.name, name)
                self.decider.transfers.observe(job.data, signature, answer.load_seconds, is_warm_up=is_first)
            # Writing a large result keeps the device as busy as the task itself.
            seconds = (share.end - share.start) / share.part + answer.store_seconds
            observed.append((job.task.name, signature, name, job.size, seconds))
            if len(job.shares) == 1 and not self._policy.learn_every:
                self._end(job, job.status)
                return
        if all(share.answer is not None for share in job.shares):
            if job.retries and any(share.answer.outcome == ERROR for share in job.shares if share.answer is not None):
                self._retry(job)
            else:
                self._finish(job)

    def _retry(self, job: Job) -> None:
        """Let a job that raised wait again, before others."""
        job.retries -= 1
        job.attempts += 1
        job.shares = ()
        del self._dispatched[job.number]
        if job.trial >= 0:
            self.decider.end_trial(job)
        self._waiting.appendleft(job)

    def _finish(self, job: Job) -> None:
        outcomes = {share.answer.outcome for share in job.shares if share.answer is not None}
        job.failed = ERROR in outcomes
        self._end(job, LOST_STATUS if outcomes & {LOST, CANCELLED} else job.status)
        if outcomes == {VALUE} and self._policy.learn_every and job.trains_policy:
            self._training_block.append(job)
            if len(self._training_block) >= self._policy.learn_every:
                block, self._training_block = self._training_block, []
                self.decider.learn(block)

    def _recall(self) -> None:
        """Let the policy decide again on calls that no worker holds: a device runs dry, and no other job waits."""
        if self.decider.uses_times and self._limit <= self._lookahead:  # small jobs end sooner than that
            self._take_back(lambda _: True)

    def _take_back_after_trial(self, name: str) -> None:
        """Take back other trials of a task, and all that was decided on while jobs of this task were held.

        Those went where the held ones belong, perhaps: all are decided on again, in their order.
        """
        were_held = name in self._held
        self._take_back(lambda other: other.task.name == name if other.trial >= 0 else were_held)

    def _take_back(self, is_wanted: Callable[[Job], bool]) -> None:
        """Take jobs back that no worker holds: they wait again, before the others."""
        jobs = []
        for call in self.backend.recall(lambda call: _is_movable(call) and is_wanted(call.tag[0])):
            job, _ = call.tag
            self._queues.remove(call.device, call.number)
            del self._dispatched[job.number]
            if job.trial >= 0:
                self.decider.end_trial(job)
            jobs.append(job)
        jobs.sort(key=lambda job: -job.number)
        self._waiting.extendleft(job for job in jobs if not job.options.nested)
        for job in jobs:
            if job.options.nested:  # all that is dispatched may wait for it
                self._dispatch([job], 1)

    def _release_held(self, *names: str) -> None:
        """Let jobs that were held for lack of times wait again in their order; all if no task is named."""
        for name in names or list(self._held):
            self._waiting.extend(self._held.pop(name))
        self._waiting = deque(sorted(self._waiting, key=lambda job: (*(-each for each in job.urgency), job.number)))

    def _fail(self, job: Job, error: BaseException) -> None:
        job.error = error
        self._end(job, job.status if job.status in REASONS else LOST_STATUS)

    def _end(self, job: Job, status: int) -> None:
        """Note that a job has ended; its future is resolved when the lock is free."""
        job.status = status
        self._dispatched.pop(job.number, None)
        if job.trial >= 0:
            self.decider.end_trial(job)
        if job.task.name in self._held:
            self._release_held(job.task.name)
        self._unresolved += 1
        self._ended.append(job)

    def _drain(self) -> None:
        """Resolve ended jobs and submit released calls, without the lock: callbacks of futures may do anything.

        What a callback ends or releases is left to the loop that runs it, so that no chain is too long for the stack.
        """
        if self._draining.active:
            return
        self._draining.active = True
        try:
            while self._resolve_next() or self._submit_next():
                pass
        finally:
            self._draining.active = False

    def _resolve_next(self) -> bool:
        """Resolve the futures of ended jobs; return whether there were any."""
        resolved = 0
        try:
            while self._ended:
                try:
                    job = self._ended.popleft()
                except IndexError:
                    break  # another thread was quicker
                resolved += 1
                job.resolve()
                if self._on_finished is not None:
                    self._on_finished(job)
        finally:
            self._note_resolved(resolved)
        return resolved > 0

    def _submit_next(self) -> bool:
        """Submit a call whose arguments have come; return whether there was one."""
        try:
            call = self._released.popleft()
        except IndexError:
            return False
        job = call.take_job()
        if job is not None:
            self._enqueue(job)
        self._note_resolved(1)
        return True

    def _note_resolved(self, count: int) -> None:
        if count:
            with self._idle:
                self._unresolved -= count
                self._idle.notify_all()


def _is_movable(call: Call) -> bool:
    """Whether a call is a whole job that a policy sent to its device, not for warm-up, and that no worker had."""
    job, share = call.tag
    return bool(job.trains_policy and share.part == 1.0 and not call.attempts)


def build_tasks(jobs: Sequence[Job], arrival: Floats | float) -> Tasks:
    """Return jobs as the tasks that policies see; their features were checked when they were submitted."""
    size = np.array([job.size for job in jobs])
    intensity = np.array([job.intensity for job in jobs])
    return Tasks(
        size=size,
        compute_intensity=intensity,
        memory_required=np.array([job.memory for job in jobs]),
        arrival_time=np.broadcast_to(arrival, len(jobs)).astype(np.float64),
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
        status[row], fraction[row] = job.status, job.gpu_fraction
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
