"""`VirtualMultiGPU`, the simulated cluster: a scheduler decides where tasks run, the simulator when."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
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
    count_ends,
    estimate_at,
    remap_clocks,
    remap_ends,
    reserve_entries,
)
from hybrid_scheduler.core.cluster import GPU, Cluster
from hybrid_scheduler.core.compiler import (
    compile_loop,
    interpret_loop,
    interpret_while_cheap,
    is_compiled,
)
from hybrid_scheduler.core.device_index import add_device_index
from hybrid_scheduler.core.late_binding import PAUSE, Pool, build_pool, simulate_late_binding
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
from hybrid_scheduler.core.queues import Block, OrderedQueues, build_queues, simulate_ordered
from hybrid_scheduler.core.tasks import Edges, Floats, Ints, Task, Tasks, no_edges
from hybrid_scheduler.core.view import BUCKETS, View, build_view, with_clocks
from hybrid_scheduler.errors import InputError, PolicyError

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.scheduler import Scheduler

MODES = ("queued", "isolated")
ESTIMATED, EXACT = BACKLOGS = ("estimated", "exact")
"""What a non-clairvoyant scheduler sees of the queues: estimates of its own, or as in version 1.0 their true ends."""
INDEXED_DEVICES = 24  # from here on an index of the devices is faster than a look at all of them
PAIRS_PER_DECISION = 20
"""Pairs of waiting tasks and devices that plain Python looks at in the time of a decision that looks at none."""
BASELINES = ("round_robin", "random", "greedy")


class VirtualMultiGPU:
    """A cluster in simulated time; device clocks persist from one block of tasks to the next.

    `indexed` says that many devices may be indexed for every block, which pays off if that has thousands of tasks.
    """

    def __init__(
        self,
        num_gpus: int = 4,
        memory_per_gpu: float = 8000,
        *,
        cluster: Cluster | None = None,
        mode: str = "queued",
        backlog: str = ESTIMATED,
        indexed: bool = True,
    ) -> None:
        if mode not in MODES:
            raise InputError(f"mode is '{mode}', expected {' or '.join(MODES)}")
        if backlog not in BACKLOGS:
            raise InputError(f"backlog is '{backlog}', expected {' or '.join(BACKLOGS)}")
        self.cluster = cluster or Cluster.default(num_gpus, memory_per_gpu)
        self.queued = mode == "queued"
        self.backlog, self.indexed = backlog, indexed
        self.view = build_view(self.cluster, self.queued)  # its clocks are the actual ones
        self._clocks: Clocks | None = None  # with estimates, once a task with expected times was queued

    def reset(self) -> None:
        """Free every device and set its clock to 0."""
        self.view.free[:] = 0.0
        self._clocks = None

    def twin(self) -> VirtualMultiGPU:
        """Return an independent copy."""
        other = copy(self)
        other.view = with_clocks(self.view, self.view.free.copy())
        if self._clocks is not None:
            other._clocks = copy_clocks(self._clocks, other.view.free)
        return other

    def take_over(self, other: VirtualMultiGPU, now: float) -> None:
        """Continue the queues of another cluster's devices of the same name; all others are free from `now` on."""
        places = {device.name: device.index for device in other.cluster.devices}
        sources = [places.get(device.name, NO_ENTRY) for device in self.cluster.devices]
        self.view.free[:] = [now if each == NO_ENTRY else max(now, other.view.free[each]) for each in sources]
        if other._clocks is not None:
            clocks = remap_clocks(other._clocks, self.view.free, sources)
            self._clocks = remap_ends(clocks, self.view.device_class, match_classes(self.cluster, other.cluster))

    def view_at(self, now: float) -> View:
        """Return what a scheduler can know of the devices at a time not before the last decision."""
        if self._clocks is None or self._clocks.estimates is None:
            return self.view
        estimate_at(now, self._clocks, self._clocks.estimates)
        return with_clocks(self.view, self._clocks.estimates.end)._replace(ended=self._clocks.ended)

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
        if self._clocks is not None and self._clocks.estimates is not None:
            clear_queue(self._clocks.estimates, device)
        self.view = self.view._replace(gpus=np.sort(np.append(self.view.gpus, device)))

    def run(
        self, tasks: Tasks | Iterable[Task], scheduler: Scheduler, *, interpreted: bool | None = False
    ) -> Placements:
        """Reset, then simulate the tasks; `interpreted` as for `step`."""
        self.reset()
        return self.step(Tasks.from_iterable(tasks), scheduler, interpreted=interpreted, last=True)

    def step(
        self,
        tasks: Tasks,
        scheduler: Scheduler,
        *,
        times: Floats | None = None,
        interpreted: bool | None = False,
        last: bool = False,
    ) -> Placements:
        """Simulate the next block of tasks, which arrive after those of earlier blocks.

        `times` are the block's class times, computed if not given; `interpreted` runs the loop in plain Python even
        for a compiled scheduler, None where that is cheaper. After the `last` block nobody asks for the queues any
        more: for a scheduler that never looks at them they are not estimated, nor errors counted that it ignores.
        """
        if self.queued and reorders(scheduler, tasks):
            stream = OrderedStream(self, tasks, scheduler, times, interpreted=interpreted)
            stream.advance(len(tasks))
            return stream.placements
        actual = class_times(tasks, self.cluster) if times is None else times
        alone = last and self._clocks is None and self.hides_backlog(scheduler)  # no other block was, or will be
        unseen = alone and never_looks(scheduler, tasks, actual, self.view)
        blind = self.hides_backlog(scheduler) and not unseen
        expected = actual
        if not unseen:
            expected = np.full(actual.shape, np.nan) if blind else apply_expected_times(tasks, self.cluster, actual)
        visible = expected if scheduler.clairvoyant else np.full((1, actual.shape[1]), np.nan)
        out = _empty_placements(tasks, rejections(tasks, actual, self.cluster))
        hidden = self.hides_times(scheduler)
        columns = _task_columns(tasks, visible, expected, actual, hidden)
        seen = tasks.without_times() if hidden else tasks
        errors = not (alone and declares(scheduler, "ignores_errors"))
        clocks = self._prepare_clocks(len(tasks), expected is not actual, blind, errors)
        known = self.view_at(float(tasks.arrival_time.min()) if self._clocks and len(tasks) else 0.0)
        if unseen:
            known = with_clocks(known, np.full(len(known.free), np.nan))
        queue, steps = build_queue(tasks, out, scheduler.prepare(seen, visible, known))
        if blind:
            write_predictions(scheduler, expected)
        arrives = np.zeros(len(known.free) if tasks.edges.megabytes.any() else 0)
        view = known._replace(arrives=arrives, ended=clocks.ended)
        view = index_devices(view, scheduler, clocks if self.indexed else None)
        run, policy, *options = _bind_loop(scheduler, interpreted, steps, len(view.free))
        fault = run(policy, columns, queue, steps, view, clocks, out, *options)
        if fault[0] >= 0:
            raise describe_fault(scheduler, InvalidDecision(*fault), tasks, self.cluster)
        return Placements(tasks=tasks, cluster=self.cluster, times=actual, queued=self.queued, **out._asdict())

    def hides_times(self, scheduler: Scheduler) -> bool:
        """Whether a scheduler is shown nothing from which the seconds of a task follow."""
        return not scheduler.clairvoyant and self.backlog == ESTIMATED

    def hides_backlog(self, scheduler: Scheduler) -> bool:
        """Whether the queues that a scheduler sees are estimated by what it can know itself."""
        return self.queued and self.hides_times(scheduler)

    def _prepare_clocks(self, tasks: int, has_estimates: bool, blind: bool, errors: bool) -> Clocks:
        """Return the clocks for a block of tasks; once one block has estimates, all later ones keep them."""
        if self._clocks is None and not (has_estimates and self.queued):
            return build_exact_clocks(self.view.free)
        clocks = self._clocks or build_estimated_clocks(self.view.free)
        if blind:
            clocks = count_ends(clocks, self.view.device_class, len(self.cluster.classes), errors=errors)
        estimates = clocks.estimates and reserve_entries(clocks.estimates, 2 * tasks)  # a split task takes two
        self._clocks = clocks._replace(estimates=estimates)
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


