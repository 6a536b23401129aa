"""Calls that wait for futures among their arguments, also for those inside lists, tuples, sets and dictionaries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from hybrid_scheduler.runtime.jobs import Job

CreateJob = Callable[[tuple[Any, ...], dict[str, Any]], Job]
CONTAINERS = {list, tuple, set, frozenset, dict}  # exactly these: others may hold what they like


def find_futures(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Future[Any]]:
    """Return the futures among the arguments of a call."""
    found = list[Future[Any]]()
    for each in (*args, *kwargs.values()):
        if isinstance(each, Future):
            found.append(each)
        elif type(each) in CONTAINERS:
            found += _search(each)
    return found


def _search(container: Any) -> Iterator[Future[Any]]:
    """Yield the futures inside a container, which may contain itself."""
    seen, left = {id(container)}, [container]
    while left:
        items = left.pop()
        for each in itertools.chain(items, items.values()) if type(items) is dict else items:
            if isinstance(each, Future):
                yield each
            elif type(each) in CONTAINERS and id(each) not in seen:
                seen.add(id(each))
                left.append(each)


def replace_futures(argument: Any) -> Any:
    """Return an argument with results in place of futures; containers without any are returned as they are."""
    if isinstance(argument, Future):
        return argument.result()
    kind = type(argument)
    if kind not in CONTAINERS or next(_search(argument), None) is None:
        return argument
    if kind is dict:
        return {replace_futures(key): replace_futures(value) for key, value in argument.items()}
    return kind(replace_futures(each) for each in argument)


class DeferredCall:
    """A call whose arguments are not all there; `future` is what its caller got.

    Futures keep their callbacks for ever, so a call drops all that it holds when it is taken: results are kept in
    memory by the futures that the caller holds, and by nothing else.
    """

    def __init__(
        self, create_job: CreateJob, args: tuple[Any, ...], kwargs: dict[str, Any], awaited: Sequence[Future[Any]]
    ) -> None:
        self.future: Future[Any] = Future()
        self._awaited = awaited
        self._content = create_job, args, kwargs

    def notify(self, on_ready: Callable[[DeferredCall], None]) -> None:
        """Call `on_ready` when all awaited futures are done, in the thread of the last one."""
        left = itertools.count(len(self._awaited) - 1, -1)

        def note_done(_: Future[Any]) -> None:
            if next(left) == 0:
                on_ready(self)

        for each in self._awaited:
            each.add_done_callback(note_done)

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
