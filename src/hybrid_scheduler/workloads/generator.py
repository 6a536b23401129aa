"""Random workloads: named presets (distributions or a task graph), drawn by seed and scaled to a rate or a load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.bounds.makespan import batch_work
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import MAX_SECONDS, Floats, Tasks, edges_from_ids
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.workloads.formats import csv
from hybrid_scheduler.workloads.graphs import Graph, GraphBuilder, build_cholesky, build_fork_join, build_layered
from hybrid_scheduler.workloads.statistics import summarise

if TYPE_CHECKING:
    import pandas as pd

Sizes = Callable[[np.random.Generator, int, tuple[float, float]], Floats]
Range = tuple[float, float]
DEFAULT_LOAD = 0.9


def uniform(generator: np.random.Generator, count: int, between: Range) -> Floats:
    """Draw uniformly from a range."""
    return generator.uniform(*between, count)


def log_normal(generator: np.random.Generator, count: int, between: Range) -> Floats:
    """Draw log-normal sizes with median 600 and σ 1.0, clipped to the range."""
    return np.clip(generator.lognormal(math.log(600.0), 1.0, count), *between)


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
    """The distributions, or the task graph, that a kind of workload is drawn from."""

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
    "layered": Preset("a random graph in layers", graph=build_layered, num_tasks=500),
    "fork_join": Preset("stages of parallel tasks between a fork and a join", graph=build_fork_join, num_tasks=500),
    "cholesky": Preset("the graph of a tiled Cholesky factorisation", graph=build_cholesky, num_tasks=816),
}


def find_preset(name: str) -> Preset:
    """Return a preset by name."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS, "hms generate --help lists them")
    return PRESETS[name]


class WorkloadGenerator:
    """Draws random workloads; the last one stays in `tasks`."""

    def __init__(self, seed: int = 42) -> None:
        if seed < 0:
            raise InputError(f"seed is {seed}, expected a whole number, 0 or more")
        self.seed = seed
        self.tasks: Tasks | None = None
        self._calls = 0

    def generate_workload(
        self,
        num_tasks: int = 1000,
        task_size_range: Range = (100, 5000),
        compute_intensity_range: Range = (0.1, 1.0),
        memory_range: Range = (10, 500),
        arrival_rate: float = 100.0,
    ) -> Tasks:
        """Draw tasks uniformly from ranges; they arrive as a Poisson process of `arrival_rate` tasks a second."""
        kind = Preset(
            "ranges",
            size_range=_check_range("task_size_range", task_size_range),
            intensity_range=_check_range("compute_intensity_range", compute_intensity_range),
            memory_range=_check_range("memory_range", memory_range),
        )
        self.tasks = scale_to_rate(self._draw(kind, num_tasks), arrival_rate)
        return self.tasks

    def generate_preset(
        self,
        name: str = "mixed",
        num_tasks: int | None = None,
        *,
        rate: float | None = None,
        load: float | None = None,
        cluster: Cluster | None = None,
    ) -> Tasks:
        """Draw a preset that arrives at a rate (tasks a second) or an offered load (1: all the cluster can do).

        Without either, tasks of a graph all arrive at time 0 and those of other presets at load 0.9.
        """
        kind = find_preset(name)
        tasks = self._draw(kind, kind.num_tasks if num_tasks is None else num_tasks)
        batch = kind.graph is not None
        self.tasks = scale_arrivals(tasks, cluster or Cluster.default(), rate=rate, load=load, batch=batch)
        return self.tasks

    def _draw(self, kind: Preset, count: int) -> Tasks:
        """Draw tasks with gaps of mean 1 s; each column has its own random stream."""
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise InputError(f"number of tasks is {count!r}, expected a whole number above 0")
        self._calls += 1
        size, intensity, memory, gap, shape = (
            np.random.default_rng([self.seed, self._calls, column]) for column in range(5)
        )
        graph = kind.graph(shape, count) if kind.graph else Graph([])
        count = len(graph.parents) if kind.graph else count
        low, high = kind.intensity_range
        sizes = kind.sizes(size, count, kind.size_range)
        intensities = intensity.uniform(low, high, count)
        return Tasks.build(
            size=sizes if graph.size is None else _interpolate(kind.size_range, graph.size),
            compute_intensity=intensities if graph.intensity is None else _interpolate((low, high), graph.intensity),
            memory_required=memory.uniform(*kind.memory_range, count),
            arrival_time=np.cumsum(kind.gaps(gap, count)),
            edges=edges_from_ids(list(range(count)), graph.parents) if kind.graph else None,
        )

    @property
    def _current(self) -> Tasks:
        if self.tasks is None:
            raise InputError("there is no workload yet: call generate_workload or load first")
        return self.tasks

    def save_workload(self, path: str | Path) -> None:
        """Write the last workload as CSV."""
        csv.write(self._current, path)

    @classmethod
    def load(cls, path: str | Path) -> WorkloadGenerator:
        """Return a generator that holds the workload of a CSV file."""
        generator = cls()
        generator.tasks = csv.read(path)
        return generator

    def to_dataframe(self) -> pd.DataFrame:
        """Return the last workload as a data frame, with `task_size` as an alias of `size`."""
        frame = csv.to_frame(self._current)
        frame["task_size"] = frame["size"]
        return frame

    def get_statistics(self) -> dict[str, float]:
        """Return counts, means and the arrival rate of the last workload."""
        return summarise(self._current)


