"""Performing a call on a device: load it, run it, wait for the device, say from when to when."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from hybrid_scheduler.runtime.calls import ERROR, VALUE, packed, packed_error
from hybrid_scheduler.runtime.devices import DeviceSpec

SCHEDULE = Path("/proc/thread-self/schedstat")
"""Linux: nanoseconds that the thread ran, nanoseconds that it waited for a core, and how often it ran."""
_here: list[DeviceSpec] = []


def current_device() -> str:
    """Return torch's name of the device that the calling task runs on; "cpu" outside a worker."""
    return _here[-1].place if _here else "cpu"


def pin(cores: list[int]) -> None:
    """Keep this process on some cores where the system can."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def environment(spec: DeviceSpec) -> dict[str, str]:
    """Return the variables that tell numeric libraries how many threads they may use."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return dict.fromkeys(names, str(spec.threads))


class Performer:
    """Runs calls one after another on one device."""

    def __init__(self, spec: DeviceSpec, clock: Callable[[], float] = time.perf_counter) -> None:
        self.spec, self._clock = spec, clock
        self._settle = _waiting_for(spec)
        self._waited = 0.0
        _here.append(spec)

    def perform(self, function: bytes, arguments: bytes, intensity: float) -> tuple[int, float, float, bytes]:
        """Run a call; return outcome, start, end and the pickled value or exception."""
        start = self._clock()
        self._waited = _waiting_time() if self.spec.emulated else 0.0
        try:
            positional, named = pickle.loads(arguments)  # noqa: S301  # from our own parent
            value = _loaded(function)(*positional, **named)
            self._settle()
        except BaseException as error:  # noqa: BLE001  # whatever a task raises belongs to its caller
            return ERROR, start, self._stretched(start, intensity), packed_error(error)
        end = self._stretched(start, intensity)
        try:
            return VALUE, start, end, packed(value)
        except Exception as error:  # noqa: BLE001  # foreign reduce methods raise what they like
            return ERROR, start, end, packed_error(error)

    def _stretched(self, start: float, intensity: float) -> float:
        """Let an emulated device sleep until it has been slow enough; return the time then."""
        end = self._clock()
        if not self.spec.emulated:
            return end
        # A real device does not become slower because this machine is busy: waiting for a core is not stretched.
        own = end - start - (_waiting_time() - self._waited)
        rest = own * self.spec.stretch(intensity) - (end - start)
        if rest <= 0.0:
            return end
        time.sleep(rest)
        return self._clock()


def _waiting_time() -> float:
    """Return how long this thread has waited for a core so far; 0 on systems that do not tell."""
    try:
        return int(SCHEDULE.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@lru_cache(maxsize=256)
def _loaded(function: bytes) -> Callable[..., Any]:
    """Load a function once; the same bytes are the same function."""
    loaded: Callable[..., Any] = pickle.loads(function)  # noqa: S301  # from our own parent
    return loaded


def _waiting_for(spec: DeviceSpec) -> Callable[[], None]:
    """Return what waits until an accelerator has done its work; this also wakes the accelerator."""
    kind = spec.place.partition(":")[0]
    if kind == "cpu":
        return _nothing
    import torch

    module = getattr(torch, kind)
    if kind != "mps":
        module.set_device(spec.place)
    torch.ones(1, device=spec.place)
    waiting: Callable[[], None] = module.synchronize
    return waiting


def _nothing() -> None:
    """Return at once: calls on the CPU are done when they return."""


LENGTH = struct.Struct("<Q")
CHUNK = 262_144  # bytes of one read
LARGE = 65_536  # bytes from which a message is written by itself rather than copied


class Wire:
    """One end of the socket."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._come = bytearray()

    def fileno(self) -> int:
        """Return the number that selectors know the socket by."""
        return self._socket.fileno()

    def send(self, messages: Iterable[bytes]) -> None:
        """Write messages, small ones together."""
        together = bytearray()
        for message in messages:
            together += LENGTH.pack(len(message))
            if len(message) < LARGE:
                together += message
                continue
            self._socket.sendall(together)
            self._socket.sendall(message)
            together.clear()
        if together:
            self._socket.sendall(together)

    def receive(self) -> list[bytes]:
        """Wait for something to come; return the messages that are whole by then, if any; EOFError at the end."""
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            raise EOFError("the other end has hung up")
        self._come += chunk
        messages, begin = [], 0
        while len(self._come) - begin >= LENGTH.size:
            end = begin + LENGTH.size + LENGTH.unpack_from(self._come, begin)[0]
            if len(self._come) < end:
                break
            messages.append(bytes(memoryview(self._come)[begin + LENGTH.size : end]))
            begin = end
        del self._come[:begin]
        return messages

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


REQUEST = struct.Struct("<qdI")  # number, intensity, length of the function
ANSWER = struct.Struct("<qBdd")  # number, outcome, start, end
READY = -1


def serve(wire: Wire) -> None:
    """Perform calls until the parent hangs up; an answer goes before the next call begins."""
    messages = _messages(wire)
    spec, paths, cores = pickle.loads(next(messages))  # noqa: S301  # our parent wrote it
    pin(cores)
    sys.path[:] = paths
    performer = Performer(spec)
    wire.send([ANSWER.pack(READY, 0, 0.0, 0.0)])
    head = REQUEST.size
    for message in messages:
        number, intensity, length = REQUEST.unpack_from(message)
        function, arguments = message[head : head + length], message[head + length :]
        outcome, start, end, payload = performer.perform(function, arguments, intensity)
        wire.send([ANSWER.pack(number, outcome, start, end) + payload])


def _messages(wire: Wire) -> Iterator[bytes]:
    while True:
        yield from wire.receive()


if __name__ == "__main__":
    # Calls look for this module under its own name; there must be only one of it.

    try:
        serve(Wire(socket.socket(fileno=int(sys.argv[1]))))
    except (EOFError, OSError):
        os._exit(0)  # the parent has hung up: threads of libraries must not keep the process alive
