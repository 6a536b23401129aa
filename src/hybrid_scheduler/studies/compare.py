"""Comparisons: several schedulers on the same tasks over several seeds, and the verdict on them.

`compare(Comparison(...))` returns a `Result`, which prints itself and states its own `verdict`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import Bound, critical_path_bound, lower_bound
from hybrid_scheduler.bounds.turnaround import turnaround_bound, verify_turnaround_bound
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.compiler import core_count, interpret_longer, limit_cores
from hybrid_scheduler.core.formatting import (
    format_count,
    format_interval,
    format_percent,
    format_quantity,
    format_table,
    format_value,
)
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import (
    MEASURES,
    SLOWDOWN_FLOOR,
    Interval,
    bootstrap,
    bootstrap_paired,
    device_utilisation,
    measure,
    win_counts,
)
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.simulator import BACKLOGS, ESTIMATED, EXACT, VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.processes import run_jobs
from hybrid_scheduler.studies.pretraining import pretrain_on_workloads
from hybrid_scheduler.workloads.source import Source

Case = TypeVar("Case")
Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""
RELATIVE_ROUNDING = 1e-9
"""Differences below this share of the mean come from the order of summation."""
NO_DIFFERENCE = Interval(0.0, 0.0, 0.0)
SCORES = {"makespan": "makespan_over_bound", "turnaround": "turnaround_over_bound"}
"""Measures by which a comparison may judge."""
TITLES = {
    "makespan_over_bound": "makespan / bound",
    "turnaround_over_bound": "turnaround / bound",
    "execution_over_best": "time / best",
    "mean_turnaround": "turnaround",
    "p99_turnaround": "p99",
}
"""Titles of columns that are not called as their measure."""

WHOLE, ANY = "whole tasks", "any schedule"
"""The schedules that a bound of turnaround covers: those that split no task, or all."""
MAX_CERTIFIED_TASKS = 5000
"""Tasks beyond which turnaround is certified only if it is the score: the search takes longer than the policies."""
SEEDS_FOR_PROCESSES = 4
"""Seeds from which starting processes, which takes seconds, pays off."""
INTERPRET_SECONDS = 10.0
"""CPU time for which a process of a comparison interprets a loop: compiling that of the agent takes twice as long."""
PART_TIME_LIMIT = 3600.0
"""Seconds after which a seed of which a part is not done is run again in the caller's process."""
SEARCH_STEPS = 100
LESSON_SEED = (
    1_000_000  # added to the seed of a comparison: what learners are taught is never what they are judged on
)
"""Steps of the search unless turnaround is the score, which is worth a long one."""


@dataclass(frozen=True)
class Comparison:
    """What to compare: one workload source, schedulers, cluster, mode and seeds."""

    source: Source
    schedulers: tuple[str, ...]
    cluster: Cluster = field(default_factory=Cluster.default)
    mode: str = "queued"
    seeds: tuple[int, ...] = tuple(range(10))
    measured: bool = False  # True: tasks really ran, nothing was simulated
    score: str = "makespan"  # a key of `SCORES`: what the verdict goes by
    slowdown_floor: float = SLOWDOWN_FLOOR  # seconds that bounded slowdown takes an execution for at least
    backlog: str = ESTIMATED  # what non-clairvoyant schedulers see of the queues: EXACT, or ESTIMATED
    lessons: tuple[Source, ...] = ()  # other workloads, on which learners are taught first

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
        if not 0 < self.slowdown_floor < math.inf:
            raise InputError(f"the threshold of slowdown is {self.slowdown_floor:g}, expected seconds above 0")
        if self.backlog not in BACKLOGS:
            raise unknown_name("backlog", self.backlog, BACKLOGS)
        if self.score not in SCORES:
            raise unknown_name("score", self.score, SCORES)
        if self.score == "turnaround" and (self.mode == "isolated" or self.measured):
            where = "measured times prove no bound" if self.measured else "isolated tasks never wait"
            raise InputError(f"score 'turnaround' is for simulated queues, and {where}: take 'makespan'")
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
            **({"score": self.score} if self.score != "makespan" else {}),
            **({"slowdown_floor": self.slowdown_floor} if self.slowdown_floor != SLOWDOWN_FLOOR else {}),
            **({"backlog": self.backlog} if self.backlog != EXACT else {}),
            **({"lessons": [each.to_dict() for each in self.lessons]} if self.lessons else {}),
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
            score=data.get("score", "makespan"),
            slowdown_floor=data.get("slowdown_floor", SLOWDOWN_FLOOR),
            backlog=data.get("backlog", EXACT),
            lessons=tuple(Source.from_dict(each) for each in data.get("lessons", ())),
        )


