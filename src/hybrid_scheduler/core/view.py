"""What a scheduler sees, the task and the devices' backlog, and helpers to reason about them.

All helpers work in compiled and in plain Python schedulers alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.clocks import typical_seconds as typical_seconds
from hybrid_scheduler.core.cluster import CPU, GPU, KINDS, Cluster
from hybrid_scheduler.core.compiler import jitable
from hybrid_scheduler.core.device_index import DeviceIndex as DeviceIndex
from hybrid_scheduler.core.device_index import end_of as end_of
from hybrid_scheduler.core.device_index import find_cheapest as find_cheapest
from hybrid_scheduler.core.device_index import free_time as free_time
from hybrid_scheduler.core.device_index import is_better as is_better
from hybrid_scheduler.core.tasks import Floats, Ints

BUCKETS, BUCKETS_PER_OCTAVE, SHORTEST = 511, 12, 1e-6
"""Of the index of a queue: by the logarithm of the seconds."""


class TaskView(NamedTuple):
    """One task at the moment of its decision."""

    row: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    duration_estimate: float  # NaN for a non-clairvoyant scheduler
    ready_time: float  # when it has arrived and its parents have finished
    times: Floats  # whole-task seconds by device class; NaN for a non-clairvoyant scheduler
    divisible: bool = True  # False: it runs whole, and a share is rounded


class View(NamedTuple):
    """The devices, one entry each: when they will be free and what they are."""

    free: Floats  # end of the work queued so far, estimated where it is not known
    arrives: Floats  # when the data of the task's parents can be on the device; empty if no data moves
    kind: Ints  # 0 CPU, 1 GPU
    device_class: Ints
    node: Ints
    memory: Floats
    bandwidth: Floats
    watts: Floats
    dollars: Floats
    gpus: Ints  # indices of the GPUs
    first_cpu: Ints  # index of the first CPU of the device's node
    cpu_count: Ints  # number of CPUs of that node
    network: float  # MB/s between nodes
    queued: bool  # False in isolated mode, where every device is always free
    running_end: Floats  # end of the work that runs, estimated where not known; as `free` without ordered queues
    waiting: Ints  # pieces of work that wait in ordered queues
    queue_count: Ints  # index of the queues, if asked for: Fenwick trees of the numbers and seconds of waiting work
    queue_work: Floats
    device_index: DeviceIndex | None  # of the devices, if asked for and they are many
    ended: Floats  # what a non-clairvoyant scheduler knows of tasks that have ended, by class: how many (up to 1000),
    # their mean seconds, and the mean error of the logarithms of its predictions and of that mean, unless it ignores
    # errors; empty: no account
    history: Floats  # what has ended in a graph: the number of entries, then row, class and seconds of each; empty
    # unless the scheduler `reads_history` and is not clairvoyant
    expected: Floats  # with a history: seconds by row and class by which queues are estimated; a scheduler may write
    # there what it has learnt of a task that it is about to queue


def build_view(cluster: Cluster, queued: bool = True) -> View:
    """Return a view of the cluster with every device free."""
    count = len(cluster.devices)
    node = np.array([device.node for device in cluster.devices], np.int64)
    kind = np.array([KINDS[device.device_class.kind] for device in cluster.devices], np.int64)
    node_cpus = np.bincount(node[kind != GPU], minlength=len(cluster.nodes)).astype(np.int64)
    node_first = np.searchsorted(node, np.arange(len(cluster.nodes))).astype(np.int64)
    free = np.zeros(count)
    return View(
        free=free,
        arrives=np.empty(0),
        kind=kind,
        device_class=cluster.class_index,
        node=node,
        memory=cluster.per_device("memory"),
        bandwidth=cluster.per_device("bandwidth"),
        watts=cluster.per_device("watts"),
        dollars=cluster.per_device("dollars_per_second"),
        gpus=cluster.gpus.astype(np.int64),
        first_cpu=node_first[node],
        cpu_count=node_cpus[node],
        network=float(cluster.network),
        queued=queued,
        running_end=free,
        waiting=np.zeros(count, np.int64),
        queue_count=np.empty((0, 0), np.int64),
        queue_work=np.empty((0, 0)),
        device_index=None,
        ended=np.empty((0, 4)),
        history=np.empty((0, 3)),
        expected=np.empty((0, 1)),
    )


def with_clocks(view: View, free: Floats) -> View:
    """Return a view of the same devices with other clocks."""
    return view._replace(free=free, running_end=free)


@jitable
def find_least_loaded(index: DeviceIndex, view: View, wanted: int) -> int:
    """Return the device of a kind that is free first, the first of equals; -1 if none of that kind is at work."""
    best, earliest = -1, np.inf
    for kind in range(len(index.first)):
        device, free = find_cheapest(index, kind, -np.inf, free_time, ())
        if view.kind[device] == wanted and is_better(free, device, earliest, best):
            best, earliest = device, free
    return best


@jitable
def data_ready_time(ready: float, view: View, device: int) -> float:
    """Return when a task that is ready at `ready` also has its parents' data on a device."""
    return max(ready, view.arrives[device]) if len(view.arrives) > 0 else ready


