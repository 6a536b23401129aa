"""The exact optimum of a small batch of whole tasks: which device takes which task (HiGHS MILP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, vstack

from hybrid_scheduler.bounds import whole_task_bound
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Floats, Ints, Tasks
from hybrid_scheduler.physics import class_times, rejections


@dataclass(frozen=True)
class Optimum:
    """The best assignment found; `proved` says that no better one exists (within `gap`)."""

    makespan: float
    lower_bound: float
    device: Ints
    proved: bool

    @property
    def gap(self) -> float:
        """How far the makespan may be from the best, as a share."""
        return self.makespan / self.lower_bound - 1.0 if self.lower_bound else 0.0


def optimum(tasks: Tasks, cluster: Cluster, time_limit: float = 60.0, gap: float = 1e-6) -> Optimum:
    """Return the shortest schedule of whole tasks that are all there at time 0 and wait for nobody."""
    if tasks.has_edges or tasks.arrival_time.any():
        raise InputError(
            "the exact optimum is for a batch: tasks without dependencies that all arrive at 0; use lower_bound"
        )
    times = class_times(tasks, cluster)
    if len(tasks) == 0 or rejections(tasks, times, cluster).any():
        raise InputError("the exact optimum needs tasks that all fit some device: drop those that are rejected")
    seconds = np.where(
        tasks.memory_required[:, None] <= cluster.per_device("memory"), times[:, cluster.class_index], np.inf
    )
    known = whole_task_bound(tasks, cluster).makespan
    result = _solve(seconds, cluster.class_index, known, time_limit, gap)
    if result.x is None:
        raise SchedulerError(
            f"no assignment of {len(tasks)} tasks to {len(cluster.devices)} devices found in {time_limit:g} s: "
            "raise the time limit"
        )
    device = np.argmax(result.x[1:].reshape(seconds.shape), axis=1)
    loads = np.bincount(device, weights=seconds[np.arange(len(device)), device])
    lower = max(known, float(result.mip_dual_bound) * known)
    return Optimum(float(loads.max()), min(lower, float(loads.max())), device, bool(result.status == 0))


def _solve(seconds: Floats, class_index: Ints, scale: float, time_limit: float, gap: float) -> Any:
    """Minimise T over T and one 0/1 variable per (task, device), in units of the known bound."""
    tasks, devices = seconds.shape
    allowed = np.isfinite(seconds)
    loads = np.where(allowed, seconds, 0.0) / scale
    row, device = np.divmod(np.arange(tasks * devices), devices)
    each_once = coo_array((np.ones(len(row)), (row, 1 + np.arange(len(row)))), shape=(tasks, 1 + len(row)))
    load = coo_array((loads.ravel(), (device, 1 + np.arange(len(row)))), shape=(devices, 1 + len(row)))
    time = coo_array((np.ones(devices), (np.arange(devices), np.zeros(devices, int))), shape=load.shape)
    within = csr_array(load) - csr_array(time)
    # Identical devices: the earlier one carries at least as much, so that mirror images are searched once.
    twins = np.flatnonzero(class_index[1:] == class_index[:-1])
    ordered = csr_array(load)[twins + 1] - csr_array(load)[twins]
    upper = np.concatenate([[np.inf], allowed.ravel().astype(float)])
    return milp(
        np.concatenate([[1.0], np.zeros(len(row))]),
        constraints=[
            LinearConstraint(each_once.tocsr(), 1.0, 1.0),
            LinearConstraint(vstack([within, ordered]).tocsr(), -np.inf, 0.0),
        ],
        integrality=np.concatenate([[0.0], np.ones(len(row))]),
        bounds=Bounds(np.concatenate([[1.0], np.zeros(len(row))]), upper),
        options={"time_limit": time_limit, "mip_rel_gap": gap},
    )
