"""Retrospective labels: which GPU share would have been best for tasks whose times are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds.makespan import find_prices
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Floats

STEPS = 20


def label_isolated(times: Floats, cluster: Cluster, steps: int = STEPS) -> Floats:
    """Return the oracle's share of every task: the best of 0, 5 %, … 100 % when all devices are free."""
    cpu, gpu = best_times(times, cluster)
    shares = np.linspace(0.0, 1.0, steps + 1)
    # A class that cannot run a task takes forever; its empty share takes no time.
    with np.errstate(invalid="ignore"):
        on_gpu = np.where(shares > 0, shares * gpu[:, None], 0.0)
        on_cpu = np.where(shares < 1, (1.0 - shares) * cpu[:, None], 0.0)
    best: Floats = shares[np.argmin(np.maximum(on_gpu, on_cpu), axis=1)]
    return best


def label_queued(times: Floats, cluster: Cluster) -> Floats:
    """Return the share that the best use of the whole cluster gives every task of a window.

    That is the LP optimum: a task goes to the class with the smallest price · time, and those at the cut are
    split.
    """
    on_cpu, on_gpu = best_times(times, cluster)
    if not (np.isfinite(on_cpu) & np.isfinite(on_gpu)).any():
        return np.isfinite(on_gpu).astype(np.float64)  # no task has a choice, whatever the prices
    prices = find_prices(times, cluster.counts)
    priced = np.where(cluster.counts > 0, times * prices, np.inf)
    cpu_price, gpu_price = best_times(priced, cluster)
    labels = (gpu_price < cpu_price).astype(np.float64)
    # Bisection stops beside the cut, never on it: tasks this close are the ones that the optimum splits.
    near = np.abs(gpu_price - cpu_price) <= 1e-6 * np.minimum(gpu_price, cpu_price)
    if near.any():
        labels[near] = _split_share(times, labels, near, cluster)
    return labels


def _split_share(times: Floats, labels: Floats, near: npt.NDArray[np.bool_], cluster: Cluster) -> float:
    """Return the share that makes CPUs and GPUs end together."""
    is_gpu = np.array([each.kind == "gpu" for each in cluster.classes])
    on_cpu, on_gpu = best_times(times, cluster)
    cpu, gpu = on_cpu / cluster.counts[~is_gpu].sum(), on_gpu / max(1, cluster.counts[is_gpu].sum())
    sure = ~near
    ahead = cpu[near].sum() + cpu[sure & (labels == 0)].sum() - gpu[sure & (labels == 1)].sum()
    return float(np.clip(ahead / (cpu[near].sum() + gpu[near].sum()), 0.0, 1.0))


def best_times(times: Floats, cluster: Cluster) -> tuple[Floats, Floats]:
    """Return every task's shortest whole time on a CPU and on a GPU; inf where there is none."""
    present = cluster.counts > 0
    is_gpu = np.array([each.kind == "gpu" for each in cluster.classes])
    cpu = times[:, present & ~is_gpu].min(axis=1, initial=np.inf)
    gpu = times[:, present & is_gpu].min(axis=1, initial=np.inf)
    return cpu, gpu
