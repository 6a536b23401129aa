"""An adversary: searches small workloads on which one policy does as badly as possible against another.

Simulated annealing over the columns of a few tasks, as in Coleman and Krishnamachari 2024, "PISA: An adversarial
approach to comparing task graph scheduling algorithms": every step changes one figure of one task, the ratio of both
policies' measures decides, and worse workloads are accepted ever more rarely. What is found is a workload like any
other, so a file of it is read by `hms compare`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError, check_number, unknown_name
from hybrid_scheduler.studies.pretraining import load_or_train
from hybrid_scheduler.workloads.generator import WorkloadGenerator

Progress = Callable[[int, int], None]
MEASURES = ("turnaround", "makespan")
HOT, COLD = 0.3, 0.005  # temperatures of the first and the last step, in logarithms of the ratio
LIMITS = {"size": (100.0, 5000.0), "compute_intensity": (0.0, 1.0), "memory_required": (10.0, 8000.0)}
"""Between which the figures of tasks are varied: those of the presets."""


@dataclass(frozen=True)
class WorstCase:
    """The workload with the largest ratio that a search has found."""

    tasks: Tasks
    ratio: float
    victim: float  # seconds of the policy under attack
    rival: float


def find_worst_case(
    victim: str,
    rival: str,
    cluster: Cluster,
    *,
    tasks: int = 12,
    steps: int = 400,
    seed: int = 0,
    measure: str = "turnaround",
    progress: Progress | None = None,
) -> WorstCase:
    """Search for tasks on which `victim` is as bad as possible against `rival`; the same seed finds the same."""
    check_number("tasks", tasks, 2, 10_000, whole=True)
    check_number("steps", steps, 1, 10**7, whole=True)
    if measure not in MEASURES:
        raise unknown_name("measure of an adversary:", measure, MEASURES)
    if victim == rival:
        raise InputError(f"'{victim}' cannot be worse than itself: name two policies")

    def judge(workload: Tasks) -> WorstCase:
        bad, good = (_measure(spec, workload, cluster, seed, measure) for spec in (victim, rival))
        return WorstCase(workload, bad / good, bad, good)

    generator = np.random.default_rng([seed, 0xAD])
    current = worst = judge(WorkloadGenerator(seed).generate_preset("mixed", tasks, load=1.0, cluster=cluster))
    for step in range(steps):
        if progress:
            progress(step, steps)
        temperature = HOT * (COLD / HOT) ** (step / steps)
        trial = judge(vary(current.tasks, generator))
        if math.log(trial.ratio / current.ratio) >= temperature * math.log(generator.random()):
            current = trial
        worst = max(worst, current, key=lambda case: case.ratio)
    if progress:
        progress(steps, steps)
    return worst


def _measure(spec: str, tasks: Tasks, cluster: Cluster, seed: int, measure: str) -> float:
    placements = Lane(load_or_train(spec, cluster, seed), VirtualMultiGPU(cluster=cluster)).run(tasks)
    if measure == "makespan":
        return placements.makespan
    return float(placements.turnaround[placements.ran].mean())


def vary(tasks: Tasks, generator: np.random.Generator) -> Tasks:
    """Return the tasks with one figure of one of them changed, or with another gap between two arrivals."""
    row, names = int(generator.integers(len(tasks))), (*LIMITS, "arrival_time")
    name = names[generator.integers(len(names))]
    if name == "arrival_time":
        gaps = np.diff(tasks.arrival_time, prepend=0.0)
        gaps[row] = 0.0 if generator.random() < 0.3 else (gaps[row] + 0.01) * math.exp(generator.normal(0.0, 1.0))
        return tasks.with_arrival_times(np.cumsum(gaps))
    low, high = LIMITS[name]
    column = getattr(tasks, name).copy()
    near = column[row] + generator.normal(0.0, 0.2) * (high - low)
    column[row] = generator.uniform(low, high) if generator.random() < 0.3 else np.clip(near, low, high)
    given: dict[str, Any] = {each: getattr(tasks, each) for each in LIMITS} | {name: column}
    return replace(Tasks.build(**given, arrival_time=tasks.arrival_time), task_id=tasks.task_id)
