"""Ray: a backend with one actor per device of a cluster, and independent jobs on whichever node has a core."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Annotated, Any, ClassVar

from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.processes import JobOutcome
from hybrid_scheduler.runtime.backend import Backend, DeviceQueue
from hybrid_scheduler.runtime.devices import DeviceSpec
from hybrid_scheduler.runtime.jobs import Answer, Call
from hybrid_scheduler.runtime.objects import ObjectLostError, ObjectStore, Table, Token
from hybrid_scheduler.runtime.worker import CallRunner, Outcome

LOCAL = "local"
ENVIRONMENT = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # actors without a GPU keep their environment; Ray's coming default
    "RAY_USAGE_STATS_ENABLED": "0",
}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # a cluster of this machine alone accepts no other machine
START_ATTEMPTS = 5  # of a local cluster: Ray gives a node 30 s to start, which a busy machine may exceed
RETRY_SECONDS = 1.0  # before the next actor, longer each time: Ray notices a dead node only after a while
TICK = 0.25  # seconds between two looks for devices that stay down
CLOCK_TIMEOUT = 60.0  # seconds for an actor that is up to read its clock
JOB_RETRIES = 3  # of a job whose node died
JOBS_PER_CORE = 2  # with the cluster at once: enough to keep it busy, few enough to stop soon
GET_TIMEOUT = 20.0  # seconds for data that Ray believes to be there
Request = tuple[int, tuple[int, bytes, bytes, float, Table | None]]  # number, and what its runner is called with
Reply = tuple[int, Outcome, Any]  # number, outcome, and where its buffers are: None, sizes, or a reference and sizes


def import_ray() -> Any:
    """Return Ray; its settings are read from the environment when it is first imported."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise InputError(
            "this needs Ray: pip install 'hybrid-ml-scheduler[ray]', or use processes of this machine (local)"
        ) from None
    return ray


def connect_ray(address: str, **local_options: Any) -> bool:
    """Connect to a cluster, or start one if the address is `local` or empty; False if this process was connected."""
    is_local = address in ("", LOCAL)
    if is_local:
        os.environ.update(LOOPBACK)
    ray = import_ray()
    if ray.is_initialized():
        return False
    options = {"address": LOCAL, "include_dashboard": False, **local_options} if is_local else {"address": address}
    for attempt in range(START_ATTEMPTS):
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # noqa: BLE001  # Ray raises a plain Exception where a node does not start in time
            reason = " ".join(str(error).split())[:200]
            if is_local and "timed out" in reason and attempt + 1 < START_ATTEMPTS:
                ray.shutdown()
                continue
            where = "on this machine" if is_local else f"at {address}"
            raise InputError(f"no Ray cluster {where} ({reason}): start one with ray start --head") from None
        break
    return True


class DeviceActor:
    """The worker of one device on some node of a cluster."""

    def __init__(self, spec: DeviceSpec, paths: list[str]) -> None:
        sys.path += [path for path in paths if path not in sys.path]
        kind, _, number = spec.torch_device.partition(":")
        # Ray hides all GPUs but the one that it gave to this actor, which is number 0 here.
        self._runner = CallRunner(f"{kind}:0" if number else kind, spec.slowdown, spec.slope, open_in_ray)

    def read_clock(self) -> tuple[float, int]:
        """Return the time by the clock of the answers, and the number of this process."""
        return time.perf_counter(), os.getpid()

    def run(self, batch: list[Request]) -> list[Reply]:
        """Run calls one after another; large results of small calls are this actor's own."""
        replies = list[Reply]()
        for number, call in batch:
            found = self._runner.run(*call)
            token = put_into_ray(found.buffers) if found.buffers else None
            replies.append((number, found._replace(buffers=()), token))
        return replies

    def run_one(self, request: Request) -> tuple[Reply, list[Any] | None]:
        """Run a call; its large result is returned by itself, so that it outlives this actor."""
        number, call = request
        found = self._runner.run(*call)
        arrays = as_arrays(found.buffers) if found.buffers else None
        sizes = tuple(each.nbytes for each in arrays) if arrays else None
        return (number, found._replace(buffers=()), sizes), arrays


def as_arrays(buffers: Sequence[Any]) -> list[Any]:
    """Return buffers as arrays, which Ray writes into its store without pickling them."""
    import numpy as np

    return [np.frombuffer(each, np.uint8) for each in buffers]


