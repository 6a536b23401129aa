"""The scoreboard: policies × instances, each makespan over the best known value or the certified bound."""

from __future__ import annotations

import csv
import math
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import measure
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.schedulers.scheduler import Scheduler

BEST_KNOWN, BOUND = "best known", "bound"
TIE = 1e-9  # makespans that differ by less, relatively, share a win


@dataclass(frozen=True)
class Line:
    """What is said about an instance: where it is from, how large it is, and what makespans are held against."""

    instance: str
    format: str
    tasks: int
    edges: int
    rows: int  # of the file
    skipped: dict[str, int]
    cluster: str
    bound: float
    best_known: float = math.nan

    @property
    def against(self) -> str:
        """Which of the two values makespans are divided by."""
        return BOUND if math.isnan(self.best_known) else BEST_KNOWN

    @property
    def reference(self) -> float:
        """The value itself."""
        return self.bound if math.isnan(self.best_known) else self.best_known


@dataclass(frozen=True)
class Standing:
    """A policy over all instances on which it came to an end."""

    policy: str
    instances: int
    mean: float  # geometric mean of the ratios
    worst: float
    wins: int  # instances on which nobody was shorter
    seconds: float


@dataclass(frozen=True)
class Scoreboard:
    """All lines and all scores, in the order in which instances and policies were named."""

    lines: tuple[Line, ...]
    policies: tuple[str, ...]
    scores: tuple[Score, ...]

    def cell(self, policy: str, instance: str) -> list[Score]:
        """Return the scores of a policy on an instance, one a seed."""
        return [each for each in self.scores if (each.policy, each.instance) == (policy, instance)]

    def mean(self, policy: str, instance: str, name: str) -> float:
        """Return the mean of a measure over the seeds; NaN where the policy came to no end."""
        values = [float(getattr(each, name)) for each in self.cell(policy, instance)]
        return float(np.mean(values)) if values else math.nan

    def ratio(self, policy: str, line: Line) -> float:
        """Return makespan / best known value or bound."""
        return self.mean(policy, line.instance, "makespan") / line.reference if line.reference > 0 else math.nan

    def problem(self, policy: str, instance: str) -> str:
        """Return why a policy came to no end on an instance; empty if it did."""
        return next((each.problem for each in self.cell(policy, instance) if each.problem), "")

    def standings(self) -> list[Standing]:
        """Return the policies, best geometric mean first; who came to an end on fewer instances stands below."""
        found = [self._standing(policy) for policy in self.policies]
        return sorted(found, key=lambda each: (-each.instances, each.mean, each.policy))

    def _standing(self, policy: str) -> Standing:
        ratios = np.array([self.ratio(policy, line) for line in self.lines])
        ended = ratios[np.isfinite(ratios)]
        return Standing(
            policy,
            len(ended),
            float(np.exp(np.log(ended).mean())) if len(ended) else math.nan,
            float(ended.max(initial=0.0)) if len(ended) else math.nan,
            sum(self._wins(policy, line) for line in self.lines),
            float(np.nansum([self.mean(policy, line.instance, "seconds") for line in self.lines])),
        )

    def _wins(self, policy: str, line: Line) -> bool:
        everyone = [self.mean(each, line.instance, "makespan") for each in self.policies]
        return bool(self.mean(policy, line.instance, "makespan") <= np.nanmin(everyone, initial=np.inf) * (1 + TIE))


def write_csv(board: Scoreboard, path: str | Path) -> None:
    """Write one line for every instance, policy and seed."""
    lines = {line.instance: line for line in board.lines}
    own = [each.name for each in fields(Score)]
    with written_whole(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*own[:3], "makespan_over_reference", "reference", "against", "bound", *own[3:]])
        for score in _sorted(board):
            line, values = lines[score.instance], list(asdict(score).values())
            ratio = score.makespan / line.reference if line.reference > 0 else math.nan
            writer.writerow([*values[:3], ratio, line.reference, line.against, line.bound, *values[3:]])