@dataclass(frozen=True)
class TurnaroundCertificate:
    """What is kept of a certified lower bound of mean turnaround; `verified`: other code has checked it."""

    mean: float
    kind: str
    verified: bool


@dataclass(frozen=True)
class Outcome:
    """One seed of a comparison: statistics of the workload, the bounds, and the measures of every scheduler."""

    seed: int
    workload: dict[str, float]
    bound: Bound
    measures: dict[str, dict[str, float]]
    decision_seconds: dict[str, float]  # wall time per decision on this machine, measured
    utilisation: dict[str, dict[str, float]]  # busy share by scheduler and device
    turnaround_bounds: Mapping[str, TurnaroundCertificate] = field(
        default_factory=dict
    )  # WHOLE, ANY too if a task was split; or none


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
        """The measure that decides: time over its bound; isolated, execution time over the closed-form optimum."""
        return "execution_over_best" if self.comparison.mode == "isolated" else SCORES[self.comparison.score]

    @property
    def time(self) -> str:
        """The measure in seconds that belongs to the score."""
        if self.comparison.mode == "isolated":
            return "total_time"
        return "mean_turnaround" if self.comparison.score == "turnaround" else "makespan"

    @property
    def verdict(self) -> Verdict:
        """Who won, and how clearly, by the score."""
        return self.judge(self.score)

    def judge(self, name: str) -> Verdict:
        """Return the verdict by any measure of which less is better."""
        best, *others = self.ranking(name)
        seeds = len(self.outcomes)
        if not others:
            return Verdict(name, seeds, (best,))
        gaps = {spec: self.difference(spec, best, name) for spec in others}
        rounding = RELATIVE_ROUNDING * abs(self.interval(best, name).mean)
        # So written, an undefined difference ties.
        tied = [spec for spec, gap in gaps.items() if not (gap.low > rounding or gap.high < -rounding)]
        runner_up = (tied or others)[0]
        gap, base = gaps[runner_up], self.interval(runner_up, name).mean
        lead = Interval(gap.mean / base, gap.low / base, gap.high / base) if base else NO_DIFFERENCE
        ratio = base / (base - gap.mean) if base != gap.mean else math.nan
        seeds_won = self.wins(name)[best][runner_up]
        return Verdict(name, seeds, (best, *tied), runner_up, gap, lead, ratio, seeds_won)

    def values(self, scheduler: str, name: str) -> list[float]:
        """Return one measure of a scheduler, seed by seed."""
        return [outcome.measures[scheduler][name] for outcome in self.outcomes]

    def interval(self, scheduler: str, name: str) -> Interval:
        """Return the mean of a measure over the seeds with its 95 % interval."""
        return bootstrap(self.values(scheduler, name))

    def difference(self, scheduler: str, baseline: str, name: str) -> Interval:
        """Return the paired difference between two schedulers with its 95 % interval."""
        return bootstrap_paired(self.values(scheduler, name), self.values(baseline, name))

    @property
    def has_turnaround_bounds(self) -> bool:
        """Whether turnaround was certified; not for isolated, measured and very long runs."""
        return all(outcome.turnaround_bounds for outcome in self.outcomes)

    def turnaround_bound(self, covered: str) -> float:
        """Return the mean of the bound for `WHOLE` or `ANY` over the seeds that have it; NaN if none has."""
        found = [each.turnaround_bounds[covered].mean for each in self.outcomes if covered in each.turnaround_bounds]
        return float(np.mean(found)) if found else math.nan

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
        setup = "; ".join((setup, *(note.partition(":")[0].lower() for note in self.assumptions)))
        return f"{comparison.source.title}: {tasks}, {arrivals}, {setup}"

    @property
    def assumptions(self) -> Sequence[str]:
        """What about the tasks was not measured but assumed, because someone asked for it."""
        notes: Sequence[str] = self.outcomes[0].workload.get("assumed", ())  # type: ignore[assignment]
        return notes

    def describe_bound(self) -> str:
        """Return a line on what the score is relative to, and one on the bound of turnaround."""
        if self.comparison.mode == "isolated":
            return "every device is always free; 1.000 is the closed-form optimum of each task"
        makespan = format_quantity(float(np.mean([outcome.bound.makespan for outcome in self.outcomes])), "s")
        if self.comparison.measured:
            return f"bound {makespan} for the times that were measured or learnt"
        bound = self.outcomes[0].bound
        prices = ", ".join(f"{name} {price:.3g}" for name, price in bound.prices.items() if price)
        proof = f"prices {prices}" if prices else "longest chain" if len(bound.path) > 1 else "one long task"
        return "\n".join(
            (f"certified bound {makespan}: no schedule is faster ({proof})", *self._describe_turnaround())
        )

    def _describe_turnaround(self) -> Iterator[str]:
        """Yield a line on the bound of turnaround, or on why there is none."""
        if self.has_turnaround_bounds:
            whole, some = (format_quantity(self.turnaround_bound(each), "s") for each in (WHOLE, ANY))
            bounds = [each for outcome in self.outcomes for each in outcome.turnaround_bounds.values()]
            doubt = "" if all(each.verified for each in bounds) else "; NOT VERIFIED, please report this"
            splits = " if no task is split"
            if self.list_splitting():
                splits = f", {some} if tasks are split" if some != whole else ""
            yield f"certified turnaround {whole}: no mean is below it{splits}{doubt}"
        elif self.outcomes[0].workload["num_tasks"] > MAX_CERTIFIED_TASKS:
            yield f"turnaround of more than {MAX_CERTIFIED_TASKS:,} tasks is certified by --score turnaround alone"

    def table(self, width: int = 80) -> list[str]:
        """Return the lines of a table of the schedulers, best first; what does not fit into the width is left out."""
        others = [name for name in SCORES.values() if self.has_turnaround_bounds and name != self.score]
        shown = [self.score, "mean_turnaround", *others, "p99_turnaround", "energy", "cost"]
        spread = {self.score, *others}  # shown with intervals
        lines = self._format_rows(shown, spread, width)
        for cut in (*others, "cost", "energy", "p99_turnaround", *others):
            if len(lines[0]) <= width:
                break
            (spread if cut in spread else shown).remove(cut)
            lines = self._format_rows(shown, spread, width)
        return lines

    def _format_rows(self, shown: Sequence[str], spread: set[str], width: int) -> list[str]:
        beside = {name: "/ bound" for name in shown if name == "turnaround_over_bound" and name not in spread}
        names = shorten_names(self.comparison.schedulers, width)
        rows = [
            (names[spec], *(self._format_cell(spec, name, name in spread) for name in shown))
            for spec in self.ranking(self.score)
        ]
        return format_table(("scheduler", *((TITLES | beside).get(name, name) for name in shown)), rows)

    def _format_cell(self, spec: str, name: str, spread: bool) -> str:
        each, unit = self.interval(spec, name), MEASURES[name].unit
        return format_interval(each, unit) if spread else format_value(each.mean, unit)

    def remarks(self, width: int = 80) -> list[str]:
        """Return the verdict, which policies split tasks, what did not fit, and what was assumed."""
        name = shorten_names(self.comparison.schedulers, width).__getitem__
        verdict = self.verdict.describe(name) if len(self.comparison.schedulers) > 1 else ""
        lines = (verdict, self.describe_splitting(name), *self.describe_lost_tasks(name), *self.assumptions)
        return [part for line in lines for part in textwrap.wrap(line, width)]

    def describe_splitting(self, name: Callable[[str], str]) -> str:
        """Return which schedulers split tasks and have the bound for any schedule; "" if it is the same, or none."""
        found = self.list_splitting() if self.has_turnaround_bounds else []
        if not found or self.turnaround_bound(ANY) == self.turnaround_bound(WHOLE):
            return ""
        bound = format_quantity(self.turnaround_bound(ANY), "s")
        return f"turnaround / bound is over {bound} for those that split tasks: {', '.join(map(name, found))}"

    def list_splitting(self) -> list[str]:
        """Return the schedulers that split tasks: the bound for whole tasks does not cover them."""
        return [spec for spec in self.comparison.schedulers if self.interval(spec, "split").mean > 0]

    def describe_lost_tasks(self, name: Callable[[str], str]) -> tuple[str, str]:
        """Return what happened to tasks that fit no device, and to those sent where they did not fit; "" if none."""
        schedulers = self.comparison.schedulers
        rejected = max(self.interval(spec, "rejected").mean for spec in schedulers)
        spilled = {spec: self.interval(spec, "spilled").mean for spec in schedulers}
        worst = max(spilled, key=lambda spec: spilled[spec])
        where = f"up to {spilled[worst]:g} a seed ({name(worst)})"
        return (
            f"{rejected:g} tasks a seed fit no device and were rejected" if rejected > 0 else "",
            f"tasks that did not fit where they were sent: {where}" if spilled[worst] > 0 else "",
        )


