"""HEFT and PEFT: list scheduling of graphs, planned before the first task starts; and a search over such plans.

HEFT (Topcuoglu, Hariri, Wu 2002) ranks tasks by the longest path to the end and inserts each into the earliest gap
on the device where it ends first. PEFT (Arabnejad, Barbosa 2014) adds an optimistic cost of what follows. Both
know all tasks, arrivals and times beforehand. `search_plan` makes many list schedules by expected durations and
returns the shortest (used by `hybrid_ml`).
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.compiler import compiled, counted, jit
from hybrid_scheduler.core.loop import transfer_time
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.learning.features import longest_path
from hybrid_scheduler.schedulers.scheduler import Scheduler


class StaticPlan(Scheduler):
    """Plans a block in `prepare`, then follows the plan."""

    batch_mode = True

    def __init__(self) -> None:
        self.device = np.empty(0, np.int64)

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> Ints:
        """Plan the block: rank, then insert; return the order of the planned starts."""
        seconds = times[:, view.device_class]
        seconds = np.where(tasks.memory_required[:, None] <= view.memory, seconds, np.inf)
        priority, outlook = self.rank(tasks, seconds, view)
        edges, children = tasks.edges, tasks.children
        rows = _list_order(priority, np.diff(edges.start), children.start, children.parents)
        self.device, start = _insert(
            rows, seconds, outlook, tasks.arrival_time, edges.start, edges.parents, edges.megabytes, view
        )
        order: Ints = np.lexsort((np.argsort(rows), start))
        return order

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Return the priority of every row, and what a device promises beyond its finish time."""
        raise NotImplementedError

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Follow the plan."""
        device = self.device[task.row]
        return float(view.kind[device]), device


class Heft(StaticPlan):
    """Heterogeneous earliest finish time."""

    name = "heft"

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Upward rank: the longest path to the end in mean times and mean transfers."""
        mean = finite_mean(seconds)
        priority = upward_rank(
            tasks.topological, mean, mean_transfers(tasks, view), tasks.children.start, tasks.children.parents
        )
        return priority, np.zeros((1, seconds.shape[1]))


