"""HEFT and PEFT: list scheduling of graphs with a whole plan before the first task starts.

HEFT (Topcuoglu, Hariri, Wu 2002) ranks tasks by the longest way to the end and puts each into the earliest gap
on the device where it ends first. PEFT (Arabnejad, Barbosa 2014) adds an optimistic look at what follows. Both
know all tasks, arrivals and times beforehand.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable

from hybrid_scheduler.core.compiling import compiled
from hybrid_scheduler.core.loop import move_time
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.schedulers.scheduler import Scheduler


class StaticPlan(Scheduler):
    """Plans a block in `prepare`, then follows the plan."""

    def __init__(self) -> None:
        self.device = np.empty(0, np.int64)

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Plan the block: rank, then insert."""
        seconds = times[:, view.device_class]
        seconds = np.where(tasks.memory_required[:, None] <= view.memory, seconds, np.inf)
        priority, outlook = self.rank(tasks, seconds, view)
        edges, children = tasks.edges, tasks.children
        rows = _list_order(priority, np.diff(edges.start), children.start, children.parents)
        self.device, start = _insert(
            rows, seconds, outlook, tasks.arrival_time, edges.start, edges.parents, edges.megabytes, view
        )
        self.order = np.lexsort((np.argsort(rows), start))

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
        """Upward rank: the longest way to the end in mean times and mean moves."""
        mean = finite_mean(seconds)
        priority = upward_rank(
            tasks.topological, mean, mean_moves(tasks, view), tasks.children.start, tasks.children.parents
        )
        return priority, np.zeros((1, seconds.shape[1]))


class Peft(StaticPlan):
    """Predict earliest finish time."""

    name = "peft"

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Optimistic cost table: the best possible rest of the way from every device."""
        table = _optimistic_costs(
            tasks.topological, seconds, mean_moves(tasks, view), tasks.children.start, tasks.children.parents
        )
        return finite_mean(np.where(np.isfinite(seconds), table, np.inf)), table


def finite_mean(values: Floats) -> Floats:
    """Return the mean over the devices that can run a task."""
    finite = np.isfinite(values)
    mean: Floats = np.where(finite, values, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    return mean


def mean_moves(tasks: Tasks, view: View) -> Floats:
    """Mean seconds of every edge (seen from the parents) over all pairs of different devices."""
    count = len(view.free)
    if count < 2 or not tasks.edges.megabytes.any():
        return np.zeros(len(tasks.edges.parents))
    slowest = np.minimum(view.bandwidth[:, None], view.bandwidth)
    slowest = np.where(view.node[:, None] == view.node, slowest, np.minimum(slowest, view.network))
    per_megabyte = (1.0 / slowest)[~np.eye(count, dtype=bool)].mean()
    moves: Floats = tasks.children.megabytes * per_megabyte
    return moves


@njit(cache=True, error_model="numpy", nogil=True)
def upward_rank(topological: Ints, mean: Floats, moves: Floats, child_start: Ints, children: Ints) -> Floats:
    """Return the longest way from every row to the end, in mean times and mean moves."""
    rank = mean.copy()
    for row in topological[::-1]:
        longest = 0.0
        for edge in range(child_start[row], child_start[row + 1]):
            longest = max(longest, moves[edge] + rank[children[edge]])
        rank[row] = mean[row] + longest
    return rank


@njit(cache=True, error_model="numpy", nogil=True)
def _optimistic_costs(topological: Ints, seconds: Floats, moves: Floats, child_start: Ints, children: Ints) -> Floats:
    devices = seconds.shape[1]
    table = np.zeros((len(seconds), devices))
    for row in topological[::-1]:
        for edge in range(child_start[row], child_start[row + 1]):
            child = children[edge]
            elsewhere = (table[child] + seconds[child]).min() + moves[edge]
            if not np.isfinite(elsewhere):
                continue  # no device can run this child: it will be rejected
            for device in range(devices):
                here = table[child, device] + seconds[child, device]
                table[row, device] = max(table[row, device], min(here, elsewhere))
    return table


@njit(cache=True, error_model="numpy", nogil=True)
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


@njit(cache=True, error_model="numpy", nogil=True)
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
    device_of = np.zeros(count, np.int64)
    start_of, end_of = np.zeros(count), np.zeros(count)
    capacity = np.full(devices, 16)
    used = np.zeros(devices, np.int64)
    begins = [np.empty(16) for _ in range(devices)]
    ends = [np.empty(16) for _ in range(devices)]
    left_out = np.zeros(count, np.bool_)  # rows that no device can run, and all that wait for them
    for row in rows:
        left_out[row] = not np.isfinite(seconds[row].min())
        for edge in range(parent_start[row], parent_start[row + 1]):
            left_out[row] |= left_out[parents[edge]]
        if left_out[row]:
            continue
        best, best_start, best_score = 0, 0.0, np.inf
        for device in range(devices):
            if not np.isfinite(seconds[row, device]):
                continue
            ready = max(arrival[row], view.free[device])
            for edge in range(parent_start[row], parent_start[row + 1]):
                parent = parents[edge]
                moved = end_of[parent] + move_time(megabytes[edge], device_of[parent], device, view)
                ready = max(ready, moved)
            start = gap(begins[device], ends[device], used[device], ready, seconds[row, device])
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
        device_of[row], start_of[row], end_of[row] = best, best_start, end
    return device_of, start_of


@register_jitable
def gap(begins: Floats, ends: Floats, used: int, ready: float, seconds: float) -> float:
    """Return the earliest start at or after `ready` at which the device is idle long enough."""
    start = ready
    for k in range(np.searchsorted(ends[:used], ready, side="right"), used):
        if start + seconds <= begins[k]:
            return start
        start = max(start, ends[k])
    return start


@register_jitable
def occupy(begins: Floats, ends: Floats, used: int, start: float, end: float) -> None:
    """Note that a device is busy from `start` to `end`, keeping its spans in order."""
    k = np.searchsorted(begins[:used], start, side="right")
    begins[k + 1 : used + 1] = begins[k:used].copy()
    ends[k + 1 : used + 1] = ends[k:used].copy()
    begins[k], ends[k] = start, end