def shorten(spec: str, width: int = 80) -> str:
    """Return a scheduler's name as it fits into a table on a terminal of some width; a file without its folder."""
    name, most = Path(spec).name if ".py" in spec else spec, _widest(width)
    return name if len(name) <= most else name[: most - 1] + "…"


def shorten_names(specs: Sequence[str], width: int = 80) -> dict[str, str]:
    """Return the names of a table by scheduler; where beginnings are the same, ends tell them apart, else numbers."""
    most = _widest(width)
    found = {spec: shorten(spec, width) for spec in specs}
    alike = [spec for spec in found if list(found.values()).count(found[spec]) > 1]
    found |= {spec: f"{spec[: most // 2 - 1]}…{spec[most // 2 - most :]}" for spec in alike}
    for number, spec in enumerate(specs):
        if list(found.values()).count(found[spec]) > 1:
            found[spec] = f"{found[spec][: most - 4]}~{number}"
    return found


def _widest(width: int) -> int:
    """Return the most letters of a scheduler's name on a terminal of some width."""
    return 15 if width <= 80 else 30


def compare(comparison: Comparison, progress: Progress | None = None, processes: int = 1) -> Result:
    """Run all schedulers on every seed, with the same tasks for all (common random numbers).

    Seeds may run in several processes: they are independent, and learners train in Python, one thread at a time. So
    are schedulers: a learner may run in another process than the others, and is compared with them afterwards.
    """
    if comparison.measured:
        raise InputError("a run on real devices cannot be simulated bit for bit: run it again with hms run")
    learners = [spec for spec in comparison.schedulers if registry.schedulers.create(spec).learn_every]
    fixed = comparison.source.is_fixed  # the same tasks for every seed have the same bounds
    if processes < 2 or not learners or len(comparison.seeds) < SEEDS_FOR_PROCESSES:
        ran: list[Outcome] = []
        for seed in track(comparison.seeds, progress):
            ran.append(_run_seed(comparison, seed, ran[0] if fixed and ran else None))
        return Result(comparison, tuple(ran))
    # Learners need libraries that take seconds to load, bounds need kernels that take seconds to compile: what needs
    # the same stays together, and what takes longest begins.
    together = (*((spec,) for spec in learners), (), tuple(_add_oracle(comparison, learners)))
    seeds = {specs: comparison.seeds[:1] if fixed and not specs else comparison.seeds for specs in together}
    parts = [_Part(seed, specs, certifies=not specs) for specs in together for seed in seeds[specs]]
    kinds = [part.schedulers for part in parts]
    jobs = run_jobs(partial(_run_alone, comparison), parts, processes, PART_TIME_LIMIT, kinds)
    found: dict[int, list[_PartResult | None]] = {seed: [] for seed in comparison.seeds}
    outcomes: dict[int, Outcome] = {}
    for _, job in zip(track(parts, progress), jobs, strict=True):
        part = parts[job.number]
        for seed in comparison.seeds if fixed and part.certifies else (part.seed,):
            found[seed].append(job.value)
        for seed in [seed for seed, results in found.items() if len(results) == len(together)]:
            results = [each for each in found.pop(seed) if each is not None]
            # A seed of which a part failed in a process fails again here, with its own error.
            whole = len(results) == len(together)
            outcomes[seed] = _measure_parts(comparison, seed, results) if whole else _run_seed(comparison, seed)
    return Result(comparison, tuple(outcomes[seed] for seed in comparison.seeds))