def put_into_ray(buffers: Sequence[Any]) -> Token:
    """Write buffers into Ray's object store."""
    arrays = as_arrays(buffers)
    return import_ray().put(arrays), tuple(each.nbytes for each in arrays)


def open_in_ray(token: Token) -> Sequence[Any]:
    """Return buffers from Ray's object store, fetched from another node if they are there; they are read-only."""
    ray = import_ray()
    try:
        arrays: list[Any] = ray.get(token[0], timeout=GET_TIMEOUT)
    except (ray.exceptions.ObjectLostError, ray.exceptions.GetTimeoutError) as error:
        raise ObjectLostError(f"an object is gone from Ray's store ({type(error).__name__})") from None
    return arrays


class RayStore(ObjectStore):
    """Ray's object store: Ray counts the references, spills to disk and moves data between nodes."""

    def write(self, buffers: Sequence[Any]) -> Token:
        """Write a segment."""
        return put_into_ray(buffers)

    def open(self, token: Token) -> Sequence[Any]:
        """Return the buffers of a segment."""
        return open_in_ray(token)

    def exists(self, token: Token) -> bool:
        """Whether a segment can be read; a lost one is known by that alone."""
        try:
            open_in_ray(token)
        except ObjectLostError:
            return False
        return True

    def remove(self, token: Token) -> None:
        """Leave it to Ray, which notices that the reference is gone."""

    def close(self) -> None:
        """Keep what futures still refer to in this process."""
        for segment in self.list_segments():
            segment.keep()


class RayBackend(Backend):
    """Actors of a Ray cluster, one per device."""

    name: ClassVar[str] = "ray"
    answers_in_batches: ClassVar[bool] = True
    max_failed_starts: ClassVar[int] = 5

    def __init__(
        self,
        devices: Sequence[DeviceSpec],
        address: Annotated[str, "of a cluster such as 10.0.0.1:6379; a local one is started if it is empty"] = "",
    ) -> None:
        self.objects: RayStore
        super().__init__(devices, RayStore())
        self._address = address
        self._actors: list[Any] = [None] * len(self.devices)
        self._pids = [0] * len(self.devices)
        self._clock_offsets = [0.0] * len(self.devices)  # to add to an actor's clock
        self._due: dict[int, float] = {}  # when the actor of a device is to be created again
        self._replies: SimpleQueue[tuple[DeviceQueue, Any, Any] | None] = SimpleQueue()
        self._contents: dict[int, Any] = {}  # references to what calls return beside their reply, by their number
        self._started_ray = False
        self._thread = threading.Thread(target=self._run, name="ray-backend", daemon=True)

    @property
    def pids(self) -> list[int]:
        """Process numbers of the actors on their own machines, device by device; 0 where there is none yet."""
        return list(self._pids)

    def _open(self) -> None:
        cpus = sum(each.threads for each in self.devices if each.kind == "cpu")
        gpus = sum(each.kind == "gpu" for each in self.devices)
        self._started_ray = connect_ray(self._address, num_cpus=cpus, num_gpus=gpus)
        for queue in self.queues:
            self._create_actor(queue)
        self._thread.start()

    def _create_actor(self, queue: DeviceQueue) -> None:
        """Ask Ray for an actor; its first reply comes when Ray has found a place for it."""
        spec = self.devices[queue.device]
        resources = {"num_gpus": 1, "num_cpus": 0} if spec.kind == "gpu" else {"num_cpus": spec.threads}
        actor = import_ray().remote(DeviceActor).options(max_restarts=0, **resources).remote(spec, sys.path)
        self._actors[queue.device] = actor
        self._await_reply(queue, actor, actor.read_clock.remote())

    def _await_reply(self, queue: DeviceQueue, actor: Any, reference: Any) -> None:
        reference.future().add_done_callback(lambda future: self._replies.put((queue, actor, future)))

    def _send_batch(self, queue: DeviceQueue, calls: list[Call]) -> None:
        actor = self._actors[queue.device]
        for _, together in groupby(calls, lambda call: call.batch):
            batch = [self._create_request(queue, call) for call in together]
            if len(batch) > 1:
                self._await_reply(queue, actor, actor.run.remote(batch))
                continue
            reply, content = actor.run_one.options(num_returns=2).remote(batch[0])
            self._contents[batch[0][0]] = content
            self._await_reply(queue, actor, reply)

    def _create_request(self, queue: DeviceQueue, call: Call) -> Request:
        arguments = call.pickle_arguments(self.objects)
        slot, function = queue.functions.refer(call.function)
        return call.number, (slot, function, arguments.blob, call.intensity, arguments.table)

    def _kill_worker(self, queue: DeviceQueue) -> None:
        import_ray().kill(self._actors[queue.device])

    def _run(self) -> None:
        while not self._is_closing:
            self._end_overdue()
            try:
                reply = self._replies.get(timeout=TICK)
            except Empty:
                reply = None
            if reply is not None and self._actors[reply[0].device] is reply[1]:
                self._receive(*reply)
            for device in [device for device, moment in self._due.items() if moment <= time.monotonic()]:
                del self._due[device]
                with self._lock:
                    self._create_actor(self.queues[device])
            self._hand_back_stranded()

    def _receive(self, queue: DeviceQueue, actor: Any, future: Any) -> None:
        if future.exception() is not None:
            self._replace_actor(queue)
        elif not queue.is_up:
            self._synchronize_clock(queue, actor)
        else:
            found = future.result()
            replies: list[Reply] = found if isinstance(found, list) else [found]
            self._on_answers(queue, [self._read_reply(queue, *each) for each in replies])

    def _read_reply(self, queue: DeviceQueue, number: int, found: Outcome, where: Any) -> tuple[int, Answer]:
        offset, content = self._clock_offsets[queue.device], self._contents.pop(number, None)
        is_own = where is not None and isinstance(where[0], int)
        segments = () if where is None else (self.objects.adopt((content, where) if is_own else where),)
        times = found.start + offset, found.end + offset
        return number, Answer(found.outcome, *times, found.payload, segments, found.load_seconds)

    def _synchronize_clock(self, queue: DeviceQueue, actor: Any) -> None:
        """Compare clocks with a new actor, then let it work."""
        ray, before = import_ray(), time.perf_counter()
        try:
            theirs, self._pids[queue.device] = ray.get(actor.read_clock.remote(), timeout=CLOCK_TIMEOUT)
        except (ray.exceptions.RayError, TimeoutError):
            self._replace_actor(queue)
            return
        after = time.perf_counter()
        # What was read between two readings of ours is the clock of this machine, however long the actor took.
        self._clock_offsets[queue.device] = 0.0 if before <= theirs <= after else (before + after) / 2 - theirs
        self._on_ready(queue)

    def _replace_actor(self, queue: DeviceQueue) -> None:
        self._pids[queue.device] = 0
        if self._on_death(queue):
            self._due[queue.device] = time.monotonic() + RETRY_SECONDS * queue.failed_starts

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        self._is_closing = True
        self._replies.put(None)
        if self._thread.is_alive():
            self._thread.join()
        ray = import_ray()
        if not ray.is_initialized():
            return
        self.objects.close()
        for actor in self._actors:
            if actor is not None:
                ray.kill(actor)
        if self._started_ray:
            ray.shutdown()


