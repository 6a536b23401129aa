"""`VirtualMultiGPU`, the simulated cluster: a scheduler decides where tasks run, the simulator when."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.clocks import (
    NO_ENTRY,
    Clocks,
    build_estimated_clocks,
    build_exact_clocks,
    clear_queue,
    copy_clocks,
    remap_clocks,
    reserve_entries,
    update_estimates,
)
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import compile_loop, interpret_loop, is_compiled
from hybrid_scheduler.core.loop import (
    InvalidDecision,
    PlacementColumns,
    Queue,
    TaskColumns,
    push,
    simulate,
    simulate_batches,
)
from hybrid_scheduler.core.metrics import measure
from hybrid_scheduler.core.physics import apply_expected_times, class_times, rejections
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Edges, Floats, Ints, Task, Tasks, no_edges
from hybrid_scheduler.core.view import View, build_view
from hybrid_scheduler.errors import InputError, PolicyError

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.scheduler import Scheduler

MODES = ("queued", "isolated")
BATCH_WINDOW = 4096  # most tasks that a batch policy without a window of its own is given at once
BASELINES = ("round_robin", "random", "greedy")


class VirtualMultiGPU:
    """A cluster in simulated time; device clocks persist from one block of tasks to the next."""

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
        self.view = build_view(self.cluster, self.queued)  # its clocks are the actual ones
        self._clocks: Clocks | None = None  # with estimates, once a task with expected times was queued

    def reset(self) -> None:
        """Free every device and set its clock to 0."""
        self.view.free[:] = 0.0
        self._clocks = None

    def twin(self) -> VirtualMultiGPU:
        """Return an independent copy."""
        other = copy(self)
        other.view = self.view._replace(free=self.view.free.copy())
        if self._clocks is not None:
            other._clocks = copy_clocks(self._clocks, other.view.free)
        return other

    def take_over(self, other: VirtualMultiGPU, now: float) -> None:
        """Continue the queues of another cluster's devices of the same name; all others are free from `now` on."""
        places = {device.name: device.index for device in other.cluster.devices}
        sources = [places.get(device.name, NO_ENTRY) for device in self.cluster.devices]
        self.view.free[:] = [now if each == NO_ENTRY else max(now, other.view.free[each]) for each in sources]
        if other._clocks is not None:
            self._clocks = remap_clocks(other._clocks, self.view.free, sources)

    def view_at(self, now: float) -> View:
        """Return what a scheduler can know of the devices at a time not before the last decision."""
        if self._clocks is None:
            return self.view
        update_estimates(now, self._clocks)
        return self.view._replace(free=self._clocks.estimated)

    def fail(self, device: int) -> None:
        """Take a GPU out of service: nothing fits it any more. The caller reschedules its unfinished tasks."""
        if device not in self.view.gpus:
            raise InputError(f"device {device} is no GPU at work: GPUs at work are {self.view.gpus.tolist()}")
        self.view.memory[device] = -1.0
        self.view = self.view._replace(gpus=self.view.gpus[self.view.gpus != device])

    def restore(self, device: int, now: float) -> None:
        """Return a failed GPU to service, free from `now` on."""
        if device not in self.cluster.gpus or device in self.view.gpus:
            raise InputError(f"device {device} is no failed GPU")
        self.view.memory[device] = self.cluster.per_device("memory")[device]
        self.view.free[device] = now
        if self._clocks is not None:
            clear_queue(self._clocks, device)
        self.view = self.view._replace(gpus=np.sort(np.append(self.view.gpus, device)))

    def run(self, tasks: Tasks | Iterable[Task], scheduler: Scheduler, *, interpreted: bool = False) -> Placements:
        """Reset, then simulate the tasks."""
        self.reset()
        return self.step(Tasks.from_iterable(tasks), scheduler, interpreted=interpreted)

    def step(
        self, tasks: Tasks, scheduler: Scheduler, *, times: Floats | None = None, interpreted: bool = False
    ) -> Placements:
        """Simulate the next block of tasks, which arrive after those of earlier blocks.

        `times` are the block's class times, computed if not given; `interpreted` runs the loop in plain Python even
        for a compiled scheduler.
        """
        actual = class_times(tasks, self.cluster) if times is None else times
        expected = apply_expected_times(tasks, self.cluster, actual)
        visible = expected if scheduler.clairvoyant else np.full((1, actual.shape[1]), np.nan)
        out = _empty_placements(tasks, rejections(tasks, actual, self.cluster))
        clocks = self._prepare_clocks(len(tasks), expected is not actual)
        known = self.view_at(float(tasks.arrival_time.min()) if self._clocks and len(tasks) else 0.0)
        queue, steps = _build_queue(tasks, out, scheduler.prepare(tasks, visible, known))
        view = known._replace(arrives=np.zeros(len(known.free) if tasks.edges.megabytes.any() else 0))
        run, policy, *options = _bind_loop(scheduler, interpreted)
        columns = _task_columns(tasks, visible, expected, actual)
        fault = run(policy, columns, queue, steps, view, clocks, out, *options)
        if fault[0] >= 0:
            raise _policy_error(scheduler, InvalidDecision(*fault), tasks, self.cluster)
        return Placements(tasks=tasks, cluster=self.cluster, times=actual, queued=self.queued, **out._asdict())

    def _prepare_clocks(self, tasks: int, has_estimates: bool) -> Clocks:
        """Return the clocks for a block of tasks; once one block has estimates, all later ones keep them."""
        if self._clocks is None and not (has_estimates and self.queued):
            return build_exact_clocks(self.view.free)
        clocks = self._clocks or build_estimated_clocks(self.view.free)
        self._clocks = reserve_entries(clocks, 2 * tasks)  # a split task takes two
        return self._clocks

    def evaluate_baseline_schedulers(
        self, tasks: Tasks | Iterable[Task], schedulers: Iterable[str] = BASELINES, seed: int = 0
    ) -> dict[str, dict[str, float]]:
        """Run each baseline on the same tasks; return makespan, mean and longest task time, energy and cost."""
        columns = Tasks.from_iterable(tasks)
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