@jitable
def start_on(task: TaskView, view: View, device: int) -> float:
    """Return when the task could start on a device."""
    return max(data_ready_time(task.ready_time, view, device), view.free[device])


@jitable
def finish_on(task: TaskView, view: View, device: int) -> float:
    """Return when the whole task would finish on a device by the visible times; inf if it does not fit."""
    finish = start_on(task, view, device) + task.times[view.device_class[device]]
    return finish if task.memory_required <= view.memory[device] else np.inf


@jitable
def can_run(task: TaskView, view: View, device: int) -> bool:
    """Whether the whole task fits the device's memory and its class can run it."""
    return task.memory_required <= view.memory[device] and np.isfinite(task.times[view.device_class[device]])


@jitable
def next_fitting(device: int, task: TaskView, view: View) -> int:
    """Return the first device from a given one on, in a circle, that can hold a task; that one if none can."""
    for step in range(len(view.free)):
        other = (device + step) % len(view.free)
        if task.memory_required <= view.memory[other]:
            return other
    return device


@jitable
def least_loaded_node_cpu(view: View, device: int) -> int:
    """Return the CPU of the device's node that is free first; it takes the CPU share of a split task."""
    first = view.first_cpu[device]
    best = first
    for cpu in range(first + 1, first + view.cpu_count[device]):
        if view.free[cpu] < view.free[best]:
            best = cpu
    return best


@jitable
def least_loaded_cpu(view: View) -> int:
    """Return the CPU that is free first in the whole cluster."""
    return find_cpu(view, view.device_index)


@jitable
def find_cpu(view: View, index: DeviceIndex | None) -> int:
    """Return the CPU that is free first, by the index if there is one."""
    best = view.first_cpu[0]
    if index is not None:
        best = find_least_loaded(index, view, CPU)
    else:
        for device in range(len(view.free)):
            if view.kind[device] != GPU and view.free[device] < view.free[best]:
                best = device
    return best


@jitable
def least_loaded_gpu(view: View) -> int:
    """Return the GPU that is free first; the least loaded CPU in a cluster without GPUs."""
    return find_gpu(view, view.device_index) if len(view.gpus) > 0 else least_loaded_cpu(view)


@jitable
def find_gpu(view: View, index: DeviceIndex | None) -> int:
    """Return the GPU that is free first, by the index if there is one."""
    best = view.gpus[0]
    if index is not None:
        best = find_least_loaded(index, view, GPU)
    else:
        for gpu in view.gpus:
            if view.free[gpu] < view.free[best]:
                best = gpu
    return best


@jitable
def bucket(seconds: float) -> int:
    """Return the number of a logarithmic bucket, a twelfth of an octave wide, from a microsecond to forty days."""
    if not seconds > SHORTEST:
        return 0
    return min(int(math.log2(seconds / SHORTEST) * BUCKETS_PER_OCTAVE), BUCKETS - 1)


@jitable
def count_queue(view: View, device: int, seconds: float) -> tuple[int, float]:
    """Return how much waits on a device in front of a task of so many seconds, in a queue with the shortest first.

    The number of waiting pieces that are not longer, and their seconds; those within a twelfth of an octave count as
    equally long. Only schedulers with `indexes_queues = True` have this index, and only where queues are ordered.
    """
    number, work = 0, 0.0
    at = bucket(seconds) + 1 if len(view.queue_count) > 0 else 0
    while at > 0:
        number += view.queue_count[device, at]
        work += view.queue_work[device, at]
        at -= at & -at
    return number, work
