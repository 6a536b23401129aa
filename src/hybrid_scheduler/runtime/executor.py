"""`HybridScheduler` is an executor: it runs functions on devices that a policy chooses, and learns their times."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import Context
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.runtime.actors import Actor
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.context import find_variable
from hybrid_scheduler.runtime.dashboard import Dashboard, ProgressLine
from hybrid_scheduler.runtime.deferred import DeferredCall, find_futures, replace_futures
from hybrid_scheduler.runtime.devices import DeviceSpec, build_cluster, normalise_devices, parse_devices
from hybrid_scheduler.runtime.dispatcher import LOOKAHEAD, Dispatcher
from hybrid_scheduler.runtime.energy import EnergyAccount, EnergyReading
from hybrid_scheduler.runtime.graphs import Graph, collect_dask, submit_dask_graph
from hybrid_scheduler.runtime.import_hook import register_with_joblib
from hybrid_scheduler.runtime.jobs import (
    DEFAULT_OPTIONS,
    CallOptions,
    Job,
    TaskFunction,
    TaskFuture,
    are_plain,
    note_number,
)
from hybrid_scheduler.runtime.measured_times import MeasuredTimes, load_times, save_times, times_path
from hybrid_scheduler.runtime.nested import submit_nested
from hybrid_scheduler.runtime.objects import MIN_BUFFER, StoredObject
from hybrid_scheduler.runtime.record import RunRecord
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.schedulers.scheduler import Scheduler

P = ParamSpec("P")
T = TypeVar("T")
DEFAULT_POLICY = "eft"
WHEN_READY = -1  # delay of background training: updates are applied as soon as they are there
LEARNER_NICE = "5"  # workers keep all cores busy: a trainer at the lowest priority would never come to an end


class ShutDownError(SchedulerError, RuntimeError):
    """A call for a scheduler that was shut down; a `RuntimeError` as of any executor."""


class HybridScheduler(Executor):
    """Runs functions where a policy says; futures, `map` and `shutdown` are those of `concurrent.futures`.

    Times are learnt by type of task and class of device; the default policy sends each call where it ends first.
    """

    def __init__(
        self,
        policy: str | Scheduler = DEFAULT_POLICY,
        backend: str | Backend = "local",
        devices: str | Sequence[DeviceSpec] = "auto",
        *,
        address: str | None = None,
        remember: bool | str | Path = False,
        ahead: int = LOOKAHEAD,
        seed: int = 0,
        progress: bool = False,
        dashboard: bool = False,
        context: Sequence[str] = (),
    ) -> None:
        variables = {each: find_variable(each) for each in context}
        specs = parse_devices(devices) if isinstance(devices, str) else normalise_devices(devices)
        self.backend = create_backend(backend, specs, address)
        path = times_path() if remember is True else Path(remember) if remember else None
        times = load_times(path) if path else MeasuredTimes()
        self.policy = create_policy(policy, self.backend, seed)
        self._record = RunRecord(self.backend.devices, policy if isinstance(policy, str) else self.policy.name)
        self._dispatcher = Dispatcher(self.policy, self.backend, times, self._record.add, lookahead=ahead)
        self._dispatcher.context = variables
        self.backend.on_nested = partial(submit_nested, self._dispatcher)
        self._energy = EnergyAccount(self._record)
        self._is_closed = False
        self._graphs = _OpenGraph()
        self._actors: Counter[int] = Counter()  # by device
        self._dispatcher.start()
        self._lifetime = Lifetime(self._dispatcher, partial(_note_end, self.policy, times, path))
        weakref.finalize(self, self._lifetime.finish_later).atexit = False
        register_with_joblib()
        if progress:
            line = ProgressLine(self._dispatcher)
            self._record.listeners.append(line)
            self._lifetime.on_end(line.close)
        if dashboard:
            page = Dashboard(self._dispatcher, self._record)
            self._lifetime.on_end(page.close)
            print(f"dashboard of this run (measured): {page.url}", file=sys.stderr, flush=True)  # noqa: T201  # asked for
            self.dashboard_url = page.url

    @property
    def devices(self) -> tuple[DeviceSpec, ...]:
        """The devices at work."""
        return self.backend.devices

    @property
    def times(self) -> MeasuredTimes:
        """The times measured so far."""
        return self._dispatcher.times

    @property
    def transfers(self) -> list[dict[str, Any]]:
        """What moving data took so far: a row per pair of places, from a node or the driver to a class of devices."""
        return self._dispatcher.decider.transfers.rows()

    @property
    def _max_workers(self) -> int:
        """How many calls run at once; read by libraries that are given an executor."""
        return len(self.backend.devices)

    # Futures stand for the arguments that they will hold; types can say so of the first three.
    @overload
    def submit(self, fn: Callable[..., T], first: Future[Any], /, *args: Any, **kwargs: Any) -> Future[T]: ...
    @overload
    def submit(
        self, fn: Callable[..., T], first: Any, second: Future[Any], /, *args: Any, **kwargs: Any
    ) -> Future[T]: ...
    @overload
    def submit(
        self, fn: Callable[..., T], first: Any, second: Any, third: Future[Any], /, *args: Any, **kwargs: Any
    ) -> Future[T]: ...
    @overload
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]: ...
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function, a `@task` or a `Command`; futures in its arguments are waited for."""
        return self._submit(_as_task(fn), args, kwargs, DEFAULT_OPTIONS)

    def submit_with(
        self,
        fn: Callable[..., T],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        retries: int = 0,
        timeout: float | None = None,
        priority: float = 0.0,
        memory: float | None = None,
        gpu_share: float | None = None,
    ) -> Future[T]:
        """Run a function with options of this call.

        It is run again up to `retries` times if it raises. After `timeout` seconds of running its worker is ended and
        the future raises a `TimeoutError`. Calls of a higher `priority` are placed before others that wait. `memory`
        (MB) is what a GPU must have; of a CPU nothing is asked. `gpu_share` is 0 (on a CPU), 1 (on a GPU), or between
        for a task with shares.
        """
        task, options = _as_task(fn), CallOptions(retries, timeout, priority, memory, gpu_share)
        options.check(task)
        if gpu_share is not None and gpu_share > 0.0 and not any(each.kind == "gpu" for each in self.devices):
            raise InputError(f"task '{task.name}': gpu_share is {gpu_share:g}, and there is no GPU among the devices")
        return self._submit(task, tuple(args), dict(kwargs or {}), options)

    def _submit(
        self, task: TaskFunction, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions
    ) -> Future[Any]:
        if self._is_closed:
            raise ShutDownError("this HybridScheduler is shut down: make another one")
        if self._graphs.open is not None:
            return self._graphs.open.add(task, args, kwargs, options)
        return self._submit_now(task, args, kwargs, options)

    def _submit_now(
        self,
        task: TaskFunction,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: CallOptions,
        future: TaskFuture | None = None,
    ) -> Future[Any]:
        awaited = find_futures(args, kwargs) if kwargs or not are_plain(args) else None
        if awaited:
            create_job = partial(
                self._dispatcher.create_job,
                task,
                options=options,
                arrival=self._dispatcher.now,
                context=self._dispatcher.capture_context(),
            )
            call = DeferredCall(create_job, args, kwargs, awaited, future)
            promised = call.future  # which the call drops when it is ready
            self._dispatcher.submit_deferred(call)
            return promised
        job = self._dispatcher.create_job(task, args, kwargs, options)
        if future is not None:
            job.future = future
            note_number(job)
        self._dispatcher.submit(job)
        return job.future

    def graph(self) -> Graph:
        """Collect the calls of a `with` block of this thread; at its end they are planned as a whole and submitted.

        HEFT ranks them by the longest way to the end and places them by learnt times. Inside the block no future is
        done, so nothing may wait for one.
        """
        if self._graphs.open is not None:
            raise InputError("a graph is open in this thread already: leave its block first")

        def end() -> None:
            self._graphs.open = None

        self._graphs.open = Graph(self._dispatcher.decider, self._submit_now, end)
        return self._graphs.open

    def get(self, dsk: Any, keys: Any, **_: Any) -> Any:
        """Compute keys of one of Dask's graphs, planned as a whole: `dask.compute(x, scheduler=scheduler.get)`."""
        with self.graph():
            found = submit_dask_graph(dsk, self.submit)
        return collect_dask(keys, found)

    def __call__(self, dsk: Any, keys: Any, **options: Any) -> Any:
        """Do the same; Dask calls what it is given: `dask.compute(x, scheduler=scheduler)`."""
        return self.get(dsk, keys, **options)

    def as_thread_pool(self) -> ThreadPoolExecutor:
        """Return what asyncio takes for a thread pool: `loop.set_default_executor(scheduler.as_thread_pool())`."""
        return _ThreadPoolInName(self.submit)

    def cancel(self, future: Future[Any]) -> bool:
        """Cancel a call, also one that runs: its worker is replaced, and `result()` raises `CancelledError`."""
        return future.cancel() or self._dispatcher.cancel_running(future)

    def warm(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        """Run a call once on every device that can, and wait: imports, compilation and first times are done then."""
        task, jobs = _as_task(fn), list[Job]()
        for device, spec in enumerate(self.devices):
            if spec.kind in task.kinds:
                jobs.append(self._dispatcher.create_job(task, args, kwargs))
                self._dispatcher.run_on_device(jobs[-1], device)
        for job in jobs:
            job.future.result()

    def actor(self, cls: Callable[..., Any], /, *args: Any, on: str = "cpu", **kwargs: Any) -> Actor:
        """Create an object that stays on one device, "cpu" or "gpu"; calls of its methods return futures."""
        able = [number for number, spec in enumerate(self.devices) if spec.kind == on]
        if not able:
            found = ", ".join(sorted({each.kind for each in self.devices}))
            raise InputError(f"no device of the kind '{on}' for an actor: there are {found}")
        device = min(able, key=lambda each: self._actors[each])
        self._actors[device] += 1

        def submit(task: TaskFunction, *call: Any) -> Future[Any]:
            return self._submit(task, call, {}, CallOptions(device=device))

        return Actor(cls, args, kwargs, submit)

    def scatter(self, value: T) -> Future[T]:
        """Store a value once, for many calls: pass the future that is returned in its place."""
        if self._is_closed:
            raise ShutDownError("this HybridScheduler is shut down: make another one")
        future: Future[Any] = TaskFuture()
        stored: Any = value if self.backend.objects is None else self.backend.objects.store(value)
        future.set_result(stored if type(stored) is not StoredObject or stored.nbytes >= MIN_BUFFER else value)
        return future

    async def run(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function and await its result: `await s.run(fn, x)`."""
        return await asyncio.wrap_future(self.submit(fn, *args, **kwargs))

    def map(
        self, fn: Callable[..., T], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[T]:
        """Yield the results of calls in order; plain functions run in chunks, as in a process pool."""
        if chunksize < 1:
            raise ValueError(f"chunksize is {chunksize}, expected a whole number above 0")
        if chunksize == 1 or isinstance(fn, TaskFunction):
            return super().map(fn, *iterables, timeout=timeout)
        rows = zip(*iterables, strict=False)
        chunks = iter(lambda: list(islice(rows, chunksize)), [])
        task = TaskFunction(partial(_run_chunk, fn), size=len, name=f"{TaskFunction(fn).name} in chunks")
        return chain.from_iterable(super().map(task, chunks, timeout=timeout))

    def save_run(self, path: str | Path) -> None:
        """Keep what has ended so far in a file: `hms simulate` says what other policies would have made of it."""
        self._record.save(path, self.times)

    def energy(self) -> list[EnergyReading]:
        """Return the energy so far, by part of the machine: metered (RAPL, NVML), or of configured watts."""
        return self._energy.readings()

    def save_trace(self, path: str | Path) -> None:
        """Write what has ended so far as a trace for https://ui.perfetto.dev or chrome://tracing."""
        self._record.save_trace(path)

    def explain(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation:
        """Explain where a call would run now and what is expected of every device; nothing is run.

        Futures among the arguments must be done: nothing is known of a result that is not there.
        """
        if not all(each.done() for each in find_futures(args, kwargs)):
            raise InputError("an argument of the call to explain has not been computed yet: wait for its future")
        given, named = tuple(map(replace_futures, args)), {key: replace_futures(each) for key, each in kwargs.items()}
        return self._dispatcher.explain(self._dispatcher.create_job(_as_task(fn), given, named))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, wait for those there are, then end the workers; without `wait` all that happens later.

        An interrupt while it waits ends the workers at once. Times are saved if they are to be remembered.
        """
        self._is_closed = True
        if cancel_futures:
            self._dispatcher.cancel_waiting()
        if wait and not self._dispatcher.is_resolving:  # a callback cannot wait for itself
            self._lifetime.finish()
        else:
            self._lifetime.finish_later()

    def kill_workers(self) -> None:
        """End the workers at once, whatever they do; calls that have not ended fail."""
        self._is_closed = True
        self._lifetime.close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Shut down; after an interrupt only calls that run are waited for, until the next interrupt."""
        self.shutdown(cancel_futures=kind is not None and issubclass(kind, KeyboardInterrupt))


_alive: set[Lifetime] = set()  # of schedulers whose workers are


class Lifetime:
    """Ends the workers of a dispatcher; knows nothing of the scheduler, which may be dropped before its work is done.

    `on_closed` is called once, when the workers have ended.
    """

    def __init__(self, dispatcher: Dispatcher, on_closed: Callable[[], None]) -> None:
        self._dispatcher, self._on_closed = dispatcher, on_closed
        self._lock, self._is_closed = threading.Lock(), False
        self._thread: threading.Thread | None = None
        self._at_end: list[Callable[[], None]] = []
        _alive.add(self)

    def on_end(self, function: Callable[[], None]) -> None:
        """Call a function when the workers have ended."""
        self._at_end.append(function)

    def finish(self) -> None:
        """Wait for all work, then end the workers; an interrupt while waiting ends them at once."""
        try:
            self._dispatcher.finish()
        finally:
            self.close()

    def finish_later(self) -> None:
        """Do the same in a thread of its own; may be called again."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self.finish, name="hybrid-scheduler-end", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the workers now; calls that have not ended fail. May be called again."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._dispatcher.backend.close()
        self._dispatcher.abandon()
        _alive.discard(self)
        self._on_closed()
        for each in self._at_end:
            each()


def _finish_all() -> None:
    """Finish the work of every scheduler that was not shut down, as executors of the standard library do."""
    try:
        for each in list(_alive):
            each.finish()
    finally:
        for each in list(_alive):
            each.close()


# Not `atexit`: when its functions run, no thread and no process can be started any more.
threading._register_atexit(_finish_all)  # type: ignore[attr-defined]  # as concurrent.futures does


class _ThreadPoolInName(ThreadPoolExecutor):
    """Hands calls to a scheduler, has no threads, and leaves the scheduler open when it is shut down."""

    def __init__(self, submit: Callable[..., Future[Any]]) -> None:
        super().__init__(max_workers=1)
        self._submit_elsewhere = submit

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; one of `asyncio.to_thread` without its context, which cannot leave this process."""
        given: Any = fn
        if isinstance(given, partial) and isinstance(getattr(given.func, "__self__", None), Context):
            given, args, kwargs = given.args[0], (*given.args[1:], *args), {**given.keywords, **kwargs}
        return self._submit_elsewhere(given, *args, **kwargs)


class _OpenGraph(threading.local):
    """The graph whose calls a thread is collecting."""

    open: Graph | None = None


def _run_chunk(fn: Callable[..., T], rows: list[tuple[Any, ...]]) -> list[T]:
    return [fn(*row) for row in rows]


def _as_task(fn: Callable[..., Any]) -> TaskFunction:
    return fn if isinstance(fn, TaskFunction) else TaskFunction(fn)


def _note_end(policy: Scheduler, times: MeasuredTimes, path: Path | None) -> None:
    if is_learner(policy):
        policy.close()
    if path is not None:
        save_times(times, path)


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
    created: Scheduler = registry.schedulers.create(policy, seed=seed) if isinstance(policy, str) else policy
    if isinstance(policy, str) and is_learner(created):
        from hybrid_scheduler.studies.pretraining import load_or_train  # which loads Numba

        created = load_or_train(policy, build_cluster(backend.devices), seed)
    if is_learner(created) and created.learn_every:
        os.environ.setdefault("HMS_LEARNER_NICE", LEARNER_NICE)
        created.train_in_background(WHEN_READY)
    return created
