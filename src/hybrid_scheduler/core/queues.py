"""Queues that are ordered by a key: a task that waits may be overtaken, or stolen by a device that falls idle.

`simulate` in `loop.py` starts tasks in the order of their decisions, so it knows each start at once. Here decisions
and starts are separate events, taken in the order of time. Time itself still passes in `occupy` alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.clocks import Clocks, end_after
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import jitable, no_inline
from hybrid_scheduler.core.device_index import note_free
from hybrid_scheduler.core.loop import (
    InvalidDecision,
    PlacementColumns,
    Queue,
    TaskColumns,
    data_arrival,
    decide,
    expect_seconds,
    find_data_arrivals,
    fits,
    is_valid,
    next_row,
    note_last_end,
    occupy,
    pop,
    push,
    release_children,
    resolve,
    run_whole,
    view_task,
)
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import TaskView, View, bucket, data_ready_time

NONE = -1
ROOM = 16  # of a heap at first


def rank(policy: Any, task: Any, view: View, device: int) -> float:
    """Stand in for the scheduler's `key`, which replaces this name when a loop is bound."""
    raise NotImplementedError("bind a scheduler first: see compiler.py")


def estimate(policy: Any, task: Any, view: View, device: int) -> float:
    """Stand in for the scheduler's `seconds`, or its `key` if it has none, as `rank` does."""
    raise NotImplementedError("bind a scheduler first: see compiler.py")


def weigh_theft(policy: Any, task: Any, view: View, device: int, victim: int) -> float:
    """Stand in for the scheduler's `steal`, which replaces this name when a loop is bound."""
    raise NotImplementedError("bind a scheduler first: see compiler.py")


class OrderedQueues(NamedTuple):
    """A binary heap of waiting work per device; entry 2·row is a task's GPU part, 2·row + 1 its CPU part."""

    length: Ints  # by device: how much waits
    first: Ints  # by device: where its heap begins in `key` and `entry`
    capacity: Ints  # by device: room for its heap there; one that is full moves to twice the room
    used: Ints  # one entry: room that was ever given to a heap
    key: Floats  # the least one first
    entry: Ints
    seconds: Floats  # by entry: the scheduler's estimate, which the index of a queue counts; empty without an index
    events: Ints  # heap by the end of what runs: devices with waiting work, or all busy ones where idle ones ask
    size: Ints  # one entry: number of devices in that heap
    backlog: Floats  # by device: expected seconds of waiting work; empty where times are exact
    expected_end: Floats  # by device: when the running work should end; empty where times are exact


class Block(NamedTuple):
    """The part of a stream that is decided next: its first row, and until when work still starts after that."""

    first: int
    until: float  # -inf: none starts after the last decision, inf: all that waits is run to its end


def build_queues(tasks: int, devices: int, has_estimates: bool, indexed: bool) -> OrderedQueues:
    """Return empty queues for some number of tasks."""
    estimates = devices if has_estimates else 0
    # A heap of m entries has had room for less than 4 m, and all together there are 2 entries a task at most. Memory
    # that no heap gets to is never touched.
    room = ROOM * devices + 8 * tasks
    return OrderedQueues(
        length=np.zeros(devices, np.int64),
        first=ROOM * np.arange(devices),
        capacity=np.full(devices, ROOM),
        used=np.array([ROOM * devices]),
        key=np.empty(room),
        entry=np.empty(room, np.int64),
        seconds=np.empty(2 * tasks if indexed else 0),
        events=np.empty(devices, np.int64),
        size=np.zeros(1, np.int64),
        backlog=np.zeros(estimates),
        expected_end=np.zeros(estimates),
    )


# --- ordered queues ------------------------------------------------------------------------------------------------


