"""What travels between a backend and its workers: a call goes out, an answer comes back."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType
from typing import Any

from hybrid_scheduler.errors import SchedulerError

VALUE, ERROR, LOST, CANCELLED = 0, 1, 2, 3
"""How a call ends: with a value, with an exception, with its worker every time, or before it began."""


PLAIN = {bool, int, float, str, bytes, type(None)}


SMALL = 0.01  # seconds of work with a worker that make a third call there useless


NAMED = {FunctionType, BuiltinFunctionType}


class WorkerLostError(SchedulerError):
    """A task whose worker died every time it was tried, or for which no device is left."""


class RemoteTraceback(Exception):  # noqa: N818  # named as in concurrent.futures: it carries text, it is no error
    """The traceback of a worker, as the cause of the exception that reaches the caller."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


@dataclass(slots=True, eq=False)
class Call:
    """One piece of work for one device; `begin` says whether it is still wanted and is asked once."""

    number: int
    device: int
    function: bytes
    arguments: bytes
    intensity: float
    expected: float  # seconds; NaN if nobody knows
    begin: Callable[[], bool] | None = None
    attempts: int = 0  # that its worker did not survive
    post: int = 0  # with which it went to its worker
    tag: Any = field(default=None, repr=False)  # whatever the sender wants to find again

    @property
    def weight(self) -> int:
        """Bytes that travel."""
        return len(self.function) + len(self.arguments)

    @property
    def is_small(self) -> bool:
        """Whether it is known to take a moment only."""
        return self.expected < SMALL

    def is_wanted(self) -> bool:
        """Ask whether it is still wanted, the first time; from then on it runs, however often."""
        begin, self.begin = self.begin, None
        return begin is None or begin()


@dataclass(slots=True)
class Answer:
    """How a call ended, and from when to when it ran by the clock of this machine."""

    outcome: int
    start: float = float("nan")
    end: float = float("nan")
    payload: bytes = b""

    def value(self) -> Any:
        """Return the value; only for calls that ended with one."""
        return pickle.loads(self.payload)  # noqa: S301  # written by our own worker

    def error(self) -> BaseException:
        """Return the exception of the task, with the worker's traceback as its cause."""
        error: BaseException
        error, text = pickle.loads(self.payload)  # noqa: S301  # written by our own worker
        error.__cause__ = RemoteTraceback(text)
        return error


def packed_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Pickle arguments; plain ones the quick way."""
    if not kwargs and all(type(each) in PLAIN for each in args):
        return pickle.dumps((args, kwargs), protocol=5)
    return packed((args, kwargs))


def packed(value: Any) -> bytes:
    """Pickle anything, things of the main script included, which no worker could import."""
    if type(value) in PLAIN:
        return pickle.dumps(value, protocol=5)
    import cloudpickle

    if type(value) in NAMED and value.__module__ != "__main__" and not cloudpickle.list_registry_pickle_by_value():
        with suppress(pickle.PicklingError, AttributeError):  # a closure or the like: it must travel whole
            return pickle.dumps(value, protocol=5)  # its name, as cloudpickle would write it, but sooner
    blob: bytes = cloudpickle.dumps(value, protocol=5)
    return blob


def packed_error(error: BaseException) -> bytes:
    """Pickle an exception with its traceback; one that cannot travel is told by name and message."""
    text = "".join(traceback.format_exception(error))
    error.__traceback__ = None
    try:
        blob = packed((error, text))
        pickle.loads(blob)  # noqa: S301  # our own bytes; an exception with a constructor of its own may not come back
    except Exception:  # noqa: BLE001  # anything can go wrong in foreign reduce methods
        return packed((SchedulerError(f"{type(error).__name__}: {error} (it cannot be pickled itself)"), text))
    return blob