class Peft(StaticPlan):
    """Predict earliest finish time."""

    name = "peft"

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Optimistic cost table: the best possible rest of the path from every device."""
        table = _optimistic_costs(
            tasks.topological, seconds, mean_transfers(tasks, view), tasks.children.start, tasks.children.parents
        )
        return finite_mean(np.where(np.isfinite(seconds), table, np.inf)), table


def finite_mean(values: Floats) -> Floats:
    """Return the mean over the devices that can run a task."""
    finite = np.isfinite(values)
    mean: Floats = np.where(finite, values, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    return mean


def mean_transfers(tasks: Tasks, view: View) -> Floats:
    """Mean seconds of every edge (seen from the parents) over all pairs of different devices."""
    count = len(view.free)
    if count < 2 or not tasks.edges.megabytes.any():
        return np.zeros(len(tasks.edges.parents))
    slowest = np.minimum(view.bandwidth[:, None], view.bandwidth)
    slowest = np.where(view.node[:, None] == view.node, slowest, np.minimum(slowest, view.network))
    per_megabyte = (1.0 / slowest)[~np.eye(count, dtype=bool)].mean()
    transfers: Floats = tasks.children.megabytes * per_megabyte
    return transfers


@jit
def upward_rank(topological: Ints, mean: Floats, transfers: Floats, child_start: Ints, children: Ints) -> Floats:
    """Return the longest path from every row to the end, in mean times and mean transfers."""
    rank = mean.copy()
    for row in topological[::-1]:
        longest = 0.0
        for edge in range(child_start[row], child_start[row + 1]):
            longest = max(longest, transfers[edge] + rank[children[edge]])
        rank[row] = mean[row] + longest
    return rank


@jit
def _optimistic_costs(
    topological: Ints, seconds: Floats, transfers: Floats, child_start: Ints, children: Ints
) -> Floats:
    devices = seconds.shape[1]
    table = np.zeros((len(seconds), devices))
    for row in topological[::-1]:
        for edge in range(child_start[row], child_start[row + 1]):
            child = children[edge]
            elsewhere = (table[child] + seconds[child]).min() + transfers[edge]
            if not np.isfinite(elsewhere):
                continue  # no device can run this child: it will be rejected
            for device in range(devices):
                here = table[child, device] + seconds[child, device]
                table[row, device] = max(table[row, device], min(here, elsewhere))
    return table


@jit
def _list_order(priority: Floats, missing: Ints, child_start: Ints, children: Ints) -> Ints:
    """Rows by priority, highest first, but never before their parents."""
    count = len(priority)
    heap = [(-priority[row], row) for row in range(count) if missing[row] == 0]
    heapify(heap)
    order = np.empty(count, np.int64)
    for position in range(count):
        _, row = heappop(heap)
        order[position] = row
        for edge in range(child_start[row], child_start[row + 1]):
            child = children[edge]
            missing[child] -= 1
            if missing[child] == 0:
                heappush(heap, (-priority[child], child))
    return order


@jit
def _insert(
    rows: Ints,
    seconds: Floats,
    outlook: Floats,
    arrival: Floats,
    parent_start: Ints,
    parents: Ints,
    megabytes: Floats,
    view: Any,
) -> tuple[Ints, Floats]:
    """Give every row the gap with the best finish plus outlook; return devices and starts."""
    count, devices = seconds.shape
    placed_on = np.zeros(count, np.int64)
    starts, finishes = np.zeros(count), np.zeros(count)
    capacity = np.full(devices, 16)
    used = np.zeros(devices, np.int64)
    begins = [np.empty(16) for _ in range(devices)]
    ends = [np.empty(16) for _ in range(devices)]
    unrunnable = np.zeros(count, np.bool_)  # rows that no device can run, and all that wait for them
    for row in rows:
        unrunnable[row] = not np.isfinite(seconds[row].min())
        for edge in range(parent_start[row], parent_start[row + 1]):
            unrunnable[row] |= unrunnable[parents[edge]]
        if unrunnable[row]:
            continue
        best, best_start, best_score = 0, 0.0, np.inf
        for device in range(devices):
            if not np.isfinite(seconds[row, device]):
                continue
            ready = max(arrival[row], view.free[device])
            for edge in range(parent_start[row], parent_start[row + 1]):
                parent = parents[edge]
                arrives = finishes[parent] + transfer_time(megabytes[edge], placed_on[parent], device, view)
                ready = max(ready, arrives)
            start = find_gap(begins[device], ends[device], used[device], ready, seconds[row, device])
            score = start + seconds[row, device] + outlook[row if len(outlook) == count else 0, device]
            if score < best_score:
                best, best_start, best_score = device, start, score
        end = best_start + seconds[row, best]
        if used[best] == capacity[best]:
            begins[best] = np.concatenate((begins[best], np.empty(capacity[best])))
            ends[best] = np.concatenate((ends[best], np.empty(capacity[best])))
            capacity[best] *= 2
        occupy(begins[best], ends[best], used[best], best_start, end)
        used[best] += 1
        placed_on[row], starts[row], finishes[row] = best, best_start, end
    return placed_on, starts


@counted
def find_gap(begins: Floats, ends: Floats, used: int, ready: float, seconds: float) -> float:
    """Return the earliest start at or after `ready` at which the device is idle long enough."""
    start = ready
    for k in range(np.searchsorted(ends[:used], ready, side="right"), used):
        if start + seconds <= begins[k]:
            return start
        start = max(start, ends[k])
    return start


@counted
def occupy(begins: Floats, ends: Floats, used: int, start: float, end: float) -> None:
    """Note that a device is busy from `start` to `end`, keeping its spans in order."""
    k = np.searchsorted(begins[:used], start, side="right")
    begins[k + 1 : used + 1] = begins[k:used].copy()
    ends[k + 1 : used + 1] = ends[k:used].copy()
    begins[k], ends[k] = start, end


# --- search over plans ---------------------------------------------------------------------------------------------

MAX_PLANS, MAX_PAIRS = 100, 2_000_000  # plans, and (task, device) pairs to look at: a second for a large graph
PERTURBATIONS = (0.01, 0.05, 0.2)  # of the priorities, in their standard deviations
SLOWNESS_PENALTIES = (0.0, 0.3, 1.0, 3.0)  # seconds added to a device per second that a row takes longer there


class Plan(NamedTuple):
    """A device for every row, and the order in which they are started."""

    device: Ints
    order: Ints


class _RankedHeft(Heft):
    """HEFT by given priorities, with a penalty on slow devices."""

    def __init__(self, priority: Floats, penalty: float) -> None:
        super().__init__()
        self._priority, self._penalty = priority, penalty

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Return the given priorities, and the penalty of every device."""
        slower = np.where(np.isfinite(seconds), seconds - seconds.min(axis=1, keepdims=True), 0.0)
        return self._priority, self._penalty * slower

    def perturb(self, generator: np.random.Generator) -> _RankedHeft:
        """Return a planner with slightly different priorities."""
        scale = generator.choice(PERTURBATIONS) * max(float(np.std(self._priority)), 1e-12)
        return _RankedHeft(self._priority + generator.normal(0.0, scale, len(self._priority)), self._penalty)


