"""Capacity: the highest arrival rate at which a policy's queue stays stable."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import Interval, bootstrap
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import load_or_train
from hybrid_scheduler.workloads.generator import saturation_rate, scale_to_rate
from hybrid_scheduler.workloads.source import Source

STABLE_GROWTH = 0.005
"""Seconds of backlog gained per second beyond which a queue counts as growing."""
NUM_TASKS = 20_000
TRAINING_TASKS, TRAINING_LOAD = 3000, 0.95


@dataclass(frozen=True)
class Capacity:
    """The rate in tasks per second that a scheduler sustains, and the offered load that this is."""

    rate: Interval
    load: Interval
    rates: tuple[float, ...] = ()  # seed by seed
    loads: tuple[float, ...] = ()


def find_capacity(source: Source, scheduler: str, cluster: Cluster, seeds: tuple[int, ...]) -> Capacity:
    """Search for the highest stable rate on every seed; no policy can exceed offered load 1."""
    rates, loads = [], []
    registry.schedulers.create(scheduler)  # a wrong name fails before any work
    for seed in seeds:
        tasks = source.tasks(seed, cluster)
        best = saturation_rate(tasks, cluster)
        if len(tasks) < 4 or not tasks.arrival_time.any():
            raise InputError(f"{source.name}: a capacity needs 4 tasks or more that arrive one after another")
        load = find_stable_load(tasks, scheduler, cluster, best, seed)
        rates.append(load * best)
        loads.append(load)
    return Capacity(bootstrap(rates), bootstrap(loads), tuple(rates), tuple(loads))


def find_stable_load(tasks: Tasks, scheduler: str, cluster: Cluster, best_rate: float, seed: int) -> float:
    """Bisect the offered load between 0 and 1 to half a per cent; a learner is trained first and then frozen."""
    policy = load_or_train(scheduler, cluster, seed)
    if policy.learn_every:
        first = tasks if tasks.has_edges else tasks.part(0, TRAINING_TASKS)
        Lane(policy, VirtualMultiGPU(cluster=cluster)).run(scale_to_rate(first, TRAINING_LOAD * best_rate))
        policy.learn_every = 0
    low, high = 0.0, 1.0
    while high - low > 0.005:
        load = 0.5 * (low + high)
        growth = measure_backlog_growth(scale_to_rate(tasks, load * best_rate), deepcopy(policy), cluster)
        low, high = (load, high) if growth < STABLE_GROWTH else (low, load)
    return 0.5 * (low + high)


def measure_backlog_growth(tasks: Tasks, policy: Scheduler, cluster: Cluster) -> float:
    """Return by how many seconds the unfinished work grows per second in the second half of the stream."""
    placements = VirtualMultiGPU(cluster=cluster).run(tasks, policy)
    at_half, at_end = float(tasks.arrival_time[len(tasks) // 2 - 1]), float(tasks.arrival_time[-1])
    return (measure_backlog(placements, at_end) - measure_backlog(placements, at_half)) / (at_end - at_half)


def measure_backlog(placements: Placements, now: float) -> float:
    """Return the seconds of work that the device with the most has left of what has come, in whatever order."""
    left, came = np.zeros(len(placements.cluster.devices)), placements.tasks.arrival_time <= now
    for device, start, seconds in (
        (placements.gpu, placements.gpu_start, placements.gpu_seconds),
        (placements.cpu, placements.cpu_start, placements.cpu_seconds),
    ):
        part = came & (device >= 0)
        rest = start[part] + seconds[part] - np.maximum(start[part], now)
        left += np.bincount(device[part], np.maximum(rest, 0.0), len(left))
    return float(left.max())