def run_on_ray(address: str) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[JobOutcome]]:
    """Return a function that runs jobs on the cluster at an address, each once, even if a node dies.

    `local` starts a cluster on this machine, `auto` finds the one that runs.
    """

    def run_jobs(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[JobOutcome]:
        if not jobs:
            return
        has_started, ray = connect_ray(address), import_ray()
        waiting, running = iter(enumerate(jobs)), dict[Any, int]()
        try:
            task = ray.remote(_run_job).options(num_cpus=1, max_retries=JOB_RETRIES)
            limit = max(1, int(JOBS_PER_CORE * ray.cluster_resources().get("CPU", 1)))
            while True:
                while len(running) < limit and (following := next(waiting, None)) is not None:
                    running[task.remote(pickle.dumps((work, following[1])), sys.path)] = following[0]
                if not running:
                    return
                reference = ray.wait(list(running), num_returns=1)[0][0]
                number = running.pop(reference)
                try:
                    yield JobOutcome(number, *ray.get(reference))
                except ray.exceptions.RayError as error:
                    reason = next(iter(str(error).strip().splitlines()), "")[:200]
                    yield JobOutcome(number, problem=f"it failed on the cluster ({type(error).__name__}: {reason})")
        finally:
            if has_started:
                ray.shutdown()

    return run_jobs


def _run_job(message: bytes, paths: list[str]) -> tuple[Any, str]:
    """Run a job on a node; `paths` are where its modules are, for nodes of the same machine."""
    sys.path.extend(each for each in paths if each not in sys.path)
    work, job = pickle.loads(message)  # noqa: S301  # from our own driver; unpickled when its modules can be found
    try:
        return work(job), ""
    except SchedulerError as error:
        return None, str(error)
