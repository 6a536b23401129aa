"""Comparisons: several schedulers on the same tasks over several seeds, and the verdict on them.

`compare(Comparison(...))` returns a `Result`, which prints itself and states its own `verdict`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import Bound, critical_path_bound, lower_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import core_count
from hybrid_scheduler.core.formatting import (
    format_count,
    format_interval,
    format_percent,
    format_quantity,
    format_table,
)
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import (
    MEASURES,
    Interval,
    bootstrap,
    bootstrap_paired,
    device_utilisation,
    measure,
    win_counts,
)
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.studies.pretraining import load_or_train
from hybrid_scheduler.workloads.source import Source

Case = TypeVar("Case")
Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""
RELATIVE_ROUNDING = 1e-9
"""Differences below this share of the mean come from the order of summation."""
NO_DIFFERENCE = Interval(0.0, 0.0, 0.0)
TABLE = {"mean_turnaround": "turnaround", "p99_turnaround": "p99", "energy": "energy", "cost": "cost"}
"""Measures that the summary shows beside the score, with the titles of their columns."""


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
    def origin(self) -> str:
        """Where the numbers come from: a simulation or a measurement."""
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
    """One seed of a comparison: statistics of the workload, the bound, and the measures of every scheduler."""

    seed: int
    workload: dict[str, float]
    bound: Bound
    measures: dict[str, dict[str, float]]
    decision_seconds: dict[str, float]  # wall time per decision on this machine, measured
    utilisation: dict[str, dict[str, float]]  # busy share by scheduler and device


@dataclass(frozen=True)
class Verdict:
    """Which scheduler a comparison favours on a measure of which less is better.

    Schedulers tie with the best one if the 95 % interval of their paired difference to it contains 0. One seed has no
    interval: only equal values tie.
    """

    measure: str
    num_seeds: int
    winners: tuple[str, ...]  # the best mean first, then all that tie with it
    runner_up: str = ""  # whom the figures below refer to: the best that ties, else the next; "" if there is none
    difference: Interval = NO_DIFFERENCE  # paired: runner-up minus winner
    lead: Interval = NO_DIFFERENCE  # the same as a share of the runner-up's mean
    ratio: float = 1.0  # mean of the runner-up / mean of the winner
    seeds_won: int = 0  # by the winner against the runner-up

    @property
    def winner(self) -> str:
        """The scheduler with the best mean, whether others tie with it or not."""
        return self.winners[0]

    @property
    def is_tie(self) -> bool:
        """Whether the seeds cannot tell the best scheduler from another."""
        return len(self.winners) > 1

    def describe(self, name: Callable[[str], str] = str) -> str:
        """Return the verdict in a sentence, with schedulers as `name` writes them."""
        seeds = format_count(self.num_seeds, "seed")
        if not self.runner_up:
            return f"{name(self.winner)} ran alone"
        if self.is_tie:
            *others, last = map(name, self.winners)
            return f"tie: {', '.join(others)} and {last} cannot be told apart on {seeds}"
        lead = f"{name(self.winner)} leads {name(self.runner_up)} by {format_percent(self.lead.mean)}"
        if self.num_seeds == 1:
            return f"{lead} (one seed: no interval)"
        interval = f"95 % interval {format_percent(self.lead.low)} to {format_percent(self.lead.high)}"
        return f"{lead} ({interval}), better on {self.seeds_won} of {seeds}"

    __str__ = describe


@dataclass(frozen=True)
class Result:
    """A finished comparison."""

    comparison: Comparison
    outcomes: tuple[Outcome, ...]

    @property
    def score(self) -> str:
        """The measure that decides: makespan over bound; isolated, execution time over the closed-form optimum."""
        return "execution_over_best" if self.comparison.mode == "isolated" else "makespan_over_bound"

    @property
    def time(self) -> str:
        """The measure in seconds that belongs to the score."""
        return "total_time" if self.comparison.mode == "isolated" else "makespan"

    @property
    def verdict(self) -> Verdict:
        """Who won, and how clearly, by the score."""
        return self.judge(self.score)

    def judge(self, name: str) -> Verdict:
        """Return the verdict by any measure of which less is better."""
        best, *others = self.ranking(name)
        seeds = len(self.outcomes)
        tied = [spec for spec in others if self._ties(spec, best, name)]
        if not others:
            return Verdict(name, seeds, (best,))
        runner_up = (tied or others)[0]
        gap, base = self.difference(runner_up, best, name), self.interval(runner_up, name).mean
        return Verdict(
            name,
            seeds,
            (best, *tied),
            runner_up,
            gap,
            lead=Interval(gap.mean / base, gap.low / base, gap.high / base) if base else NO_DIFFERENCE,
            ratio=base / (base - gap.mean) if base != gap.mean else math.nan,
            seeds_won=self.wins(name)[best][runner_up],
        )

    def _ties(self, scheduler: str, best: str, name: str) -> bool:
        gap = self.difference(scheduler, best, name)
        rounding = RELATIVE_ROUNDING * abs(self.interval(best, name).mean)
        return not (gap.low > rounding or gap.high < -rounding)  # so written, an undefined difference ties

    def values(self, scheduler: str, name: str) -> list[float]:
        """Return one measure of a scheduler, seed by seed."""
        return [outcome.measures[scheduler][name] for outcome in self.outcomes]

    def interval(self, scheduler: str, name: str) -> Interval:
        """Return the mean of a measure over the seeds with its 95 % interval."""
        return bootstrap(self.values(scheduler, name))

    def difference(self, scheduler: str, baseline: str, name: str) -> Interval:
        """Return the paired difference between two schedulers with its 95 % interval."""
        return bootstrap_paired(self.values(scheduler, name), self.values(baseline, name))

    def speedup(self, scheduler: str, baseline: str) -> Interval:
        """Return how many times as fast as a baseline a scheduler is: the mean of the ratios seed by seed."""
        return bootstrap(np.divide(self.values(baseline, self.time), self.values(scheduler, self.time)).tolist())

    def wins(self, name: str) -> dict[str, dict[str, int]]:
        """Return on how many seeds each scheduler beat each other one."""
        return win_counts({spec: self.values(spec, name) for spec in self.comparison.schedulers})

    def ranking(self, name: str = "makespan_over_bound") -> list[str]:
        """Return the schedulers, smallest mean of a measure first."""
        return sorted(self.comparison.schedulers, key=lambda spec: self.interval(spec, name).mean)

    def summary(self, width: int = 80) -> str:
        """Return the comparison as plain text: what was compared, a table of the schedulers, the verdict."""
        lines = (self.describe(), self.describe_bound(), "", *self.table(width), "", *self.remarks(width))
        return "\n".join(lines)

    __str__ = summary

    def describe(self) -> str:
        """Return one line on what was compared: workload, arrivals, cluster, mode, seeds."""
        comparison, workload = self.comparison, self.outcomes[0].workload
        if comparison.source.load is not None:
            arrivals = f"load {comparison.source.load:g}"
        elif workload["arrival_rate"] == math.inf:
            arrivals = "all at once"
        else:
            arrivals = f"{workload['arrival_rate']:.3g} tasks/s"
        tasks, seeds = format_count(int(workload["num_tasks"]), "task"), format_count(len(self.outcomes), "seed")
        setup = f"{comparison.cluster.describe()}, {comparison.mode}, {seeds}, {comparison.origin}"
        return f"{comparison.source.title}: {tasks}, {arrivals}, {setup}"

    def describe_bound(self) -> str:
        """Return one line on what the score is relative to."""
        if self.comparison.mode == "isolated":
            return "every device is always free; 1.000 is the closed-form optimum of each task"
        makespan = format_quantity(float(np.mean([outcome.bound.makespan for outcome in self.outcomes])), "s")
        if self.comparison.measured:
            return f"bound {makespan} for the times that were measured or learnt"
        bound = self.outcomes[0].bound
        prices = ", ".join(f"{name} {price:.3g}" for name, price in bound.prices.items() if price)
        proof = f"prices {prices}" if prices else "longest chain" if len(bound.path) > 1 else "one long task"
        return f"certified bound {makespan}: no schedule is faster ({proof})"

    def table(self, width: int = 80) -> list[str]:
        """Return the lines of a table of the schedulers, best first."""
        score = "time / best" if self.comparison.mode == "isolated" else "makespan / bound"
        rows = [
            (
                shorten(spec, width),
                format_interval(self.interval(spec, self.score), "×"),
                *(format_quantity(self.interval(spec, name).mean, MEASURES[name].unit) for name in TABLE),
            )
            for spec in self.ranking(self.score)
        ]
        return format_table(("scheduler", score, *TABLE.values()), rows)

    def remarks(self, width: int = 80) -> list[str]:
        """Return the verdict, and what happened to tasks that did not fit."""
        schedulers = self.comparison.schedulers
        lines = [self.verdict.describe(lambda spec: shorten(spec, width))] if len(schedulers) > 1 else []
        means = {
            name: {spec: self.interval(spec, name).mean for spec in schedulers} for name in ("rejected", "spilled")
        }
        if (rejected := max(means["rejected"].values())) > 0:
            lines.append(f"{rejected:g} tasks a seed fit no device and were rejected")
        worst = max(schedulers, key=lambda spec: means["spilled"][spec])
        if (spilled := means["spilled"][worst]) > 0:
            where = f"up to {spilled:g} a seed ({shorten(worst, width)})"
            lines.append(f"tasks that did not fit where they were sent: {where}")
        return [part for line in lines for part in textwrap.wrap(line, width)]


def shorten(spec: str, width: int = 80) -> str:
    """Return a scheduler's name as it fits into a table on a terminal of some width; a file without its folder."""
    name, most = Path(spec).name if ".py" in spec else spec, 14 if width <= 80 else 30
    return name if len(name) <= most else name[: most - 1] + "…"


