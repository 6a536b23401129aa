"""A backend runs calls on devices: calls go in, each is answered exactly once, even if workers die.

Each device has a queue. The first few calls of it are with the worker, so that it never waits for us; the others can
still be cancelled. At most two batches are under way to a worker: calls that arrive meanwhile are sent together in
the next one, so that many small calls cost little. When a worker dies, the call that it was running is retried, alone
and a bounded number of times; those that it only held are sent again. How calls reach the workers is left to
subclasses: `LocalBackend` here, `RayBackend` in a module of its own.
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, ClassVar, cast

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.processes import ChildProcess, limit_threads
from hybrid_scheduler.runtime.context import handle_record
from hybrid_scheduler.runtime.devices import DeviceSpec, require_devices
from hybrid_scheduler.runtime.jobs import (
    CANCELLED,
    ERROR,
    LOST,
    SMALL_SECONDS,
    VALUE,
    Answer,
    Call,
    TaskFuture,
    TaskTimeoutError,
    serialize,
    serialize_error,
)
from hybrid_scheduler.runtime.objects import ObjectStore, Pickled, SharedMemoryStore, StoredObject, Table
from hybrid_scheduler.runtime.worker import ANSWER, LOG, NESTED, READY, REQUEST, serve_calls

MAX_BATCHES = 2  # under way to one worker: one that it runs, one that is there when it has finished
MAX_CALLS = 64  # with one worker at once
MAX_BYTES = 32_768  # with one worker beyond its first call: they fit a socket's buffer, so that no send blocks
MAX_FUNCTIONS = 256  # that a worker keeps
MAX_FUNCTION_BYTES = 1 << 28  # that they take together, pickled
TICK = 0.5  # seconds between two looks for devices that stay down, and for calls that nothing else has moved
OnEnded = Callable[[Sequence[tuple[Call, Answer]]], None]


class FunctionSlots:
    """Which functions a worker has: each is sent to it once, and called by the number of its slot."""

    def __init__(self) -> None:
        self._slots: dict[bytes, int] = {}  # oldest first
        self._free = list(range(MAX_FUNCTIONS))
        self._size = 0

    def __contains__(self, function: bytes) -> bool:
        return function in self._slots

    def refer(self, function: bytes) -> tuple[int, bytes]:
        """Return the slot of a function, and its bytes if the worker does not have them yet."""
        slot = self._slots.get(function)
        if slot is not None:
            return slot, b""
        self._size += len(function)
        while self._slots and (not self._free or self._size > MAX_FUNCTION_BYTES):
            oldest = next(iter(self._slots))
            self._free.append(self._slots.pop(oldest))
            self._size -= len(oldest)
        self._slots[function] = self._free.pop()
        return self._slots[function], function


class DeviceQueue:
    """The calls of one device: first those in flight, which its worker holds, then those waiting."""

    def __init__(self, device: int, objects: ObjectStore | None = None) -> None:
        self.device, self.objects = device, objects
        self.in_flight: deque[Call] = deque()
        self.waiting: deque[Call] = deque()
        self.functions = FunctionSlots()
        self.kept: list[StoredObject] = []  # results of nested calls, until the calls in flight have ended
        self.since = 0.0  # when the first call in flight began, or the one before has ended
        self.is_up = False
        self.down_since: float | None = None  # when a worker that was up died, None while it works or starts
        self.failed_starts = 0  # workers in a row that died before they were ready
        self.is_gone = False  # no worker will be started again

    def take_batch(self) -> tuple[list[Call], list[tuple[Call, Answer]]]:
        """Take the calls that the worker may be sent now; also return those that ended here.

        These were cancelled, or their arguments cannot be pickled.
        """
        batch, ended = list[Call](), list[tuple[Call, Answer]]()
        number = self.in_flight[-1].batch + 1 if self.in_flight else 0
        if self.in_flight and number - self.in_flight[0].batch >= MAX_BATCHES and not self._nests:
            return batch, ended
        seconds, size = sum(call.expected for call in self.in_flight), sum(call.num_bytes for call in self.in_flight)
        while self.waiting:
            call = self.waiting[0]
            try:
                call.num_bytes = self._measure(call)
            except Exception as error:  # noqa: BLE001  # arguments that cannot be pickled belong to the caller
                ended.append((self.waiting.popleft(), Answer(ERROR, payload=serialize_error(error))))
                continue
            if not self._has_room(call, seconds, size + call.num_bytes):
                break
            self.waiting.popleft()
            begin, call.begin = call.begin, None  # asked once: a retry does not ask again
            if begin is not None and not begin():
                ended.append((call, Answer(CANCELLED)))
                continue
            if batch and not (call.expected < SMALL_SECONDS and batch[-1].expected < SMALL_SECONDS):
                number += 1  # no answer must wait for a call that may take long, or for an unknown time: NaN
            call.batch = number
            seconds, size = seconds + call.expected, size + call.num_bytes
            self.in_flight.append(call)
            batch.append(call)
        return batch, ended

    def _measure(self, call: Call) -> int:
        """Return the size of a call's message."""
        size = len(call.pickle_arguments(self.objects).blob)
        return size if call.function in self.functions else size + len(call.function)

    @property
    def _nests(self) -> bool:
        """Whether a call in flight has submitted others."""
        return any(call.nests for call in self.in_flight)

    def _has_room(self, following: Call, seconds: float, size: int) -> bool:
        """Whether the worker, with that much in flight, may be sent the next call too."""
        if not self.in_flight:
            return True
        if following.nested and self._nests:
            return len(self.in_flight) < MAX_CALLS  # the worker runs it while it waits
        first = self.in_flight[0]
        if following.attempts or first.attempts:
            return False  # a call whose worker died runs alone
        if len(self.in_flight) >= MAX_CALLS or size - first.num_bytes > MAX_BYTES:
            return False
        # The second is there when the worker has finished the first; no third if the seconds are unknown: NaN.
        return len(self.in_flight) == 1 or seconds < SMALL_SECONDS


