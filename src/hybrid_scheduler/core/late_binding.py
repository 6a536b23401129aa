"""Late binding: tasks wait in common, and whenever a device is idle the scheduler picks one of them for it.

An idle device for which nothing is picked may take over what runs elsewhere (spoliation): the run there is aborted,
its seconds are lost, and the task begins anew. So an end counts, and releases children, only when it has come.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.clocks import Clocks
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import inline, jitable, no_inline
from hybrid_scheduler.core.loop import (
    InvalidDecision,
    PlacementColumns,
    Queue,
    TaskColumns,
    data_arrival,
    fits,
    next_row,
    pop,
    push,
    release_children,
    run_whole,
)
from hybrid_scheduler.core.placements import Aborts, build_aborts
from hybrid_scheduler.core.queues import NONE, Block, OrderedQueues, estimate_ends, expect_end, next_decision_time
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import View

PAUSE = -2
"""What `pick` answers to stop the loop; it goes on with the same question when it is called again."""
FIRST, LAST, STEP, ASKED, UNTIL = range(5)


def select(policy: Any, waiting: Any, device: int, view: View) -> int:
    """Stand in for the scheduler's `pick`, which replaces this name when a loop is bound."""
    raise NotImplementedError("bind a scheduler first: see compiler.py")


def find_victim(policy: Any, running: Any, device: int, view: View) -> int:
    """Stand in for the scheduler's `spoliate`, as `select` does."""
    raise NotImplementedError("bind a scheduler first: see compiler.py")


class Waiting(NamedTuple):
    """The tasks that wait in common, in order of arrival, for schedulers that pick one when a device is idle."""

    row: Ints  # `length` entries
    length: int
    now: float
    running: Ints  # by device: the row that runs there; -1 where none does
    size: Floats  # columns of all tasks, by row
    compute_intensity: Floats
    memory_required: Floats
    ready_time: Floats
    times: Floats  # whole-task seconds by row and device class; one row of NaN for a non-clairvoyant scheduler


class Running(NamedTuple):
    """What runs, for schedulers that may abort it to run it on an idle device instead."""

    row: Ints  # by device; -1 where nothing runs
    arrives: Floats  # by device: when the data of what runs there can be on the idle device; empty if no data moves
    now: float
    memory_required: Floats  # columns of all tasks, by row
    times: Floats


class Pool(NamedTuple):
    """What a loop with late binding keeps from one call to the next."""

    row: Ints  # of the tasks that wait, in order of arrival, from cursor[FIRST] to cursor[LAST]
    cursor: (
        Ints  # these two, the next STEP of the block, and the round of questions: number ASKED of those UNTIL it ends
    )
    now: Floats  # one entry
    running: Ints  # by device: row, or NONE
    arrives: Floats  # by device: see `Running`
    aborts: Aborts  # room for none unless the scheduler may abort what runs


def build_pool(tasks: int, devices: int, classes: int, spoliates: bool, moves_data: bool) -> Pool:
    """Return a pool in which nothing waits and nothing runs."""
    return Pool(
        row=np.empty(tasks, np.int64),
        cursor=np.zeros(5, np.int64),
        now=np.zeros(1),
        running=np.full(devices, NONE),
        arrives=np.zeros(devices if spoliates and moves_data else 0),
        # What ends earlier elsewhere is on a faster class there, so it moves less often than there are classes.
        aborts=build_aborts(tasks * classes if spoliates else 0),
    )


