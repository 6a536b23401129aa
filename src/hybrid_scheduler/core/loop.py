"""THE loop: tasks in, placements out; `occupy` is the only function in which simulated time passes.

Everything here is plain Python that Numba can also compile. `decide` is a placeholder: `compiler.py` binds the
scheduler's `choose` or `plan` under that name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.clocks import (
    Clocks,
    Estimates,
    enqueue,
    note_end,
    typical_seconds,
    update_estimate,
    update_estimates,
)
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import counted, inline, jitable
from hybrid_scheduler.core.device_index import DeviceIndex, note_free, pass_time
from hybrid_scheduler.core.placements import RAN, SPILLED
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import TaskView, View, data_ready_time, least_loaded_node_cpu


def decide(policy: Any, task: Any, view: View) -> Any:
    """Stand in for the scheduler's `choose` or `plan`, which replaces this name when a loop is bound."""
    raise NotImplementedError("bind a scheduler first: see compiler.py")


class TaskColumns(NamedTuple):
    """The tasks as the loop reads them: arrays and nothing else."""

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
    visible: Floats  # class times that the scheduler sees; one row of NaN for a non-clairvoyant one
    expected: Floats  # class times that estimate the queues; the actual ones unless tasks carry others, and for a
    # non-clairvoyant scheduler what it predicts: NaN becomes the mean of what has ended when the task is queued
    actual: Floats  # class times that pass
    divisible: npt.NDArray[np.bool_]  # whether a task may be split; one entry if all may


class PlacementColumns(NamedTuple):
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
    """The order of decisions: row by row, a fixed permutation, or the ready tasks of a graph as a heap."""

    order: Ints  # empty: row by row
    heap: Ints
    missing: Ints  # number of parents that have not been placed yet
    size: Ints  # one entry: number of rows in the heap


class InvalidDecision(NamedTuple):
    """A decision that no device can execute; row -1 means that there was none."""

    row: int
    gpu_fraction: float
    device: int


class Batch(NamedTuple):
    """Tasks that are ready together, for schedulers that plan several at once."""

    row: Ints
    size: Floats
    compute_intensity: Floats
    memory_required: Floats
    ready_time: Floats
    times: Floats


def simulate(
    policy: Any, tasks: TaskColumns, queue: Queue, steps: int, view: View, clocks: Clocks, out: PlacementColumns
) -> InvalidDecision:
    """Decide and place task by task, in the order in which they become ready."""
    has_edges = len(tasks.parents) > 0
    moves_data = len(view.arrives) > 0
    for step in range(steps):
        row = next_row(queue, step, out)
        look_at_clocks(out.ready[row], view.device_index, view, clocks, clocks.estimates)
        if moves_data:
            find_data_arrivals(row, tasks, out, view)
        gpu_fraction, device = decide(policy, view_task(row, 0, tasks, out), view)
        if not is_valid(gpu_fraction, device, view):
            return InvalidDecision(row, gpu_fraction, device)
        place(row, gpu_fraction, device, tasks, view, clocks, out)
        if has_edges:
            release_children(row, tasks, queue, out)
    return InvalidDecision(-1, 0.0, 0)


def simulate_batches(
    policy: Any,
    tasks: TaskColumns,
    queue: Queue,
    steps: int,
    view: View,
    clocks: Clocks,
    out: PlacementColumns,
    window: int,
) -> InvalidDecision:
    """Decide in batches of at most `window` tasks: all that are ready when a device runs out of work."""
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
        look_at_clocks(now, view.device_index, view, clocks, clocks.estimates)
        order, fractions, devices = decide(policy, gather_batch(rows[:count], tasks, out), view)
        for position in order:
            row = rows[position]
            if not is_valid(fractions[position], devices[position], view):
                return InvalidDecision(row, fractions[position], devices[position])
            if moves_data:
                find_data_arrivals(row, tasks, out, view)
            place(row, fractions[position], devices[position], tasks, view, clocks, out)
            if has_edges:
                release_children(row, tasks, queue, out)
        step += count
    return InvalidDecision(-1, 0.0, 0)


