"""Presets of jobs for shared clusters, drawn by seed: each comes with its machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hybrid_scheduler.core import elementary
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError, unknown_name

USERS = 20
SPEEDS = (
    {"A100": 1.0, "V100": 0.45, "T4": 0.15},
    {"A100": 1.0, "V100": 0.62, "T4": 0.28},
    {"A100": 1.0, "V100": 0.8, "T4": 0.5},
    {"A100": 1.0, "V100": 0.95, "T4": 0.9},
)
"""How fast four kinds of training run, from those that live on tensor cores to those that wait for their data."""


@dataclass(frozen=True)
class JobPreset:
    """A kind of jobs, their machines, and how both are drawn."""

    summary: str
    num_jobs: int
    machines: Callable[[], Machines]
    draw: Callable[[np.random.Generator, int], Jobs]
    load: float  # offered: width · seconds that arrive a second, over what there is


def draw_jobs(name: str, seed: int, count: int | None = None) -> tuple[Jobs, Machines]:
    """Draw the jobs of a preset so that they arrive at its load."""
    if name not in JOB_PRESETS:
        raise unknown_name("preset of jobs", name, JOB_PRESETS)
    preset = JOB_PRESETS[name]
    number = preset.num_jobs if count is None else count
    if number < 1:
        raise InputError(f"number of jobs is {number}, expected a whole number above 0")
    jobs, machines = preset.draw(np.random.default_rng([seed, 23]), number), preset.machines()
    capacity = machines.total_gpus or int(machines.cpu_milli.sum()) / WHOLE
    counted = (jobs.gpus > 0) if machines.total_gpus else np.ones(len(jobs), bool)
    span = float((jobs.width * jobs.seconds)[counted].sum()) / (preset.load * capacity)
    arrival = jobs.arrival / jobs.arrival.max() * span
    return replace(jobs, arrival=arrival, deadline=arrival + jobs.deadline), machines  # drawn as seconds from arrival


def _draw_users(generator: np.random.Generator, count: int) -> Ints:
    """Draw users of whom few submit most: Zipf's law."""
    chance = 1.0 / np.arange(1, USERS + 1)
    return generator.choice(USERS, count, p=chance / chance.sum())


def _draw_estimates(generator: np.random.Generator, seconds: Floats) -> Floats:
    """Draw what users request: up to ten times too much, rounded up to round figures as people do."""
    wanted = seconds * generator.uniform(1.0, 10.0, len(seconds)) ** generator.integers(0, 2, len(seconds))
    figures = np.array([60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400, 172_800, 604_800], float)
    rounded: Floats = figures[np.minimum(np.searchsorted(figures, wanted), len(figures) - 1)]
    return np.maximum(rounded, wanted)


def _arrive(generator: np.random.Generator, count: int) -> Floats:
    """Draw arrivals that are four times as frequent at noon as at midnight, in days of 200 jobs."""
    gaps = generator.exponential(1.0, count)
    return np.cumsum(gaps * (1.0 + 0.6 * elementary.cos(2 * np.pi * np.arange(count) / 200.0)))


def _draw_batch(generator: np.random.Generator, count: int) -> Jobs:
    """Draw rigid jobs: a quarter serial, most others a power of two wide; lengths of two log-normal kinds."""
    width = 2.0 ** generator.uniform(0.8, 7.5, count)
    width = np.where(generator.random(count) < 0.75, 2.0 ** np.round(elementary.log2(width)), np.round(width))
    width = np.where(generator.random(count) < 0.24, 1.0, width)
    long = generator.random(count) < 0.4
    logs = generator.normal(np.where(long, 9.2, 4.6), np.where(long, 0.9, 1.3))
    seconds = elementary.exp(logs).clip(1.0, 160_000.0)
    return Jobs.build(
        seconds=seconds,
        arrival=_arrive(generator, count),
        requested=_draw_estimates(generator, seconds),
        cpu_milli=width * WHOLE,
        user=_draw_users(generator, count),
    )


def _draw_pods(generator: np.random.Generator, count: int) -> Jobs:
    """Draw pods: a tenth without GPU, a third with a share of one, the others with 1, 2, 4 or 8; some name models."""
    kind = generator.choice(6, count, p=[0.1, 0.35, 0.44, 0.05, 0.03, 0.03])
    gpus = np.array([0, 1, 1, 2, 4, 8])[kind]
    share = np.where(kind == 1, generator.integers(1, 20, count) * 50, WHOLE)
    cores = np.where(gpus > 0, gpus * generator.choice([4, 6, 8, 11], count), generator.choice([4, 8, 16, 32], count))
    named = generator.choice(4, count, p=[0.75, 0.1, 0.1, 0.05])
    models: list[list[str]] = [[], ["T4"], ["V100"], ["T4", "V100"]]
    return Jobs.build(
        seconds=elementary.exp(generator.normal(8.0, 1.5, count)).clip(10.0, 1e6),
        arrival=_arrive(generator, count),
        cpu_milli=cores * WHOLE,
        memory_mib=cores * 4096,
        gpus=gpus,
        gpu_milli=share,
        accepts=[models[each] if 0 < gpus[row] <= 4 else [] for row, each in enumerate(named.tolist())],
        user=_draw_users(generator, count),
    )


def _draw_training(generator: np.random.Generator, count: int) -> Jobs:
    """Draw training jobs: gangs of 1 to 32 GPUs that may span nodes, half with a deadline, faster on newer models."""
    gpus = generator.choice([1, 2, 4, 8, 16, 32], count, p=[0.6, 0.12, 0.12, 0.1, 0.04, 0.02])
    seconds = elementary.exp(generator.normal(8.2, 1.6, count)).clip(60.0, 1e6)
    slack = np.where(generator.random(count) < 0.5, seconds * generator.uniform(1.5, 6.0, count), np.inf)
    return Jobs.build(
        seconds=seconds,
        arrival=_arrive(generator, count),
        requested=_draw_estimates(generator, seconds),
        cpu_milli=gpus * 6 * WHOLE,
        memory_mib=gpus * 32_768,
        gpus=gpus,
        accepts=[SPEEDS[each] for each in generator.integers(0, len(SPEEDS), count).tolist()],
        span=np.ones(count, bool),
        deadline=slack,
        user=_draw_users(generator, count),
        weight=generator.choice([1.0, 2.0], count),
    )


def _build_training_machines() -> Machines:
    models = ("A100",) * 6 + ("V100",) * 6 + ("T4",) * 4
    return Machines.build([96_000] * 16, [1_048_576] * 16, [8] * 16, models)


def _build_pods_machines() -> Machines:
    models, gpus = ("T4",) * 24 + ("V100",) * 16 + ("A10",) * 8, [4] * 24 + [8] * 16 + [1] * 8
    return Machines.build([96_000] * 48, [786_432] * 48, gpus, models)


JOB_PRESETS: dict[str, JobPreset] = {
    "cluster_batch": JobPreset(
        "rigid parallel jobs on 256 processors", 2000, lambda: Machines.pool(256), _draw_batch, 0.8
    ),
    "cluster_pods": JobPreset(
        "pods with shares of GPUs on 48 nodes of three models", 2000, _build_pods_machines, _draw_pods, 0.95
    ),
    "training_jobs": JobPreset(
        "gangs of up to 32 GPUs on 16 nodes of three models, with their throughputs", 1000,
        _build_training_machines, _draw_training, 0.62,
    ),
}  # fmt: skip