def simulate_late_binding(
    policy: Any,
    tasks: TaskColumns,
    queue: Queue,
    steps: int,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
    block: Block,
    pool: Pool,
    spoliates: bool | None,
) -> InvalidDecision:
    """Whenever tasks come or end, ask the idle devices one after another, until a round in which none takes anything.

    `spoliates` says that a device for which nothing is picked may take over what runs elsewhere; None leaves that out
    when the loop is compiled.
    """
    devices, cursor = len(clocks.free), pool.cursor
    while True:
        if cursor[ASKED] == cursor[UNTIL]:
            now = next_event_time(cursor[STEP], queue, steps, clocks, out, queues)
            if now == np.inf or (cursor[STEP] == steps and now > block.until):
                break
            advance(now, tasks, queue, steps, view, clocks, out, queues, pool)
            cursor[ASKED], cursor[UNTIL] = 0, devices
        while cursor[ASKED] < cursor[UNTIL]:
            device, row = cursor[ASKED] % devices, NONE
            if clocks.free[device] <= pool.now[0] and view.memory[device] >= 0.0:  # idle, and at work
                position = NONE
                if cursor[FIRST] < cursor[LAST]:
                    position = select(policy, view_waiting(tasks, out, pool), device, view)
                if position == PAUSE:
                    return InvalidDecision(PAUSE, 0.0, 0)
                if position >= 0:
                    row = take(position, pool)
                    if row == NONE or not fits(1.0, device, tasks.actual[row], tasks.memory_required[row], view):
                        return InvalidDecision(max(row, pool.row[0]), np.nan, device)
                elif spoliates is not None:
                    victim = find_victim(policy, view_running(device, tasks, view, out, pool), device, view)
                    if victim >= 0:
                        row = abort(victim, device, tasks, view, clocks, out, queues, pool)
                        if row == NONE:
                            return InvalidDecision(0, np.inf, device)
            cursor[ASKED] += 1
            if row != NONE:
                start_task(row, device, tasks, view, clocks, out, queues, pool)
                cursor[UNTIL] = cursor[ASKED] + devices - 1
    cursor[STEP] = 0
    left = block.until == np.inf and cursor[FIRST] < cursor[LAST]
    return InvalidDecision(pool.row[cursor[FIRST]] if left else NONE, np.nan, NONE)


@jitable
def find_idle(waiting: Waiting, view: View, idle: Floats) -> None:
    """Find the largest memory of an idle device of every class; -1 where none is idle."""
    idle[:] = -1.0
    for device in range(len(view.free)):
        if waiting.running[device] < 0 and view.running_end[device] <= waiting.now:
            idle[view.device_class[device]] = max(idle[view.device_class[device]], view.memory[device])


@jitable
def runs_fastest(seconds: Floats, memory: float, device: int, view: View, idle: Floats) -> bool:
    """Whether a device can run a task of so many seconds by class, and none that is idle would run it faster."""
    own = seconds[view.device_class[device]]
    if memory > view.memory[device] or not np.isfinite(own):
        return False
    faster = False
    for kind in range(len(idle)):
        faster |= seconds[kind] < own and memory <= idle[kind]
    return not faster


@jitable
def next_event_time(
    step: int, queue: Queue, steps: int, clocks: Clocks, out: PlacementColumns, queues: OrderedQueues
) -> float:
    """Return when a task comes or a run ends next; inf if neither will happen."""
    now = next_decision_time(queue, step, steps, out)
    return min(now, clocks.free[queues.events[0]]) if queues.size[0] > 0 else now


@jitable
def advance(
    now: float,
    tasks: TaskColumns,
    queue: Queue,
    steps: int,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
    pool: Pool,
) -> None:
    """Go to the time of the next event: end the runs that are due, let the tasks that have become ready wait."""
    pool.now[0] = now
    while queues.size[0] > 0 and clocks.free[queues.events[0]] <= now:
        device = pop(queues.events, queues.size, clocks.free)
        if len(tasks.parents) > 0 and pool.running[device] != NONE:
            release_children(pool.running[device], tasks, queue, out)
        pool.running[device] = NONE
    while next_decision_time(queue, pool.cursor[STEP], steps, out) <= now:
        pool.row[pool.cursor[LAST]] = next_row(queue, pool.cursor[STEP], out)
        pool.cursor[LAST] += 1
        pool.cursor[STEP] += 1
    if len(queues.backlog) > 0:
        estimate_ends(now, view, clocks, queues)


