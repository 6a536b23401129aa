"""What runs in a worker process: calls, one after another, on one device.

It imports little, because a worker that died is replaced while its calls wait.
"""

from __future__ import annotations

import os
import pickle
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hybrid_scheduler.processes import Channel
from hybrid_scheduler.runtime.jobs import ERROR, VALUE, serialize, serialize_error

REQUEST = struct.Struct("<qdHQ")  # number, intensity, slot and length of the function, 0 if the worker has it
ANSWER = struct.Struct("<qBdd")  # number, outcome, start, end
READY = -1  # number of the first message, sent when the worker can take calls
SCHEDSTAT = Path("/proc/thread-self/schedstat")
"""Linux: nanoseconds that the thread ran, nanoseconds that it waited for a core, and how often it ran."""
_devices: list[str] = []


def current_device() -> str:
    """Return torch's name of the device that the calling task runs on; "cpu" outside a worker."""
    return _devices[-1] if _devices else "cpu"


def serve_calls(channel: Channel, cores: list[int], torch_device: str, slowdown: float, slope: float) -> None:
    """Run calls until the parent closes the channel; an answer is sent before the next call begins."""
    if cores:
        os.sched_setaffinity(0, cores)
    runner = CallRunner(torch_device, slowdown, slope)
    channel.send([ANSWER.pack(READY, VALUE, 0.0, 0.0)])
    head = REQUEST.size
    for message in channel.messages():
        number, intensity, slot, length = REQUEST.unpack_from(message)
        function, arguments = message[head : head + length], memoryview(message)[head + length :]
        outcome, start, end, payload = runner.run(slot, function, arguments, intensity)
        channel.send([ANSWER.pack(number, outcome, start, end) + payload])


class CallRunner:
    """Runs calls on one device, an emulated one if `slowdown` is above 0."""

    def __init__(self, torch_device: str, slowdown: float, slope: float) -> None:
        self._slowdown, self._slope = slowdown, slope
        self._synchronize = _find_synchronize(torch_device)
        self._core_wait = 0.0  # at the start of the call
        self._functions: dict[int, Callable[..., Any] | bytes] = {}  # by slot; bytes until they are first called
        _devices.append(torch_device)

    def run(
        self, slot: int, function: bytes, arguments: bytes | memoryview, intensity: float
    ) -> tuple[int, float, float, bytes]:
        """Run a call; return outcome, start, end and the pickled value or exception.

        A function comes once, and is called by its slot from then on, until another one takes that.
        """
        if function:
            self._functions[slot] = function
        start = time.perf_counter()
        self._core_wait = _read_core_wait() if self._slowdown > 0 else 0.0
        try:
            args, kwargs = pickle.loads(arguments)  # noqa: S301  # from our own parent
            value = self._load_function(slot)(*args, **kwargs)
            self._synchronize()
        except BaseException as error:  # noqa: BLE001  # anything that a task raises belongs to its caller
            return ERROR, start, self._finish(start, intensity), serialize_error(error)
        end = self._finish(start, intensity)
        try:
            return VALUE, start, end, serialize(value)
        except BaseException as error:  # noqa: BLE001  # third-party reduce methods may raise anything
            return ERROR, start, end, serialize_error(error)

    def _load_function(self, slot: int) -> Callable[..., Any]:
        function = self._functions[slot]
        if isinstance(function, bytes):
            self._functions[slot] = function = pickle.loads(function)  # noqa: S301  # from our own parent
        return function

    def _finish(self, start: float, intensity: float) -> float:
        """Return the time; an emulated device sleeps before, until it has been slow enough."""
        end = time.perf_counter()
        if not self._slowdown > 0:
            return end
        # A real device does not become slower because this machine is busy: waiting for a core is not stretched.
        own = end - start - (_read_core_wait() - self._core_wait)
        rest = own * time_factor(self._slowdown, self._slope, intensity) - (end - start)
        if rest <= 0.0:
            return end
        time.sleep(rest)
        return time.perf_counter()


def time_factor(slowdown: float, slope: float, intensity: float) -> float:
    """Return the factor by which an emulated device multiplies the time of a task."""
    return slowdown / (1.0 + slope * intensity)


def _read_core_wait() -> float:
    """Return how many seconds this thread has waited for a core so far; 0 where the system does not tell."""
    try:
        return int(SCHEDSTAT.read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _find_synchronize(torch_device: str) -> Callable[[], None]:
    """Initialize an accelerator and return the function that waits until it has done its work."""
    kind = torch_device.partition(":")[0]
    if kind == "cpu":
        return lambda: None
    import torch

    module = getattr(torch, kind)
    if kind != "mps":
        module.set_device(torch_device)
    torch.ones(1, device=torch_device)
    synchronize: Callable[[], None] = module.synchronize
    return synchronize
