"""What a scheduler sees, the task and the devices' backlog, and helpers to reason about them.

All helpers work in compiled and in plain Python schedulers alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.cluster import GPU, KINDS, Cluster
from hybrid_scheduler.core.compiler import jitable
from hybrid_scheduler.core.tasks import Floats, Ints


class TaskView(NamedTuple):
    """One task at the moment of its decision."""

    row: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    duration_estimate: float
    ready_time: float  # when it has arrived and its parents have finished
    times: Floats  # whole-task seconds by device class; NaN for a non-clairvoyant scheduler


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


def build_view(cluster: Cluster, queued: bool = True) -> View:
    """Return a view of the cluster with every device free."""
    count = len(cluster.devices)
    node = np.array([device.node for device in cluster.devices], np.int64)
    kind = np.array([KINDS[device.device_class.kind] for device in cluster.devices], np.int64)
    node_cpus = np.bincount(node[kind != GPU], minlength=len(cluster.nodes)).astype(np.int64)
    node_first = np.searchsorted(node, np.arange(len(cluster.nodes))).astype(np.int64)
    return View(
        free=np.zeros(count),
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
    )


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
    best = view.first_cpu[0]
    for device in range(len(view.free)):
        if view.kind[device] != GPU and view.free[device] < view.free[best]:
            best = device
    return best


@jitable
def least_loaded_gpu(view: View) -> int:
    """Return the GPU that is free first; the least loaded CPU in a cluster without GPUs."""
    if len(view.gpus) == 0:
        return least_loaded_cpu(view)
    best = view.gpus[0]
    for gpu in view.gpus:
        if view.free[gpu] < view.free[best]:
            best = gpu
    return best