def _add_oracle(comparison: Comparison, without: Sequence[str] = ()) -> list[str]:
    """Return the schedulers of a comparison but for some, and the oracle, with which all are compared."""
    return [spec for spec in dict.fromkeys([*comparison.schedulers, "oracle"]) if spec not in without]


@dataclass(frozen=True)
class _Part:
    """Some schedulers of a comparison on one seed, and whether the bounds are computed beside them."""

    seed: int
    schedulers: tuple[str, ...]
    certifies: bool


class _PartResult(NamedTuple):
    """Placements and wall seconds by scheduler; bounds, or None if another part has them."""

    runs: dict[str, tuple[Placements, float]]
    bounds: tuple[Bound, dict[str, TurnaroundCertificate]] | None


def _run_alone(comparison: Comparison, part: _Part) -> _PartResult:
    """Run a part in a process that shares the machine with others."""
    limit_cores(1)
    interpret_longer(INTERPRET_SECONDS)
    return _run_part(comparison, part)


def track(cases: Iterable[Case], progress: Progress | None) -> Iterator[Case]:
    """Yield cases and report how many of them are done."""
    waiting = list(cases)
    for done, case in enumerate(waiting):
        if progress:
            progress(done, len(waiting))
        yield case
    if progress:
        progress(len(waiting), len(waiting))


