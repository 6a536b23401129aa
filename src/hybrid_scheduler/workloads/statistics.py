"""The shape of a workload in numbers: what its tasks are like, and when they come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hybrid_scheduler.bounds.makespan import batch_work, lower_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Tasks

BINS = 40
HEAVY = 5.0  # maximum over median from which on bins are logarithmic
BOUND_TASKS = 500_000  # more are not asked for a bound, so that an answer takes half a second


@dataclass(frozen=True)
class Distribution:
    """How one quantity is spread over the tasks."""

    minimum: float
    p25: float
    median: float
    p75: float
    p90: float
    p99: float
    maximum: float
    mean: float
    scale: str  # of the bins: linear or log
    edges: list[float]
    counts: list[int]


@dataclass(frozen=True)
class Arrivals:
    """How many tasks arrive when."""

    edges: list[float]
    counts: list[int]


@dataclass(frozen=True)
class Shape:
    """A workload in numbers, some of them for one cluster."""

    span: float
    arrival_rate: float
    offered_load: float
    burstiness: float
    dependency_share: float
    gpu_faster_share: float
    unfit_share: float
    measured_classes: list[str]
    bound: float
    size: Distribution
    compute_intensity: Distribution
    memory_required: Distribution
    arrivals: Arrivals


def shape_of(tasks: Tasks, cluster: Cluster) -> Shape:
    """Return the shape of tasks; NaN is what does not apply, as the rate of tasks that all come at once."""
    measured = sorted(tasks.measured)
    if not {each.name for each in cluster.classes} & set(measured):
        tasks = replace(tasks, measured={})  # measured elsewhere: this cluster goes by the formulas
    times = class_times(tasks, cluster)
    fits = rejections(tasks, times, cluster) == RAN
    gaps = np.diff(np.sort(tasks.arrival_time))
    span = float(np.ptp(tasks.arrival_time))
    rate = len(gaps) / span if span > 0 else np.nan
    work = batch_work(tasks, cluster) / len(tasks)  # seconds of the whole cluster that a task takes at best
    return Shape(
        span=span,
        arrival_rate=rate,
        offered_load=rate * work,
        burstiness=float(gaps.std() / gaps.mean()) if span > 0 else np.nan,
        dependency_share=float(np.mean(np.diff(tasks.edges.start) > 0)),
        gpu_faster_share=_gpu_faster(times, cluster),
        unfit_share=float(1.0 - fits.mean()),
        measured_classes=measured,
        bound=lower_bound(tasks, cluster, times).makespan if len(tasks) <= BOUND_TASKS else np.nan,
        size=distribution(tasks.size),
        compute_intensity=distribution(tasks.compute_intensity),
        memory_required=distribution(tasks.memory_required),
        arrivals=_arrivals(tasks.arrival_time),
    )


def seconds_of(tasks: Tasks, cluster: Cluster) -> Distribution:
    """Return how the times on each task's fastest class are spread; tasks that no class can run are left out."""
    return distribution(finite_seconds(tasks, cluster))


def finite_seconds(tasks: Tasks, cluster: Cluster) -> Floats:
    """Return the time of every task on its fastest class, unless no class can run it."""
    if not {each.name for each in cluster.classes} & set(tasks.measured):
        tasks = replace(tasks, measured={})
    best = class_times(tasks, cluster)[:, cluster.counts > 0].min(axis=1)
    found: Floats = best[np.isfinite(best)]
    return found if len(found) else np.array([np.inf])


def _gpu_faster(times: Floats, cluster: Cluster) -> float:
    """Return the share of tasks that are faster whole on the best GPU; NaN if the cluster has none."""
    present = cluster.counts > 0
    is_gpu = np.array([each.kind == "gpu" for each in cluster.classes])
    if not (present & is_gpu).any():
        return float("nan")
    best_cpu = times[:, present & ~is_gpu].min(axis=1, initial=np.inf)
    return float(np.mean(times[:, present & is_gpu].min(axis=1) < best_cpu))


def distribution(values: Floats) -> Distribution:
    """Return quantiles and a histogram; bins grow with the values if these are heavy-tailed and above 0."""
    low, p25, median, p75, p90, p99, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1)).tolist()
    scale = "log" if low > 0 and high > HEAVY * median else "linear"
    counts, edges = np.histogram(values, _edges(low, high, scale))
    return Distribution(
        low, p25, median, p75, p90, p99, high, float(values.mean()), scale, edges.tolist(), counts.tolist()
    )


def _edges(low: float, high: float, scale: str) -> Floats:
    if not high > low:
        return np.array([low, np.nextafter(low, np.inf)])
    wanted = np.geomspace(low, high, BINS + 1) if scale == "log" else np.linspace(low, high, BINS + 1)
    wanted[0], wanted[-1] = low, high  # rounding must not leave a task out
    return np.unique(wanted)


def _arrivals(arrival_time: Floats) -> Arrivals:
    counts, edges = np.histogram(arrival_time, _edges(float(arrival_time.min()), float(arrival_time.max()), "linear"))
    return Arrivals(edges.tolist(), counts.tolist())