def simulate_ordered(
    policy: Any,
    tasks: TaskColumns,
    queue: Queue,
    steps: int,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
    block: Block,
    steals: bool | None,
) -> InvalidDecision:
    """Decide where tasks queue as they become ready; a device that falls idle takes the one with the least key.

    One whose own queue is empty then takes the task that `steal` values most, if the scheduler `steals`; None leaves
    all that out when the loop is compiled.
    """
    has_estimates = len(queues.backlog) > 0
    moves_data = len(view.arrives) > 0
    step = 0
    while True:
        now = next_decision_time(queue, step, steps, out)
        # Not at the same time: what an end makes ready is decided before its device takes the next.
        if queues.size[0] > 0 and is_due(clocks.free[queues.events[0]], now, step < steps, block):
            device = pop(queues.events, queues.size, clocks.free)
            if queues.length[device] > 0:
                start_next(device, tasks, queue, view, clocks, out, queues, steals)
            elif steals is not None and queues.length.any():
                if has_estimates:
                    estimate_ends(clocks.free[device], view, clocks, queues)
                loot, most = NONE, 0.0
                for victim in range(len(queues.length)):
                    place = find_loot(device, victim, tasks, view, out, queues)
                    if place == NONE:
                        continue
                    row = queues.entry[place] // 2
                    if moves_data:
                        find_data_arrivals(row, tasks, out, view)
                    task = view_task(row, block.first, tasks, out)
                    if len(clocks.ended) > 0:
                        task = view_predictions(task, tasks.expected[row])
                    gain = weigh_theft(policy, task, view, device, victim)
                    if gain > most:
                        loot, most = place, gain
                if loot != NONE:
                    start_stolen(device, loot, tasks, queue, view, clocks, out, queues)
            continue
        if step == steps:
            return InvalidDecision(-1, 0.0, 0)
        row = next_row(queue, step, out)
        step += 1
        if has_estimates:
            estimate_ends(now, view, clocks, queues)
        if moves_data:
            find_data_arrivals(row, tasks, out, view)
        task = view_task(row, block.first, tasks, out)
        gpu_fraction, device = decide(policy, task, view)
        if not is_valid(gpu_fraction, device, view):
            return InvalidDecision(row, gpu_fraction, device)
        share, device, cpu = resolve(row, gpu_fraction, device, tasks, view, clocks, out)
        on_gpu = view.kind[device] == GPU
        out.gpu_fraction[row] = share
        out.gpu[row] = device if on_gpu else -1
        out.cpu[row] = -1 if on_gpu and cpu == device else cpu
        out.gpu_start[row], out.cpu_start[row], out.finish[row] = np.nan, np.nan, np.nan
        for part in range(1 if cpu == device else 2):
            place = device if part == 0 else cpu
            size = 1.0 if cpu == device else share if part == 0 else 1.0 - share
            key, seconds = rank(policy, task, view, place), 0.0
            if len(queues.seconds) > 0:
                seconds = size * estimate(policy, task, view, place)
            join_queue(row, place, size, key, seconds, tasks, queue, view, clocks, out, queues, steals)


@jitable
def view_predictions(task: TaskView, seconds: Floats) -> TaskView:
    """Return a task with what its non-clairvoyant scheduler predicted when it came."""
    row, size, intensity, memory, arrival, estimate, ready, _, divisible = task
    return TaskView(row, size, intensity, memory, arrival, estimate, ready, seconds, divisible)


@jitable
def is_due(end: float, now: float, more: bool, block: Block) -> bool:
    """Whether a device that ends then takes its next work before the next decision, or after the last one."""
    return end < now if more else end <= block.until


@jitable
def next_decision_time(queue: Queue, step: int, steps: int, out: PlacementColumns) -> float:
    """Return when the next decision is due; inf if none is left or none can be made before another task starts."""
    if len(queue.heap) > 0:
        return out.ready[queue.heap[0]] if queue.size[0] > 0 else np.inf
    if step == steps:
        return np.inf
    return out.ready[queue.order[step] if len(queue.order) > 0 else step]


@jitable
def join_queue(
    row: int,
    device: int,
    share: float,
    key: float,
    seconds: float,
    tasks: TaskColumns,
    queue: Queue,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
    steals: bool | None,
) -> None:
    """Start a share of a task that has become ready, or let it wait for its device."""
    expected = share * expect_seconds(row, view.device_class[device], tasks, clocks)
    ready = out.ready[row]
    view.free[device] = max(data_ready_time(ready, view, device), view.free[device]) + expected
    note_free(view.device_index, view, device)
    idle = clocks.free[device] <= ready
    if steals is not None:
        idle = clocks.free[device] < ready  # one that ends right now is about to look for work
    if queues.length[device] == 0 and idle:
        start(row, device, share, tasks, queue, view, clocks, out, queues)
        if steals is not None:
            push(queues.events, queues.size, device, clocks.free)
        return
    entry = 2 * row if view.kind[device] == GPU else 2 * row + 1
    if queues.length[device] == 0 and steals is None:
        push(queues.events, queues.size, device, clocks.free)
    if len(queues.seconds) > 0:
        queues.seconds[entry] = seconds
    enter_queue(entry, device, key, expected, view, queues)


