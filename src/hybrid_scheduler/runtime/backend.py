"""A backend runs calls on devices: calls go in, each is answered exactly once, even if workers die.

Each device has a queue. The first few calls of it are with the worker, so that it never waits for us; the others can
still be cancelled. At most two batches are under way to a worker: calls that arrive meanwhile are sent together in
the next one, so that many small calls cost little. When a worker dies, the call that it was running is retried, alone
and a bounded number of times; those that it only held are sent again. How calls reach the workers is left to
subclasses.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

from hybrid_scheduler.runtime.devices import DeviceSpec
from hybrid_scheduler.runtime.jobs import CANCELLED, LOST, SMALL_SECONDS, Answer, Call

MAX_BATCHES = 2  # under way to one worker: one that it runs, one that is there when it has finished
MAX_CALLS = 64  # with one worker at once
MAX_BYTES = 32_768  # with one worker beyond its first call: they fit a socket's buffer, so that no send blocks
OnEnded = Callable[[Sequence[tuple[Call, Answer]]], None]


class DeviceQueue:
    """The calls of one device: first those in flight, which its worker holds, then those waiting."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.in_flight: deque[Call] = deque()
        self.waiting: deque[Call] = deque()
        self.is_up = False
        self.down_since: float | None = None  # when a worker that was up died, None while it works or starts
        self.failed_starts = 0  # workers in a row that died before they were ready
        self.is_gone = False  # no worker will be started again

    def take_batch(self, max_calls: int) -> tuple[list[Call], list[Call]]:
        """Take the calls that the worker may be sent now; also return those that were cancelled."""
        batch, cancelled = list[Call](), list[Call]()
        number = self.in_flight[-1].batch + 1 if self.in_flight else 0
        if self.in_flight and number - self.in_flight[0].batch >= MAX_BATCHES:
            return batch, cancelled
        seconds, size = sum(call.expected for call in self.in_flight), sum(call.num_bytes for call in self.in_flight)
        while self.waiting and self._has_room(max_calls, seconds, size):
            call = self.waiting.popleft()
            begin, call.begin = call.begin, None  # asked once: a retry does not ask again
            if begin is not None and not begin():
                cancelled.append(call)
                continue
            if batch and not (call.is_small and batch[-1].is_small):
                number += 1  # no answer must wait for a call that may take long
            call.batch = number
            seconds, size = seconds + call.expected, size + call.num_bytes
            self.in_flight.append(call)
            batch.append(call)
        return batch, cancelled

    def _has_room(self, max_calls: int, seconds: float, size: int) -> bool:
        """Whether the worker, with that much in flight, may be sent the next call too."""
        if not self.in_flight:
            return True
        following, first = self.waiting[0], self.in_flight[0]
        if following.attempts or first.attempts:
            return False  # a call whose worker died runs alone
        if len(self.in_flight) >= max_calls or size - first.num_bytes + following.num_bytes > MAX_BYTES:
            return False
        # The second is there when the worker has finished the first; no third if the seconds are unknown: NaN.
        return len(self.in_flight) == 1 or seconds < SMALL_SECONDS


