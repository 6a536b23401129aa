"""The exact optimum of a small batch of whole tasks: which device takes which task (HiGHS MILP)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from hybrid_scheduler.bounds import whole_task_bound
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Floats, Ints, Tasks
from hybrid_scheduler.physics import class_times, rejections

KICKS = 3000
"""How often the local search is thrown off its course to look elsewhere."""


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


def optimum(tasks: Tasks, cluster: Cluster, time_limit: float = 60.0, gap: float = 1e-4) -> Optimum:
    """Return the shortest schedule of whole tasks that are all there at time 0 and wait for nobody.

    Local search from the prices comes first; if it ends within `gap` of the bound, that is proof enough. Else
    HiGHS looks for a better one until it has proved the gap or the time is over.
    """
    if tasks.has_edges or tasks.arrival_time.any():
        raise InputError(
            "the exact optimum is for a batch: tasks without dependencies that all arrive at 0; use lower_bound"
        )
    times = class_times(tasks, cluster)
    if len(tasks) == 0 or rejections(tasks, times, cluster).any():
        raise InputError("the exact optimum needs tasks that all fit some device: drop those that are rejected")
    fits = tasks.memory_required[:, None] <= cluster.per_device("memory")
    seconds = np.where(fits, times[:, cluster.class_index], np.inf)
    bound = whole_task_bound(tasks, cluster)
    prices = np.array([bound.prices[each.name] for each in cluster.classes])[cluster.class_index]
    device = _searched(_improved(_by_price(seconds, prices), seconds), seconds, bound.makespan * (1 + gap), KICKS)
    best = Optimum(float(_longest_load(device, seconds)), bound.makespan, device, proved=False)
    if best.gap > gap:
        best = _better(best, _solve(seconds, best, time_limit, gap), seconds)
    return replace(best, proved=best.gap <= gap * (1 + 1e-9))


def _better(found: Optimum, result: Any, seconds: Floats) -> Optimum:
    """Take what the solver adds: a shorter schedule, a higher bound, or both."""
    if result.mip_dual_bound is not None:
        found = replace(found, lower_bound=max(found.lower_bound, float(result.mip_dual_bound) * found.lower_bound))
    if result.x is not None:
        device = np.argmax(result.x[1:].reshape(seconds.shape), axis=1)
        makespan = float(_longest_load(device, seconds))
        if makespan < found.makespan:
            found = replace(found, makespan=makespan, device=device)
    return replace(found, lower_bound=min(found.lower_bound, found.makespan))


@njit(cache=True, error_model="numpy")
def _by_price(seconds: Floats, prices: Floats) -> Ints:
    """Give every task, longest first, the device with the smallest price · time; equal prices to the least loaded."""
    tasks, devices = seconds.shape
    shortest = np.empty(tasks)
    for i in range(tasks):
        shortest[i] = seconds[i].min()
    load = np.zeros(devices)
    device = np.zeros(tasks, np.int64)
    for i in np.argsort(-shortest):
        best, cheapest = -1, np.inf
        for d in range(devices):
            if not np.isfinite(seconds[i, d]):
                continue
            price = prices[d] * seconds[i, d]
            if price < cheapest or (price == cheapest and load[d] < load[best]):
                best, cheapest = d, price
        device[i] = best
        load[best] += seconds[i, best]
    return device


@njit(cache=True, error_model="numpy")
def _improved(device: Ints, seconds: Floats) -> Ints:
    """Move or swap tasks of the fullest device as long as that makes the fuller of the two devices less full."""
    tasks, devices = seconds.shape
    load = np.zeros(devices)
    for i in range(tasks):
        load[device[i]] += seconds[i, device[i]]
    while True:
        full = np.argmax(load)
        best, one, other, target = load[full], -1, -1, -1
        for i in range(tasks):
            if device[i] != full:
                continue
            for d in range(devices):
                worse = max(load[full] - seconds[i, full], load[d] + seconds[i, d])
                if d != full and worse < best:
                    best, one, other, target = worse, i, -1, d
            for j in range(tasks):
                d = device[j]
                if d == full:
                    continue
                here = load[full] - seconds[i, full] + seconds[j, full]
                worse = max(here, load[d] - seconds[j, d] + seconds[i, d])
                if worse < best:
                    best, one, other, target = worse, i, j, d
        if one < 0 or best >= load[full] * (1.0 - 1e-12):
            return device
        load[full] -= seconds[one, full]
        load[target] += seconds[one, target]
        device[one] = target
        if other >= 0:
            load[target] -= seconds[other, target]
            load[full] += seconds[other, full]
            device[other] = full


@njit(cache=True, error_model="numpy")
def _searched(device: Ints, seconds: Floats, enough: float, kicks: int) -> Ints:
    """Kick a few tasks elsewhere and improve again; keep what is not worse, stop when it is good enough."""
    tasks, devices = seconds.shape
    best, shortest = device, _longest_load(device, seconds)
    state = np.uint64(88172645463325252)  # xorshift: the same search every time
    for _ in range(kicks):
        if shortest <= enough:
            break
        trial = best.copy()
        for _ in range(3):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            task, target = int(state % np.uint64(tasks)), int((state >> np.uint64(32)) % np.uint64(devices))
            if np.isfinite(seconds[task, target]):
                trial[task] = target
        trial = _improved(trial, seconds)
        length = _longest_load(trial, seconds)
        if length <= shortest:
            best, shortest = trial, length
    return best


@njit(cache=True, error_model="numpy")
def _longest_load(device: Ints, seconds: Floats) -> float:
    load = np.zeros(seconds.shape[1])
    for task in range(len(device)):
        load[device[task]] += seconds[task, device[task]]
    return float(load.max())


def _solve(seconds: Floats, known: Optimum, time_limit: float, gap: float) -> Any:
    """Minimise T over T and one 0/1 variable per (task, device), in units of the known bound."""
    tasks, devices = seconds.shape
    allowed = np.isfinite(seconds)
    loads = np.where(allowed, seconds, 0.0) / known.lower_bound
    row, device = np.divmod(np.arange(tasks * devices), devices)
    each_once = coo_array((np.ones(len(row)), (row, 1 + np.arange(len(row)))), shape=(tasks, 1 + len(row)))
    load = coo_array((loads.ravel(), (device, 1 + np.arange(len(row)))), shape=(devices, 1 + len(row)))
    time = coo_array((np.ones(devices), (np.arange(devices), np.zeros(devices, int))), shape=load.shape)
    upper = np.concatenate([[np.inf], allowed.ravel().astype(float)])
    return milp(
        np.concatenate([[1.0], np.zeros(len(row))]),
        constraints=[
            LinearConstraint(each_once.tocsr(), 1.0, 1.0),
            LinearConstraint(csr_array(load) - csr_array(time), -np.inf, 0.0),
        ],
        integrality=np.concatenate([[0.0], np.ones(len(row))]),
        bounds=Bounds(np.concatenate([[1.0], np.zeros(len(row))]), upper),
        options={"time_limit": time_limit, "mip_rel_gap": gap},
    )
