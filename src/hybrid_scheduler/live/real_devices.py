"""Settings of a live race whose tasks really run: the devices are what they are."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import Cluster, Device
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.placements import LOST, Decision, Placements, joined
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.live.execution_model import Ground
from hybrid_scheduler.live.lane import turned_away
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.simulation import ContinuousSimulation
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.calls import ERROR, VALUE, Answer, Call
from hybrid_scheduler.runtime.devices import DeviceSpec, cluster_of, devices_of
from hybrid_scheduler.runtime.executor import made_backend, made_policy
from hybrid_scheduler.runtime.jobs import Job, Share
from hybrid_scheduler.runtime.lane import SCALE
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.runtime.user_tasks import LEAST, ORDER, kernel_of, kernel_work, nominal_intensity
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.library import Library

FOUR = ("round_robin", "greedy", "hybrid_ml", "eft")
"""Who takes part unless somebody is named: every lane more is time that the devices must find."""


@dataclass(frozen=True)
class MeasuredSettings(LiveSettings):
    """One state of the settings; `num_gpus` follows from the devices."""

    schedulers: tuple[str, ...] = FOUR
    backend: str = "local"
    devices: str = "auto"

    def _check_devices(self) -> None:
        if self.backend not in registry.backends.table:
            raise unknown_name("backend", self.backend, ["simulated", *registry.backends.table])
        object.__setattr__(self, "num_gpus", len(self.cluster.gpus))
        self._check_failed()

    def changed(self, **values: Any) -> MeasuredSettings:
        """Return settings with some values changed; devices cannot be made by wishing."""
        if values.get("num_gpus", self.num_gpus) != self.num_gpus:
            raise InputError(
                f"num_gpus stays {self.num_gpus}: tasks really run here; start the server with other --devices"
            )
        changed = super().changed(**values)
        assert isinstance(changed, MeasuredSettings)  # noqa: S101  # replace keeps the class
        return changed

    @property
    def specs(self) -> tuple[DeviceSpec, ...]:
        """The devices."""
        return _found(self.devices)[0]

    @property
    def cluster(self) -> Cluster:
        """The cluster that policies see."""
        return _found(self.devices)[1]

    @property
    def block(self) -> int:
        """Tasks that are decided together: one, because the next decision knows how long it took."""
        return 1


@cache
def _found(devices: str) -> tuple[tuple[DeviceSpec, ...], Cluster]:
    """Return devices and their cluster; this machine is looked at once."""
    specs = devices_of(devices)
    return specs, cluster_of(specs)


MOST_EDGE = 2000  # of a kernel's arrays, 16 MB each: tasks that come over HTTP must not fill the memory
PATIENCE = 120.0  # seconds after which a device that does not answer is given up

Parts = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Turn:
    """How a task went: seconds of each share as if its device had run the whole task; none if it was lost."""

    parts: Parts
    seconds: tuple[float, ...]
    deaths: int = 0  # workers that died at it

    @property
    def is_lost(self) -> bool:
        """Whether no device has brought it to an end."""
        return not self.seconds


def edge_of(size: float) -> int:
    """Return the edge of a kernel's arrays for a task's size."""
    return max(LEAST, min(MOST_EDGE, round(size * SCALE)))


class Turns:
    """Runs the kernel of one task after another; every measured time is learnt."""

    def __init__(self, backend: Backend, times: MeasuredTimes) -> None:
        self.backend, self.times = backend, times
        self._heard: SimpleQueue[tuple[Call, Answer]] = SimpleQueue()
        self._new_workers: SimpleQueue[int] = SimpleQueue()
        self._numbers = itertools.count()
        self._closed = False
        backend.listen(self._hear, cold=self._new_workers.put)

    def _hear(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        for each in ended:
            self._heard.put(each)

    def run(self, size: float, intensity: float, parts: Parts) -> Turn:
        """Run a task, its shares side by side; a worker that dies is replaced by the backend and tries again."""
        kernel = kernel_of(intensity)
        job = Job(0, kernel_work(kernel), (kernel, edge_of(size)), {}, size, intensity, 0.0, 0.0, 0.0)
        job.nominal = nominal_intensity(kernel)
        job.shares = [Share(device, part, self.backend.devices[device].kind == "gpu") for device, part in parts]
        job.gpu_fraction = sum(share.part for share in job.shares if share.on_gpu)
        self.backend.send([job.call(share, next(self._numbers), float("nan")) for share in job.shares])
        deaths = sum(self._wait() for _ in job.shares)
        return self._told(job, parts, deaths)

    def _wait(self) -> int:
        """Wait for the answer to a call; return how many workers died at it."""
        try:
            call, answer = self._heard.get(timeout=PATIENCE)
        except Empty:
            raise SchedulerError(
                f"no device answered within {PATIENCE:g} s: look at its worker, start again"
            ) from None
        _, share = call.tag
        share.answer, share.start, share.end = answer, answer.start, answer.end
        return call.attempts

    def _told(self, job: Job, parts: Parts, deaths: int) -> Turn:
        answers = [share.answer for share in job.shares if share.answer is not None]
        if failed := next((each for each in answers if each.outcome == ERROR), None):
            raise SchedulerError(f"{job.work.name} cannot run here: {failed.error()}") from failed.error()
        self._cool()
        if any(each.outcome != VALUE for each in answers):
            return Turn(parts, (), deaths)
        seconds = tuple((share.end - share.start) / share.part for share in job.shares)
        for share, each in zip(job.shares, seconds, strict=True):
            spec = self.backend.devices[share.device]
            self.times.observe(job.work.name, spec.signature, spec.name, job.size, each)
        return Turn(parts, seconds, deaths)

    def _cool(self) -> None:
        """Note, here and not in the backend's thread, which workers are new."""
        while not self._new_workers.empty():
            self.times.cool(self.backend.devices[self._new_workers.get()].name)

    def close(self) -> None:
        """End the workers; may be called again."""
        if not self._closed:
            self._closed = True
            self.backend.close()


