"""THE loop: tasks in, placements out; `place` is the only function in which simulated time passes.

Everything here is plain Python that Numba can also compile. `decide` is a placeholder: it becomes
the policy's `choose` or `plan`, put in its place by `compiling.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from hybrid_scheduler.core.clocks import Clocks, look, note
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiling import jitable
from hybrid_scheduler.core.placements import RAN, SPILLED
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import TaskView, View, cpu_beside, earliest


def decide(policy: Any, task: Any, view: View) -> Any:
    """Stand for the policy's `choose` or `plan`, which takes this name's place when a loop is bound."""
    raise NotImplementedError("bind a policy first: see compiling.py")


class Columns(NamedTuple):
    """The tasks as the loop reads them."""

    size: Floats
    compute_intensity: Floats
    memory_required: Floats
    arrival_time: Floats
    duration_estimate: Floats
    parent_start: Ints
    parents: Ints
    megabytes: Floats
    child_start: Ints
    children: Ints
    seen: Floats  # times that the policy sees, one row for all if it sees none
    expected: Floats  # times that the queues are believed by; those that really pass unless tasks carry others
    true: Floats  # times that really pass


class Out(NamedTuple):
    """The placements as the loop writes them."""

    gpu_fraction: Floats
    gpu: npt.NDArray[np.int32]
    cpu: npt.NDArray[np.int32]
    gpu_start: Floats
    cpu_start: Floats
    ready: Floats
    finish: Floats
    status: npt.NDArray[np.uint8]


class Queue(NamedTuple):
    """Who is next: rows as they stand, rows in a given order, or the ready tasks of a graph as a heap."""

    order: Ints  # empty: as they stand
    heap: Ints
    missing: Ints  # parents that have not been placed yet
    size: Ints  # one entry: how many rows the heap holds


class Fault(NamedTuple):
    """An answer that no device can carry out."""

    row: int
    gpu_fraction: float
    device: int


class Batch(NamedTuple):
    """Tasks that are ready together, for policies that look at several at once."""

    row: Ints
    size: Floats
    compute_intensity: Floats
    memory_required: Floats
    ready_time: Floats
    times: Floats


def walk(  # both loops are called alike, so this one takes a window too
    policy: Any,
    tasks: Columns,
    queue: Queue,
    steps: int,
    view: View,
    clocks: Clocks,
    out: Out,
    queued: bool,
    window: int,  # noqa: ARG001
) -> Fault:
    """Let the policy decide task by task in the order in which they become ready."""
    believes = len(clocks.believed) > 0
    has_edges = len(tasks.parents) > 0
    moves_data = len(view.arrives) > 0
    sighted = len(tasks.seen) == len(tasks.size)
    for step in range(steps):
        row = next_row(queue, step, out)
        if believes:
            look(out.ready[row], clocks)
        if moves_data:
            find_arrivals(row, tasks, out, view)
        task = TaskView(
            row,
            tasks.size[row],
            tasks.compute_intensity[row],
            tasks.memory_required[row],
            tasks.arrival_time[row],
            tasks.duration_estimate[row],
            out.ready[row],
            tasks.seen[row if sighted else 0],
        )
        gpu_fraction, device = decide(policy, task, view)
        if not is_possible(gpu_fraction, device, view):
            return Fault(row, gpu_fraction, device)
        place(row, gpu_fraction, device, tasks, view, clocks, out, queued)
        if has_edges:
            release(row, tasks, queue, out)
    return Fault(-1, 0.0, 0)


def walk_batches(
    policy: Any,
    tasks: Columns,
    queue: Queue,
    steps: int,
    view: View,
    clocks: Clocks,
    out: Out,
    queued: bool,
    window: int,
) -> Fault:
    """Let the policy decide in batches: whatever is ready when a device really runs out of work."""
    believes = len(clocks.believed) > 0
    has_edges = len(tasks.parents) > 0
    moves_data = len(view.arrives) > 0
    rows = np.empty(min(window, steps), np.int64)
    step = 0
    while step < steps:
        rows[0] = next_row(queue, step, out)
        now = max(out.ready[rows[0]], clocks.free.min())
        count = 1
        while count < len(rows) and step + count < steps and next_is_ready(queue, step + count, now, out):
            rows[count] = next_row(queue, step + count, out)
            count += 1
        if believes:
            look(now, clocks)
        order, fractions, devices = decide(policy, batch_of(rows[:count], tasks, out), view)
        for position in order:
            row = rows[position]
            if not is_possible(fractions[position], devices[position], view):
                return Fault(row, fractions[position], devices[position])
            if moves_data:
                find_arrivals(row, tasks, out, view)
            place(row, fractions[position], devices[position], tasks, view, clocks, out, queued)
            if has_edges:
                release(row, tasks, queue, out)
        step += count
    return Fault(-1, 0.0, 0)


@register_jitable
def batch_of(rows: Ints, tasks: Columns, out: Out) -> Batch:
    """Gather the rows of a batch."""
    return Batch(
        rows,
        tasks.size[rows],
        tasks.compute_intensity[rows],
        tasks.memory_required[rows],
        out.ready[rows],
        tasks.seen[rows] if len(tasks.seen) == len(tasks.size) else tasks.seen[np.zeros_like(rows)],
    )


@jitable
def is_possible(gpu_fraction: float, device: int, view: View) -> bool:
    """Whether a decision names an existing device that can take that share."""
    if not (gpu_fraction >= 0.0 and gpu_fraction <= 1.0):
        return False
    if device < 0 or device >= len(view.free):
        return False
    return gpu_fraction == 0.0 or view.kind[device] == GPU


@jitable
def place(
    row: int, gpu_fraction: float, device: int, tasks: Columns, view: View, clocks: Clocks, out: Out, queued: bool
) -> None:
    """Run a task where the policy said, or where it fits, and move the clocks of its devices."""
    times = tasks.true[row]
    memory = tasks.memory_required[row]
    whole = gpu_fraction == view.kind[device]  # all of it on the device that was named
    if whole and takes(1.0, device, times, memory, view):
        run_whole(row, device, tasks, view, clocks, out, queued)
        return
    share = gpu_fraction
    cpu = device if view.kind[device] != GPU else cpu_beside(view, device)
    if share > 0.0 and not takes(share, device, times, memory, view):
        share = 0.0
        out.status[row] = SPILLED
    if share == 1.0:
        run_whole(row, device, tasks, view, clocks, out, queued)
    elif not takes(1.0 - share, cpu, times, memory, view):
        out.status[row] = SPILLED
        run_whole(row, anywhere(times, memory, view), tasks, view, clocks, out, queued)
    elif share == 0.0:
        run_whole(row, cpu, tasks, view, clocks, out, queued)
    else:
        run_split(row, share, device, cpu, tasks, view, clocks, out, queued)


@jitable
def run_whole(row: int, device: int, tasks: Columns, view: View, clocks: Clocks, out: Out, queued: bool) -> None:
    """Run a whole task on one device; without a branch on its kind, which a processor guesses wrong too often."""
    start, end = occupy(row, device, 1.0, tasks, view, clocks, out, queued)
    on_gpu = view.kind[device] == GPU
    out.gpu_fraction[row] = 1.0 if on_gpu else 0.0
    out.gpu[row] = device if on_gpu else -1
    out.cpu[row] = -1 if on_gpu else device
    out.gpu_start[row] = start if on_gpu else np.nan
    out.cpu_start[row] = np.nan if on_gpu else start
    out.finish[row] = end


@jitable
def run_split(
    row: int, share: float, gpu: int, cpu: int, tasks: Columns, view: View, clocks: Clocks, out: Out, queued: bool
) -> None:
    """Run a share on a GPU and the rest on a CPU, side by side."""
    gpu_start, gpu_end = occupy(row, gpu, share, tasks, view, clocks, out, queued)
    cpu_start, cpu_end = occupy(row, cpu, 1.0 - share, tasks, view, clocks, out, queued)
    out.gpu_fraction[row] = share
    out.gpu[row], out.cpu[row] = gpu, cpu
    out.gpu_start[row], out.cpu_start[row] = gpu_start, cpu_start
    out.finish[row] = max(gpu_end, cpu_end)


@jitable
def occupy(
    row: int, device: int, share: float, tasks: Columns, view: View, clocks: Clocks, out: Out, queued: bool
) -> tuple[float, float]:
    """Let a device work on a share of a task as soon as it really can; return start and end."""
    kind = view.device_class[device]
    possible = earliest(out.ready[row], view, device)
    start = max(possible, clocks.free[device])
    end = start + share * tasks.true[row, kind]
    if queued:
        clocks.free[device] = end
        if len(clocks.believed) > 0:
            note(device, possible, start, end, share * tasks.expected[row, kind], clocks)
    return start, end


@jitable
def takes(share: float, device: int, times: Floats, memory: float, view: View) -> bool:
    """Whether a device can run a share of the task and hold its memory."""
    return share * memory <= view.memory[device] and np.isfinite(times[view.device_class[device]])


@jitable
def anywhere(times: Floats, memory: float, view: View) -> int:
    """Return the device that is free first among those that can run the whole task."""
    best = -1
    for device in range(len(view.free)):
        if takes(1.0, device, times, memory, view) and (best < 0 or view.free[device] < view.free[best]):
            best = device
    return best


@jitable
def find_arrivals(row: int, tasks: Columns, out: Out, view: View) -> None:
    """Find when the parents' data can be on each device; nothing moves within a device."""
    for device in range(len(view.free)):
        latest = 0.0
        for edge in range(tasks.parent_start[row], tasks.parent_start[row + 1]):
            parent = tasks.parents[edge]
            # The output of a split task is put together on its CPU.
            home = out.gpu[parent] if out.gpu_fraction[parent] == 1.0 else out.cpu[parent]
            latest = max(latest, out.finish[parent] + move_time(tasks.megabytes[edge], home, device, view))
        view.arrives[device] = latest


