"""Calls that wait for futures among their arguments, also for those inside lists, tuples, sets and dictionaries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from hybrid_scheduler.runtime.jobs import CONTAINERS, Job, TaskFuture, note_number, replace_inside, search_containers

CreateJob = Callable[[tuple[Any, ...], dict[str, Any]], Job]


def find_futures(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Future[Any]]:
    """Return the futures among the arguments of a call."""
    found = list[Future[Any]]()
    for each in (*args, *kwargs.values()):
        if isinstance(each, Future):
            found.append(each)
        elif type(each) in CONTAINERS:
            found += search_containers(each, Future)
    return found


def replace_futures(argument: Any) -> Any:
    """Return an argument with results in place of futures; large ones are references to the store."""
    return replace_inside(argument, Future, lambda each: each.refer() if type(each) is TaskFuture else each.result())


def notify_when_done(futures: Sequence[Future[Any]], notify: Callable[[], None]) -> None:
    """Call a function when all futures are done, in the thread of the last one."""
    left = itertools.count(len(futures) - 1, -1)

    def note_done(_: Future[Any]) -> None:
        if next(left) == 0:
            notify()

    for each in futures:
        each.add_done_callback(note_done)
    if not futures:
        notify()


def call_when_done(futures: Sequence[Future[Any]], call: Callable[[BaseException | None], None]) -> None:
    """Call a function with the first exception of futures, None without any, when all are done."""
    notify_when_done(futures, lambda: call(next(filter(None, (each.exception() for each in futures)), None)))


class DeferredCall:
    """A call whose arguments are not all there; `future` is what its caller got.

    Futures keep their callbacks for ever, so a call drops all that it holds when it is taken: results are kept in
    memory by the futures that the caller holds, and by nothing else.
    """

    def __init__(
        self,
        create_job: CreateJob,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        awaited: Sequence[Future[Any]],
        future: Future[Any] | None = None,
    ) -> None:
        self.future: Future[Any] = TaskFuture() if future is None else future
        self._awaited = awaited
        self._content = create_job, args, kwargs

    def notify(self, on_ready: Callable[[DeferredCall], None]) -> None:
        """Call `on_ready` when all awaited futures are done, in the thread of the last one."""
        notify_when_done(self._awaited, lambda: on_ready(self))

    @property
    def is_awaiting_work(self) -> bool:
        """Whether somebody is running what it waits for."""
        return any(each.running() for each in self._awaited)

    def take_job(self) -> Job | None:
        """Return the job, at most once; None if the call was cancelled or has failed, as its future says then."""
        create_job, args, kwargs = self._content
        awaited, future = self._awaited, self._drop()
        if future.cancelled() or any(each.cancelled() for each in awaited):
            future.cancel()
            future.set_running_or_notify_cancel()
            return None
        failed = next(filter(None, (each.exception() for each in awaited)), None)
        if failed is None:
            try:
                values = {key: replace_futures(each) for key, each in kwargs.items()}
                job = create_job(tuple(map(replace_futures, args)), values)
            except Exception as error:  # noqa: BLE001  # arguments that make no job belong to the caller
                failed = error.with_traceback(None)
            else:
                job.future = future
                job.parents = tuple(each.number for each in awaited if isinstance(each, TaskFuture))
                note_number(job)
                return job
        if future.set_running_or_notify_cancel():
            future.set_exception(failed)
        return None

    def fail(self, error: BaseException) -> None:
        """Give the future an exception, unless it was cancelled."""
        future = self._drop()
        if future.set_running_or_notify_cancel():
            future.set_exception(error)

    def _drop(self) -> Future[Any]:
        future = self.future
        del self.future, self._content
        self._awaited = ()
        return future