@jitable
def enter_queue(entry: int, device: int, key: float, expected: float, view: View, queues: OrderedQueues) -> None:
    """Let an entry, whose seconds are known, wait for its device."""
    insert(queues, device, key, entry)
    if len(queues.backlog) > 0:
        queues.backlog[device] += expected
    if len(queues.seconds) > 0:
        count_in_index(view, device, queues.seconds[entry], 1)


@jitable
def start_next(
    device: int,
    tasks: TaskColumns,
    queue: Queue,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
    steals: bool | None,
) -> None:
    """Start the waiting work with the least key on a device that has become idle."""
    entry = queues.entry[queues.first[device]]
    row = entry // 2
    share = out.gpu_fraction[row] if view.kind[device] == GPU else 1.0 - out.gpu_fraction[row]
    if len(view.arrives) > 0:
        view.arrives[device] = data_arrival(row, device, tasks, out, view)
    leave_queue(device, queues.first[device], share, tasks, view, queues)
    start(row, device, share, tasks, queue, view, clocks, out, queues)
    if queues.length[device] > 0 or steals is not None:
        push(queues.events, queues.size, device, clocks.free)
    if queues.length[device] == 0:
        forget_rounding(device, view, clocks, queues)


@jitable
def leave_queue(device: int, place: int, share: float, tasks: TaskColumns, view: View, queues: OrderedQueues) -> None:
    """Take the entry at a place of the heaps out of a device's queue."""
    entry = queues.entry[place]
    remove(queues, device, place - queues.first[device])
    if len(queues.backlog) > 0:
        queues.backlog[device] -= share * tasks.expected[entry // 2, view.device_class[device]]
    if len(queues.seconds) > 0:
        count_in_index(view, device, queues.seconds[entry], -1)


@jitable
def forget_rounding(device: int, view: View, clocks: Clocks, queues: OrderedQueues) -> None:
    """Note that nothing waits: sums of what came and went are off by rounding, the end of what runs is not."""
    view.free[device] = clocks.free[device]
    if len(queues.backlog) > 0:
        view.free[device] = queues.expected_end[device]
        queues.backlog[device] = 0.0
    note_free(view.device_index, view, device)


@jitable
def start(
    row: int,
    device: int,
    share: float,
    tasks: TaskColumns,
    queue: Queue,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
) -> None:
    """Run a share of a task; once all of it has started, its end is known and its children get their ready time."""
    begin, end = occupy(row, device, share, tasks, view, clocks, out)
    if len(queues.backlog) > 0:
        queues.expected_end[device] = begin + share * tasks.expected[row, view.device_class[device]]
    if view.kind[device] == GPU:
        out.gpu_start[row] = begin
    else:
        out.cpu_start[row] = begin
    other = out.cpu[row] if view.kind[device] == GPU else out.gpu[row]
    if other < 0:
        out.finish[row] = end
    elif np.isnan(out.cpu_start[row]) or np.isnan(out.gpu_start[row]):
        out.finish[row] = end  # of this part; the other one has not started
        return
    else:
        out.finish[row] = max(out.finish[row], end)
    if len(tasks.parents) > 0:
        release_children(row, tasks, queue, out)


@no_inline
def find_loot(
    thief: int, victim: int, tasks: TaskColumns, view: View, out: PlacementColumns, queues: OrderedQueues
) -> int:
    """Return the place of the first task in a queue that another device can run; NONE if there is none.

    Parts of split tasks stay where they are. In a graph whose history is kept a device of another class gets the last
    one instead: most depends on the first, which should not be the one to find out how slow that class is.
    """
    first, best = queues.first[victim], NONE
    from_end = len(view.history) > 0 and view.device_class[thief] != view.device_class[victim]
    for place in range(first, first + queues.length[victim]):
        row = queues.entry[place] // 2
        whole = out.gpu[row] < 0 or out.cpu[row] < 0
        if whole and fits(1.0, thief, tasks.actual[row], tasks.memory_required[row], view):
            if place == first and not from_end:
                return place
            if best == NONE or is_before(queues.key[place], queues.entry[place], queues, best) != from_end:
                best = place
    return best


@no_inline
def start_stolen(
    thief: int,
    place: int,
    tasks: TaskColumns,
    queue: Queue,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
) -> None:
    """Start a whole task that waits for another device on one that has become idle."""
    row = queues.entry[place] // 2
    victim = out.gpu[row] if out.gpu[row] >= 0 else out.cpu[row]
    leave_queue(victim, place, 1.0, tasks, view, queues)
    view.free[victim] -= tasks.expected[row, view.device_class[victim]]
    note_free(view.device_index, view, victim)
    if queues.length[victim] == 0:
        forget_rounding(victim, view, clocks, queues)
    if len(view.arrives) > 0:
        view.arrives[thief] = data_arrival(row, thief, tasks, out, view)
    run_whole(row, thief, tasks, view, clocks, out)
    push(queues.events, queues.size, thief, clocks.free)
    view.free[thief] = clocks.free[thief]
    if len(queues.backlog) > 0:
        expect_end(row, thief, tasks, view, clocks, out, queues)
        view.free[thief] = queues.expected_end[thief]
    note_free(view.device_index, view, thief)
    if len(tasks.parents) > 0:
        release_children(row, tasks, queue, out)


@jitable
def expect_end(
    row: int,
    device: int,
    tasks: TaskColumns,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
) -> None:
    """Note when a whole task that a device has begun should end by its expected seconds."""
    begin = out.gpu_start[row] if view.kind[device] == GPU else out.cpu_start[row]
    queues.expected_end[device] = begin + expect_seconds(row, view.device_class[device], tasks, clocks)


@no_inline
def estimate_ends(now: float, view: View, clocks: Clocks, queues: OrderedQueues) -> None:
    """Estimate the ends of running and waiting work; what has ended is known, what runs ends now at the earliest."""
    for device in range(len(clocks.free)):
        if clocks.free[device] <= now:
            view.running_end[device] = clocks.free[device]
            if len(clocks.running) > 0:
                note_last_end(device, clocks, view.history)
        else:
            view.running_end[device] = end_after(max(queues.expected_end[device], now), now, clocks.ended)
        view.free[device] = view.running_end[device] + queues.backlog[device]


# --- binary heaps ---------------------------------------------------------------------------------------------------


@jitable
def insert(queues: OrderedQueues, device: int, key: float, entry: int) -> None:
    """Add an entry to a device's heap."""
    if queues.length[device] == queues.capacity[device]:
        enlarge(queues, device)
    first, at = queues.first[device], queues.length[device]
    queues.length[device] += 1
    while at > 0 and is_before(key, entry, queues, first + (at - 1) // 2):
        move_entry(queues, first + (at - 1) // 2, first + at)
        at = (at - 1) // 2
    queues.key[first + at], queues.entry[first + at] = key, entry


@jitable
def remove(queues: OrderedQueues, device: int, at: int) -> None:
    """Remove an entry from a device's heap, the one with the least key if `at` is 0; the last one fills the gap."""
    queues.length[device] -= 1
    first, length = queues.first[device], queues.length[device]
    key, entry = queues.key[first + length], queues.entry[first + length]
    while at > 0 and is_before(key, entry, queues, first + (at - 1) // 2):
        move_entry(queues, first + (at - 1) // 2, first + at)
        at = (at - 1) // 2
    child = 2 * at + 1
    while child < length:
        after = first + child + 1
        if child + 1 < length and is_before(queues.key[after], queues.entry[after], queues, first + child):
            child += 1
        if is_before(key, entry, queues, first + child):
            break
        move_entry(queues, first + child, first + at)
        at, child = child, 2 * child + 1
    queues.key[first + at], queues.entry[first + at] = key, entry


@jitable
def is_before(key: float, entry: int, queues: OrderedQueues, place: int) -> bool:
    """Whether an entry comes before the one at a place: by its key, then by its row."""
    return key < queues.key[place] or (key == queues.key[place] and entry < queues.entry[place])


@jitable
def move_entry(queues: OrderedQueues, source: int, target: int) -> None:
    """Copy an entry from one place to another."""
    queues.key[target], queues.entry[target] = queues.key[source], queues.entry[source]


@no_inline
def enlarge(queues: OrderedQueues, device: int) -> None:
    """Move a device's heap to twice the room."""
    old = queues.first[device]
    queues.first[device] = queues.used[0]
    queues.capacity[device] *= 2
    queues.used[0] += queues.capacity[device]
    for at in range(queues.length[device]):
        move_entry(queues, old + at, queues.first[device] + at)


@jitable
def count_in_index(view: View, device: int, seconds: float, sign: int) -> None:
    """Add an entry to the index of a queue (a Fenwick tree over the logarithm of its seconds), or take it out."""
    at = bucket(seconds) + 1
    while at < view.queue_count.shape[1]:
        view.queue_count[device, at] += sign
        view.queue_work[device, at] += sign * seconds
        at += at & -at