def _run_seed(comparison: Comparison, seed: int, known: Outcome | None = None) -> Outcome:
    """Run all of a seed; `known` is a seed with the same tasks, whose bounds are taken."""
    result = _run_part(comparison, _Part(seed, tuple(_add_oracle(comparison)), certifies=known is None))
    if known is not None:
        result = result._replace(bounds=(known.bound, dict(known.turnaround_bounds)))
    return _measure_parts(comparison, seed, [result])


def _run_part(comparison: Comparison, part: _Part) -> _PartResult:
    cluster, seed = comparison.cluster, part.seed
    tasks = comparison.source.tasks(seed, cluster)
    lessons = [each.tasks(LESSON_SEED + seed, cluster) for each in comparison.lessons if part.schedulers]
    runs = run_lanes(tasks, part.schedulers, cluster, comparison.mode, seed, comparison.backlog, lessons)
    if not part.certifies:
        return _PartResult(runs, None)
    split = _splits_tasks(comparison, runs) if runs else _may_split_tasks(comparison)
    return _PartResult(runs, certify(comparison, tasks, split, class_times(tasks, cluster)))


def _splits_tasks(comparison: Comparison, runs: Mapping[str, tuple[Placements, float]]) -> bool:
    return any(runs[spec][0].split.any() for spec in comparison.schedulers if spec in runs)


def _may_split_tasks(comparison: Comparison) -> bool:
    """Whether a scheduler splits tasks that would fit whole; a learner seldom does."""
    schedulers = map(registry.schedulers.create, comparison.schedulers)
    return any(each.splits and not each.learn_every for each in schedulers)


def _measure_parts(comparison: Comparison, seed: int, parts: Sequence[_PartResult]) -> Outcome:
    """Return the measures of a seed whose schedulers ran in one or several parts."""
    runs = {spec: run for part in parts for spec, run in part.runs.items()}
    [(bound, certificates)] = (part.bounds for part in parts if part.bounds is not None)
    oracle = runs["oracle"][0]
    tasks, times = oracle.tasks, oracle.times
    if certificates and not _splits_tasks(comparison, runs):
        certificates = {WHOLE: certificates[WHOLE]}
    elif certificates and ANY not in certificates:  # a learner alone splits tasks, or the simulator did
        bound, certificates = certify(comparison, tasks, True, times)
    best = float(best_split_times(times, comparison.cluster)[oracle.ran].sum())

    def measure_regret(placements: Placements) -> float:
        gap = (placements.turnaround - oracle.turnaround)[oracle.ran]
        return float(np.mean(gap)) if len(gap) else 0.0

    return measure_outcome(comparison, seed, tasks, bound, best, runs, measure_regret, certificates)