def _sorted(board: Scoreboard) -> Iterable[Score]:
    places = {line.instance: number for number, line in enumerate(board.lines)}
    ranks = {policy: number for number, policy in enumerate(board.policies)}
    return sorted(board.scores, key=lambda each: (places[each.instance], ranks[each.policy], each.seed))


CELLS = ("mean_turnaround", "energy", "cost", "seconds")
TITLES = {
    "mean_turnaround": "Mean turnaround in seconds",
    "energy": "Energy in joules",
    "cost": "Cost in dollars",
    "seconds": "Time taken in seconds (measured on the machine that ran the suite)",
}


def write_markdown(
    board: Scoreboard, path: str | Path, command: Sequence[str], passed_over: Mapping[str, str]
) -> None:
    """Write the whole scoreboard."""
    with written_whole(path) as scratch:
        scratch.write_text("\n".join(_page(board, shlex.join(command), passed_over)) + "\n", encoding="utf-8")


def standings_table(board: Scoreboard) -> list[str]:
    """Return the table of policies over all instances."""
    rows = [
        (
            each.policy,
            f"{each.instances} of {len(board.lines)}",
            number(each.mean),
            number(each.worst),
            str(each.wins),
        )
        for each in board.standings()
    ]
    return table(("policy", "instances", "geometric mean", "worst", "shortest on"), rows)


def ratio_table(board: Scoreboard) -> list[str]:
    """Return makespan over reference, instances down and policies across; the shortest is bold."""
    rows = []
    for line in board.lines:
        ratios = [board.ratio(policy, line) for policy in board.policies]
        best = min((each for each in ratios if math.isfinite(each)), default=math.nan)
        cells = [f"**{number(each)}**" if each <= best * (1 + 1e-9) else number(each) for each in ratios]
        rows.append((line.instance, line.against, *cells))
    return table(("instance", "against", *board.policies), rows)


def instance_table(lines: Sequence[Line]) -> list[str]:
    """Return what every instance is, with an account of its rows."""
    rows = [
        (line.instance, line.format, f"{line.tasks:,}", f"{line.edges:,}", _account(line), line.cluster,
         number(line.bound), number(line.best_known))
        for line in lines
    ]  # fmt: skip
    return table(("instance", "format", "tasks", "edges", "rows", "cluster", "bound, s", "best known, s"), rows)


def number(value: float) -> str:
    """Write a figure with four or more digits; a dash is one that does not exist."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table."""
    ruler = ["---", *("---:" for _ in header[1:])]
    return ["| " + " | ".join(each) + " |" for each in (header, ruler, *rows)]


def _page(board: Scoreboard, command: str, passed_over: Mapping[str, str]) -> Iterator[str]:
    yield from ("# Scoreboard", "", "Simulated. Every figure comes from:", "", f"    {command}", "")
    yield "Makespans are divided by the best known value where a reference file gives one, else by the certified"
    yield from ("lower bound: 1 is provably optimal. The mean over instances is geometric.", "")
    yield from standings_table(board)
    yield from ("", "## Makespan over best known value or bound", "", *ratio_table(board))
    for name in CELLS:
        yield from ("", f"## {TITLES[name]}", "", *_cells(board, name))
    yield from ("", "## Instances", "", *instance_table(board.lines))
    yield from _problems(board)
    if passed_over:
        yield from ("", "## Files that are no instance", "")
        yield from (f"- {name}: {reason}" for name, reason in passed_over.items())


def _cells(board: Scoreboard, name: str) -> list[str]:
    rows = [
        (line.instance, *(number(board.mean(policy, line.instance, name)) for policy in board.policies))
        for line in board.lines
    ]
    return table(("instance", *board.policies), rows)


def _account(line: Line) -> str:
    if not line.skipped:
        return f"{line.rows:,}, all used"
    reasons = "; ".join(f"{count:,} {reason}" for reason, count in line.skipped.items())
    return f"{line.rows:,}, skipped: {reasons}"


def _problems(board: Scoreboard) -> Iterator[str]:
    found = [
        f"- {policy} on {line.instance}: {problem}"
        for policy in board.policies
        for line in board.lines
        if (problem := board.problem(policy, line.instance))
    ]
    if found:
        yield from ("", "## Cells without a figure", "", *found)


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