class OrderedStream:
    """Tasks for a scheduler that reorders what waits, decided block by block; queues persist between blocks."""

    def __init__(
        self,
        machine: VirtualMultiGPU,
        tasks: Tasks,
        scheduler: Scheduler,
        times: Floats | None = None,
        *,
        interpreted: bool | None = False,
    ) -> None:
        self._tasks, self._scheduler, self._interpreted = tasks, scheduler, interpreted
        actual = class_times(tasks, machine.cluster) if times is None else times
        self._blind = blind = machine.hides_backlog(scheduler)
        expected = np.full(actual.shape, np.nan) if blind else apply_expected_times(tasks, machine.cluster, actual)
        visible = expected if scheduler.clairvoyant else hide_times(actual, scheduler)
        self._out = _empty_placements(tasks, rejections(tasks, actual, machine.cluster))
        self._out.finish[:] = np.nan  # a learner looks at it while tasks still wait
        self._columns = _task_columns(tasks, visible, expected, actual, blind)
        self._clocks, count = build_ordered_clocks(machine, blind), len(machine.view.free)
        has_estimates, indexed = expected is not actual, bool(getattr(scheduler, "indexes_queues", False))
        self._queues = build_queues(len(tasks), count, has_estimates, indexed)
        self._queues.expected_end[:] = machine.view.free[: len(self._queues.expected_end)]
        view = add_queues(machine.view, self._queues, has_estimates, indexed)
        arrives = np.zeros(count if tasks.edges.megabytes.any() else 0)
        view = view._replace(arrives=arrives, ended=self._clocks.ended)
        if blind and tasks.has_edges and getattr(scheduler, "reads_history", False):  # both parts of a split task end
            view = view._replace(history=np.zeros((2 * len(tasks) + 1, 3)), expected=expected)
        can_index = machine.indexed and not has_estimates
        self._view = index_devices(view, scheduler, self._clocks if can_index else None)
        if watches_devices(scheduler):
            for device in range(count):
                push(self._queues.events, self._queues.size, device, machine.view.free)
        aborts, moves_data = hasattr(scheduler, "spoliate"), len(self._view.arrives) > 0
        self._pool = build_pool(len(tasks), count, actual.shape[1], aborts, moves_data)
        columns = self._out._asdict()
        self.placements = Placements(
            tasks=tasks, cluster=machine.cluster, times=actual, aborts=self._pool.aborts, **columns
        )
        self._decided = 0

    def advance(self, last: int) -> Placements:
        """Decide the rows up to `last`; return their placements, NaN for what waits; the end drains the queues."""
        first, whole = self._decided, self._decided == 0 and last == len(self._tasks)
        part = self.placements if whole else self.placements.part(first, last)
        columns = self._columns
        visible = columns.visible[first:last] if len(columns.visible) == len(self._tasks) else columns.visible
        seen = part.tasks.without_times() if self._blind else part.tasks
        planned = self._scheduler.prepare(seen, visible, self._view)
        if self._blind:
            write_predictions(self._scheduler, columns.expected[first:last])
        queue, steps = build_queue(part.tasks, self._out if whole else _part(self._out, first, last), planned)
        if first:
            queue = queue._replace(order=first + (queue.order if len(queue.order) else np.arange(steps)))
        run, policy, *options = bind_ordered_loop(
            self._scheduler, self._pool, self._interpreted, work=steps * len(self._view.free), waiting=last
        )
        until = np.inf if last == len(self._tasks) else -np.inf
        state = (self._view, self._clocks, self._out, self._queues, Block(first, until))
        fault = run(policy, columns, queue, steps, *state, *options)
        if fault[0] >= 0:
            raise describe_fault(self._scheduler, InvalidDecision(*fault), self._tasks, self.placements.cluster)
        if fault[0] != PAUSE:
            self._decided = last
        return part


