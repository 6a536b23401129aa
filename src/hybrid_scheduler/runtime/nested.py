"""Calls that tasks submit: a worker sends them to its driver, and runs others while it waits for their results.

So no worker is idle because it waits, and calls inside calls cannot block each other, however few workers there are.
"""

from __future__ import annotations

import itertools
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.runtime.jobs import ERROR, CallOptions, TaskFunction, serialize
from hybrid_scheduler.runtime.objects import OpenSegment, Table, load_arguments

if TYPE_CHECKING:
    from hybrid_scheduler.runtime.dispatcher import Dispatcher

T = TypeVar("T")
Result = tuple[int, bytes, Table | None]  # outcome, pickled value or exception, and where the buffers of a value are
_schedulers: list[NestedScheduler] = []


def current_scheduler() -> NestedScheduler:
    """Return what a task submits other calls to; an error outside of a task."""
    if not _schedulers:
        raise SchedulerError("there is no current scheduler: call this inside a task that runs on local workers")
    return _schedulers[-1]


class NestedFuture(Future[T]):
    """The result of a nested call; waiting for it runs other calls of this worker."""

    def __init__(self, collect: Callable[[NestedFuture[Any]], None], number: int) -> None:
        super().__init__()
        self._collect, self.number = collect, number

    def result(self, timeout: float | None = None) -> T:
        """Return the result; `timeout` is not used, because other calls run meanwhile."""
        self._collect(self)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the exception, None without any."""
        self._collect(self)
        return super().exception(timeout)


class NestedScheduler:
    """The driver's scheduler as its tasks see it."""

    def __init__(
        self, send: Callable[[bytes], None], run_next: Callable[[], None], open_segment: OpenSegment
    ) -> None:
        self._send, self._run_next, self._open = send, run_next, open_segment
        self._numbers, self._results = itertools.count(), dict[int, Result]()
        self._thread = threading.get_ident()
        _schedulers.append(self)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> NestedFuture[T]:
        """Run a function on a device that the policy chooses; futures among the arguments are waited for here."""
        given = tuple(each.result() if isinstance(each, Future) else each for each in args)
        named = {key: each.result() if isinstance(each, Future) else each for key, each in kwargs.items()}
        future: NestedFuture[T] = NestedFuture(self._wait, next(self._numbers))
        self._send(pickle.dumps((future.number, serialize((fn, given, named)))))
        return future

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any]) -> Iterator[T]:
        """Yield the results of calls in order."""
        futures = [self.submit(fn, *row) for row in zip(*iterables, strict=False)]
        return (each.result() for each in futures)

    def receive(self, message: bytes) -> None:
        """Note the result of a nested call."""
        number, result = pickle.loads(message)  # noqa: S301  # from our own parent
        self._results[number] = result

    def _wait(self, future: NestedFuture[Any]) -> None:
        if future.done():
            return
        if threading.get_ident() != self._thread:
            raise SchedulerError("results of nested calls can be waited for in the thread of the task only")
        while future.number not in self._results:
            self._run_next()
        outcome, blob, table = self._results.pop(future.number)
        if outcome == ERROR:
            error, _ = pickle.loads(blob)  # noqa: S301  # from our own parent
            future.set_exception(error)
        else:
            future.set_result(load_arguments(blob, table, self._open))


def submit_nested(dispatcher: Dispatcher, message: bytes) -> Future[Any]:
    """Submit a nested call, in the driver."""
    fn, args, kwargs = pickle.loads(message)  # noqa: S301  # from our own worker
    task = fn if isinstance(fn, TaskFunction) else TaskFunction(fn)
    job = dispatcher.create_job(task, args, kwargs, CallOptions(nested=True))
    dispatcher.submit(job)
    return job.future
