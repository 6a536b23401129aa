"""What runs in a worker process: calls, one after another, on one device.

It imports little, because a worker that died is replaced while its calls wait.
"""

from __future__ import annotations

import logging
import os
import pickle
import struct
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hybrid_scheduler.processes import Channel
from hybrid_scheduler.runtime.context import RecordSender, run_in_context
from hybrid_scheduler.runtime.jobs import ERROR, MISSING, PLAIN_TYPES, VALUE, serialize_error
from hybrid_scheduler.runtime.nested import NestedScheduler
from hybrid_scheduler.runtime.objects import (
    MIN_BUFFER,
    ObjectLostError,
    SegmentFiles,
    Table,
    Token,
    dump_value,
    load_arguments,
)

REQUEST = struct.Struct("<qdHQI?")
"""Number, intensity, slot and length of the function, 0 if the worker has it, length of the table of segments, and
whether large buffers of the result go to disk."""
ANSWER = struct.Struct("<qBddddI")
"""Number, outcome, start, end, seconds to load the arguments and to store the result, length of its token."""
READY, LOG, NESTED = -1, -2, -3
"""Numbers of the first message, sent when the worker can take calls, of log records, of nested calls and results."""
SCHEDSTAT = Path("/proc/thread-self/schedstat")
"""Linux: nanoseconds that the thread ran, nanoseconds that it waited for a core, and how often it ran."""
_devices: list[str] = []


def current_device() -> str:
    """Return torch's name of the device that the calling task runs on; "cpu" outside a worker."""
    return _devices[-1] if _devices else "cpu"


class Outcome(NamedTuple):
    """What came of a call; `buffers` are the large ones of its value."""

    outcome: int
    start: float
    end: float
    load_seconds: float
    payload: bytes
    buffers: Sequence[Any] = ()


def serve_calls(
    channel: Channel,
    cores: list[int],
    torch_device: str,
    slowdown: float,
    slope: float,
    folders: list[str],
    log_level: int,
) -> None:
    """Run calls until the parent closes the channel; an answer is sent before the next call begins."""
    if cores:
        os.sched_setaffinity(0, cores)
    files, lock = SegmentFiles(folders[0], folders[1], str(os.getpid())), threading.Lock()

    def send(message: bytes) -> None:
        with lock:  # threads of a task may log
            channel.send([message])

    head = ANSWER.pack(LOG, VALUE, 0.0, 0.0, 0.0, 0.0, 0)
    logging.basicConfig(level=log_level, handlers=[RecordSender(lambda record: send(head + record))])
    runner = CallRunner(torch_device, slowdown, slope, lambda token: files.open(*token))
    send(ANSWER.pack(READY, VALUE, 0.0, 0.0, 0.0, 0.0, 0))

    def handle(message: bytes) -> None:
        number, intensity, slot, length, table_length, to_disk = REQUEST.unpack_from(message)
        begin = REQUEST.size + length
        if number == NESTED:
            nested.receive(message[REQUEST.size :])
            return
        function, view = message[REQUEST.size : begin], memoryview(message)
        table = pickle.loads(view[begin : begin + table_length]) if table_length else None  # noqa: S301  # our parent's
        found = runner.run(slot, function, view[begin + table_length :], intensity, table)
        send(_store_outcome(number, found, files, to_disk))

    head_of_nested = ANSWER.pack(NESTED, VALUE, 0.0, 0.0, 0.0, 0.0, 0)
    nested = NestedScheduler(
        lambda call: send(head_of_nested + call),
        lambda: handle(channel.receive_one()),
        lambda token: files.open(*token),
    )
    for message in channel.messages():
        handle(message)


def _store_outcome(number: int, found: Outcome, files: SegmentFiles, to_disk: bool) -> bytes:
    """Write the buffers of a value into a segment and return the answer."""
    token, seconds = b"", 0.0
    if found.buffers:
        begin = time.perf_counter()
        try:
            token = pickle.dumps(files.write(found.buffers, to_disk))
        except OSError as error:
            found = found._replace(outcome=ERROR, payload=serialize_error(error))
        seconds = time.perf_counter() - begin
    head = ANSWER.pack(number, found.outcome, found.start, found.end, found.load_seconds, seconds, len(token))
    return b"".join((head, token, found.payload))


class CallRunner:
    """Runs calls on one device, an emulated one if `slowdown` is above 0."""

    def __init__(
        self, torch_device: str, slowdown: float, slope: float, open_segment: Callable[[Token], Sequence[Any]]
    ) -> None:
        self._slowdown, self._slope, self._open_segment = slowdown, slope, open_segment
        self._synchronize = _find_synchronize(torch_device)
        self._functions: dict[int, Callable[..., Any] | bytes] = {}  # by slot; bytes until they are first called
        _devices.append(torch_device)

    def run(
        self, slot: int, function: bytes, arguments: bytes | memoryview, intensity: float, table: Table | None = None
    ) -> Outcome:
        """Run a call; the payload is the pickled value or exception.

        A function comes once, and is called by its slot from then on, until another one takes that.
        """
        if function:
            self._functions[slot] = function
        begin = start = time.perf_counter()
        waited = 0.0
        try:
            args, kwargs, *context = load_arguments(arguments, table, self._open_segment)
            waited = _read_core_wait() if self._slowdown > 0 else 0.0
            start = time.perf_counter()
            called = self._load_function(slot)
            value = run_in_context(context[0], called, *args, **kwargs) if context else called(*args, **kwargs)
            self._synchronize()
        except ObjectLostError as error:
            if start == begin:
                return Outcome(MISSING, start, start, 0.0, serialize_error(error))
            return Outcome(
                ERROR, start, self._finish(start, intensity, waited), start - begin, serialize_error(error)
            )
        except BaseException as error:  # noqa: BLE001  # anything that a task raises belongs to its caller
            return Outcome(
                ERROR, start, self._finish(start, intensity, waited), start - begin, serialize_error(error)
            )
        end = self._finish(start, intensity, waited)
        try:
            return Outcome(VALUE, start, end, start - begin, *_dump_result(value))
        except BaseException as error:  # noqa: BLE001  # third-party reduce methods may raise anything
            return Outcome(ERROR, start, end, start - begin, serialize_error(error))

    def _load_function(self, slot: int) -> Callable[..., Any]:
        function = self._functions[slot]
        if isinstance(function, bytes):
            self._functions[slot] = function = pickle.loads(function)  # noqa: S301  # from our own parent
        return function

    def _finish(self, start: float, intensity: float, core_wait: float) -> float:
        """Return the time; an emulated device sleeps before, until it has been slow enough."""
        end = time.perf_counter()
        if not self._slowdown > 0:
            return end
        # A real device does not become slower because this machine is busy: waiting for a core is not stretched.
        own = end - start - (_read_core_wait() - core_wait)
        rest = own * time_factor(self._slowdown, self._slope, intensity) - (end - start)
        if rest <= 0.0:
            return end
        time.sleep(rest)
        return time.perf_counter()


def _dump_result(value: Any) -> tuple[bytes, Sequence[Any]]:
    """Pickle a result; plain ones the quick way."""
    if type(value) not in PLAIN_TYPES:
        return dump_value(value)
    blob = pickle.dumps(value, protocol=5)
    return (blob, ()) if len(blob) < MIN_BUFFER else (b"", [blob])


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