def hide_times(actual: Floats, scheduler: Scheduler) -> Floats:
    """Return one row of NaN; to a scheduler that binds late, inf tells which classes cannot run a task."""
    if hasattr(scheduler, "pick") and not np.isfinite(actual).all():
        return np.where(np.isfinite(actual), np.nan, np.inf)
    return np.full((1, actual.shape[1]), np.nan)


def build_ordered_clocks(machine: VirtualMultiGPU, blind: bool) -> Clocks:
    """Return the clocks of loops in which tasks overtake each other."""
    clocks, view = build_exact_clocks(machine.view.free), machine.view
    return count_ends(clocks, view.device_class, len(machine.cluster.classes), ordered=True) if blind else clocks


def write_predictions(scheduler: Scheduler, expected: Floats) -> None:
    """Write how long a non-clairvoyant scheduler expects the tasks of a block to take; NaN where it does not know."""
    seconds = scheduler.predict_seconds()
    if seconds is not None:
        known = min(expected.shape[1], seconds.shape[1])
        usable = np.isfinite(seconds[:, :known]) & (seconds[:, :known] > 0.0)
        expected[:, :known] = np.where(usable, seconds[:, :known], np.nan)


def match_classes(cluster: Cluster, other: Cluster) -> list[int]:
    """Return for every class of a cluster the place of the one of the same name in another, or NO_ENTRY."""
    places = {each.name: place for place, each in enumerate(other.classes)}
    return [places.get(each.name, NO_ENTRY) for each in cluster.classes]


