"""A race: several lanes walk one stream of tasks, each with its own copy of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import Bound, isolated_bound, lower_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiling import cores
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import Interval, bootstrap, device_utilisation, measure, paired, win_counts
from hybrid_scheduler.core.physics import class_times, fastest
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.studies.pretraining import ready
from hybrid_scheduler.workloads.source import Source

Progress = Callable[[int, int], None]


def race(
    tasks: Tasks, schedulers: Sequence[str], cluster: Cluster, mode: str = "queued", seed: int = 0
) -> dict[str, tuple[Placements, float]]:
    """Run every scheduler on the same tasks, lanes side by side; return placements and wall seconds by name."""
    times = class_times(tasks, cluster)
    lanes = {
        spec: Lane(ready(spec, cluster, seed, mode), VirtualMultiGPU(cluster=cluster, mode=mode))
        for spec in schedulers
    }
    with ThreadPoolExecutor(cores()) as pool:
        # Compiled lanes release the interpreter lock; no lane sees another, so their order cannot matter.
        results = list(pool.map(lambda lane: lane.run(tasks, times), lanes.values()))
    return {spec: (result, lane.seconds) for (spec, lane), result in zip(lanes.items(), results, strict=True)}


@dataclass(frozen=True)
class Comparison:
    """What to compare: one workload source, schedulers, cluster, mode and seeds."""

    source: Source
    schedulers: tuple[str, ...]
    cluster: Cluster = field(default_factory=Cluster.default)
    mode: str = "queued"
    seeds: tuple[int, ...] = tuple(range(10))
    measured: bool = False  # True: tasks really ran, nothing was simulated

    @property
    def how(self) -> str:
        """How its figures came about, in a word."""
        return "measured" if self.measured else "simulated"

    def __post_init__(self) -> None:
        if not self.schedulers:
            raise InputError("no scheduler to compare: name at least one, hms schedulers shows them")
        if len(set(self.schedulers)) < len(self.schedulers):
            raise InputError(f"a scheduler is named twice in {', '.join(self.schedulers)}: name each once")
        if not self.seeds:
            raise InputError("no seed to compare on: give at least one")
        for spec in self.schedulers:
            registry.schedulers.create(spec)  # fails here, before any work, if it is unknown

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` builds the same comparison."""
        return {
            "source": self.source.to_dict(),
            "schedulers": list(self.schedulers),
            "cluster": self.cluster.to_dict(),
            "mode": self.mode,
            "seeds": list(self.seeds),
            **({"measured": True} if self.measured else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        """Build a comparison from plain data."""
        return cls(
            source=Source.from_dict(data["source"]),
            schedulers=tuple(data["schedulers"]),
            cluster=Cluster.from_dict(data["cluster"]),
            mode=data["mode"],
            seeds=tuple(data["seeds"]),
            measured=bool(data.get("measured", False)),
        )


@dataclass(frozen=True)
class Outcome:
    """One seed of a comparison: the workload's shape, the bound, and the measures of every scheduler."""

    seed: int
    workload: dict[str, float]
    bound: Bound
    measures: dict[str, dict[str, float]]
    decision_seconds: dict[str, float]  # wall time per decision on this machine, measured
    utilisation: dict[str, dict[str, float]]  # busy share by scheduler and device


@dataclass(frozen=True)
class Result:
    """A finished comparison."""

    comparison: Comparison
    outcomes: tuple[Outcome, ...]

    @property
    def score(self) -> str:
        """The measure that decides: makespan over bound, or isolated the time over the closed-form optimum."""
        return "execution_over_best" if self.comparison.mode == "isolated" else "makespan_over_bound"

    @property
    def time(self) -> str:
        """The same in seconds."""
        return "total_time" if self.comparison.mode == "isolated" else "makespan"

    def values(self, scheduler: str, name: str) -> list[float]:
        """Return one measure of a scheduler, seed by seed."""
        return [outcome.measures[scheduler][name] for outcome in self.outcomes]

    def interval(self, scheduler: str, name: str) -> Interval:
        """Return the mean of a measure over the seeds with its 95 % interval."""
        return bootstrap(self.values(scheduler, name))

    def difference(self, scheduler: str, baseline: str, name: str) -> Interval:
        """Return the paired difference between two schedulers with its 95 % interval."""
        return paired(self.values(scheduler, name), self.values(baseline, name))

    def wins(self, name: str) -> dict[str, dict[str, int]]:
        """Return on how many seeds each scheduler beat each other one."""
        return win_counts({spec: self.values(spec, name) for spec in self.comparison.schedulers})

    def ranking(self, name: str = "makespan_over_bound") -> list[str]:
        """Return the schedulers, smallest mean of a measure first."""
        return sorted(self.comparison.schedulers, key=lambda spec: self.interval(spec, name).mean)


def compare(comparison: Comparison, progress: Progress | None = None) -> Result:
    """Race all schedulers on every seed, with the same tasks for all (common random numbers)."""
    if comparison.measured:
        raise InputError("a run on real devices cannot be simulated bit for bit: run it again with hms run")
    outcomes = []
    for number, seed in enumerate(comparison.seeds):
        if progress:
            progress(number, len(comparison.seeds))
        outcomes.append(_one_seed(comparison, seed))
    if progress:
        progress(len(comparison.seeds), len(comparison.seeds))
    return Result(comparison, tuple(outcomes))


def _one_seed(comparison: Comparison, seed: int) -> Outcome:
    cluster, mode = comparison.cluster, comparison.mode
    tasks = comparison.source.tasks(seed, cluster)
    times = class_times(tasks, cluster)
    bound = (lower_bound if mode == "queued" else isolated_bound)(tasks, cluster, times)
    with_oracle = dict.fromkeys([*comparison.schedulers, "oracle"])
    raced = race(tasks, list(with_oracle), cluster, mode, seed)
    oracle = raced["oracle"][0]
    best_execution = float(fastest(times, cluster)[oracle.ran].sum())
    measures = {}
    for spec in comparison.schedulers:
        placements = raced[spec][0]
        figures = measure(placements, bound.makespan)
        figures["execution_over_best"] = figures["total_time"] / best_execution if best_execution else float("nan")
        figures["regret"] = (
            float(np.mean((placements.turnaround - oracle.turnaround)[oracle.ran])) if oracle.ran.any() else 0.0
        )
        measures[spec] = figures
    seconds = {spec: raced[spec][1] / max(1, len(tasks)) for spec in comparison.schedulers}
    names = [device.name for device in cluster.devices]
    utilisation = {
        spec: dict(zip(names, device_utilisation(raced[spec][0]).tolist(), strict=True))
        for spec in comparison.schedulers
    }
    return Outcome(seed, comparison.source.describe(tasks), bound, measures, seconds, utilisation)
