"""What is believed of devices at work: when each will be free, by the learnt seconds of what it was sent."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import LOST as LOST_STATUS
from hybrid_scheduler.core.placements import RAN, REASONS, Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.calls import CANCELLED, ERROR, LOST, VALUE, Answer, Call, WorkerLostError
from hybrid_scheduler.runtime.devices import cluster_of
from hybrid_scheduler.runtime.jobs import Job, Share, placements_of, tasks_of
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.schedulers.explain import Explanation, asked
from hybrid_scheduler.schedulers.scheduler import Scheduler

ENOUGH = 2  # calls: one that a device is at and one for the moment when that has ended


class Beliefs:
    """Seconds of work before every device, as far as anyone can tell from outside."""

    def __init__(self, count: int) -> None:
        self._sent: list[dict[int, float]] = [{} for _ in range(count)]  # calls by number, oldest first
        self._total = [0.0] * count
        self._since = [0.0] * count  # when the first of them began, at the earliest
        self.hungry = count  # devices that have fewer than two calls
        self._calls = 0

    def send(self, device: int, number: int, seconds: float, now: float) -> None:
        """Note a call that a device was sent."""
        if not self._sent[device]:
            self._total[device], self._since[device] = 0.0, now
        self._sent[device][number] = seconds
        self._total[device] += seconds
        self._calls += 1
        self.hungry -= len(self._sent[device]) == ENOUGH

    def end(self, device: int, number: int, now: float) -> None:
        """Note that a call is back; the next one began at that moment."""
        if number in self._sent[device]:
            self._calls -= 1
            self.hungry += len(self._sent[device]) == ENOUGH
            self._total[device] -= self._sent[device].pop(number)
        self._since[device] = now

    def recall(self, device: int, number: int) -> None:
        """Note that a call which a device has not begun is not to run there."""
        since = self._since[device]
        self.end(device, number, since)

    @property
    def are_all_hungry(self) -> bool:
        """Whether no device has two calls."""
        return self.hungry == len(self._sent)

    @property
    def seconds_per_call(self) -> float:
        """What a call that was sent takes on average; NaN if none is under way."""
        return sum(self._total) / self._calls if self._calls else float("nan")

    def fill(self, free: Floats, now: float) -> None:
        """Write when each device will be free; a call that takes longer than believed may end any moment."""
        for device, sent in enumerate(self._sent):
            if not sent:
                free[device] = now
                continue
            first = next(iter(sent.values()))
            passed = min(now - self._since[device], first)
            free[device] = now + max(self._total[device] - passed, 0.0)


class Choice(NamedTuple):
    """Where a job goes: devices with their parts, none if it was rejected; `seconds` by class as predicted."""

    status: int
    parts: tuple[tuple[int, float], ...]
    seconds: list[float]


class Decider:
    """A policy, and what it is shown."""

    def __init__(self, policy: Scheduler, backend: Backend, times: MeasuredTimes) -> None:
        self.policy, self.times = policy, times
        self.machine = VirtualMultiGPU(cluster=cluster_of(backend.devices))
        self.cluster = self.machine.cluster
        self.class_of: list[int] = self.cluster.class_index.tolist()  # by device
        self.is_gpu: list[bool] = self.cluster.is_gpu.tolist()
        self.beliefs = Beliefs(len(backend.devices))
        self.seconds, self.count = 0.0, 0  # spent on decisions, and how many
        self._backend = backend
        self._signatures = [
            next(spec.signature for spec in backend.devices if spec.device_class == each.name)
            for each in self.cluster.classes
        ]
        # A policy that neither sees times nor learns has no use for trials, nor for being asked twice.
        self.looks = policy.sighted or policy.learn_every > 0

    # --- deciding ----------------------------------------------------------------------------------------------

    def decide(self, jobs: Sequence[Job], now: float, most: int) -> dict[Job, Choice]:
        """Let the policy decide on a block of jobs that are all ready now; keep what it says of the first to start.

        The others are to be asked about again, when more is known.
        """
        begin = time.perf_counter()
        predicted = self.predicted(jobs)
        self.beliefs.fill(self.machine.view.free, now)
        placed = self.machine.step(self._block(jobs, predicted, now), self.policy, times=predicted)
        choices, placements = {}, _Rows(placed, predicted)
        for row in _first_to_start(placed, most):
            job = jobs[row]
            job.remembered = {name: np.array(getattr(self.policy, name)[row]) for name in self.policy.remembered}
            choices[job] = self._choice(job, placements, row)
        self.seconds += time.perf_counter() - begin
        self.count += len(choices)
        return choices

    def predicted(self, jobs: Sequence[Job]) -> Floats:
        """Return learnt seconds of jobs by class; infinite where a job has no implementation."""
        known: dict[tuple[str, float], Floats] = {}
        rows = np.empty((len(jobs), len(self._signatures)))
        for row, job in enumerate(jobs):
            key = job.work.name, job.size
            if key not in known:
                known[key] = self.times.predict(job.work.name, self._signatures, job.size)
            rows[row] = known[key]
            if job.work.is_choosy:
                rows[row, [not job.work.runs_on(each.kind) for each in self.cluster.classes]] = np.inf
        return rows

    def knows(self, job: Job, device: int) -> bool:
        """Whether the job's type was ever timed on a device's class."""
        return self.times.knows(job.work.name, self._signatures[self.class_of[device]])

    def _block(self, jobs: Sequence[Job], predicted: Floats, now: float) -> Tasks:
        tasks = tasks_of(jobs, np.full(len(jobs), now))
        if np.isfinite(predicted).all():
            return tasks
        return replace(
            tasks, measured={each.name: predicted[:, column] for column, each in enumerate(self.cluster.classes)}
        )

    def _choice(self, job: Job, placed: _Rows, row: int) -> Choice:
        status, seconds = placed.status[row], placed.seconds[row]
        if status in REASONS:
            return Choice(status, (), seconds)
        gpu, cpu, share = placed.gpu[row], placed.cpu[row], placed.gpu_fraction[row]
        tried = self._trial(job, seconds)
        if tried >= 0:
            return Choice(RAN, ((tried, 1.0),), seconds)
        if 0.0 < share < 1.0 and job.work.can_split and self._backend.is_alive(gpu) and self._backend.is_alive(cpu):
            return Choice(status, ((gpu, share), (cpu, 1.0 - share)), seconds)
        # What cannot be split goes where most of it would have gone.
        return Choice(status, self.whole(job, gpu if share >= 0.5 else cpu, seconds), seconds)

    def _trial(self, job: Job, seconds: list[float]) -> int:
        """Return a device on which this type of task must be tried first, -1 if it was tried often enough."""
        if not self.looks:
            return -1
        able = [column for column, each in enumerate(seconds) if math.isfinite(each)]
        wanted = self.times.wants(job.work.name, [self._signatures[column] for column in able])
        if wanted < 0:
            return -1
        free = self.machine.view.free
        fitting = [each for each in self._able(job, seconds) if self.class_of[each] == able[wanted]]
        living = [each for each in fitting if self._backend.is_alive(each)]
        return min(living, key=lambda device: float(free[device]), default=-1)

    def whole(self, job: Job, device: int, seconds: list[float]) -> tuple[tuple[int, float], ...]:
        """Return the device for a whole job; if its worker is dead, the best one that lives; none if none is left."""
        if self._backend.is_alive(device):
            return ((device, 1.0),)
        free, class_of = self.machine.view.free, self.class_of
        able = self._able(job, seconds)
        living = [each for each in able if self._backend.is_alive(each)]
        if living:
            return ((min(living, key=lambda each: float(free[each] + seconds[class_of[each]])), 1.0),)
        return ((device, 1.0),) if device in able else ()  # all are down, and one may come back

    def _able(self, job: Job, seconds: list[float]) -> list[int]:
        able = np.isfinite(seconds)[self.cluster.class_index] & (job.memory <= self.machine.view.memory)
        devices: list[int] = np.flatnonzero(able).tolist()
        return devices

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, jobs: Sequence[Job]) -> None:
        """Hand the policy a block of jobs that have ended, in the order in which they did."""
        for name in self.policy.remembered:
            setattr(self.policy, name, np.stack([job.remembered[name] for job in jobs]))
        self.policy.learn(placements_of(jobs, self.cluster, self.predicted(jobs)))

    def explain(self, job: Job, now: float) -> Explanation:
        """Say where a job would go now and why; nothing is changed by the question."""
        predicted = self.predicted([job])
        self.beliefs.fill(self.machine.view.free, now)
        return asked(Lane(self.policy, self.machine), self._block([job], predicted, now), predicted)


class _Rows:
    """Columns of a block's placements as plain lists: a number from an array costs more than the rest of a choice."""

    def __init__(self, placed: Placements, predicted: Floats) -> None:
        self.status: list[int] = placed.status.tolist()
        self.gpu: list[int] = placed.gpu.tolist()
        self.cpu: list[int] = placed.cpu.tolist()
        self.gpu_fraction: list[float] = placed.gpu_fraction.tolist()
        self.seconds: list[list[float]] = predicted.tolist()


