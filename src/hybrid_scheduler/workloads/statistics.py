"""Statistics of a workload: distributions of its columns, its arrivals, and what they mean for a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hybrid_scheduler.bounds.makespan import batch_work, lower_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Tasks

BINS = 40
HEAVY = 5.0  # maximum over median from which on bins are logarithmic
BOUND_TASKS = 500_000  # more get no lower bound, which takes half a second for so many


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
    scale: Literal["linear", "log"]
    """Of the bins; log where the values are heavy-tailed."""
    edges: list[float]
    """Limits of the bins, one more than bins."""
    counts: list[int]
    """Tasks in each bin."""


@dataclass(frozen=True)
class Arrivals:
    """When tasks arrive."""

    edges: list[float]
    """Seconds, one more than bins."""
    counts: list[int]
    """Tasks that arrive in each bin."""


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


def compute_shape(tasks: Tasks, cluster: Cluster) -> Shape:
    """Compute the statistics of tasks; NaN where one does not apply, as the rate of tasks that all arrive at once."""
    measured = sorted(tasks.measured)
    tasks = _drop_foreign_times(tasks, cluster)
    times = class_times(tasks, cluster)
    fits = rejections(tasks, times, cluster) == RAN
    gaps = np.diff(np.sort(tasks.arrival_time))
    span = float(np.ptp(tasks.arrival_time))
    rate = len(gaps) / span if span > 0 else np.nan
    edges = _bin_edges(float(tasks.arrival_time.min()), float(tasks.arrival_time.max()), "linear")
    counts, edges = np.histogram(tasks.arrival_time, edges)
    is_gpu, present = np.array([each.kind == "gpu" for each in cluster.classes]), cluster.counts > 0
    on_cpu, on_gpu = (times[:, present & which].min(axis=1, initial=np.inf) for which in (~is_gpu, is_gpu))
    work = batch_work(tasks, cluster) / len(tasks)  # seconds of the whole cluster that a task takes at best
    return Shape(
        span=span,
        arrival_rate=rate,
        offered_load=rate * work,
        burstiness=float(gaps.std() / gaps.mean()) if span > 0 else np.nan,
        dependency_share=float(np.mean(np.diff(tasks.edges.start) > 0)),
        gpu_faster_share=float(np.mean(on_gpu < on_cpu)) if len(cluster.gpus) else np.nan,
        unfit_share=float(1.0 - fits.mean()),
        measured_classes=measured,
        bound=lower_bound(tasks, cluster, times).makespan if len(tasks) <= BOUND_TASKS else np.nan,
        size=distribution(tasks.size),
        compute_intensity=distribution(tasks.compute_intensity),
        memory_required=distribution(tasks.memory_required),
        arrivals=Arrivals(edges.tolist(), counts.tolist()),
    )


def best_times(tasks: Tasks, cluster: Cluster) -> Floats:
    """Return the time of every task on its fastest class; tasks that no class can run are left out."""
    best = class_times(_drop_foreign_times(tasks, cluster), cluster)[:, cluster.counts > 0].min(axis=1)
    found: Floats = best[np.isfinite(best)]
    return found if len(found) else np.array([np.inf])


def _drop_foreign_times(tasks: Tasks, cluster: Cluster) -> Tasks:
    """Drop measured times if none is of a class of this cluster, whose times then follow the formulas."""
    known = {each.name for each in cluster.classes} & set(tasks.measured)
    return tasks if known else replace(tasks, measured={})


def distribution(values: Floats) -> Distribution:
    """Return quantiles and a histogram, with logarithmic bins if values are heavy-tailed and above 0."""
    low, p25, median, p75, p90, p99, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1)).tolist()
    scale: Literal["linear", "log"] = "log" if low > 0 and high > HEAVY * median else "linear"
    counts, edges = np.histogram(values, _bin_edges(low, high, scale))
    return Distribution(
        low, p25, median, p75, p90, p99, high, float(values.mean()), scale, edges.tolist(), counts.tolist()
    )


def _bin_edges(low: float, high: float, scale: str) -> Floats:
    if not high > low:
        return np.array([low, np.nextafter(low, np.inf)])
    wanted = np.geomspace(low, high, BINS + 1) if scale == "log" else np.linspace(low, high, BINS + 1)
    wanted[0], wanted[-1] = low, high  # rounding must not leave a task out
    return np.unique(wanted)


def summarise(tasks: Tasks) -> dict[str, float]:
    """Return counts, means and the arrival rate of a workload."""
    if len(tasks) == 0:
        return {"num_tasks": 0}
    duration = float(tasks.arrival_time.max())
    return {
        "num_tasks": len(tasks),
        "avg_size": float(tasks.size.mean()),
        "min_size": float(tasks.size.min()),
        "max_size": float(tasks.size.max()),
        "avg_intensity": float(tasks.compute_intensity.mean()),
        "avg_memory": float(tasks.memory_required.mean()),
        "avg_duration": float(tasks.duration_estimate.mean()),
        "total_duration": duration,
        "arrival_rate": len(tasks) / duration if duration else float("inf"),
        "num_dependencies": len(tasks.edges.parents),
    }
