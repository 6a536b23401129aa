"""A plan of a graph by learnt times: many list schedules are made in thought, and the shortest is followed.

One is earliest finish, task by task as they become ready. The others are HEFT's kind: rows by priority, each into the
earliest gap on the device that promises most. They differ in the priority (the longest way to the end in mean or in
shortest times, or who can start first) and in how much a device is held against a row that is slower there than on
its best one; plain HEFT does not care, and gives long tasks to slow devices that are idle just now. Then the best
priorities are shaken a little.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import product
from typing import NamedTuple

import numpy as np
from numba import njit

from hybrid_scheduler.learning.graph_features import way_to_the_end
from hybrid_scheduler.loop import move_time
from hybrid_scheduler.model.tasks import Floats, Ints, Tasks
from hybrid_scheduler.schedulers.heft import Heft, Peft
from hybrid_scheduler.view import View

TRIES, EFFORT = 100, 2_000_000  # plans at most, and (task, device) pairs to look at: a second for a large graph
SHAKES = (0.01, 0.05, 0.2)  # of the priorities' spread
GRUDGES = (0.0, 0.3, 1.0, 3.0)  # seconds held against a device per second that a row takes longer there


class Plan(NamedTuple):
    """A device for every row, and the order in which they are started."""

    device: Ints
    order: Ints


class _Ranked(Heft):
    """HEFT by given priorities; it minds slow devices."""

    def __init__(self, priority: Floats, grudge: float) -> None:
        super().__init__()
        self._priority, self._grudge = priority, grudge

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Return what was given, and what is held against every device."""
        slower = np.where(np.isfinite(seconds), seconds - seconds.min(axis=1, keepdims=True), 0.0)
        return self._priority, self._grudge * slower

    def shaken(self, generator: np.random.Generator) -> _Ranked:
        """Return one with priorities a little different."""
        reach = generator.choice(SHAKES) * max(float(np.std(self._priority)), 1e-12)
        return _Ranked(self._priority + generator.normal(0.0, reach, len(self._priority)), self._grudge)


def plan(tasks: Tasks, seconds: Floats, view: View, seed: int) -> Plan:
    """Return the shortest of many plans by expected `seconds` (task, class); the same seed gives the same plan."""
    best, shortest = min((_made(Peft(), tasks, seconds, view), _as_they_come(tasks, seconds, view)), key=_length)
    favourite, quickest = None, np.inf
    for planner in _starts(tasks, seconds, view):
        made, length = _made(planner, tasks, seconds, view)
        if length < quickest:
            favourite, quickest = planner, length
        if length < shortest:
            best, shortest = made, length
    generator = np.random.default_rng([seed, len(tasks), 0x9A7])
    for _ in range(min(TRIES, EFFORT // max(1, len(tasks) * len(view.free)))):
        assert favourite is not None  # noqa: S101  # there is always a start
        tried = favourite.shaken(generator)
        made, length = _made(tried, tasks, seconds, view)
        if length < quickest:
            favourite, quickest = tried, length
        if length < shortest:
            best, shortest = made, length
    return best


def _starts(tasks: Tasks, seconds: Floats, view: View) -> Iterator[_Ranked]:
    by_device = np.where(tasks.memory_required[:, None] <= view.memory, seconds[:, view.device_class], np.inf)
    fastest = by_device.min(axis=1)
    usable = np.where(np.isfinite(fastest), fastest, 0.0)
    published, _ = Heft().rank(tasks, by_device, view)
    soonest = tasks.arrival_time + way_to_the_end(tasks, usable, backwards=True) - usable
    for priority, grudge in product((published, way_to_the_end(tasks, usable), -soonest), GRUDGES):
        yield _Ranked(priority, grudge)


def _length(made: tuple[Plan, float]) -> float:
    return made[1]


def _as_they_come(tasks: Tasks, seconds: Floats, view: View) -> tuple[Plan, float]:
    """Return the plan of earliest finish, task by task as they become ready, and when it would end."""
    edges, children = tasks.edges, tasks.children
    waits = np.diff(edges.start), edges.start, edges.parents, edges.megabytes, children.start, children.parents
    device, order, end = _walked(seconds, tasks.arrival_time, tasks.memory_required, *waits, view)
    return Plan(device, order), end


def _made(planner: Heft | Peft, tasks: Tasks, seconds: Floats, view: View) -> tuple[Plan, float]:
    """Return a planner's plan, and when it would end."""
    planner.prepare(tasks, seconds, view)
    assert planner.order is not None  # noqa: S101  # a planner sets it
    edges = tasks.edges
    columns = tasks.arrival_time, edges.start, edges.parents, edges.megabytes
    return Plan(planner.device, planner.order), _end(planner.device, planner.order, seconds, *columns, view)


@njit(cache=True, error_model="numpy", nogil=True)
def _end(
    device: Ints,
    order: Ints,
    seconds: Floats,
    arrival: Floats,
    parent_start: Ints,
    parents: Ints,
    megabytes: Floats,
    view: View,
) -> float:
    """Follow a plan in thought; return when its last task ends."""
    free, finish = view.free.copy(), np.zeros(len(order))
    for row in order:
        here = device[row]
        start = max(arrival[row], free[here])
        for edge in range(parent_start[row], parent_start[row + 1]):
            parent = parents[edge]
            start = max(start, finish[parent] + move_time(megabytes[edge], device[parent], here, view))
        finish[row] = start + seconds[row, view.device_class[here]]
        free[here] = finish[row]
    return finish.max()


@njit(cache=True, error_model="numpy", nogil=True)
def _walked(
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
    """Let every row start where it ends first, in the order in which rows become ready."""
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
                moved = move_time(megabytes[edge], device[parents[edge]], other, view)
                start = max(start, finish[parents[edge]] + moved)
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