SIZES = np.geomspace(100.0, 5000.0, 5)
"""At which every kernel is timed on every device before a race begins: across the sizes of the presets."""
GRID = 32  # sizes at which the times of many tasks are asked for; between them they are drawn as lines


def live_simulation(settings: LiveSettings, library: Library | None = None) -> ContinuousSimulation:
    """Return a race by its settings: simulated, or on real devices."""
    if not isinstance(settings, MeasuredSettings):
        return ContinuousSimulation(settings, library=library)
    ground = MeasuredGround(settings)
    try:
        return ContinuousSimulation(settings, library=library, ground=ground)
    except BaseException:
        ground.close()
        raise


class Settled(Scheduler):
    """Repeats a decision that was carried out: the loop places it again, by the seconds that it took."""

    name = "settled"

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Return the decision."""
        return self.decision


@dataclass
class MeasuredLane(Lane):
    """One scheduler before real devices: tasks in, measured placements out, one after another."""

    turns: Turns | None = None

    def run(self, tasks: Tasks, times: Floats | None = None) -> Placements:
        """Decide, run, learn, task by task."""
        known = class_times(tasks, self.machine.cluster) if times is None else times
        rows = range(len(tasks))
        return joined([self._one(tasks.part(row, row + 1), known[row : row + 1]) for row in rows], tasks)

    def _one(self, task: Tasks, known: Floats) -> Placements:
        begin = time.perf_counter()
        # On a twin: when it was decided nobody knew the seconds that will move the clocks.
        wanted = self.machine.twin().step(task, self.scheduler, times=known)
        self.seconds += time.perf_counter() - begin
        placed = replace(wanted, measured=True) if wanted.rejected[0] else self._performed(task, known, wanted)
        if self.scheduler.learn_every and placed.ran[0]:
            self.scheduler.learn(placed)
        return placed

    def _performed(self, task: Tasks, known: Floats, wanted: Placements) -> Placements:
        turn = self._turn(task, known, wanted)
        self.deaths += turn.deaths
        cluster = self.machine.cluster
        if turn.is_lost:
            return replace(turned_away(task, cluster, known, LOST), measured=True)
        passed, share = known.copy(), 0.0
        for (device, part), seconds in zip(turn.parts, turn.seconds, strict=True):
            passed[0, cluster.class_index[device]] = seconds
            share += part if cluster.is_gpu[device] else 0.0
        expected = {each.name: known[:, column] for column, each in enumerate(cluster.classes)}
        decision = Decision(share, turn.parts[0][0])
        again = self.machine.step(replace(task, expected=expected), Settled(decision), times=passed)
        return replace(again, tasks=task, status=wanted.status, measured=True)

    def _turn(self, task: Tasks, known: Floats, wanted: Placements) -> Turn:
        """Run a task where its scheduler wants it; if that device is gone, whole on the best that is left."""
        assert self.turns is not None  # noqa: S101  # the ground gives every lane the same one
        gpu, cpu, share = int(wanted.gpu[0]), int(wanted.cpu[0]), float(wanted.gpu_fraction[0])
        parts = [(device, part) for device, part in ((gpu, share), (cpu, 1.0 - share)) if device >= 0]
        figures = float(task.size[0]), float(task.compute_intensity[0])
        turn, deaths, tried = Turn((), ()), 0, set[int]()
        while parts:
            tried |= {device for device, _ in parts}
            if all(self.turns.backend.is_alive(device) for device, _ in parts):
                turn = self.turns.run(*figures, parts)
                deaths += turn.deaths
                if not turn.is_lost:
                    break
            parts = self._elsewhere(task, known, tried)
        return replace(turn, deaths=deaths)

    def _elsewhere(self, task: Tasks, known: Floats, tried: set[int]) -> list[tuple[int, float]]:
        assert self.turns is not None  # noqa: S101  # as above
        view, cluster = self.machine.view, self.machine.cluster
        alive = [device for device in range(len(view.free)) if self.turns.backend.is_alive(device)]
        able = [each for each in alive if each not in tried and task.memory_required[0] <= view.memory[each]]
        ends = {each: float(view.free[each] + known[0, cluster.class_index[each]]) for each in able}
        return [(min(ends, key=ends.__getitem__), 1.0)] if ends else []


class MeasuredGround(Ground):
    """Real devices, and what was learnt of their times; all lanes know what any of them has measured."""

    def __init__(self, settings: MeasuredSettings) -> None:
        self._cluster, self._specs = settings.cluster, settings.specs
        self._signatures = [
            next(spec.signature for spec in self._specs if spec.device_class == each.name)
            for each in self._cluster.classes
        ]
        self.times = MeasuredTimes()
        self.turns = Turns(made_backend(settings.backend, self._specs), self.times)
        try:
            self._calibrate()
        except BaseException:
            self.close()
            raise

    def _calibrate(self) -> None:
        """Time every kernel on every device; the first call of each is warm-up."""
        for device in range(len(self._specs)):
            for kernel in ORDER:
                for size in (SIZES[0], *SIZES):
                    self.turns.run(float(size), nominal_intensity(kernel), [(device, 1.0)])

    def dressed(self, tasks: Tasks) -> Tasks:
        """Return tasks with learnt times, whatever times they carried from elsewhere."""
        known = self._learnt(tasks)
        columns = {each.name: known[:, column] for column, each in enumerate(self._cluster.classes)}
        return replace(tasks, measured=columns, expected={})

    def _learnt(self, tasks: Tasks) -> Floats:
        kernels = np.array([kernel_of(float(each)) for each in tasks.compute_intensity])
        known = np.empty((len(tasks), len(self._signatures)))
        for kernel in np.unique(kernels):
            rows = np.flatnonzero(kernels == kernel)
            known[rows] = self._seconds(kernel_work(str(kernel)).name, tasks.size[rows])
        return known

    def _seconds(self, kind: str, sizes: Floats) -> Floats:
        few = len(sizes) <= GRID
        asked = sizes if few else np.geomspace(sizes.min(), sizes.max(), GRID)
        told = np.array([self.times.predict(kind, self._signatures, float(size)) for size in asked])
        if few:
            return told
        lines = [np.interp(np.log(sizes), np.log(asked), np.log(column)) for column in told.T]
        seconds: Floats = np.exp(np.column_stack(lines))
        return seconds

    def policy(self, name: str, settings: LiveSettings) -> Scheduler:
        """Return a scheduler; a forest has had no lessons from formulas and learns from what is measured."""
        return made_policy(name, self.turns.backend, settings.seed)

    def lane(self, policy: Scheduler, cluster: Cluster) -> Lane:
        """Return a lane that runs its tasks."""
        return MeasuredLane(policy, VirtualMultiGPU(cluster=cluster), turns=self.turns)

    def passed(self, times: Floats, placed: Mapping[str, Placements]) -> Floats:
        """Return the medians of what the lanes have measured, or learnt where nobody ran."""
        for task in next(iter(placed.values())).tasks if placed else ():
            self._refresh(kernel_of(task.compute_intensity), task.size)
        return np.median([each.times for each in placed.values()], axis=0) if placed else times

    def _refresh(self, kernel: str, size: float) -> None:
        """Time a kernel beside the race on a class where nobody has run it for long: it may have changed."""
        column = self.times.wants(kernel_work(kernel).name, self._signatures)
        devices = [each.index for each in self._cluster.devices if self._cluster.class_index[each.index] == column]
        if living := [device for device in devices if self.turns.backend.is_alive(device)]:
            self.turns.run(size, nominal_intensity(kernel), [(living[0], 1.0)])

    def label(self, device: Device) -> str:
        """Return the name of a device; nobody shall take an emulated one for a real one."""
        return self._specs[device.index].label

    def close(self) -> None:
        """End the workers."""
        self.turns.close()
