"""Capacity: the highest arrival rate at which a policy's queue stays stable."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Tasks
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
    half = len(tasks) // 2
    at_half, at_end = float(tasks.arrival_time[half - 1]), float(tasks.arrival_time[-1])
    backlog_at_half = float(placements.finish[:half].max()) - at_half
    backlog_at_end = placements.makespan - at_end
    return (backlog_at_end - backlog_at_half) / (at_end - at_half)