def search_plan(tasks: Tasks, seconds: Floats, view: View, seed: int) -> Plan:
    """Return the shortest of many plans by expected `seconds` (task, class); the same seed gives the same plan."""
    first = _run_planner(Peft(), tasks, seconds, view), _plan_earliest_finish(tasks, seconds, view)
    best, shortest = min(first, key=lambda planned: planned[1])
    leader, leader_end = None, np.inf
    for planner in _start_planners(tasks, seconds, view):
        plan, end = _run_planner(planner, tasks, seconds, view)
        if end < leader_end:
            leader, leader_end = planner, end
        if end < shortest:
            best, shortest = plan, end
    generator = np.random.default_rng([seed, len(tasks), 0x9A7])
    for _ in range(min(MAX_PLANS, MAX_PAIRS // max(1, len(tasks) * len(view.free)))):
        assert leader is not None  # noqa: S101  # there is always a planner to start from
        planner = leader.perturb(generator)
        plan, end = _run_planner(planner, tasks, seconds, view)
        if end < leader_end:
            leader, leader_end = planner, end
        if end < shortest:
            best, shortest = plan, end
    return best


def _start_planners(tasks: Tasks, seconds: Floats, view: View) -> Iterator[_RankedHeft]:
    by_device = np.where(tasks.memory_required[:, None] <= view.memory, seconds[:, view.device_class], np.inf)
    fastest = by_device.min(axis=1)
    usable = np.where(np.isfinite(fastest), fastest, 0.0)
    upward, _ = Heft().rank(tasks, by_device, view)
    earliest = tasks.arrival_time + longest_path(tasks, usable, backwards=True) - usable
    for priority, penalty in product((upward, longest_path(tasks, usable), -earliest), SLOWNESS_PENALTIES):
        yield _RankedHeft(priority, penalty)


def _run_planner(planner: Heft | Peft, tasks: Tasks, seconds: Floats, view: View) -> tuple[Plan, float]:
    """Return a planner's plan, and when it would end."""
    order, edges = planner.prepare(tasks, seconds, view), tasks.edges
    columns = tasks.arrival_time, edges.start, edges.parents, edges.megabytes
    return Plan(planner.device, order), _plan_end(planner.device, order, seconds, *columns, view)


def _plan_earliest_finish(tasks: Tasks, seconds: Floats, view: View) -> tuple[Plan, float]:
    """Return the plan of earliest finish, task by task as they become ready, and when it would end."""
    edges, children = tasks.edges, tasks.children
    graph = np.diff(edges.start), edges.start, edges.parents, edges.megabytes, children.start, children.parents
    device, order, end = _list_schedule(seconds, tasks.arrival_time, tasks.memory_required, *graph, view)
    return Plan(device, order), end


@jit
def _plan_end(
    device: Ints,
    order: Ints,
    seconds: Floats,
    arrival: Floats,
    parent_start: Ints,
    parents: Ints,
    megabytes: Floats,
    view: View,
) -> float:
    """Return when the last task of a plan ends."""
    free, finish = view.free.copy(), np.zeros(len(order))
    for row in order:
        here = device[row]
        start = max(arrival[row], free[here])
        for edge in range(parent_start[row], parent_start[row + 1]):
            parent = parents[edge]
            start = max(start, finish[parent] + transfer_time(megabytes[edge], device[parent], here, view))
        finish[row] = start + seconds[row, view.device_class[here]]
        free[here] = finish[row]
    return finish.max()


@jit
def _list_schedule(
    seconds: Floats,
    arrival: Floats,
    memory: Floats,
    missing: Ints,
    parent_start: Ints,
    parents: Ints,
    megabytes: Floats,
    child_start: Ints,
    children: Ints,
    view: View,
) -> tuple[Ints, Ints, float]:
    """Start every row where it ends first, in the order in which rows become ready."""
    count = len(arrival)
    free, finish, ready = view.free.copy(), np.zeros(count), arrival.copy()
    device, order = np.zeros(count, np.int64), np.empty(count, np.int64)
    heap = [(ready[row], row) for row in range(count) if missing[row] == 0]
    heapify(heap)
    for position in range(count):
        _, row = heappop(heap)
        order[position], finish[row] = row, np.inf
        for other in range(len(free)):
            start = max(ready[row], free[other])
            for edge in range(parent_start[row], parent_start[row + 1]):
                transfer = transfer_time(megabytes[edge], device[parents[edge]], other, view)
                start = max(start, finish[parents[edge]] + transfer)
            end = start + seconds[row, view.device_class[other]]
            if memory[row] <= view.memory[other] and end < finish[row]:
                device[row], finish[row] = other, end
        if finish[row] == np.inf:  # it fits nowhere and will be rejected
            finish[row] = ready[row]
        free[device[row]] = max(free[device[row]], finish[row])
        for edge in range(child_start[row], child_start[row + 1]):
            child = children[edge]
            ready[child] = max(ready[child], finish[row])
            missing[child] -= 1
            if missing[child] == 0:
                heappush(heap, (ready[child], child))
    return device, order, finish.max()