@inline
def view_waiting(tasks: TaskColumns, out: PlacementColumns, pool: Pool) -> Waiting:
    """Return what a scheduler sees of the tasks that wait."""
    rows = pool.row[pool.cursor[FIRST] : pool.cursor[LAST]]
    columns = tasks.size, tasks.compute_intensity, tasks.memory_required
    return Waiting(rows, len(rows), pool.now[0], pool.running, *columns, out.ready, tasks.visible)


@inline
def view_running(device: int, tasks: TaskColumns, view: View, out: PlacementColumns, pool: Pool) -> Running:
    """Return what a scheduler sees of the running tasks that an idle device could take over."""
    for other in range(len(pool.arrives)):
        if pool.running[other] != NONE:
            pool.arrives[other] = data_arrival(pool.running[other], device, tasks, out, view)
    return Running(pool.running, pool.arrives, pool.now[0], tasks.memory_required, tasks.visible)


@jitable
def take(position: int, pool: Pool) -> int:
    """Remove the task at a position from the pool, which keeps its order; return its row, NONE if there is none."""
    first, last = pool.cursor[FIRST], pool.cursor[LAST]
    if position >= last - first:
        return NONE
    row: int = pool.row[first + position]
    if 2 * position < last - first:  # the shorter side closes the gap
        for at in range(first + position, first, -1):
            pool.row[at] = pool.row[at - 1]
        pool.cursor[FIRST] += 1
    else:
        for at in range(first + position, last - 1):
            pool.row[at] = pool.row[at + 1]
        pool.cursor[LAST] -= 1
    return row


@jitable
def start_task(
    row: int,
    device: int,
    tasks: TaskColumns,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
    pool: Pool,
) -> None:
    """Start a task now on an idle device; its end is known when it comes."""
    now = pool.now[0]
    if len(view.arrives) > 0:
        view.arrives[device] = max(now, data_arrival(row, device, tasks, out, view))
    clocks.free[device] = max(now, clocks.free[device])
    run_whole(row, device, tasks, view, clocks, out)
    pool.running[device] = row
    push(queues.events, queues.size, device, clocks.free)
    if len(queues.backlog) > 0:
        expect_end(row, device, tasks, view, clocks, out, queues)
        view.running_end[device] = queues.expected_end[device]
    view.free[device] = view.running_end[device]


@no_inline
def abort(
    victim: int,
    thief: int,
    tasks: TaskColumns,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    queues: OrderedQueues,
    pool: Pool,
) -> int:
    """End what a device runs now, note the lost seconds and return its row; NONE if the thief cannot have it."""
    count = pool.aborts.number[0]
    row = pool.running[victim] if victim < len(pool.running) else NONE
    if row == NONE or count == len(pool.aborts.row):
        return NONE
    if not fits(1.0, thief, tasks.actual[row], tasks.memory_required[row], view):
        return NONE
    now, begin = pool.now[0], out.gpu_start[row] if view.kind[victim] == GPU else out.cpu_start[row]
    pool.aborts.row[count], pool.aborts.device[count] = row, victim
    pool.aborts.start[count], pool.aborts.end[count] = min(begin, now), now  # not begun if it waited for data
    pool.aborts.number[0] += 1
    pool.running[victim] = NONE
    clocks.free[victim] = now
    if len(clocks.running) > 0:
        clocks.running[victim, 0] = 0.0  # how long it would have taken nobody knows
    view.free[victim], view.running_end[victim] = now, now
    drop_event(victim, clocks, queues)
    return row


@jitable
def drop_event(device: int, clocks: Clocks, queues: OrderedQueues) -> None:
    """Forget when a device would have ended: move it to the top of the events, then remove it."""
    at = 0
    while queues.events[at] != device:
        at += 1
    while at > 0:
        queues.events[at] = queues.events[(at - 1) // 2]
        at = (at - 1) // 2
    queues.events[0] = device
    pop(queues.events, queues.size, clocks.free)
