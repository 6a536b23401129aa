"""A live race whose tasks really run: policies decide as in the simulation, devices say how long it took.

Every lane has its own queues. When a lane has decided, the task's kernel is run at once on the devices it chose, and
the measured seconds move that lane's clocks. So times of execution are measured; queues, and all that follows from
them, are those that these times make. Lanes take turns on one backend, one task at a time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hybrid_scheduler.engine.ground import Ground
from hybrid_scheduler.engine.live_lane import turned_away
from hybrid_scheduler.engine.settings import LiveSettings
from hybrid_scheduler.engine.simulation import ContinuousSimulation
from hybrid_scheduler.execution.hybrid_scheduler import made_backend, made_policy
from hybrid_scheduler.execution.kernel_tasks import ORDER, kernel_of, kernel_work, nominal_intensity
from hybrid_scheduler.execution.live_settings import MeasuredSettings
from hybrid_scheduler.execution.measured_times import MeasuredTimes
from hybrid_scheduler.execution.turns import Turn, Turns
from hybrid_scheduler.lane import Lane
from hybrid_scheduler.model.cluster import Cluster, Device
from hybrid_scheduler.model.placements import LOST, Decision, Placements, joined
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.physics import class_times
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.simulator import VirtualMultiGPU
from hybrid_scheduler.view import TaskView, View
from hybrid_scheduler.workload.library import Library

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