@inline
def view_task(row: int, first: int, tasks: TaskColumns, out: PlacementColumns) -> TaskView:
    """Return what a scheduler sees of a task of the block that begins with row `first`."""
    return TaskView(
        row - first,
        tasks.size[row],
        tasks.compute_intensity[row],
        tasks.memory_required[row],
        tasks.arrival_time[row],
        tasks.duration_estimate[min(row, len(tasks.duration_estimate) - 1)],  # NaN for a non-clairvoyant one
        out.ready[row],
        tasks.visible[min(row, len(tasks.visible) - 1)],  # the only row for a non-clairvoyant scheduler
        tasks.divisible[min(row, len(tasks.divisible) - 1)],
    )


@counted
def gather_batch(rows: Ints, tasks: TaskColumns, out: PlacementColumns) -> Batch:
    """Collect the columns of a batch."""
    return Batch(
        rows,
        tasks.size[rows],
        tasks.compute_intensity[rows],
        tasks.memory_required[rows],
        out.ready[rows],
        tasks.visible[rows] if len(tasks.visible) == len(tasks.size) else tasks.visible[np.zeros_like(rows)],
    )


@jitable
def is_valid(gpu_fraction: float, device: int, view: View) -> bool:
    """Whether a decision names an existing device that can take that share."""
    if not (gpu_fraction >= 0.0 and gpu_fraction <= 1.0):
        return False
    if device < 0 or device >= len(view.free):
        return False
    return gpu_fraction == 0.0 or view.kind[device] == GPU


@jitable
def place(
    row: int, gpu_fraction: float, device: int, tasks: TaskColumns, view: View, clocks: Clocks, out: PlacementColumns
) -> None:
    """Run a task where the scheduler chose, or else where it fits."""
    share, device, cpu = resolve(row, gpu_fraction, device, tasks, view, clocks, out)
    if cpu == device:
        run_whole(row, device, tasks, view, clocks, out)
    else:
        run_split(row, share, device, cpu, tasks, view, clocks, out)
    if view.queued:
        note_free(view.device_index, view, device)
        note_free(view.device_index, view, cpu)


@jitable
def resolve(
    row: int, gpu_fraction: float, device: int, tasks: TaskColumns, view: View, clocks: Clocks, out: PlacementColumns
) -> tuple[float, int, int]:
    """Return the GPU share, the device and the CPU of the rest; device and CPU are the same for a whole task."""
    times = tasks.actual[row]
    memory = tasks.memory_required[row]
    if gpu_fraction > 0.0 and gpu_fraction < 1.0 and not tasks.divisible[min(row, len(tasks.divisible) - 1)]:
        gpu_fraction = 1.0 if gpu_fraction >= 0.5 else 0.0
    whole = gpu_fraction == view.kind[device]  # all of it on the chosen device
    if whole and fits(1.0, device, times, memory, view):
        return gpu_fraction, device, device
    share, cpu = gpu_fraction, device
    if view.kind[device] == GPU:
        first = view.first_cpu[device]
        catch_up(first, first + view.cpu_count[device], view.device_index, clocks, clocks.estimates)
        cpu = least_loaded_node_cpu(view, device)
    if share > 0.0 and not fits(share, device, times, memory, view):
        share = 0.0
        out.status[row] = SPILLED
    if share == 1.0:
        return share, device, device
    if not fits(1.0 - share, cpu, times, memory, view):
        out.status[row] = SPILLED
        catch_up(0, len(view.free), view.device_index, clocks, clocks.estimates)
        device = first_free_device(times, memory, view)
        return float(view.kind[device]), device, device
    if share == 0.0:
        return share, cpu, cpu
    return share, device, cpu


@jitable
def run_whole(row: int, device: int, tasks: TaskColumns, view: View, clocks: Clocks, out: PlacementColumns) -> None:
    """Run a whole task on one device."""
    start, end = occupy(row, device, 1.0, tasks, view, clocks, out)
    on_gpu = view.kind[device] == GPU  # selected, not branched on: the branch predictor misses too often
    out.gpu_fraction[row] = 1.0 if on_gpu else 0.0
    out.gpu[row] = device if on_gpu else -1
    out.cpu[row] = -1 if on_gpu else device
    out.gpu_start[row] = start if on_gpu else np.nan
    out.cpu_start[row] = np.nan if on_gpu else start
    out.finish[row] = end


