"""`VirtualMultiGPU` is a simulated cluster: it turns tasks into placements by asking a scheduler."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.clocks import (
    NONE,
    Clocks,
    believing_clocks,
    copied,
    forget,
    look,
    moved,
    true_clocks,
    with_room,
)
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiling import compiled_loop, interpreted_loop, is_compiled
from hybrid_scheduler.core.loop import Columns, Fault, Out, Queue, push, walk, walk_batches
from hybrid_scheduler.core.metrics import measure
from hybrid_scheduler.core.physics import class_times, expected_times, rejections
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Edges, Floats, Ints, Task, Tasks, no_edges
from hybrid_scheduler.core.view import View, view_of
from hybrid_scheduler.errors import InputError, PolicyError

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.scheduler import Scheduler

MODES = ("queued", "isolated")
BASELINES = ("round_robin", "random", "greedy")


class VirtualMultiGPU:
    """A cluster in simulated time; it remembers its devices' clocks from one block of tasks to the next."""

    def __init__(
        self,
        num_gpus: int = 4,
        memory_per_gpu: float = 8000,
        *,
        cluster: Cluster | None = None,
        mode: str = "queued",
    ) -> None:
        if mode not in MODES:
            raise InputError(f"mode is '{mode}', expected {' or '.join(MODES)}")
        self.cluster = cluster or Cluster.default(num_gpus, memory_per_gpu)
        self.queued = mode == "queued"
        self.view = view_of(self.cluster, self.queued)  # its clocks are the true ones
        self._clocks: Clocks | None = None  # with beliefs, from the first task on that carries expected times

    def reset(self) -> None:
        """Free every device and set its clock to 0."""
        self.view.free[:] = 0.0
        self._clocks = None

    def twin(self) -> VirtualMultiGPU:
        """Return a copy with clocks of its own."""
        other = copy(self)
        other.view = self.view._replace(free=self.view.free.copy())
        if self._clocks is not None:
            other._clocks = copied(self._clocks, other.view.free)
        return other

    def take_over(self, other: VirtualMultiGPU, now: float) -> None:
        """Go on with the work of devices of the same name on another machine; all others are free from `now` on."""
        places = {device.name: device.index for device in other.cluster.devices}
        sources = [places.get(device.name, NONE) for device in self.cluster.devices]
        free = [now if source == NONE else max(now, other.view.free[source]) for source in sources]
        self.view.free[:] = free
        if other._clocks is not None:
            self._clocks = moved(other._clocks, self.view.free, sources)

    def view_at(self, now: float) -> View:
        """Return what can be known of the devices at a time that is not before the last decision."""
        if self._clocks is None:
            return self.view
        look(now, self._clocks)
        return self.view._replace(free=self._clocks.believed)

    def fail(self, device: int) -> None:
        """Take a GPU away: nothing fits it any more. What it had taken is the caller's to place again."""
        if device not in self.view.gpus:
            raise InputError(f"device {device} is no GPU at work: GPUs at work are {self.view.gpus.tolist()}")
        self.view.memory[device] = -1.0
        self.view = self.view._replace(gpus=self.view.gpus[self.view.gpus != device])

    def restore(self, device: int, now: float) -> None:
        """Bring a failed GPU back, empty from `now` on."""
        if device not in self.cluster.gpus or device in self.view.gpus:
            raise InputError(f"device {device} is no failed GPU")
        self.view.memory[device] = self.cluster.per_device("memory")[device]
        self.view.free[device] = now
        if self._clocks is not None:
            forget(self._clocks, device)
        self.view = self.view._replace(gpus=np.sort(np.append(self.view.gpus, device)))

    def run(self, tasks: Tasks | Iterable[Task], scheduler: Scheduler, *, interpreted: bool = False) -> Placements:
        """Reset, then simulate the tasks."""
        self.reset()
        return self.step(Tasks.of(tasks), scheduler, interpreted=interpreted)

    def step(
        self, tasks: Tasks, scheduler: Scheduler, *, times: Floats | None = None, interpreted: bool = False
    ) -> Placements:
        """Simulate a block of tasks that arrive after those of the blocks before.

        `times` are the block's class times if the caller has them; `interpreted` runs the loop in plain
        Python even for a compiled scheduler.
        """
        true = class_times(tasks, self.cluster) if times is None else times
        expected = expected_times(tasks, self.cluster, true)
        seen = expected if scheduler.sighted else np.full((1, true.shape[1]), np.nan)
        out = _empty_placements(tasks, rejections(tasks, true, self.cluster))
        clocks = self._clocks_for(len(tasks), expected is not true)
        known = self.view_at(_first_arrival(tasks)) if self._clocks else self.view
        scheduler.prepare(tasks, seen, known)
        queue, steps = _queue(tasks, out, scheduler.order)
        view = known._replace(arrives=np.zeros(len(known.free) if tasks.edges.megabytes.any() else 0))
        run, policy = _bound_loop(scheduler, interpreted)
        fault = run(
            policy,
            _columns(tasks, seen, expected, true),
            queue,
            steps,
            view,
            clocks,
            out,
            self.queued,
            int(scheduler.window),
        )
        if fault[0] >= 0:
            raise _policy_error(scheduler, Fault(*fault), tasks, self.cluster)
        return Placements(tasks=tasks, cluster=self.cluster, times=true, queued=self.queued, **out._asdict())

    def _clocks_for(self, tasks: int, surprising: bool) -> Clocks:
        """Return the clocks for a block of tasks; once something unforeseen is queued, beliefs are kept for all."""
        if self._clocks is None and not (surprising and self.queued):
            return true_clocks(self.view.free)
        self._clocks = with_room(self._clocks or believing_clocks(self.view.free), 2 * tasks)  # a split takes two
        return self._clocks

    def evaluate_baseline_schedulers(
        self, tasks: Tasks | Iterable[Task], schedulers: Iterable[str] = BASELINES, seed: int = 0
    ) -> dict[str, dict[str, float]]:
        """Run each baseline on the same tasks; return its makespan, average and longest task time, and more."""
        columns = Tasks.of(tasks)
        results = {}
        for name in schedulers:
            placements = self.run(columns, registry.schedulers.create(name, seed=seed))
            figures = measure(placements)
            results[name] = {
                "makespan": figures["makespan"],
                "avg_time": figures["mean_execution"],
                "max_time": float(np.nanmax(placements.execution, initial=0.0)),
                "total_time": figures["total_time"],
                "energy": figures["energy"],
                "cost": figures["cost"],
            }
        return results