def _first_to_start(placed: Placements, most: int) -> list[int]:
    """Return the rows that start first, in that order; rejected ones first of all."""
    if len(placed) <= most:
        return list(range(len(placed)))
    rows: list[int] = np.argsort(np.where(placed.ran, placed.start, -np.inf), kind="stable")[:most].tolist()
    return rows


AHEAD = 16  # jobs per device that are decided on before they can run
AHEAD_OF_SMALL = 16  # times as many if they are small: as many as the devices do in SOON
SOON = 0.02  # seconds
BLOCK = 16  # jobs that are worth a question while all devices have enough to do
LOOK = 128  # waiting jobs that a policy which plans looks at together
Ended = Callable[[Job], None]


class Dispatcher:
    """One policy before one backend."""

    def __init__(
        self,
        policy: Scheduler,
        backend: Backend,
        times: MeasuredTimes | None = None,
        ended: Ended | None = None,
        ahead: int = AHEAD,
    ) -> None:
        if ahead < 1:
            raise InputError(f"ahead is {ahead}, expected a whole number of jobs per device above 0")
        self.backend = backend
        self.times = MeasuredTimes() if times is None else times
        self.decider = Decider(policy, backend, self.times)
        self._policy, self._ended = policy, ended
        self._ahead = ahead * len(backend.devices)
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._waiting: deque[Job] = deque()
        self._open: dict[int, Job] = {}  # decided on, not ended
        self._closing: deque[Job] = deque()  # ended, but their futures do not know yet
        self._untold = 0  # jobs whose futures are about to know, those of other threads included
        self._lessons: list[Job] = []
        self._numbers = itertools.count()
        self._origin = time.perf_counter()

    @property
    def now(self) -> float:
        """Seconds since the dispatcher began."""
        return time.perf_counter() - self._origin

    def start(self) -> None:
        """Start the workers."""
        self.backend.listen(self._done, self._place_again, self._cool)

    def submit(self, job: Job) -> None:
        """Take a job; it is decided on at once unless the devices have enough to do."""
        with self._lock:
            self._waiting.append(job)
            if self._is_urgent() or len(self._waiting) >= BLOCK:
                self._decide_waiting()
        self._resolve_ended()

    def warm(self, job: Job, device: int) -> None:
        """Run a job on a device without asking anybody, so that the device has done its kind of work before."""
        job.teaches = False
        with self._lock:
            self._open[job.number] = job
            seconds = self.decider.predicted([job])[0].tolist()
            self.backend.send(self._calls(job, Choice(RAN, ((device, 1.0),), seconds)))
        self._resolve_ended()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every job has ended and its future knows."""
        with self._idle:
            return self._idle.wait_for(lambda: not (self._open or self._waiting or self._untold), timeout)

    def cancel_waiting(self) -> None:
        """Cancel what has not begun."""
        with self._lock:
            jobs = [*self._waiting, *self._open.values()]
        for job in jobs:
            job.future.cancel()

    def abandon(self) -> None:
        """Fail what has not ended; called when the backend is closed."""
        with self._lock:
            for job in [*self._open.values(), *self._waiting]:
                self._end(job, WorkerLostError(f"task '{job.work.name}' was abandoned: the scheduler was shut down"))
            self._waiting.clear()
        self._resolve_ended()

    def explain(self, job: Job) -> Explanation:
        """Say where a job would go now and why."""
        with self._lock:
            return self.decider.explain(job, self.now)

    # --- sending -----------------------------------------------------------------------------------------------

    def _decide_waiting(self) -> None:
        while self._waiting and (room := self._most - len(self._open)) > 0:
            if self._policy.plans and not self.decider.beliefs.hungry:
                return  # batches are formed when a device runs out of work, a moment before it does
            count = min(max(room, LOOK) if self._policy.plans else room, len(self._waiting))
            jobs = [self._waiting.popleft() for _ in range(count)]
            self._decide([job for job in jobs if not self._is_cancelled(job)], room)

    @property
    def _most(self) -> int:
        """How many jobs may be under way; more if they are small, because answers take their time to get here."""
        seconds = self.decider.beliefs.seconds_per_call
        if not seconds * self._ahead < SOON * len(self.backend.devices):  # also if nobody knows: NaN
            return self._ahead
        small = SOON * len(self.backend.devices) / max(seconds, 1e-9)
        return int(min(small, self._ahead * AHEAD_OF_SMALL))

    def _is_urgent(self) -> bool:
        """Whether a job that comes now should not wait for others to be decided on with it."""
        beliefs = self.decider.beliefs
        if beliefs.are_all_hungry:
            return True
        # Where jobs are small, an answer that asks for more is about to come.
        return bool(beliefs.hungry) and self._most == self._ahead

    def _runs_dry(self) -> bool:
        """Whether more should be decided on now that something has come back."""
        return bool(self.decider.beliefs.hungry) or 2 * len(self._open) <= self._ahead

    def _is_cancelled(self, job: Job) -> bool:
        if not job.future.cancelled():
            return False
        job.status = LOST_STATUS
        self._close(job)
        return True

    def _decide(self, jobs: list[Job], room: int) -> None:
        if not jobs:
            return
        try:
            choices = self.decider.decide(jobs, self.now, room)
        except Exception as error:  # noqa: BLE001  # a policy's mistake belongs to those who wait for its answer
            for job in jobs:
                self._end(job, error)
            return
        if len(choices) < len(jobs):
            self._waiting.extendleft(job for job in reversed(jobs) if job not in choices)
        calls = list[Call]()
        for job, choice in choices.items():
            self._open[job.number] = job
            job.status = choice.status
            if choice.status in REASONS:
                self._end(job, InputError(f"task '{job.work.name}' was rejected: {REASONS[choice.status]}"))
            else:
                calls += self._calls(job, choice)
        self.backend.send(calls)

    def _calls(self, job: Job, choice: Choice) -> list[Call]:
        """Return what to send for a job; nothing if it ends here, because it cannot be sent."""
        if not choice.parts:
            names = ", ".join(each.label for each in self.backend.devices)
            self._end(job, WorkerLostError(f"task '{job.work.name}' has no device left of {names}: start others"))
            return []
        is_gpu, class_of = self.decider.is_gpu, self.decider.class_of
        job.shares = [Share(device, part, is_gpu[device]) for device, part in choice.parts]
        job.gpu_fraction = sum(share.part for share in job.shares if share.on_gpu)
        seconds = [share.part * choice.seconds[class_of[share.device]] for share in job.shares]
        try:
            calls = [
                job.call(share, next(self._numbers), each if self.decider.knows(job, share.device) else float("nan"))
                for share, each in zip(job.shares, seconds, strict=True)
            ]
        except Exception as error:  # noqa: BLE001  # arguments that cannot be pickled belong to the caller
            self._end(job, error)
            return []
        for call, each in zip(calls, seconds, strict=True):
            self.decider.beliefs.send(call.device, call.number, each, self.now)
        return calls

    def _place_again(self, calls: list[Call]) -> None:
        """Send jobs elsewhere, whole, that were to run on a device which is gone."""
        with self._lock:
            for call in calls:
                job, share = call.tag
                self.decider.beliefs.end(call.device, call.number, self.now)
                if share not in job.shares or job.number not in self._open:
                    continue
                seconds = self.decider.predicted([job])[0].tolist()
                parts = self.decider.whole(job, call.device, seconds)
                elsewhere = parts if parts and parts[0][0] != call.device else ()
                if not elsewhere and not self.backend.is_gone(call.device):
                    # Nobody else can run it, and its worker may come back: it keeps its place and its attempts.
                    needed = share.part * seconds[self.decider.class_of[call.device]]
                    self.decider.beliefs.send(call.device, call.number, needed, self.now)
                    self.backend.send([call])
                    continue
                self.backend.send(self._calls(job, Choice(job.status, elsewhere, seconds)))
            self._decide_waiting()
        self._resolve_ended()

    def _cool(self, device: int) -> None:
        with self._lock:
            self.times.cool(self.backend.devices[device].name)

    # --- what comes back ---------------------------------------------------------------------------------------

    def _done(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        with self._lock:
            now = self.now
            for call, answer in ended:
                self._take(call, answer, now)
            if not self._waiting and self.decider.beliefs.hungry:
                self._recall()
            if self._waiting and self._runs_dry():
                self._decide_waiting()
        self._resolve_ended()

    def _recall(self) -> None:
        """Let the policy decide again on what no worker holds yet: a device runs dry, and nothing else waits."""
        if not self.decider.looks or self._most > self._ahead:
            return  # small jobs end sooner than they are decided on again
        jobs = []
        for call in self.backend.recall(_is_movable):
            job, _ = call.tag
            self.decider.beliefs.recall(call.device, call.number)
            del self._open[job.number]
            jobs.append(job)
        self._waiting.extend(sorted(jobs, key=lambda job: job.number))

    def _take(self, call: Call, answer: Answer, now: float) -> None:
        job, share = call.tag
        self.decider.beliefs.end(call.device, call.number, now)
        if share not in job.shares or job.number not in self._open:
            return
        share.answer = answer
        share.start, share.end = answer.start - self._origin, answer.end - self._origin
        job.attempts = max(job.attempts, call.attempts + (answer.outcome != LOST))
        if answer.outcome == VALUE:
            self._observe(job, share)
        if job.is_done:
            self._settle(job)

    def _observe(self, job: Job, share: Share) -> None:
        spec = self.backend.devices[share.device]
        seconds = (share.end - share.start) / share.part
        self.times.observe(job.work.name, spec.signature, spec.name, job.size, seconds)

    def _settle(self, job: Job) -> None:
        outcomes = {share.answer.outcome for share in job.shares if share.answer is not None}
        job.failed = ERROR in outcomes
        if outcomes & {LOST, CANCELLED}:
            job.status = LOST_STATUS
        self._end(job)
        if outcomes == {VALUE} and self._policy.learn_every and job.teaches:
            self._lessons.append(job)
            if len(self._lessons) >= self._policy.learn_every:
                lessons, self._lessons = self._lessons, []
                self.decider.learn(lessons)

    def _end(self, job: Job, error: BaseException | None = None) -> None:
        """Note that a job has ended; its future hears of it when the lock is free."""
        self._open.pop(job.number, None)
        if error is not None:
            job.error = error
            job.status = job.status if job.status in REASONS else LOST_STATUS
        self._close(job)

    def _close(self, job: Job) -> None:
        self._untold += 1
        self._closing.append(job)

    def _resolve_ended(self) -> None:
        """Give the futures of ended jobs their results, without the lock: callbacks may do anything."""
        told = 0
        while self._closing:
            try:
                job = self._closing.popleft()
            except IndexError:
                break  # another thread was quicker
            told += 1
            job.resolve()
            if self._ended is not None:
                self._ended(job)
        if told:
            with self._idle:
                self._untold -= told
                self._idle.notify_all()


def _is_movable(call: Call) -> bool:
    """Whether a call is a whole job that was sent where it is for its time, not to be tried or warmed up there."""
    job, share = call.tag
    known = not math.isnan(call.expected)
    return bool(known and job.teaches and share.part == 1.0 and not call.attempts)