def _task_columns(tasks: Tasks, visible: Floats, expected: Floats, actual: Floats) -> TaskColumns:
    children: Edges = tasks.children if tasks.has_edges else no_edges(0)
    return TaskColumns(
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
        visible=visible,
        expected=expected,
        actual=actual,
    )


def _empty_placements(tasks: Tasks, status: np.ndarray[Any, np.dtype[np.uint8]]) -> PlacementColumns:
    count, all_run = len(tasks), not status.any()

    def floats() -> Floats:
        return np.empty(count) if all_run else np.full(count, np.nan)  # rejected rows stay NaN

    def devices() -> np.ndarray[Any, np.dtype[np.int32]]:
        return np.empty(count, np.int32) if all_run else np.full(count, -1, np.int32)

    return PlacementColumns(
        gpu_fraction=floats(),
        gpu=devices(),
        cpu=devices(),
        gpu_start=floats(),
        cpu_start=floats(),
        ready=tasks.arrival_time.copy() if tasks.has_edges else tasks.arrival_time,
        finish=floats(),
        status=status,
    )


def _build_queue(tasks: Tasks, out: PlacementColumns, planned: Ints | None) -> tuple[Queue, int]:
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


def _bind_loop(scheduler: Scheduler, interpreted: bool) -> tuple[Any, ...]:
    """Return the loop with the scheduler's method bound in, what stands for `self` in it, and further arguments."""
    plan = getattr(type(scheduler), "plan", None)
    loop, options = (simulate_batches, (int(scheduler.window),)) if plan else (simulate, ())
    method = plan or scheduler.chooser
    if is_compiled(method) and not interpreted:
        return *compile_loop(loop, method, scheduler, allocates=plan is not None), *options
    return interpret_loop(loop, plan or _choose_checked), scheduler, *options


def _choose_checked(policy: Scheduler, task: Any, view: Any) -> tuple[float, int]:
    answer = policy.choose(task, view)
    try:
        gpu_fraction, device = answer
        return float(gpu_fraction), operator.index(device)
    except (TypeError, ValueError):
        raise PolicyError(
            f"scheduler '{policy.name}' answered {answer!r} for task row {task.row}: "
            "choose returns (gpu_fraction, device), such as (1.0, 2)"
        ) from None


def _policy_error(scheduler: Scheduler, fault: InvalidDecision, tasks: Tasks, cluster: Cluster) -> PolicyError:
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
