"""The dispatcher sends jobs where the decider says and gives every one of them exactly one result.

Jobs are decided on in the order in which they come, a few ahead of what the devices can do: the others wait, so that
they are decided on with what has been learnt by then. While no device runs out of work they are decided on in blocks,
because one question for many costs hardly more than one for one.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.execution.backend import Backend
from hybrid_scheduler.execution.calls import CANCELLED, ERROR, LOST, VALUE, Answer, Call, WorkerLostError
from hybrid_scheduler.execution.deciding import Choice, Decider
from hybrid_scheduler.execution.jobs import Job, Share
from hybrid_scheduler.execution.measured_times import MeasuredTimes
from hybrid_scheduler.model.placements import LOST as LOST_STATUS
from hybrid_scheduler.model.placements import RAN, REASONS
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.schedulers.scheduler import Scheduler

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