def scale_arrivals(
    tasks: Tasks, cluster: Cluster, *, rate: float | None = None, load: float | None = None, batch: bool = False
) -> Tasks:
    """Scale arrival times to a rate or an offered load; without either to load 0.9, or to 0 s for a batch."""
    if rate is not None and load is not None:
        raise InputError("both a rate and a load were given: give one of them")
    if rate is not None:
        return scale_to_rate(tasks, rate)
    if load is None and batch:
        return tasks.with_arrival_times(np.zeros(len(tasks)))
    load = _require_positive("load", DEFAULT_LOAD if load is None else load)
    return scale_to_rate(tasks, saturation_rate(tasks, cluster) * load)


def saturation_rate(tasks: Tasks, cluster: Cluster) -> float:
    """Return the tasks a second at offered load 1: what the cluster can do at best, by the LP bound."""
    work = batch_work(tasks, cluster)
    if not work > 0:
        raise InputError("no task of this workload fits the cluster: offered load has no meaning, give a rate")
    return len(tasks) / work


def scale_to_rate(tasks: Tasks, rate: float) -> Tasks:
    """Scale arrival times so that `rate` tasks a second arrive on average; gaps keep their proportions."""
    arrival = tasks.arrival_time
    last = float(arrival.max())
    _require_positive("rate", rate)
    if last == 0:
        raise InputError("all tasks arrive at time 0, so there are no gaps to stretch: give them arrival times")
    if len(tasks) / MAX_SECONDS > rate:
        span = f"{len(tasks):,} tasks would arrive over more than {MAX_SECONDS:g} s"
        raise InputError(f"{span} at {rate:.3g} tasks/s: give a higher rate or load")
    return replace(tasks, arrival_time=arrival / last * len(tasks) / rate)


def _require_positive(name: str, value: float) -> float:
    if not (isinstance(value, int | float) and 0 < value < float("inf")):
        raise InputError(f"{name} is {value!r}, expected a number above 0")
    return value


def _check_range(name: str, values: Iterable[float]) -> Range:
    pair = tuple(values)
    if len(pair) != 2 or not -np.inf < pair[0] <= pair[1] < np.inf:
        raise InputError(f"{name} is ({', '.join(map(str, pair))}), expected the smaller number first")
    low, high = pair
    return float(low), float(high)


def _interpolate(between: Range, share: Floats) -> Floats:
    return between[0] + (between[1] - between[0]) * share