def _columns(tasks: Tasks, seen: Floats, expected: Floats, true: Floats) -> Columns:
    children: Edges = tasks.children if tasks.has_edges else no_edges(0)
    return Columns(
        size=tasks.size,
        compute_intensity=tasks.compute_intensity,
        memory_required=tasks.memory_required,
        arrival_time=tasks.arrival_time,
        duration_estimate=tasks.duration_estimate,
        parent_start=tasks.edges.start,
        parents=tasks.edges.parents,
        megabytes=tasks.edges.megabytes,
        child_start=children.start,
        children=children.parents,
        seen=seen,
        expected=expected,
        true=true,
    )


def _first_arrival(tasks: Tasks) -> float:
    return float(tasks.arrival_time.min()) if len(tasks) else 0.0


def _empty_placements(tasks: Tasks, status: np.ndarray[Any, np.dtype[np.uint8]]) -> Out:
    count, all_run = len(tasks), not status.any()

    def floats() -> Floats:
        return np.empty(count) if all_run else np.full(count, np.nan)  # rejected rows stay NaN

    def devices() -> np.ndarray[Any, np.dtype[np.int32]]:
        return np.empty(count, np.int32) if all_run else np.full(count, -1, np.int32)

    return Out(
        gpu_fraction=floats(),
        gpu=devices(),
        cpu=devices(),
        gpu_start=floats(),
        cpu_start=floats(),
        ready=tasks.arrival_time.copy() if tasks.has_edges else tasks.arrival_time,
        finish=floats(),
        status=status,
    )


def _queue(tasks: Tasks, out: Out, planned: Ints | None) -> tuple[Queue, int]:
    steps = len(tasks) - int(np.count_nonzero(out.status))
    none, size = np.empty(0, np.int64), np.zeros(1, np.int64)
    missing = np.diff(tasks.edges.start) if tasks.has_edges else none
    if not tasks.has_edges and planned is None and tasks.in_order and steps == len(tasks):
        return Queue(none, none, missing, size), steps
    runs = out.status == RAN
    if tasks.has_edges and planned is None:
        queue = Queue(none, np.empty(steps, np.int64), missing, size)
        for row in np.flatnonzero(runs & (missing == 0)):
            push(queue, int(row), out.ready)
        return queue, steps
    order = np.argsort(tasks.arrival_time, kind="stable") if planned is None else planned
    return Queue(order[runs[order]], none, missing, size), steps


def _bound_loop(scheduler: Scheduler, interpreted: bool) -> tuple[Callable[..., Any], Any]:
    plans = scheduler.plans
    loop = walk_batches if plans else walk
    method = type(scheduler).plan if plans else scheduler.chooser
    if is_compiled(method) and not interpreted:
        return compiled_loop(loop, method, scheduler)
    if plans:
        return interpreted_loop(loop, method), scheduler
    return interpreted_loop(loop, _checked(scheduler)), scheduler


def _checked(scheduler: Scheduler) -> Callable[..., tuple[float, int]]:
    def decide(policy: Scheduler, task: Any, view: Any) -> tuple[float, int]:
        answer = policy.choose(task, view)
        try:
            gpu_fraction, device = answer
            return float(gpu_fraction), operator.index(device)
        except (TypeError, ValueError):
            raise PolicyError(
                f"scheduler '{scheduler.name}' answered {answer!r} for task row {task.row}: "
                "choose returns (gpu_fraction, device), such as (1.0, 2)"
            ) from None

    return decide


def _policy_error(scheduler: Scheduler, fault: Fault, tasks: Tasks, cluster: Cluster) -> PolicyError:
    where = f"scheduler '{scheduler.name}' chose gpu_fraction {fault.gpu_fraction:g} on device {fault.device}"
    last = len(cluster.devices) - 1
    gpus = ", ".join(str(index) for index in cluster.gpus[:8]) + (" …" if len(cluster.gpus) > 8 else "")
    if not 0.0 <= fault.gpu_fraction <= 1.0:
        rule = "gpu_fraction is a number from 0 to 1"
    elif not 0 <= fault.device <= last:
        rule = f"devices are 0 to {last}"
    else:
        rule = f"that device is a CPU and takes no GPU share; GPUs are {gpus or 'none here'}"
    return PolicyError(f"{where} for task {tasks.task_id[fault.row]} (row {fault.row}): {rule}")
