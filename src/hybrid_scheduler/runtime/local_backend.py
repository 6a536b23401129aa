"""The local backend: one warm, pinned process per device, and one thread here that hears them all."""

from __future__ import annotations

import os
import pickle
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.runtime.backend import Backend, Line
from hybrid_scheduler.runtime.calls import Answer, Call
from hybrid_scheduler.runtime.devices import DeviceSpec
from hybrid_scheduler.runtime.worker import ANSWER, READY, REQUEST, Wire, environment

COMMAND = [sys.executable, "-m", "hybrid_scheduler.runtime.worker"]
FUTILE = 10  # workers in a row that died before they were ready: there will be no other
TICK = 0.5  # seconds between two looks for devices that stay away


class LocalBackend(Backend):
    """Processes of this machine, one per device."""

    name: ClassVar[str] = "local"

    def __init__(self, devices: Sequence[DeviceSpec]) -> None:
        super().__init__(devices)
        self._cores = cores_by_device(self.devices)
        self._workers: list[tuple[subprocess.Popen[bytes], Wire]] = []
        self._selector = selectors.DefaultSelector()
        self._bell, self._ears = socket.socketpair()
        self._closing = False
        self._thread = threading.Thread(target=self._hear, name="local-backend", daemon=True)

    @property
    def pids(self) -> list[int]:
        """Process numbers of the workers, device by device; 0 where there is none at the moment."""
        return [
            process.pid if line.is_up else 0 for line, (process, _) in zip(self.lines, self._workers, strict=True)
        ]

    def _open(self) -> None:
        self._selector.register(self._ears, selectors.EVENT_READ)
        for line in self.lines:
            self._workers.append(self._spawn(line))
        self._thread.start()

    def _spawn(self, line: Line) -> tuple[subprocess.Popen[bytes], Wire]:
        ours, theirs = socket.socketpair()
        spec = self.devices[line.device]
        with theirs:
            process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                [*COMMAND, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **environment(spec)},
                start_new_session=True,  # an interrupt from the keyboard is ours to handle
            )
        wire = Wire(ours)
        with suppress(OSError):  # it may be dead already, and is then heard of by the thread
            wire.send([pickle.dumps((spec, sys.path, self._cores[line.device]))])
        self._selector.register(wire.fileno(), selectors.EVENT_READ, line)
        return process, wire

    def _post(self, line: Line, calls: list[Call]) -> None:
        wire = self._workers[line.device][1]
        with suppress(OSError):  # a dead worker is heard of by the thread, which posts its calls again
            wire.send(
                REQUEST.pack(call.number, call.intensity, len(call.function)) + call.function + call.arguments
                for call in calls
            )

    def _hear(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(TICK):
                if key.data is not None:
                    self._hear_from(key.data)
            self._move_stranded()

    def _hear_from(self, line: Line) -> None:
        process, wire = self._workers[line.device]
        try:
            messages = wire.receive()
        except (EOFError, OSError):
            self._selector.unregister(wire.fileno())
            wire.close()
            process.kill()
            process.wait()
            self._replace(line)
            return
        answers = [_answer(message) for message in messages]
        if answers and answers[0][0] == READY:
            self._came_up(line)
        elif answers:
            self._answered(line, answers)

    def _replace(self, line: Line) -> None:
        self._died(line)
        if self._closing:
            return
        if line.failures < FUTILE:
            with self._lock:
                self._workers[line.device] = self._spawn(line)
        else:
            line.is_gone, line.down_since = True, 0.0  # long ago: its calls move elsewhere at once

    def close(self) -> None:
        """End the workers and the thread."""
        self._closing = True
        self._bell.send(b"!")
        if self._thread.is_alive():
            if threading.current_thread() is self._thread:
                raise SchedulerError("a backend cannot be closed from a callback of its own: close it elsewhere")
            self._thread.join()
        for process, wire in self._workers:
            wire.close()
            process.kill()
            process.wait()
        for each in (self._selector, self._bell, self._ears):
            each.close()


def _answer(message: bytes) -> tuple[int, Answer]:
    number, outcome, start, end = ANSWER.unpack_from(message)
    return number, Answer(outcome, start, end, message[ANSWER.size :])


def cores_by_device(devices: Sequence[DeviceSpec]) -> list[list[int]]:
    """Deal the cores that this process may use to the devices, as many as they have threads, in turn."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in devices]
    cores = sorted(os.sched_getaffinity(0))
    dealt, position = [], 0
    for each in devices:
        count = min(each.threads, len(cores))
        dealt.append([cores[(position + number) % len(cores)] for number in range(count)])
        position += count
    return dealt