@jitable
def move_time(megabytes: float, home: int, device: int, view: View) -> float:
    """Return seconds to move data from one device to another: the slowest link on the way decides."""
    if home == device:
        return 0.0
    slowest = min(view.bandwidth[home], view.bandwidth[device])
    if view.node[home] != view.node[device]:
        slowest = min(slowest, view.network)
    return megabytes / slowest


@jitable
def release(row: int, tasks: Columns, queue: Queue, out: Out) -> None:
    """Tell the children of a placed task; those that wait for nobody else become ready."""
    for edge in range(tasks.child_start[row], tasks.child_start[row + 1]):
        child = tasks.children[edge]
        out.ready[child] = max(out.ready[child], out.finish[row])
        queue.missing[child] -= 1
        if queue.missing[child] == 0 and len(queue.heap) > 0 and out.status[child] == RAN:
            push(queue, child, out.ready)


@jitable
def next_row(queue: Queue, step: int, out: Out) -> int:
    """Return the row to decide on now."""
    if len(queue.heap) > 0:
        return pop(queue, out.ready)
    return queue.order[step] if len(queue.order) > 0 else step


@jitable
def next_is_ready(queue: Queue, step: int, now: float, out: Out) -> bool:
    """Whether the next row is there and ready at time `now`."""
    if len(queue.heap) > 0:
        return queue.size[0] > 0 and out.ready[queue.heap[0]] <= now
    return out.ready[queue.order[step] if len(queue.order) > 0 else step] <= now


@jitable
def before(one: int, other: int, ready: Floats) -> bool:
    """Whether a row comes before another: earlier ready, then lower row."""
    return ready[one] < ready[other] or (ready[one] == ready[other] and one < other)


@jitable
def push(queue: Queue, row: int, ready: Floats) -> None:
    """Add a row to the heap."""
    heap, at = queue.heap, queue.size[0]
    queue.size[0] += 1
    while at > 0 and before(row, heap[(at - 1) // 2], ready):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = row


@jitable
def pop(queue: Queue, ready: Floats) -> int:
    """Take the earliest row from the heap."""
    heap = queue.heap
    first = heap[0]
    queue.size[0] -= 1
    size = queue.size[0]
    row = heap[size]
    at = 0
    child = 1
    while child < size:
        if child + 1 < size and before(heap[child + 1], heap[child], ready):
            child += 1
        if before(row, heap[child], ready):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = row
    return first