class Backend:
    """Base of all backends."""

    name: ClassVar[str] = ""
    measured: ClassVar[bool] = True
    max_attempts = 3  # of one call, each ended by the death of its worker
    max_failed_starts: ClassVar[int] = 10  # in a row: no other worker is started
    grace_period = 5.0  # seconds after which the calls of a device whose worker does not come back are handed back
    answers_in_batches: ClassVar[bool] = False  # whether the answers to a batch come all at once, or none

    def __init__(self, devices: Sequence[DeviceSpec], objects: ObjectStore | None = None) -> None:
        self.devices, self.objects = tuple(devices), objects
        self.queues = [DeviceQueue(device, objects) for device in range(len(self.devices))]
        self.restarts = 0
        self._is_open = self._is_closing = False
        self._lock = threading.RLock()
        self._on_ended: OnEnded
        self._on_stranded: Callable[[list[Call]], None]
        self._on_new_worker: Callable[[int], None]
        self._on_tick: Callable[[], None]
        self._ticked = 0.0
        self.on_nested: Callable[[bytes], Future[Any]] | None = None  # submits a call that a task has made

    def listen(
        self,
        on_ended: OnEnded,
        on_stranded: Callable[[list[Call]], None] | None = None,
        on_new_worker: Callable[[int], None] | None = None,
        on_tick: Callable[[], None] | None = None,
    ) -> None:
        """Register who is told of ended calls, of calls whose device is gone, of a new worker, and that time goes by.

        The first listener starts the workers; another may follow when the calls of the one before have ended.
        """
        self._on_ended = on_ended
        self._on_stranded = on_stranded or (lambda calls: self._report([(call, Answer(LOST)) for call in calls]))
        self._on_new_worker = on_new_worker or (lambda _device: None)
        self._on_tick = on_tick or (lambda: None)
        if not self._is_open:
            self._is_open = True
            self._open()

    def send(self, calls: Sequence[Call]) -> None:
        """Append calls to the queues of their devices."""
        with self._lock:
            for call in calls:
                waiting = self.queues[call.device].waiting
                waiting.appendleft(call) if call.nested else waiting.append(call)
            ended = [each for device in {call.device for call in calls} for each in self._feed(self.queues[device])]
        self._report(ended)

    def recall(self, is_movable: Callable[[Call], bool]) -> list[Call]:
        """Take waiting calls out of the queues; they are the caller's again and do not end here."""
        recalled = list[Call]()
        with self._lock:
            for queue in self.queues:
                if queue.waiting and (movable := [call for call in queue.waiting if is_movable(call)]):
                    recalled += movable
                    queue.waiting = deque(call for call in queue.waiting if not is_movable(call))
        return recalled

    def end_calls(self, is_wanted: Callable[[Call], bool], answer: Answer) -> bool:
        """End calls with an answer: waiting ones at once, one that runs with its worker, which is replaced."""
        ended, found = list[tuple[Call, Answer]](), False
        with self._lock:
            for queue in self.queues:
                ended += [(call, answer) for call in queue.waiting if is_wanted(call)]
                queue.waiting = deque(call for call in queue.waiting if not is_wanted(call))
                for number, call in enumerate(queue.in_flight):
                    if is_wanted(call):
                        call.verdict, found = answer, True
                        if number == 0:
                            self._kill_worker(queue)
        self._report(ended)
        return found or bool(ended)

    def _end_overdue(self) -> float:
        """End calls that take longer than they may; return the seconds until the next one does."""
        now, left = time.monotonic(), float("inf")
        with self._lock:
            for queue in self.queues:
                call = queue.in_flight[0] if queue.in_flight else None
                if call is None or call.timeout is None or call.verdict is not None:
                    continue
                rest = queue.since + call.timeout - now
                if rest <= 0.0:
                    error = TaskTimeoutError(f"the task took longer than {call.timeout:g} s: raise its timeout")
                    call.verdict = Answer(ERROR, payload=serialize_error(error))
                    self._kill_worker(queue)
                else:
                    left = min(left, rest)
        return left

    def wake(self) -> bool:
        """Let the backend's thread tell its listener soon that time goes by; False if no thread can be woken."""
        return False

    def is_alive(self, device: int) -> bool:
        """Whether a device works or is about to; False between the death of its worker and the next one."""
        return self.queues[device].down_since is None

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

    def _kill_worker(self, queue: DeviceQueue) -> None:
        """End the worker of a device at once; its death is noticed as any other."""
        raise NotImplementedError

    def _feed(self, queue: DeviceQueue) -> list[tuple[Call, Answer]]:
        """Send what there is room for; return calls that ended here. The lock is held."""
        batch, ended = queue.take_batch() if queue.is_up else ([], [])
        if batch:
            if len(batch) == len(queue.in_flight):
                queue.since = time.monotonic()
            self._send_batch(queue, batch)
        return ended

    def _on_ready(self, queue: DeviceQueue) -> None:
        """Note that a worker is ready."""
        with self._lock:
            queue.is_up, queue.failed_starts, queue.down_since = True, 0, None
            ended = self._feed(queue)
        self._on_new_worker(queue.device)
        self._report(ended)

    def _on_answers(self, queue: DeviceQueue, answers: Sequence[tuple[int, Answer]]) -> None:
        """Note answers by the numbers of their calls; those to calls no longer in flight are dropped."""
        with self._lock:
            by_number = dict(answers)
            ended = [(call, by_number[call.number]) for call in queue.in_flight if call.number in by_number]
            if len(ended) == len(queue.in_flight):
                queue.in_flight.clear()
                queue.kept.clear()
            else:
                queue.in_flight = deque(call for call in queue.in_flight if call.number not in by_number)
                queue.since = time.monotonic()
                if queue.in_flight[0].verdict is not None:
                    self._kill_worker(queue)
            ended += self._feed(queue)
        self._report(ended)

    def _on_death(self, queue: DeviceQueue) -> bool:
        """Note the death of a worker; return whether to start another.

        The call that it was running is retried, unless it had its last attempt. Where the answers to a batch come all
        at once, any call of the batch may be the one: retried alone, each shows whether it was.
        """
        with self._lock:
            if queue.is_up:
                self.restarts += 1
                queue.down_since = time.monotonic()
            else:
                queue.failed_starts += 1
            queue.is_up, queue.functions = False, FunctionSlots()
            for number, call in enumerate(queue.in_flight):
                call.attempts += number == 0 or (self.answers_in_batches and call.batch == queue.in_flight[0].batch)
            lost = [
                (call, call.verdict or Answer(LOST))
                for call in queue.in_flight
                if call.verdict or call.attempts >= self.max_attempts
            ]
            ended = {call for call, _ in lost}
            queue.waiting.extendleft(call for call in reversed(queue.in_flight) if call not in ended)
            queue.in_flight.clear()
        self._report(lost)
        if not self._is_closing and queue.failed_starts >= self.max_failed_starts:
            queue.is_gone, queue.down_since = True, -float("inf")  # its calls are handed back at once
        return not (self._is_closing or queue.is_gone)

    def _hand_back_stranded(self) -> None:
        """Hand back the calls of devices that have been down for too long; now and then tell that time goes by."""
        stranded = list[Call]()
        now = time.monotonic()
        if now - self._ticked >= TICK:
            self._ticked = now
            self._on_tick()
        with self._lock:
            for queue in self.queues:
                is_down = queue.down_since is not None and now - queue.down_since >= self.grace_period
                if is_down and queue.waiting:
                    stranded += queue.waiting
                    queue.waiting.clear()
        if stranded:
            self._on_stranded(stranded)

    def _report(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        if ended:
            self._on_ended(ended)


class LocalBackend(Backend):
    """One warm process of this machine per device, and one thread here that hears them all."""

    name: ClassVar[str] = "local"

    def __init__(self, devices: Sequence[DeviceSpec], memory_limit: int | None = None) -> None:
        require_devices(devices)
        self.objects: SharedMemoryStore
        super().__init__(devices, SharedMemoryStore(memory_limit))
        self._cores = assign_cores(self.devices)
        self._workers: list[ChildProcess] = []
        self._selector = selectors.DefaultSelector()
        self._wake, self._wakened = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="local-backend", daemon=True)

    @property
    def pids(self) -> list[int]:
        """Process numbers of the workers, device by device; 0 where there is none at the moment."""
        return [worker.pid if queue.is_up else 0 for queue, worker in zip(self.queues, self._workers, strict=True)]

    def _open(self) -> None:
        self.objects.start()
        self._selector.register(self._wakened, selectors.EVENT_READ)
        self._workers = [self._start_worker(queue) for queue in self.queues]
        self._thread.start()

    def _start_worker(self, queue: DeviceQueue) -> ChildProcess:
        spec = self.devices[queue.device]
        environment, log_level = (
            {**os.environ, **limit_threads(spec.threads)},
            logging.getLogger().getEffectiveLevel(),
        )
        arguments = (
            self._cores[queue.device],
            spec.torch_device,
            spec.slowdown,
            spec.slope,
            self.objects.folders,
            log_level,
        )
        worker = ChildProcess(serve_calls, *arguments, environment=environment, stdout=None)
        self._selector.register(worker.channel, selectors.EVENT_READ, queue)
        return worker

    def _send_batch(self, queue: DeviceQueue, calls: list[Call]) -> None:
        messages, to_disk = [], self.objects.is_full
        for call in calls:
            slot, function = queue.functions.refer(call.function)
            arguments = call.pickle_arguments(self.objects)
            table = pickle.dumps(arguments.table) if arguments.segments or arguments.inputs else b""
            head = REQUEST.pack(call.number, call.intensity, slot, len(function), len(table), to_disk)
            messages.append(b"".join((head, function, table, arguments.blob)))
        with suppress(OSError):  # the thread notices a dead worker, and sends its calls again
            self._workers[queue.device].channel.send(messages)

        if any([call.timeout is not None for call in calls]):  # noqa: C419  # quicker than a generator
            self._wake.send(b"!")  # the thread waits for no longer than the timeout

    def wake(self) -> bool:
        """Wake the thread, which tells that time goes by."""
        self._ticked = -float("inf")
        with suppress(OSError):  # it is closing
            self._wake.send(b"!")
            return True
        return False

    def _kill_worker(self, queue: DeviceQueue) -> None:
        self._workers[queue.device].kill()

    def _run(self) -> None:
        while not self._is_closing:
            for key, _ in self._selector.select(min(TICK, self._end_overdue())):
                if key.data is not None:
                    self._receive(key.data)
                else:
                    self._wakened.recv(64)
            self._hand_back_stranded()

    def _receive(self, queue: DeviceQueue) -> None:
        worker = self._workers[queue.device]
        try:
            messages = worker.channel.receive()
        except (EOFError, OSError):
            self._selector.unregister(worker.channel)
            worker.close()
            self.objects.sweep(str(worker.pid))
            if self._on_death(queue):
                with self._lock:
                    self._workers[queue.device] = self._start_worker(queue)
            return
        answers = []
        for message in messages:
            number, outcome, start, end, load, store, length = ANSWER.unpack_from(message)
            if number == READY:
                self._on_ready(queue)
                continue
            if number == NESTED:
                self._submit_nested(queue, message[ANSWER.size :])
                continue
            if number == LOG:
                handle_record(message[ANSWER.size :])
                continue
            begin = ANSWER.size + length
            token = pickle.loads(message[ANSWER.size : begin]) if length else None  # noqa: S301  # our own worker's
            segments = [self.objects.adopt(token)] if token else ()
            answers.append((number, Answer(outcome, start, end, message[begin:], segments, load, store)))
        if answers:
            self._on_answers(queue, answers)

    def _submit_nested(self, queue: DeviceQueue, message: bytes) -> None:
        """Submit a call that a task has made; its result is sent to the worker, if that is alive by then."""
        worker, (number, call) = self._workers[queue.device], pickle.loads(message)  # noqa: S301  # our own worker's
        with self._lock:
            for each in queue.in_flight:
                each.nests = True
        try:
            future = cast("Callable[[bytes], Future[Any]]", self.on_nested)(call)
        except Exception as error:  # noqa: BLE001  # a call that cannot be made belongs to its caller
            future = Future()
            future.set_exception(error)
        future.add_done_callback(lambda done: self._send_result(queue, worker, number, done))

    def _send_result(self, queue: DeviceQueue, worker: ChildProcess, number: int, future: Future[Any]) -> None:
        error = CancelledError() if future.cancelled() else future.exception()
        value = None if error is not None else cast("TaskFuture", future).refer()
        table: Table | None = None
        if type(value) is StoredObject:
            queue.kept.append(value)
            blob, table = value.blob, Pickled(b"", value.segments).table
        else:
            blob = serialize(value) if error is None else serialize_error(error)
        result = pickle.dumps((number, (VALUE if error is None else ERROR, blob, table)))
        message = REQUEST.pack(NESTED, 0.0, 0, 0, 0, False) + result
        with self._lock, suppress(OSError):  # it is dead, and whoever waited for the result with it
            if self._workers[queue.device] is worker:
                worker.channel.send([message])

    def close(self) -> None:
        """End the workers and the thread."""
        if threading.current_thread() is self._thread:
            raise SchedulerError("a backend cannot be closed from a callback of its own: close it elsewhere")
        self._is_closing = True
        for worker in list(self._workers):
            worker.kill()  # first of all: the thread may be sending to one that does not read
        self._wake.send(b"!")
        if self._thread.is_alive():
            self._thread.join()
        for worker in self._workers:
            worker.close()
        for each in (self._selector, self._wake, self._wakened, self.objects):
            each.close()


def assign_cores(devices: Sequence[DeviceSpec]) -> list[list[int]]:
    """Assign the cores that this process may use to pinned devices round-robin, to each as many as it has threads.

    The others have none of their own: the system knows better which core is free, above all beside other programs.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    following = itertools.cycle(cores)
    return [list(itertools.islice(following, min(each.threads, len(cores)))) if each.pin else [] for each in devices]
