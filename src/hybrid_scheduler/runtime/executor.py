"""`HybridScheduler` is an executor: it runs functions on devices that a policy chooses, and learns their times."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import DeviceSpec, checked, cluster_of, devices_of
from hybrid_scheduler.runtime.dispatcher import AHEAD, Dispatcher
from hybrid_scheduler.runtime.jobs import Job
from hybrid_scheduler.runtime.measured_times import MeasuredTimes, load_times, save_times, times_path
from hybrid_scheduler.runtime.user_tasks import Work
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.schedulers.scheduler import Scheduler

AS_SOON_AS_POSSIBLE = -1
NICE = "5"  # the workers keep all cores busy: a learner at the lowest priority would never come to an end


class HybridScheduler(Executor):
    """Runs functions where a policy says; futures, `map` and `shutdown` are those of `concurrent.futures`."""

    def __init__(
        self,
        policy: str | Scheduler = "hybrid_ml",
        backend: str | Backend = "local",
        devices: str | Sequence[DeviceSpec] = "auto",
        *,
        address: str | None = None,
        remember: bool | str | Path = False,
        ahead: int = AHEAD,
        seed: int = 0,
    ) -> None:
        specs = devices_of(devices) if isinstance(devices, str) else checked(devices)
        self.backend = made_backend(backend, specs, address)
        self._path = times_path() if remember is True else Path(remember) if remember else None
        times = load_times(self._path) if self._path else MeasuredTimes()
        self.policy = made_policy(policy, self.backend, seed)
        self._dispatcher = Dispatcher(self.policy, self.backend, times, ahead=ahead)
        self._numbers = itertools.count()
        self._closed = False
        self._dispatcher.start()

    @property
    def devices(self) -> tuple[DeviceSpec, ...]:
        """The devices at work."""
        return self.backend.devices

    @property
    def times(self) -> MeasuredTimes:
        """What was measured so far."""
        return self._dispatcher.times

    # --- running -----------------------------------------------------------------------------------------------

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function, a `@task` or a `Command`; futures among its arguments are waited for."""
        if self._closed:
            raise SchedulerError("this HybridScheduler is shut down: make another one")
        work = fn if isinstance(fn, Work) else Work(fn)
        awaited = [each for each in (*args, *kwargs.values()) if isinstance(each, Future)]
        if awaited:
            return self._submit_later(work, args, kwargs, awaited)
        job = self._job(work, args, kwargs)
        self._dispatcher.submit(job)
        return job.future

    def _job(self, work: Work, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Job:
        now = self._dispatcher.now
        return Job.of(next(self._numbers), work, args, kwargs, now, now)

    def _submit_later(
        self, work: Work, args: tuple[Any, ...], kwargs: dict[str, Any], awaited: list[Future[Any]]
    ) -> Future[Any]:
        """Submit when the awaited futures have ended; an exception of theirs is the result then."""
        promise: Future[Any] = Future()
        left = itertools.count(len(awaited) - 1, -1)

        def one_ended(_: Future[Any]) -> None:
            if next(left) == 0:
                self._submit_now(promise, work, args, kwargs)

        for each in awaited:
            each.add_done_callback(one_ended)
        return promise

    def _submit_now(self, promise: Future[Any], work: Work, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            job = self._job(work, tuple(map(_result, args)), {key: _result(each) for key, each in kwargs.items()})
        except BaseException as error:  # noqa: BLE001  # what a parent raised, its child raises
            if promise.set_running_or_notify_cancel():
                promise.set_exception(error)
            return
        job.future = promise
        self._dispatcher.submit(job)

    async def run(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a function and await its result: `await s.run(fn, x)`."""
        return await asyncio.wrap_future(self.submit(fn, *args, **kwargs))

    def explain(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation:
        """Say where a call would run now and what is expected of every device; nothing is run."""
        work = fn if isinstance(fn, Work) else Work(fn)
        return self._dispatcher.explain(self._job(work, args, kwargs))

    # --- ending ------------------------------------------------------------------------------------------------

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what was submitted, then end the workers; times are kept if they are to be remembered."""
        if self._closed:
            return
        self._closed = True
        if cancel_futures:
            self._dispatcher.cancel_waiting()
        if wait:
            self._dispatcher.wait()
        self.backend.close()
        self._dispatcher.abandon()
        self.policy.close()
        if self._path is not None:
            save_times(self.times, self._path)


def _result(value: Any) -> Any:
    return value.result() if isinstance(value, Future) else value


def made_backend(backend: str | Backend, devices: Sequence[DeviceSpec], address: str | None = None) -> Backend:
    """Return a backend by its name in the registry, or the one that was given."""
    if isinstance(backend, Backend):
        return backend
    options = {} if address is None else {"address": address}
    if options and "address" not in {each.name for each in registry.backends.options(backend)}:
        raise InputError(f"backend '{backend}' takes no address: leave it out, or use the backend ray")
    made: Backend = registry.backends.create(backend, devices=devices, **options)
    return made


def made_policy(policy: str | Scheduler, backend: Backend, seed: int) -> Scheduler:
    """Return a policy for a backend's devices; one that learns does so in another process, to hold up nobody."""
    from hybrid_scheduler.studies.pretraining import ready

    made = ready(policy, cluster_of(backend.devices), seed) if isinstance(policy, str) else policy
    if made.learn_every:
        os.environ.setdefault("HMS_LEARNER_NICE", NICE)
        made.learn_beside(AS_SOON_AS_POSSIBLE)
    return made
