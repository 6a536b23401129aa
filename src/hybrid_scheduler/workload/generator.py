"""`WorkloadGenerator` draws tasks: the same seed gives the same tasks, to the last bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.bounds import batch_work
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Floats, Tasks, edges_from_ids
from hybrid_scheduler.workload.formats import csv
from hybrid_scheduler.workload.graphs import Graph
from hybrid_scheduler.workload.presets import Preset, Range, preset

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_LOAD = 0.9


class WorkloadGenerator:
    """Draws workloads and keeps the last one in `tasks`."""

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
        """Draw tasks evenly from ranges, arriving as a Poisson stream of `arrival_rate` tasks a second."""
        kind = Preset(
            "ranges",
            size_range=_range("task_size_range", task_size_range),
            intensity_range=_range("compute_intensity_range", compute_intensity_range),
            memory_range=_range("memory_range", memory_range),
        )
        return self._keep(at_rate(self._draw(kind, num_tasks), arrival_rate))

    def generate_preset(
        self,
        name: str = "mixed",
        num_tasks: int | None = None,
        *,
        rate: float | None = None,
        load: float | None = None,
        cluster: Cluster | None = None,
    ) -> Tasks:
        """Draw a preset that arrives at a rate (tasks a second) or offered load (1 = all the cluster can do).

        Graphs are all there at time 0 unless a rate or load is given; other presets then have load 0.9.
        """
        kind = preset(name)
        tasks = self._draw(kind, kind.num_tasks if num_tasks is None else num_tasks)
        return self._keep(
            paced(tasks, cluster or Cluster.default(), rate=rate, load=load, batch=kind.graph is not None)
        )

    def _draw(self, kind: Preset, count: int) -> Tasks:
        """Draw tasks with gaps of mean 1 s; every column has its own stream of random numbers."""
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
            size=sizes if graph.size is None else _within(kind.size_range, graph.size),
            compute_intensity=intensities if graph.intensity is None else _within((low, high), graph.intensity),
            memory_required=memory.uniform(*kind.memory_range, count),
            arrival_time=np.cumsum(kind.gaps(gap, count)),
            edges=edges_from_ids(list(range(count)), graph.parents) if kind.graph else None,
        )

    def _keep(self, tasks: Tasks) -> Tasks:
        self.tasks = tasks
        return tasks

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
        """Return a generator whose last workload is the one in a CSV file."""
        generator = cls()
        generator.tasks = csv.read(path)
        return generator

    def to_dataframe(self) -> pd.DataFrame:
        """Return the last workload as a table; `task_size` is another name for `size`."""
        frame = csv.to_frame(self._current)
        frame["task_size"] = frame["size"]
        return frame

    def get_statistics(self) -> dict[str, float]:
        """Return counts, means and the arrival rate of the last workload."""
        return statistics(self._current)


def statistics(tasks: Tasks) -> dict[str, float]:
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


def paced(
    tasks: Tasks,
    cluster: Cluster,
    *,
    rate: float | None = None,
    load: float | None = None,
    batch: bool = False,
) -> Tasks:
    """Stretch the arrivals of tasks to a rate or an offered load; neither is load 0.9, or 0 s for a batch."""
    if rate is not None and load is not None:
        raise InputError("both a rate and a load were given: give one of them")
    if rate is not None:
        return at_rate(tasks, rate)
    if load is None and batch:
        return tasks.arriving_at(np.zeros(len(tasks)))
    return at_rate(tasks, full_rate(tasks, cluster) * _positive("load", DEFAULT_LOAD if load is None else load))


def full_rate(tasks: Tasks, cluster: Cluster) -> float:
    """Return tasks a second at offered load 1: as fast as the LP optimum of the cluster does this work."""
    work = batch_work(tasks, cluster)
    if not work > 0:
        raise InputError("no task of this workload fits the cluster: offered load has no meaning, give a rate")
    return len(tasks) / work


def at_rate(tasks: Tasks, rate: float) -> Tasks:
    """Stretch the arrivals so that the tasks come at `rate` tasks a second on average, gaps in proportion."""
    arrival = tasks.arrival_time
    last = float(arrival.max())
    _positive("rate", rate)
    if last == 0:
        raise InputError("all tasks arrive at time 0, so there are no gaps to stretch: give them arrival times")
    return replace(tasks, arrival_time=arrival / last * len(tasks) / rate)


def _positive(name: str, value: float) -> float:
    if not (isinstance(value, int | float) and 0 < value < float("inf")):
        raise InputError(f"{name} is {value!r}, expected a number above 0")
    return value


def _range(name: str, values: Iterable[float]) -> Range:
    pair = tuple(values)
    if len(pair) != 2 or not -np.inf < pair[0] <= pair[1] < np.inf:
        raise InputError(f"{name} is ({', '.join(map(str, pair))}), expected the smaller number first")
    low, high = pair
    return float(low), float(high)


def _within(between: Range, share: Floats) -> Floats:
    return between[0] + (between[1] - between[0]) * share