class Backend:
    """Base of all backends."""

    name: ClassVar[str] = ""
    measured: ClassVar[bool] = True
    max_attempts = 3  # of one call, each ended by the death of its worker
    grace_period = 5.0  # seconds after which the calls of a device whose worker does not come back are handed back
    max_calls = MAX_CALLS
    answers_in_batches: ClassVar[bool] = False  # whether the answers to a batch come all at once, or none

    def __init__(self, devices: Sequence[DeviceSpec]) -> None:
        self.devices = tuple(devices)
        self.queues = [DeviceQueue(device) for device in range(len(self.devices))]
        self.restarts = 0
        self._is_open = False
        self._lock = threading.RLock()
        self._on_ended: OnEnded = _ignore
        self._on_stranded: Callable[[list[Call]], None] = _ignore
        self._on_new_worker: Callable[[int], None] = _ignore

    def listen(
        self,
        on_ended: OnEnded,
        on_stranded: Callable[[list[Call]], None] | None = None,
        on_new_worker: Callable[[int], None] | None = None,
    ) -> None:
        """Register who is told of ended calls, of calls whose device is gone, and of a device with a new worker.

        The first listener starts the workers; another may follow when the calls of the one before have ended.
        """
        self._on_ended = on_ended
        self._on_stranded = on_stranded or (lambda calls: self._end(calls, LOST))
        self._on_new_worker = on_new_worker or _ignore
        if not self._is_open:
            self._is_open = True
            self._open()

    def send(self, calls: Sequence[Call]) -> None:
        """Append calls to the queues of their devices."""
        with self._lock:
            for call in calls:
                self.queues[call.device].waiting.append(call)
            cancelled = [
                call for device in {call.device for call in calls} for call in self._feed(self.queues[device])
            ]
        self._end(cancelled, CANCELLED)

    def recall(self, is_movable: Callable[[Call], bool]) -> list[Call]:
        """Take waiting calls out of the queues; they are the caller's again and do not end here."""
        recalled = list[Call]()
        with self._lock:
            for queue in self.queues:
                movable = [call for call in queue.waiting if is_movable(call)]
                if movable:
                    recalled += movable
                    queue.waiting = deque(call for call in queue.waiting if not is_movable(call))
        return recalled

    def is_alive(self, device: int) -> bool:
        """Whether a device works or is about to; False between the death of its worker and the next one."""
        return self.queues[device].down_since is None

    def is_gone(self, device: int) -> bool:
        """Whether a device will not come back."""
        return self.queues[device].is_gone

    @property
    def pids(self) -> list[int]:
        """Process numbers of the workers, device by device; 0 where there is none at the moment."""
        raise NotImplementedError

    def close(self) -> None:
        """End the workers; calls that have not ended are lost."""
        raise NotImplementedError

    # --- for subclasses ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Start the workers."""
        raise NotImplementedError

    def _send_batch(self, queue: DeviceQueue, calls: list[Call]) -> None:
        """Send calls to a worker, those with the same number of a batch together."""
        raise NotImplementedError

    def _feed(self, queue: DeviceQueue) -> list[Call]:
        """Send what there is room for; return cancelled calls. The lock is held."""
        batch, cancelled = queue.take_batch(self.max_calls) if queue.is_up else ([], [])
        if batch:
            self._send_batch(queue, batch)
        return cancelled

    def _on_ready(self, queue: DeviceQueue) -> None:
        """Note that a worker is ready."""
        with self._lock:
            queue.is_up, queue.failed_starts, queue.down_since = True, 0, None
            cancelled = self._feed(queue)
        self._on_new_worker(queue.device)
        self._end(cancelled, CANCELLED)

    def _on_answers(self, queue: DeviceQueue, answers: Sequence[tuple[int, Answer]]) -> None:
        """Note answers by the numbers of their calls; those to calls no longer in flight are dropped."""
        with self._lock:
            by_number = dict(answers)
            ended = [(call, by_number[call.number]) for call in queue.in_flight if call.number in by_number]
            if len(ended) == len(queue.in_flight):
                queue.in_flight.clear()
            else:
                queue.in_flight = deque(call for call in queue.in_flight if call.number not in by_number)
            cancelled = self._feed(queue)
        self._end(cancelled, CANCELLED)
        if ended:
            self._on_ended(ended)

    def _on_death(self, queue: DeviceQueue) -> None:
        """Note the death of a worker: the call that it was running is retried, unless it had its last attempt."""
        with self._lock:
            if queue.is_up:
                self.restarts += 1
                queue.down_since = time.monotonic()
            else:
                queue.failed_starts += 1
            queue.is_up = False
            for call in self._find_suspects(queue):
                call.attempts += 1
            lost = [call for call in queue.in_flight if call.attempts >= self.max_attempts]
            queue.waiting.extendleft(call for call in reversed(queue.in_flight) if call not in lost)
            queue.in_flight.clear()
        self._end(lost, LOST)

    def _find_suspects(self, queue: DeviceQueue) -> list[Call]:
        """Return the calls of which one was running; retried alone, each shows whether it was the one."""
        if not self.answers_in_batches:
            return [queue.in_flight[0]] if queue.in_flight else []
        return [call for call in queue.in_flight if call.batch == queue.in_flight[0].batch]

    def _give_up(self, queue: DeviceQueue) -> None:
        """Start no worker again; the calls of the device are handed back at once."""
        queue.is_gone, queue.down_since = True, -float("inf")

    def _hand_back_stranded(self) -> None:
        """Hand back the calls of devices that have been down for too long."""
        stranded = list[Call]()
        now = time.monotonic()
        with self._lock:
            for queue in self.queues:
                is_down = queue.down_since is not None and now - queue.down_since >= self.grace_period
                if is_down and queue.waiting:
                    stranded += queue.waiting
                    queue.waiting.clear()
        if stranded:
            self._on_stranded(stranded)

    def _end(self, calls: Sequence[Call], outcome: int) -> None:
        if calls:
            self._on_ended([(call, Answer(outcome)) for call in calls])


def _ignore(_: object) -> None:
    """Ignore an event that has no listener."""
