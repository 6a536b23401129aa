"""Exact optimum of a small batch of whole tasks: local search first, then a mixed-integer programme (HiGHS)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array

from hybrid_scheduler.bounds.local_search import find_start_prices, finish_times, search_assignment
from hybrid_scheduler.bounds.makespan import whole_task_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError

NODES = 50
"""Most nodes of HiGHS's search tree: a limit that does not depend on the speed of the machine."""


@dataclass(frozen=True)
class Optimum:
    """The best assignment found; if `proved`, none is better by more than the gap that was asked for."""

    makespan: float
    lower_bound: float
    device: Ints
    proved: bool

    @property
    def gap(self) -> float:
        """Relative distance of the makespan from the lower bound."""
        return self.makespan / self.lower_bound - 1.0 if self.lower_bound else 0.0


@dataclass(frozen=True)
class Effort:
    """When to stop: at this gap, after so many nodes of the search tree (0: no solver) or seconds."""

    gap: float = 1e-4
    nodes: int = NODES
    seconds: float = np.inf


def optimum(tasks: Tasks, cluster: Cluster, time_limit: float = 60.0, gap: float = 1e-4) -> Optimum:
    """Return the shortest schedule of independent whole tasks that all arrive at time 0.

    Local search that ends within `gap` of the lower bound needs no further proof. Otherwise HiGHS looks for a better
    schedule until it has proved the gap or the time limit is reached.
    """
    if tasks.has_edges or tasks.arrival_time.any():
        raise InputError(
            "the exact optimum is for a batch: tasks without dependencies that all arrive at 0; use lower_bound"
        )
    times = class_times(tasks, cluster)
    if len(tasks) == 0 or rejections(tasks, times, cluster).any():
        raise InputError("the exact optimum needs tasks that all fit some device: drop those that are rejected")
    memory = np.array([each.memory for each in cluster.classes])
    seconds = np.where(tasks.memory_required[:, None] <= memory, times, np.inf)
    bound = whole_task_bound(tasks, cluster)
    prices = np.array([bound.prices[each.name] for each in cluster.classes])
    effort = Effort(gap, nodes=2**31 - 1, seconds=time_limit)
    return _optimise(seconds, cluster.class_index, np.zeros(len(cluster.devices)), prices, bound.makespan, effort)


def best_assignment(seconds: Floats, kind: Ints, start: Floats, effort: Effort) -> Optimum:
    """Return the best assignment of a batch to devices that are free from `start` on, the first of them at 0."""
    prices = find_start_prices(seconds, kind, start)
    # No task ends before its fastest device could end it, and no device ends before it could begin.
    by_device = np.where(np.isfinite(seconds), seconds, np.inf)[:, kind] + start
    least = max(float(by_device.min(axis=1).max()), float(start.max()))
    return _optimise(seconds, kind, start, prices, least, effort)


def _optimise(seconds: Floats, kind: Ints, start: Floats, prices: Floats, least: float, effort: Effort) -> Optimum:
    device = search_assignment(seconds, kind, start, prices, least * (1.0 + effort.gap))
    found = Optimum(float(finish_times(device, seconds, kind, start).max()), least, device, proved=False)
    found = replace(found, lower_bound=max(least, _work_bound(seconds[:, kind], start, prices[kind], found.makespan)))
    if found.gap > effort.gap and effort.nodes > 0:
        found = _merge_solution(found, _solve(seconds[:, kind], start, found, effort), seconds, kind, start)
    return replace(found, proved=found.gap <= effort.gap * (1 + 1e-9))


def _work_bound(seconds: Floats, start: Floats, prices: Floats, makespan: float) -> float:
    """Return the priced work bound by device, over the pairs that a schedule shorter than `makespan` can use."""
    possible = np.isfinite(seconds) & (seconds + start <= makespan * (1 + 1e-9))
    priced = np.where(possible, np.where(possible, seconds, 0.0) * prices, np.inf).min(axis=1).sum()
    return min(makespan, float((priced + prices @ start) / max(prices.sum(), 1e-300)))


def _merge_solution(found: Optimum, result: Any, seconds: Floats, kind: Ints, start: Floats) -> Optimum:
    """Adopt what the solver adds: a shorter schedule, a higher bound, or both."""
    if result.mip_dual_bound is not None:
        found = replace(found, lower_bound=max(found.lower_bound, float(result.mip_dual_bound) * found.lower_bound))
    if result.x is not None:
        device = np.argmax(result.x[1:].reshape(len(seconds), len(kind)), axis=1)
        makespan = float(finish_times(device, seconds, kind, start).max())
        if makespan < found.makespan:
            found = replace(found, makespan=makespan, device=device)
    return replace(found, lower_bound=min(found.lower_bound, found.makespan))


def _solve(seconds: Floats, start: Floats, known: Optimum, effort: Effort) -> Any:
    """Minimise T over T and one 0/1 variable per (task, device), in units of the known bound."""
    tasks, devices = seconds.shape
    # Pairs of task and device that alone end after the known schedule cannot improve it.
    allowed = np.isfinite(seconds) & (seconds + start <= known.makespan * (1 + 1e-9))
    loads = np.where(allowed, seconds, 0.0) / known.lower_bound
    row, device = np.divmod(np.arange(tasks * devices), devices)
    each_once = coo_array((np.ones(len(row)), (row, 1 + np.arange(len(row)))), shape=(tasks, 1 + len(row)))
    load = coo_array((loads.ravel(), (device, 1 + np.arange(len(row)))), shape=(devices, 1 + len(row)))
    time = coo_array((np.ones(devices), (np.arange(devices), np.zeros(devices, int))), shape=load.shape)
    upper = np.concatenate([[np.inf], allowed.ravel().astype(float)])
    limits = {"time_limit": effort.seconds} if np.isfinite(effort.seconds) else {}
    return milp(
        np.concatenate([[1.0], np.zeros(len(row))]),
        constraints=[
            LinearConstraint(each_once.tocsr(), 1.0, 1.0),
            LinearConstraint(csr_array(load) - csr_array(time), -np.inf, -start / known.lower_bound),
        ],
        integrality=np.concatenate([[0.0], np.ones(len(row))]),
        bounds=Bounds(np.concatenate([[1.0], np.zeros(len(row))]), upper),
        options={"mip_rel_gap": effort.gap, "node_limit": effort.nodes, **limits},
    )
