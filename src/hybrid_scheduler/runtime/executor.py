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
from hybrid_scheduler.runtime.devices import DeviceSpec, build_cluster, normalise_devices, parse_devices
from hybrid_scheduler.runtime.dispatcher import LOOKAHEAD, Dispatcher
from hybrid_scheduler.runtime.jobs import Job, TaskFunction
from hybrid_scheduler.runtime.measured_times import MeasuredTimes, load_times, save_times, times_path
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler

WHEN_READY = -1  # delay of background training: updates are applied as soon as they are there
LEARNER_NICE = "5"  # workers keep all cores busy: a trainer at the lowest priority would never come to an end


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
        ahead: int = LOOKAHEAD,
        seed: int = 0,
    ) -> None:
        specs = parse_devices(devices) if isinstance(devices, str) else normalise_devices(devices)
        self.backend = create_backend(backend, specs, address)
        self._path = times_path() if remember is True else Path(remember) if remember else None
        times = load_times(self._path) if self._path else MeasuredTimes()
        self.policy = create_policy(policy, self.backend, seed)
        self._dispatcher = Dispatcher(self.policy, self.backend, times, lookahead=ahead)
        self._numbers = itertools.count()
        self._is_closed = False
        self._dispatcher.start()

    @property
    def devices(self) -> tuple[DeviceSpec, ...]:
        """The devices at work."""
        return self.backend.devices

    @property
    def times(self) -> MeasuredTimes:
        """The times measured so far."""
        return self._dispatcher.times

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function, a `@task` or a `Command`; futures among its arguments are waited for."""
        if self._is_closed:
            raise SchedulerError("this HybridScheduler is shut down: make another one")
        awaited = [each for each in (*args, *kwargs.values()) if isinstance(each, Future)]
        if awaited:
            return self._submit_later(fn, args, kwargs, awaited)
        job = self._create_job(fn, args, kwargs)
        self._dispatcher.submit(job)
        return job.future

    def _create_job(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Job:
        function = fn if isinstance(fn, TaskFunction) else TaskFunction(fn)
        return function.create_job(next(self._numbers), args, kwargs, self._dispatcher.now)

    def _submit_later(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], awaited: list[Future[Any]]
    ) -> Future[Any]:
        """Submit when the awaited futures are done; if one of them has failed, its exception is the result."""
        promise: Future[Any] = Future()
        left = itertools.count(len(awaited) - 1, -1)

        def submit_after_last(_: Future[Any]) -> None:
            if next(left) > 0:
                return
            try:
                values = {key: _wait_for_value(each) for key, each in kwargs.items()}
                job = self._create_job(fn, tuple(map(_wait_for_value, args)), values)
            except BaseException as error:  # noqa: BLE001  # an exception of an awaited call is that of this one too
                if promise.set_running_or_notify_cancel():
                    promise.set_exception(error)
                return
            job.future = promise
            self._dispatcher.submit(job)

        for each in awaited:
            each.add_done_callback(submit_after_last)
        return promise

    async def run(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a function and await its result: `await s.run(fn, x)`."""
        return await asyncio.wrap_future(self.submit(fn, *args, **kwargs))

    def explain(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation:
        """Explain where a call would run now and what is expected of every device; nothing is run."""
        return self._dispatcher.explain(self._create_job(fn, args, kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for submitted calls, then end the workers; times are saved if they are to be remembered."""
        if self._is_closed:
            return
        self._is_closed = True
        if cancel_futures:
            self._dispatcher.cancel_waiting()
        if wait:
            self._dispatcher.wait()
        self.backend.close()
        self._dispatcher.abandon()
        if is_learner(self.policy):
            self.policy.close()
        if self._path is not None:
            save_times(self.times, self._path)


def _wait_for_value(argument: Any) -> Any:
    return argument.result() if isinstance(argument, Future) else argument


def create_backend(backend: str | Backend, devices: Sequence[DeviceSpec], address: str | None = None) -> Backend:
    """Create a backend by its name in the registry; one that exists already is returned."""
    if isinstance(backend, Backend):
        return backend
    options = {} if address is None else {"address": address}
    if options and "address" not in {each.name for each in registry.backends.options(backend)}:
        raise InputError(f"backend '{backend}' takes no address: leave it out, or use the backend ray")
    created: Backend = registry.backends.create(backend, devices=devices, **options)
    return created


def create_policy(policy: str | Scheduler, backend: Backend, seed: int) -> Scheduler:
    """Create a policy for a backend's devices; a learner trains in the background, so that no decision waits."""
    from hybrid_scheduler.studies.pretraining import load_or_train

    created = load_or_train(policy, build_cluster(backend.devices), seed) if isinstance(policy, str) else policy
    if is_learner(created) and created.learn_every:
        os.environ.setdefault("HMS_LEARNER_NICE", LEARNER_NICE)
        created.train_in_background(WHEN_READY)
    return created