def certify(
    comparison: Comparison, tasks: Tasks, split: bool, times: Floats | None = None
) -> tuple[Bound, dict[str, TurnaroundCertificate]]:
    """Return the bounds of makespan and, where it is certified, of turnaround; `split` says that tasks were split."""
    cluster, queued, asked = comparison.cluster, comparison.mode == "queued", comparison.score == "turnaround"
    bound = (lower_bound if queued else critical_path_bound)(tasks, cluster, times)
    if not (asked or (queued and len(tasks) <= MAX_CERTIFIED_TASKS)):
        return bound, {}
    return bound, certify_turnaround(tasks, cluster, split, times, None if asked else SEARCH_STEPS)


def certify_turnaround(
    tasks: Tasks, cluster: Cluster, split: bool, times: Floats | None = None, steps: int | None = None
) -> dict[str, TurnaroundCertificate]:
    """Return the checked bound of mean turnaround for schedules of whole tasks; if some are split, for any, too."""
    bounds = {
        covered: turnaround_bound(tasks, cluster, times, whole=covered == WHOLE, iterations=steps)
        for covered in ((WHOLE, ANY) if split else (WHOLE,))
    }
    return {
        covered: TurnaroundCertificate(each.mean, each.kind, verify_turnaround_bound(each, tasks, cluster))
        for covered, each in bounds.items()
    }


def measure_outcome(
    comparison: Comparison,
    seed: int,
    tasks: Tasks,
    bound: Bound,
    best: float,
    runs: Mapping[str, tuple[Placements, float]],
    measure_regret: Callable[[Placements], float],
    turnaround_bounds: Mapping[str, TurnaroundCertificate] | None = None,
) -> Outcome:
    """Return the measures of runs, each placements and wall seconds; `best` is the optimum of isolated tasks."""
    certificates = turnaround_bounds or {}
    measures, seconds, utilisation = {}, {}, {}
    names = [device.name for device in comparison.cluster.devices]
    for spec in comparison.schedulers:
        placements, wall = runs[spec]
        figures = measure_certified(placements, bound.makespan, certificates, comparison.slowdown_floor)
        figures["execution_over_best"] = figures["total_time"] / best if best else math.nan
        figures["regret"] = measure_regret(placements)
        measures[spec], seconds[spec] = figures, wall / max(1, len(tasks))
        utilisation[spec] = dict(zip(names, device_utilisation(placements).tolist(), strict=True))
    workload = comparison.source.describe(tasks)
    return Outcome(seed, workload, bound, measures, seconds, utilisation, certificates)


def measure_certified(
    placements: Placements,
    bound: float,
    certificates: Mapping[str, TurnaroundCertificate],
    slowdown_floor: float = SLOWDOWN_FLOOR,
) -> dict[str, float]:
    """Return the measures of a run; its turnaround is compared with the certificate that covers its schedule."""
    certificate = certificates.get(ANY if placements.split.any() else WHOLE)
    return measure(placements, bound, certificate.mean if certificate else math.nan, slowdown_floor)


def run_lanes(
    tasks: Tasks,
    schedulers: Sequence[str],
    cluster: Cluster,
    mode: str = "queued",
    seed: int = 0,
    backlog: str = ESTIMATED,
    lessons: Sequence[Tasks] = (),
) -> dict[str, tuple[Placements, float]]:
    """Run every scheduler on the same tasks in a lane of its own; return placements and wall seconds by scheduler.

    Learners are taught `lessons` first, which must be other tasks.
    """
    times = class_times(tasks, cluster)
    lanes = {
        spec: Lane(
            pretrain_on_workloads(spec, lessons, cluster, seed, mode),
            VirtualMultiGPU(cluster=cluster, mode=mode, backlog=backlog),
        )
        for spec in schedulers
    }
    with ThreadPoolExecutor(core_count()) as pool:
        # Compiled lanes release the interpreter lock; no lane sees another, so their order cannot matter.
        results = list(pool.map(lambda lane: lane.run(tasks, times), lanes.values()))
    return {spec: (result, lane.seconds) for (spec, lane), result in zip(lanes.items(), results, strict=True)}
