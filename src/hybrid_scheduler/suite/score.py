"""One cell of the scoreboard: a policy on an instance, and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hybrid_scheduler.lane import Lane
from hybrid_scheduler.metrics import measure
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.physics import class_times
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.simulator import VirtualMultiGPU


@dataclass(frozen=True)
class Score:
    """What a policy did on an instance with one seed; `problem` says why there is nothing, and is empty otherwise."""

    instance: str
    policy: str
    seed: int
    makespan: float = float("nan")
    mean_turnaround: float = float("nan")
    energy: float = float("nan")
    cost: float = float("nan")
    rejected: float = float("nan")
    seconds: float = float("nan")  # wall time of deciding and simulating, measured; lessons and compiling apart
    problem: str = ""


def scored(name: str, policy: str, seed: int, scheduler: Scheduler, tasks: Tasks, cluster: Cluster) -> Score:
    """Walk the tasks once and measure what came of it."""
    times = class_times(tasks, cluster)
    lane = Lane(scheduler, VirtualMultiGPU(cluster=cluster))
    begin = time.perf_counter()
    placements = lane.run(tasks, times)
    seconds = time.perf_counter() - begin
    figures = measure(placements)
    return Score(
        name,
        policy,
        seed,
        makespan=figures["makespan"],
        mean_turnaround=figures["mean_turnaround"],
        energy=figures["energy"],
        cost=figures["cost"],
        rejected=figures["rejected"],
        seconds=seconds,
    )
