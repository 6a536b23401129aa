"""The local backend: one warm, pinned process per device, and one thread here that hears them all."""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.processes import ChildProcess, limit_threads
from hybrid_scheduler.runtime.backend import Backend, DeviceQueue
from hybrid_scheduler.runtime.devices import DeviceSpec
from hybrid_scheduler.runtime.jobs import Answer, Call
from hybrid_scheduler.runtime.worker import ANSWER, READY, REQUEST, serve_calls

MAX_FAILED_STARTS = 10  # in a row: no other worker is started
TICK = 0.5  # seconds between two looks for devices that stay down


class LocalBackend(Backend):
    """Processes of this machine, one per device."""

    name: ClassVar[str] = "local"

    def __init__(self, devices: Sequence[DeviceSpec]) -> None:
        super().__init__(devices)
        self._cores = assign_cores(self.devices)
        self._workers: list[ChildProcess] = []
        self._selector = selectors.DefaultSelector()
        self._wake, self._wakened = socket.socketpair()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="local-backend", daemon=True)

    @property
    def pids(self) -> list[int]:
        """Process numbers of the workers, device by device; 0 where there is none at the moment."""
        return [worker.pid if queue.is_up else 0 for queue, worker in zip(self.queues, self._workers, strict=True)]

    def _open(self) -> None:
        self._selector.register(self._wakened, selectors.EVENT_READ)
        self._workers = [self._start_worker(queue) for queue in self.queues]
        self._thread.start()

    def _start_worker(self, queue: DeviceQueue) -> ChildProcess:
        spec = self.devices[queue.device]
        environment = {**os.environ, **limit_threads(spec.threads)}
        arguments = self._cores[queue.device], spec.torch_device, spec.slowdown, spec.slope
        worker = ChildProcess(serve_calls, *arguments, environment=environment, stdout=None)
        self._selector.register(worker.channel, selectors.EVENT_READ, queue)
        return worker

    def _send_batch(self, queue: DeviceQueue, calls: list[Call]) -> None:
        messages = [
            REQUEST.pack(call.number, call.intensity, len(call.function)) + call.function + call.arguments
            for call in calls
        ]
        with suppress(OSError):  # the thread notices a dead worker, and sends its calls again
            self._workers[queue.device].channel.send(messages)

    def _run(self) -> None:
        while not self._is_closing:
            for key, _ in self._selector.select(TICK):
                if key.data is not None:
                    self._receive(key.data)
            self._hand_back_stranded()

    def _receive(self, queue: DeviceQueue) -> None:
        try:
            messages = self._workers[queue.device].channel.receive()
        except (EOFError, OSError):
            self._replace_worker(queue)
            return
        answers = [_parse_answer(message) for message in messages]
        if answers and answers[0][0] == READY:
            self._on_ready(queue)
        elif answers:
            self._on_answers(queue, answers)

    def _replace_worker(self, queue: DeviceQueue) -> None:
        worker = self._workers[queue.device]
        self._selector.unregister(worker.channel)
        worker.close()
        self._on_death(queue)
        if self._is_closing:
            return
        if queue.failed_starts >= MAX_FAILED_STARTS:
            self._give_up(queue)
            return
        with self._lock:
            self._workers[queue.device] = self._start_worker(queue)

    def close(self) -> None:
        """End the workers and the thread."""
        self._is_closing = True
        self._wake.send(b"!")
        if self._thread.is_alive():
            if threading.current_thread() is self._thread:
                raise SchedulerError("a backend cannot be closed from a callback of its own: close it elsewhere")
            self._thread.join()
        for worker in self._workers:
            worker.close()
        for each in (self._selector, self._wake, self._wakened):
            each.close()


def _parse_answer(message: bytes) -> tuple[int, Answer]:
    number, outcome, start, end = ANSWER.unpack_from(message)
    return number, Answer(outcome, start, end, message[ANSWER.size :])


def assign_cores(devices: Sequence[DeviceSpec]) -> list[list[int]]:
    """Assign the cores that this process may use to devices round-robin, to each as many as it has threads."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in devices]
    cores = sorted(os.sched_getaffinity(0))
    assigned, position = [], 0
    for each in devices:
        count = min(each.threads, len(cores))
        assigned.append([cores[(position + number) % len(cores)] for number in range(count)])
        position += count
    return assigned