def compare(comparison: Comparison, progress: Progress | None = None) -> Result:
    """Run all schedulers on every seed, with the same tasks for all (common random numbers)."""
    if comparison.measured:
        raise InputError("a run on real devices cannot be simulated bit for bit: run it again with hms run")
    return Result(comparison, tuple(_run_seed(comparison, seed) for seed in track(comparison.seeds, progress)))


def track(cases: Iterable[Case], progress: Progress | None) -> Iterator[Case]:
    """Yield cases and report how many of them are done."""
    waiting = list(cases)
    for done, case in enumerate(waiting):
        if progress:
            progress(done, len(waiting))
        yield case
    if progress:
        progress(len(waiting), len(waiting))


def _run_seed(comparison: Comparison, seed: int) -> Outcome:
    cluster, mode = comparison.cluster, comparison.mode
    tasks = comparison.source.tasks(seed, cluster)
    times = class_times(tasks, cluster)
    bound = (lower_bound if mode == "queued" else critical_path_bound)(tasks, cluster, times)
    with_oracle = dict.fromkeys([*comparison.schedulers, "oracle"])
    runs = run_lanes(tasks, list(with_oracle), cluster, mode, seed)
    oracle = runs["oracle"][0]
    best_execution = float(best_split_times(times, cluster)[oracle.ran].sum())
    measures = {}
    for spec in comparison.schedulers:
        placements = runs[spec][0]
        figures = measure(placements, bound.makespan)
        figures["execution_over_best"] = figures["total_time"] / best_execution if best_execution else float("nan")
        figures["regret"] = (
            float(np.mean((placements.turnaround - oracle.turnaround)[oracle.ran])) if oracle.ran.any() else 0.0
        )
        measures[spec] = figures
    seconds = {spec: runs[spec][1] / max(1, len(tasks)) for spec in comparison.schedulers}
    names = [device.name for device in cluster.devices]
    utilisation = {
        spec: dict(zip(names, device_utilisation(runs[spec][0]).tolist(), strict=True))
        for spec in comparison.schedulers
    }
    return Outcome(seed, comparison.source.describe(tasks), bound, measures, seconds, utilisation)


def run_lanes(
    tasks: Tasks, schedulers: Sequence[str], cluster: Cluster, mode: str = "queued", seed: int = 0
) -> dict[str, tuple[Placements, float]]:
    """Run every scheduler on the same tasks in a lane of its own; return placements and wall seconds by scheduler."""
    times = class_times(tasks, cluster)
    lanes = {
        spec: Lane(load_or_train(spec, cluster, seed, mode), VirtualMultiGPU(cluster=cluster, mode=mode))
        for spec in schedulers
    }
    with ThreadPoolExecutor(core_count()) as pool:
        # Compiled lanes release the interpreter lock; no lane sees another, so their order cannot matter.
        results = list(pool.map(lambda lane: lane.run(tasks, times), lanes.values()))
    return {spec: (result, lane.seconds) for (spec, lane), result in zip(lanes.items(), results, strict=True)}
