"""What a policy sees: the task at hand and the devices' backlog, and small helpers to reason about them.

All helpers work alike in compiled and in plain Python policies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.cluster import GPU, KINDS, Cluster
from hybrid_scheduler.core.compiling import jitable
from hybrid_scheduler.core.tasks import Floats, Ints


class TaskView(NamedTuple):
    """One task at the moment of its decision."""

    row: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    duration_estimate: float
    ready_time: float  # it has arrived and its parents have ended
    times: Floats  # whole-task seconds by device class; NaN for a policy that is not `sighted`


class View(NamedTuple):
    """The devices, one entry each: when they will be free and what they are."""

    free: Floats  # when the work queued so far will have ended, as far as that can be known
    arrives: Floats  # when the data of the task's parents can be there; empty if no data moves
    kind: Ints  # 0 CPU, 1 GPU
    device_class: Ints
    node: Ints
    memory: Floats
    bandwidth: Floats
    watts: Floats
    dollars: Floats
    gpus: Ints  # indices of the GPUs
    first_cpu: Ints  # index of the first CPU of the device's node
    cpu_count: Ints  # how many CPUs that node has
    network: float  # MB/s between nodes
    queued: bool  # False in the isolated race, where every device is always free


def view_of(cluster: Cluster, queued: bool = True) -> View:
    """Return a view of the cluster with every device free."""
    count = len(cluster.devices)
    node = np.array([device.node for device in cluster.devices], np.int64)
    kind = np.array([KINDS[device.device_class.kind] for device in cluster.devices], np.int64)
    cpus_of_node = np.bincount(node[kind != GPU], minlength=len(cluster.nodes)).astype(np.int64)
    first_of_node = np.searchsorted(node, np.arange(len(cluster.nodes))).astype(np.int64)
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
        first_cpu=first_of_node[node],
        cpu_count=cpus_of_node[node],
        network=float(cluster.network),
        queued=queued,
    )


@jitable
def soonest(ready: float, view: View, device: int) -> float:
    """Return when a device can start something that is ready then, its data on the device."""
    return max(earliest(ready, view, device), view.free[device])


@jitable
def earliest(ready: float, view: View, device: int) -> float:
    """Return when something that is ready then could start on a free device: its data has to be there."""
    return max(ready, view.arrives[device]) if len(view.arrives) > 0 else ready


@jitable
def start_on(task: TaskView, view: View, device: int) -> float:
    """Return when the task could start on a device."""
    return soonest(task.ready_time, view, device)


@jitable
def finish_on(task: TaskView, view: View, device: int) -> float:
    """Return when the whole task would end on a device by the times that the policy sees; inf if it does not fit."""
    finish = start_on(task, view, device) + task.times[view.device_class[device]]
    return finish if task.memory_required <= view.memory[device] else np.inf


@jitable
def can_run(task: TaskView, view: View, device: int) -> bool:
    """Whether the whole task fits the device's memory and its class can run it."""
    return task.memory_required <= view.memory[device] and np.isfinite(task.times[view.device_class[device]])


@jitable
def cpu_beside(view: View, device: int) -> int:
    """Return the CPU that takes the other share of a task on `device`: the first free one of its node."""
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