@jitable
def run_split(
    row: int, share: float, gpu: int, cpu: int, tasks: TaskColumns, view: View, clocks: Clocks, out: PlacementColumns
) -> None:
    """Run a share on a GPU and the rest on a CPU, independently of each other."""
    gpu_start, gpu_end = occupy(row, gpu, share, tasks, view, clocks, out)
    cpu_start, cpu_end = occupy(row, cpu, 1.0 - share, tasks, view, clocks, out)
    out.gpu_fraction[row] = share
    out.gpu[row], out.cpu[row] = gpu, cpu
    out.gpu_start[row], out.cpu_start[row] = gpu_start, cpu_start
    out.finish[row] = max(gpu_end, cpu_end)


@jitable
def occupy(
    row: int, device: int, share: float, tasks: TaskColumns, view: View, clocks: Clocks, out: PlacementColumns
) -> tuple[float, float]:
    """Run a share of a task on a device as soon as it is free; return start and end."""
    kind = view.device_class[device]
    ready = data_ready_time(out.ready[row], view, device)
    start = max(ready, clocks.free[device])
    end = start + share * tasks.actual[row, kind]
    if view.queued:
        if len(clocks.running) > 0:
            note_last_end(device, clocks, view.history)
            clocks.running[device, 0] = tasks.actual[row, kind]
            clocks.running[device, 1] = expect_seconds(row, kind, tasks, clocks)
            clocks.running[device, 2] = row
        clocks.free[device] = end
        catch_up(device, device + 1, view.device_index, clocks, clocks.estimates)
        estimate_end(row, device, kind, share, ready, start, end, tasks, clocks, clocks.estimates)
    return start, end


@jitable
def estimate_end(
    row: int,
    device: int,
    kind: int,
    share: float,
    ready: float,
    start: float,
    end: float,
    tasks: TaskColumns,
    clocks: Clocks,
    estimates: Estimates | None,
) -> None:
    """Estimate when a share of a task that a device gets will end, if ends are estimated.

    The estimates are an argument of their own, here and elsewhere: Numba leaves out what follows from None.
    """
    if estimates is not None:
        whole, expected = tasks.actual[row, kind], expect_seconds(row, kind, tasks, clocks)
        enqueue(device, ready, start, end, share, whole, expected, estimates)


@jitable
def look_at_clocks(
    now: float, index: DeviceIndex | None, view: View, clocks: Clocks, estimates: Estimates | None
) -> None:
    """Estimate the ends at the time of a decision: all of them, or with an index those that differ from the last."""
    if estimates is not None:
        if index is None:
            update_estimates(now, clocks, estimates)
        else:
            pass_time(now, index, view, estimates)


@jitable
def catch_up(first: int, last: int, index: DeviceIndex | None, clocks: Clocks, estimates: Estimates | None) -> None:
    """Estimate the ends of some devices, where an index leaves that until somebody asks."""
    if estimates is not None and index is not None:
        for device in range(first, last):
            update_estimate(device, clocks, estimates)


@jitable
def expect_seconds(row: int, kind: int, tasks: TaskColumns, clocks: Clocks) -> float:
    """Return the seconds that a task is expected to take on a class; once asked for they stay."""
    if np.isnan(tasks.expected[row, kind]):
        tasks.expected[row, kind] = typical_seconds(kind, clocks.ended)
    return tasks.expected[row, kind]


@jitable
def note_last_end(device: int, clocks: Clocks, history: Floats) -> None:
    """Count what ran last on a device that has ended it, once; write it to the history, if one is kept."""
    if clocks.running[device, 0] > 0.0:
        seconds, expected = clocks.running[device, 0], clocks.running[device, 1]
        note_end(clocks.device_class[device], seconds, expected, clocks.ended)
        clocks.running[device, 0] = 0.0
        if len(history) > 0:
            history[0, 0] += 1.0
            last = int(history[0, 0])
            history[last, 0], history[last, 1] = clocks.running[device, 2], clocks.device_class[device]
            history[last, 2] = seconds


