"""Oracle: tries every share in steps on every GPU with the true times and queues, takes the earliest finish."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import (
    DeviceIndex,
    TaskView,
    View,
    end_of,
    find_cheapest,
    find_cpu,
    finish_on,
    is_better,
    least_loaded_node_cpu,
    start_on,
)
from hybrid_scheduler.errors import check_number
from hybrid_scheduler.schedulers.scheduler import Scheduler


class Oracle(Scheduler):
    """Greedy with exact times: best for the task at hand, without regard to the tasks behind it."""

    name = "oracle"
    splits = True
    indexes_devices = True

    def __init__(self, step: Annotated[float, "step of the shares that it tries"] = 0.05) -> None:
        check_number("oracle: step", step, 1e-4, 1)
        self.shares = np.linspace(0.0, 1.0, round(1 / step) + 1)

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Try whole CPUs, then every share on every GPU; equal ends go to the lower index and smaller share."""
        shares = self.shares if task.divisible else self.shares[:0]
        return find_split(shares, task, view, view.device_index)


@jitable
def find_split(shares: Floats, task: TaskView, view: View, index: DeviceIndex | None) -> tuple[float, int]:
    """Return the share and the device with the earliest finish."""
    # In one node the CPU is the same, whichever the GPU.
    if index is not None and view.node[len(view.node) - 1] == 0:
        return find_split_by_class(shares, task, view, index)
    best, share, earliest = 0, 0.0, np.inf
    for device in range(len(view.free)):
        if view.kind[device] != GPU:
            finish = finish_on(task, view, device)
            if finish < earliest:
                best, earliest = device, finish
    for gpu in view.gpus:
        cpu = least_loaded_node_cpu(view, gpu)
        room, seconds = view.memory[gpu], task.times[view.device_class[gpu]]
        rest = (start_on(task, view, cpu), task.times[view.device_class[cpu]], view.memory[cpu])
        finish, part = try_shares(start_on(task, view, gpu), seconds, room, task.memory_required, shares, *rest)
        if finish < earliest:
            best, share, earliest = gpu, part, finish
    return share, best


@jitable
def find_split_by_class(shares: Floats, task: TaskView, view: View, index: DeviceIndex) -> tuple[float, int]:
    """Return the same for a single node, by the index."""
    best, share, earliest, gpu, first = 0, 0.0, np.inf, -1, np.inf
    memory, cpu = task.memory_required, find_cpu(view, index)
    rest = (max(task.ready_time, view.free[cpu]), task.times[view.device_class[cpu]], view.memory[cpu])
    for kind in range(len(index.first)):
        device, finish = find_cheapest(index, kind, task.ready_time, end_of, (task.times[kind],))
        if finish == np.inf:
            continue
        if view.kind[device] == GPU:
            trial = (task.times[kind], view.memory[device], memory, shares, *rest)
            device, finish = find_cheapest(index, kind, task.ready_time, end_of_split, trial)
            if is_better(finish, device, first, gpu):
                gpu, first = device, finish
                _, share = try_shares(max(task.ready_time, view.free[gpu]), *trial)
        elif is_better(finish, device, earliest, best) and memory <= view.memory[device]:
            best, earliest = device, finish
    return (share, gpu) if first < earliest else (0.0, best)


@jitable
def try_shares(
    start: float,
    seconds: float,
    room: float,
    memory: float,
    shares: Floats,
    cpu_start: float,
    cpu_seconds: float,
    cpu_room: float,
) -> tuple[float, float]:
    """Return the earliest finish of a task that starts then on a GPU and may share it with a CPU, and the share."""
    earliest, share = np.inf, 0.0
    for f in shares[1:-1]:
        finish = max(start + f * seconds, cpu_start + (1.0 - f) * cpu_seconds)
        fits = f * memory <= room
        fits &= (1.0 - f) * memory <= cpu_room
        finish = finish if fits else np.inf
        if finish < earliest:
            earliest, share = finish, f
    if memory <= room and start + seconds < earliest:
        earliest, share = start + seconds, 1.0
    return earliest, share


@jitable
def end_of_split(
    start: float,
    seconds: float,
    room: float,
    memory: float,
    shares: Floats,
    cpu_start: float,
    cpu_seconds: float,
    cpu_room: float,
) -> float:
    """Return only the finish."""
    return try_shares(start, seconds, room, memory, shares, cpu_start, cpu_seconds, cpu_room)[0]