def never_looks(scheduler: Scheduler, tasks: Tasks, times: Floats, view: View) -> bool:
    """Whether nobody asks when devices will be free: the scheduler says so, and each task finds its CPU.

    The loop itself asks where a node has several CPUs to split a task with, or a task does not fit the one there is.
    """
    if not declares(scheduler, "ignores_backlog") or view.cpu_count.max() > 1:
        return False
    cpus = view.kind != GPU
    if tasks.most_memory > float(view.memory[cpus].min()):
        return False
    # Class by class: a selection of columns is a copy, which took as long as a tenth of the loop.
    return all(bool(np.isfinite(times[:, kind]).all()) for kind in np.unique(view.device_class[cpus]))


def declares(scheduler: Scheduler, trait: str) -> bool:
    """Whether a scheduler ignores something by its own word: of the class that decides, not of one that it is from.

    A class derived from it may look at what it likes.
    """
    deciding = next(each for each in type(scheduler).__mro__ if "choose" in vars(each))
    return bool(vars(deciding).get(trait, False))


def index_devices(view: View, scheduler: Scheduler, clocks: Clocks | None) -> View:
    """Return the view with an index of its devices, if the scheduler uses one, they are many, and it can answer.

    It cannot where data arrives on each device at another time, and of ordered queues with estimates (no clocks).
    """
    used = getattr(scheduler, "indexes_devices", False) and not hasattr(scheduler, "pick")
    if not used or len(view.free) < INDEXED_DEVICES or clocks is None or len(view.arrives) > 0:
        return view._replace(device_index=None)
    if clocks.estimates is not None and view.node[-1] > 0:
        return view._replace(device_index=None)  # `oracle` then looks at all devices, and not all are up to date
    return add_device_index(view, clocks)


def add_queues(view: View, queues: OrderedQueues, has_estimates: bool, indexed: bool) -> View:
    """Return a view of the same devices with empty ordered queues, and clocks that the queues move."""
    count = len(view.free)
    return view._replace(
        free=view.free.copy(),
        running_end=view.free.copy() if has_estimates else view.free,
        waiting=queues.length,
        queue_count=np.zeros((count * indexed, BUCKETS + 1), np.int64),
        queue_work=np.zeros((count * indexed, BUCKETS + 1)),
    )


def _part(out: PlacementColumns, first: int, last: int) -> PlacementColumns:
    columns: Any = (column[first:last] for column in out)
    return PlacementColumns(*columns)