@jitable
def fits(share: float, device: int, times: Floats, memory: float, view: View) -> bool:
    """Whether a device can run a share of the task and hold its memory."""
    return share * memory <= view.memory[device] and np.isfinite(times[view.device_class[device]])


@jitable
def first_free_device(times: Floats, memory: float, view: View) -> int:
    """Return the device that is free first among those that can run the whole task."""
    best = -1
    for device in range(len(view.free)):
        if fits(1.0, device, times, memory, view) and (best < 0 or view.free[device] < view.free[best]):
            best = device
    return best


@jitable
def find_data_arrivals(row: int, tasks: TaskColumns, out: PlacementColumns, view: View) -> None:
    """Find when the parents' data can be on each device; data on the same device does not move."""
    for device in range(len(view.free)):
        view.arrives[device] = data_arrival(row, device, tasks, out, view)


@jitable
def data_arrival(row: int, device: int, tasks: TaskColumns, out: PlacementColumns, view: View) -> float:
    """Return when the data of all parents can be on a device."""
    latest = 0.0
    for edge in range(tasks.parent_start[row], tasks.parent_start[row + 1]):
        parent = tasks.parents[edge]
        # The output of a split task is assembled on its CPU.
        home = out.gpu[parent] if out.gpu_fraction[parent] == 1.0 else out.cpu[parent]
        latest = max(latest, out.finish[parent] + transfer_time(tasks.megabytes[edge], home, device, view))
    return latest


@jitable
def transfer_time(megabytes: float, home: int, device: int, view: View) -> float:
    """Return the seconds to move data between two devices over the slowest link on the way."""
    if home == device:
        return 0.0
    slowest = min(view.bandwidth[home], view.bandwidth[device])
    if view.node[home] != view.node[device]:
        slowest = min(slowest, view.network)
    return megabytes / slowest


@jitable
def release_children(row: int, tasks: TaskColumns, queue: Queue, out: PlacementColumns) -> None:
    """Make the children of a placed task ready that wait for no other parent."""
    for edge in range(tasks.child_start[row], tasks.child_start[row + 1]):
        child = tasks.children[edge]
        out.ready[child] = max(out.ready[child], out.finish[row])
        queue.missing[child] -= 1
        if queue.missing[child] == 0 and len(queue.heap) > 0 and out.status[child] == RAN:
            push(queue.heap, queue.size, child, out.ready)


@jitable
def next_row(queue: Queue, step: int, out: PlacementColumns) -> int:
    """Return the row to decide next."""
    if len(queue.heap) > 0:
        return pop(queue.heap, queue.size, out.ready)
    return queue.order[step] if len(queue.order) > 0 else step


@jitable
def next_is_ready(queue: Queue, step: int, now: float, out: PlacementColumns) -> bool:
    """Whether there is a next row and it is ready at time `now`."""
    if len(queue.heap) > 0:
        return queue.size[0] > 0 and out.ready[queue.heap[0]] <= now
    return out.ready[queue.order[step] if len(queue.order) > 0 else step] <= now


@jitable
def precedes(one: int, other: int, moments: Floats) -> bool:
    """Whether an item comes before another: by its moment, then by its number."""
    return moments[one] < moments[other] or (moments[one] == moments[other] and one < other)


@jitable
def push(heap: Ints, size: Ints, item: int, moments: Floats) -> None:
    """Add a row or a device to a heap that is ordered by a moment of each."""
    at = size[0]
    size[0] += 1
    while at > 0 and precedes(item, heap[(at - 1) // 2], moments):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


@jitable
def pop(heap: Ints, size: Ints, moments: Floats) -> int:
    """Remove and return the earliest item of a heap."""
    first = heap[0]
    size[0] -= 1
    last = heap[size[0]]
    at = 0
    child = 1
    while child < size[0]:
        if child + 1 < size[0] and precedes(heap[child + 1], heap[child], moments):
            child += 1
        if precedes(last, heap[child], moments):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = last
    return first
