"""Presets: named kinds of workload, each a table row of distributions or a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.errors import unknown_name
from hybrid_scheduler.model.tasks import Floats
from hybrid_scheduler.workload.graphs import GraphBuilder, cholesky, fork_join, layered

Sizes = Callable[[np.random.Generator, int, tuple[float, float]], Floats]
Range = tuple[float, float]


def uniform(generator: np.random.Generator, count: int, between: Range) -> Floats:
    """Draw evenly from a range."""
    return generator.uniform(*between, count)


def log_normal(generator: np.random.Generator, count: int, between: Range) -> Floats:
    """Draw log-normal sizes with median 600 and σ 1.0, clipped to the range."""
    return np.clip(generator.lognormal(np.log(600.0), 1.0, count), *between)


def pareto(generator: np.random.Generator, count: int, between: Range) -> Floats:
    """Draw Pareto sizes from 300 up with α = 1.2, clipped to the range."""
    return np.clip(300.0 * (1.0 + generator.pareto(1.2, count)), *between)


def poisson(generator: np.random.Generator, count: int) -> Floats:
    """Draw exponential gaps of mean 1."""
    return generator.exponential(1.0, count)


def bursty(generator: np.random.Generator, count: int) -> Floats:
    """Draw gaps of mean 1 from two states, one nine times as fast, that last 50 tasks on average."""
    stays = generator.geometric(1 / 50, size=max(8, count // 10))
    while stays.sum() < count:
        stays = np.concatenate([stays, generator.geometric(1 / 50, size=count)])
    fast = np.repeat(np.arange(len(stays)) % 2 == 0, stays)[:count]
    return generator.exponential(1.0, count) * np.where(fast, 0.2, 1.8)


@dataclass(frozen=True)
class Preset:
    """What a kind of workload is drawn from."""

    summary: str
    sizes: Sizes = uniform
    size_range: Range = (100.0, 5000.0)
    intensity_range: Range = (0.0, 1.0)
    memory_range: Range = (10.0, 500.0)
    gaps: Callable[[np.random.Generator, int], Floats] = poisson
    graph: GraphBuilder | None = None
    num_tasks: int = 2000


PRESETS: dict[str, Preset] = {
    "mixed": Preset("sizes spread evenly from 100 to 5000"),
    "long_tail": Preset("log-normal sizes: many small tasks, a few huge ones", sizes=log_normal),
    "pareto": Preset("Pareto sizes: an even heavier tail", sizes=pareto),
    "gpu_friendly": Preset(
        "large, compute-intensive, little to transfer",
        size_range=(1000.0, 5000.0),
        intensity_range=(0.8, 1.0),
        memory_range=(10.0, 50.0),
    ),
    "cpu_friendly": Preset(
        "small, light on compute, gigabytes to transfer",
        size_range=(100.0, 1500.0),
        intensity_range=(0.0, 0.2),
        memory_range=(2000.0, 8000.0),
    ),
    "bursty": Preset("mixed tasks that come in bursts (two-state modulated Poisson)", gaps=bursty),
    "heavy": Preset("a stress test of 10 000 mixed tasks", num_tasks=10_000),
    "layered": Preset("a random graph in layers", graph=layered, num_tasks=500),
    "fork_join": Preset("stages of parallel tasks between a fork and a join", graph=fork_join, num_tasks=500),
    "cholesky": Preset("the graph of a tiled Cholesky factorisation", graph=cholesky, num_tasks=816),
}


def preset(name: str) -> Preset:
    """Return a preset by name."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS, "hms generate --help lists them")
    return PRESETS[name]