def _task_columns(tasks: Tasks, visible: Floats, expected: Floats, actual: Floats, blind: bool) -> TaskColumns:
    children: Edges = tasks.children if tasks.has_edges else no_edges(0)
    return TaskColumns(
        size=tasks.size,
        compute_intensity=tasks.compute_intensity,
        memory_required=tasks.memory_required,
        arrival_time=tasks.arrival_time,
        duration_estimate=np.full(1, np.nan) if blind else tasks.duration_estimate,
        parent_start=tasks.edges.start,
        parents=tasks.edges.parents,
        megabytes=tasks.edges.megabytes,
        child_start=children.start,
        children=children.parents,
        visible=visible,
        expected=expected,
        actual=actual,
        divisible=tasks.divisible,
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


def build_queue(tasks: Tasks, out: PlacementColumns, planned: Ints | None) -> tuple[Queue, int]:
    """Return the order of decisions about some tasks, and how many there are."""
    steps = len(tasks) - int(np.count_nonzero(out.status))
    none, size = np.empty(0, np.int64), np.zeros(1, np.int64)
    missing = np.diff(tasks.edges.start) if tasks.has_edges else none
    if not tasks.has_edges and planned is None and tasks.in_order and steps == len(tasks):
        return Queue(none, none, missing, size), steps
    runs = out.status == RAN
    if tasks.has_edges and planned is None:
        queue = Queue(none, np.empty(steps, np.int64), missing, size)
        for row in np.flatnonzero(runs & (missing == 0)):
            push(queue.heap, queue.size, int(row), out.ready)
        return queue, steps
    order = np.argsort(tasks.arrival_time, kind="stable") if planned is None else planned
    return Queue(order[runs[order]], none, missing, size), steps


def _bind_loop(scheduler: Scheduler, interpreted: bool | None, steps: int, devices: int) -> tuple[Any, ...]:
    """Return the loop with the scheduler's method bound in, what stands for `self` in it, and further arguments."""
    loop, methods = _find_loop(scheduler)
    plans = loop is simulate_batches
    options = (int(scheduler.window),) if plans else ()
    bound = methods if plans else {"decide": _choose_checked}
    if is_compiled(methods["decide"]) and not interpreted:
        if interpreted is None:
            work = count_pairs(steps * devices, min(int(scheduler.window), steps)) if plans else steps * devices
            plain = interpret_while_cheap(loop, methods, bound, scheduler, work)
            if plain is not None:
                return plain, scheduler, *options
        return *compile_loop(loop, methods, scheduler, allocates=plans), *options
    return interpret_loop(loop, bound), scheduler, *options


def _find_loop(scheduler: Scheduler) -> tuple[Any, dict[str, Any]]:
    """Return the loop that starts tasks in the order of decisions, and the method that goes into it."""
    plan = getattr(type(scheduler), "plan", None)
    return (simulate_batches if plan else simulate), {"decide": plan or find_choose(scheduler)}


def find_choose(scheduler: Scheduler) -> Callable[..., tuple[float, int]]:
    """Return what goes into the loop for the next block: `choose`, or what the scheduler names as its `chooser`."""
    found: Callable[..., tuple[float, int]] = getattr(scheduler, "chooser", None) or type(scheduler).choose
    return found


def watches_devices(scheduler: Scheduler) -> bool:
    """Whether the loop of a scheduler has to know when each device ends, whether or not work waits for it."""
    return not hasattr(scheduler, "key") or steals_work(scheduler)


def steals_work(scheduler: Scheduler) -> bool:
    """Whether idle devices may steal: by a method `steal`, unless the scheduler sets `steals` to False."""
    return hasattr(scheduler, "steal") and bool(getattr(scheduler, "steals", True))


def count_pairs(work: int, waiting: int) -> int:
    """Return the work, in tasks × devices, of a policy that looks at all that waits before every decision."""
    return work * max(waiting, PAIRS_PER_DECISION) // PAIRS_PER_DECISION


def bind_ordered_loop(
    scheduler: Scheduler,
    pool: Pool,
    interpreted: bool | None = False,
    aborts: bool = True,
    work: int = 0,
    waiting: int | None = None,
) -> tuple[Any, ...]:
    """Return the loop of a scheduler that reorders, what stands for `self` in it, and further arguments.

    `waiting` is how many tasks wait in common at most; a loop that binds late is compiled where nobody knows.
    """
    loop, methods = _find_ordered_loop(scheduler, aborts)
    extra = True if "find_victim" in methods or "weigh_theft" in methods else None
    options: tuple[Any, ...] = (extra,) if loop is simulate_ordered else (pool, extra)
    bound = {**methods, "decide": _choose_checked} if "decide" in methods else methods
    if all(map(is_compiled, methods.values())) and not interpreted:
        if interpreted is None and (loop is simulate_ordered or waiting is not None):
            work = work if loop is simulate_ordered else count_pairs(work, waiting or 0)
            plain = interpret_while_cheap(loop, methods, bound, scheduler, work)
            if plain is not None:
                return plain, scheduler, *options
        return *compile_loop(loop, methods, scheduler), *options
    return interpret_loop(loop, bound), scheduler, *options


def _find_ordered_loop(scheduler: Scheduler, aborts: bool = True) -> tuple[Any, dict[str, Any]]:
    """Return the loop in which tasks overtake each other, and the methods that go into it."""
    kind: Any = type(scheduler)
    loop: Any = simulate_late_binding
    spoliate = getattr(kind, "spoliate", None) if aborts else None
    methods = {"select": getattr(kind, "pick", None), "find_victim": spoliate}
    if hasattr(kind, "key"):
        methods = {"decide": find_choose(scheduler), "rank": kind.key, "estimate": getattr(kind, "seconds", kind.key)}
        methods["weigh_theft"] = kind.steal if steals_work(scheduler) else None
        loop = simulate_ordered
    return loop, {name: method for name, method in methods.items() if method}


def reorders(scheduler: Scheduler, tasks: Tasks) -> bool:
    """Whether waiting tasks overtake each other: by a `key` of each, or because idle devices `pick` one.

    A policy that has one of them and does not always use it says so in a method `reorders(tasks)`.
    """
    if not (callable(getattr(scheduler, "key", None)) or callable(getattr(scheduler, "pick", None))):
        return False
    asked = getattr(scheduler, "reorders", None)
    return bool(asked(tasks)) if callable(asked) else True


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


def describe_fault(scheduler: Scheduler, fault: InvalidDecision, tasks: Tasks, cluster: Cluster) -> PolicyError:
    """Return an error that says what a scheduler did wrong."""
    where = f"scheduler '{scheduler.name}' chose gpu_fraction {fault.gpu_fraction:g} on device {fault.device}"
    last = len(cluster.devices) - 1
    gpus = ", ".join(str(index) for index in cluster.gpus[:8]) + (" …" if len(cluster.gpus) > 8 else "")
    if fault.gpu_fraction == np.inf and hasattr(type(scheduler), "spoliate"):
        return PolicyError(
            f"scheduler '{scheduler.name}' aborted a run that device {fault.device} cannot take over, or did so too "
            "often: spoliate returns a device whose task would end earlier, or -1"
        )
    picks = np.isnan(fault.gpu_fraction) and hasattr(type(scheduler), "pick")
    if picks and fault.device < 0:
        return PolicyError(
            f"scheduler '{scheduler.name}' left task {tasks.task_id[fault.row]} waiting with all devices idle: "
            "pick must take one that an idle device can run"
        )
    if picks:
        return PolicyError(
            f"scheduler '{scheduler.name}' picked a task that device {fault.device} cannot run (row {fault.row}): "
            "pick returns a position below waiting.length of a task that fits, or -1"
        )
    if not 0.0 <= fault.gpu_fraction <= 1.0:
        rule = "gpu_fraction is a number from 0 to 1"
    elif not 0 <= fault.device <= last:
        rule = f"devices are 0 to {last}"
    else:
        rule = f"that device is a CPU and takes no GPU share; GPUs are {gpus or 'none here'}"
    return PolicyError(f"{where} for task {tasks.task_id[fault.row]} (row {fault.row}): {rule}")
