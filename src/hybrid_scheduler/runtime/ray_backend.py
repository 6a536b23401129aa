"""What a Ray actor does for a device: performs batches of calls, and tells its clock."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Annotated, Any, ClassVar

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.backend import Backend, Line
from hybrid_scheduler.runtime.calls import Answer, Call
from hybrid_scheduler.runtime.devices import DeviceSpec
from hybrid_scheduler.runtime.worker import Performer

Request = tuple[int, bytes, bytes, float]
Reply = tuple[int, int, float, float, bytes]


class DeviceActor:
    """The worker of one device on some node of a cluster."""

    def __init__(self, spec: DeviceSpec, paths: list[str]) -> None:
        sys.path += [path for path in paths if path not in sys.path]
        kind, _, number = spec.place.partition(":")
        # Ray hides all GPUs but the one that it gave to this actor, which is number 0 here.
        self._performer = Performer(replace(spec, place=f"{kind}:0") if number else spec)

    def clock(self) -> tuple[float, int]:
        """Return the time by the clock that answers are stamped with, and the number of this process."""
        return time.perf_counter(), os.getpid()

    def perform(self, batch: list[Request]) -> list[Reply]:
        """Perform calls one after another."""
        return [
            (number, *self._performer.perform(function, arguments, intensity))
            for number, function, arguments, intensity in batch
        ]


LOCAL = "local"
QUIET = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # actors without a GPU keep their environment; Ray's coming default
    "RAY_USAGE_STATS_ENABLED": "0",
}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # a cluster of this machine alone listens to nobody else


def ray_module() -> Any:
    """Return Ray, told to keep quiet before it is imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise InputError(
            "this needs Ray: pip install 'hybrid-ml-scheduler[ray]', or use processes of this machine (local)"
        ) from None
    return ray


def connected(address: str, **of_a_local_one: Any) -> bool:
    """Connect to a cluster, or start one if the address is `local` or empty; False if this process was connected."""
    local = address in ("", LOCAL)
    if local:
        os.environ.update(LOOPBACK)  # read when Ray is imported
    ray = ray_module()
    if ray.is_initialized():
        return False
    options = {"address": LOCAL, "include_dashboard": False, **of_a_local_one} if local else {"address": address}
    try:
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # noqa: BLE001  # Ray raises a plain Exception where a node does not start in time
        where = "on this machine" if local else f"at {address}"
        why = " ".join(str(error).split())[:200]
        raise InputError(f"no Ray cluster {where} ({why}): start one with ray start --head") from None
    return True


FUTILE = 5  # actors in a row that could not be made: there will be no other
PAUSE = 1.0  # seconds before the next try, longer each time: Ray hears of a dead node only after a while
TICK = 0.25  # seconds between two looks for devices that stay away
SAME_CLOCK = 0.005  # seconds by which two clocks may differ and still be one: asking takes that long
HURRY = 10.0  # seconds for an actor that is there to tell its clock


class RayBackend(Backend):
    """Actors of a Ray cluster, one per device."""

    name: ClassVar[str] = "ray"
    answers_together: ClassVar[bool] = True

    def __init__(
        self,
        devices: Sequence[DeviceSpec],
        address: Annotated[str, "of a cluster such as 10.0.0.1:6379; a local one is started if it is empty"] = "",
    ) -> None:
        super().__init__(devices)
        self._address = address
        self._actors: list[Any] = [None] * len(self.devices)
        self._pids = [0] * len(self.devices)
        self._late = [0.0] * len(self.devices)  # what to add to an actor's clock
        self._due: dict[int, float] = {}  # when the actor of a device shall be asked for again
        self._heard: SimpleQueue[tuple[Line, Any, Any] | None] = SimpleQueue()
        self._closing = self._started_ray = False
        self._thread = threading.Thread(target=self._hear, name="ray-backend", daemon=True)

    @property
    def pids(self) -> list[int]:
        """Process numbers of the actors on their own machines, device by device; 0 where there is none yet."""
        return list(self._pids)

    def _open(self) -> None:
        self._connect()
        for line in self.lines:
            self._make(line)
        self._thread.start()

    def _connect(self) -> None:
        cpus = sum(each.threads for each in self.devices if each.kind == "cpu")
        gpus = sum(each.kind == "gpu" for each in self.devices)
        self._started_ray = connected(self._address, num_cpus=cpus, num_gpus=gpus)

    def _make(self, line: Line) -> None:
        """Ask Ray for an actor; whether and when it finds a place for it is heard of later."""
        spec = self.devices[line.device]
        resources = {"num_gpus": 1, "num_cpus": 0} if spec.kind == "gpu" else {"num_cpus": spec.threads}
        actor = ray_module().remote(DeviceActor).options(max_restarts=0, **resources).remote(spec, sys.path)
        self._actors[line.device] = actor
        self._listen_to(line, actor, actor.clock.remote())

    def _listen_to(self, line: Line, actor: Any, reference: Any) -> None:
        reference.future().add_done_callback(lambda future: self._heard.put((line, actor, future)))

    def _post(self, line: Line, calls: list[Call]) -> None:
        actor = self._actors[line.device]
        for _, together in groupby(calls, lambda call: call.post):
            batch = [(call.number, call.function, call.arguments, call.intensity) for call in together]
            self._listen_to(line, actor, actor.perform.remote(batch))

    def _hear(self) -> None:
        while not self._closing:
            try:
                heard = self._heard.get(timeout=TICK)
            except Empty:
                heard = None
            if heard is not None and self._actors[heard[0].device] is heard[1]:
                self._hear_from(*heard)
            self._make_due()
            self._move_stranded()

    def _hear_from(self, line: Line, actor: Any, future: Any) -> None:
        error = future.exception()
        if error is not None:
            self._replace(line)
        elif not line.is_up:
            self._meet(line, actor)
        else:
            late = self._late[line.device]
            replies = future.result()
            self._answered(
                line, [(each[0], Answer(each[1], each[2] + late, each[3] + late, each[4])) for each in replies]
            )

    def _meet(self, line: Line, actor: Any) -> None:
        """Compare clocks with a new actor, then let it work."""
        ray, before = ray_module(), time.perf_counter()
        try:
            theirs, self._pids[line.device] = ray.get(actor.clock.remote(), timeout=HURRY)
        except (ray.exceptions.RayError, TimeoutError):
            self._replace(line)
            return
        apart = (before + time.perf_counter()) / 2 - theirs
        self._late[line.device] = 0.0 if abs(apart) < SAME_CLOCK else apart
        self._came_up(line)

    def _replace(self, line: Line) -> None:
        self._pids[line.device] = 0
        self._died(line)
        if self._closing:
            return
        if line.failures < FUTILE:
            self._due[line.device] = time.monotonic() + PAUSE * line.failures
            self._make_due()
        else:
            line.is_gone, line.down_since = True, 0.0  # long ago: its calls move elsewhere at once

    def _make_due(self) -> None:
        """Ask for the actors whose time has come."""
        for device in [device for device, moment in self._due.items() if moment <= time.monotonic()]:
            del self._due[device]
            with self._lock:
                self._make(self.lines[device])

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        self._closing = True
        self._heard.put(None)
        if self._thread.is_alive():
            self._thread.join()
        ray = ray_module()
        if not ray.is_initialized():
            return
        for actor in self._actors:
            if actor is not None:
                ray.kill(actor)
        if self._started_ray:
            ray.shutdown()
