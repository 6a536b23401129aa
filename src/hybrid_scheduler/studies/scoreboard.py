"""The scoreboard of a suite: policies × instances, each makespan over the best known value or the certified bound."""

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
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.schedulers.scheduler import Scheduler

BEST_KNOWN, BOUND = "best known", "bound"
TIE = 1e-9  # makespans that differ by less, relatively, share a win
MEASURES = {
    "mean_turnaround": "Mean turnaround in seconds",
    "energy": "Energy in joules",
    "cost": "Cost in dollars",
    "seconds": "Time taken in seconds (measured on the machine that ran the suite)",
}
"""Measures with a table of their own on the Markdown page."""


@dataclass(frozen=True)
class InstanceRow:
    """One instance: where it comes from, how large it is, and the values that makespans are divided by."""

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
        """The value that makespans are divided by."""
        return self.bound if math.isnan(self.best_known) else self.best_known


@dataclass(frozen=True)
class Score:
    """A policy on an instance with one seed; `problem` says why there are no numbers, and is empty otherwise."""

    instance: str
    policy: str
    seed: int
    makespan: float = math.nan
    mean_turnaround: float = math.nan
    energy: float = math.nan
    cost: float = math.nan
    rejected: float = math.nan
    seconds: float = math.nan  # wall time of deciding and simulating, without training and compiling
    problem: str = ""


def score_policy(name: str, policy: str, seed: int, scheduler: Scheduler, tasks: Tasks, cluster: Cluster) -> Score:
    """Simulate the tasks once and measure the placements."""
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
        figures["makespan"],
        figures["mean_turnaround"],
        figures["energy"],
        figures["cost"],
        figures["rejected"],
        seconds,
    )


@dataclass(frozen=True)
class Standing:
    """A policy over all instances that it finished."""

    policy: str
    instances: int
    mean: float  # geometric mean of the ratios
    worst: float
    wins: int  # instances on which no policy was shorter
    seconds: float


@dataclass(frozen=True)
class Scoreboard:
    """All instances and all scores, in the order in which instances and policies were named."""

    instances: tuple[InstanceRow, ...]
    policies: tuple[str, ...]
    scores: tuple[Score, ...]

    def cell(self, policy: str, instance: str) -> list[Score]:
        """Return the scores of a policy on an instance, one a seed."""
        return [each for each in self.scores if (each.policy, each.instance) == (policy, instance)]

    def mean(self, policy: str, instance: str, name: str) -> float:
        """Return the mean of a measure over the seeds; NaN where the policy did not finish."""
        values = [float(getattr(each, name)) for each in self.cell(policy, instance)]
        return float(np.mean(values)) if values else math.nan

    def ratio(self, policy: str, row: InstanceRow) -> float:
        """Return makespan / best known value or bound."""
        return self.mean(policy, row.instance, "makespan") / row.reference if row.reference > 0 else math.nan

    def problem(self, policy: str, instance: str) -> str:
        """Return why a policy did not finish an instance; empty if it did."""
        return next((each.problem for each in self.cell(policy, instance) if each.problem), "")

    def standings(self) -> list[Standing]:
        """Return the policies, most finished instances first, then best geometric mean."""
        standings = [self._compute_standing(policy) for policy in self.policies]
        return sorted(standings, key=lambda each: (-each.instances, each.mean, each.policy))

    def _compute_standing(self, policy: str) -> Standing:
        ratios = np.array([self.ratio(policy, row) for row in self.instances])
        finite = ratios[np.isfinite(ratios)]
        return Standing(
            policy,
            len(finite),
            float(np.exp(np.log(finite).mean())) if len(finite) else math.nan,
            float(finite.max()) if len(finite) else math.nan,
            sum(self._wins(policy, row.instance) for row in self.instances),
            float(np.nansum([self.mean(policy, row.instance, "seconds") for row in self.instances])),
        )

    def _wins(self, policy: str, instance: str) -> bool:
        makespans = [self.mean(each, instance, "makespan") for each in self.policies]
        return bool(self.mean(policy, instance, "makespan") <= np.nanmin(makespans, initial=np.inf) * (1 + TIE))


# --- files ---------------------------------------------------------------------------------------------------


def write_csv(board: Scoreboard, path: str | Path) -> None:
    """Write one line for every instance, policy and seed."""
    rows = {row.instance: row for row in board.instances}
    names, policies = list(rows), board.policies
    own = [each.name for each in fields(Score)]

    def order(score: Score) -> tuple[int, int, int]:
        return names.index(score.instance), policies.index(score.policy), score.seed

    with atomic_write(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*own[:3], "makespan_over_reference", "reference", "against", "bound", *own[3:]])
        for score in sorted(board.scores, key=order):
            row, values = rows[score.instance], list(asdict(score).values())
            ratio = score.makespan / row.reference if row.reference > 0 else math.nan
            writer.writerow([*values[:3], ratio, row.reference, row.against, row.bound, *values[3:]])


def write_markdown(board: Scoreboard, path: str | Path, command: Sequence[str], ignored: Mapping[str, str]) -> None:
    """Write the whole scoreboard as a page, with the files that were ignored and why."""
    with atomic_write(path) as scratch:
        scratch.write_text("\n".join(_page(board, shlex.join(command), ignored)) + "\n", encoding="utf-8")


def _page(board: Scoreboard, command: str, ignored: Mapping[str, str]) -> Iterator[str]:
    yield from ("# Scoreboard", "", "Simulated. Every figure comes from:", "", f"    {command}", "")
    yield "Makespans are divided by the best known value where a reference file gives one, else by the certified"
    yield from ("lower bound: 1 is provably optimal. The mean over instances is geometric.", "")
    yield from standings_table(board)
    yield from ("", "## Makespan over best known value or bound", "", *ratio_table(board))
    for name, title in MEASURES.items():
        yield from ("", f"## {title}", "", *_measure_table(board, name))
    yield from ("", "## Instances", "", *_instance_table(board.instances))
    problems = [
        f"- {policy} on {row.instance}: {problem}"
        for policy in board.policies
        for row in board.instances
        if (problem := board.problem(policy, row.instance))
    ]
    if problems:
        yield from ("", "## Cells without a figure", "", *problems)
    if ignored:
        yield from ("", "## Files that are no instance", "")
        yield from (f"- {name}: {reason}" for name, reason in ignored.items())


def standings_table(board: Scoreboard) -> list[str]:
    """Return the table of policies over all instances."""
    rows = [
        (
            each.policy,
            f"{each.instances} of {len(board.instances)}",
            format_number(each.mean),
            format_number(each.worst),
            str(each.wins),
        )
        for each in board.standings()
    ]
    return markdown_table(("policy", "instances", "geometric mean", "worst", "shortest on"), rows)


def ratio_table(board: Scoreboard) -> list[str]:
    """Return makespan over reference, instances down and policies across; the shortest is bold."""
    rows = []
    for row in board.instances:
        ratios = [board.ratio(policy, row) for policy in board.policies]
        limit = min((each for each in ratios if math.isfinite(each)), default=math.nan) * (1 + TIE)
        cells = [f"**{format_number(each)}**" if each <= limit else format_number(each) for each in ratios]
        rows.append((row.instance, row.against, *cells))
    return markdown_table(("instance", "against", *board.policies), rows)


def _measure_table(board: Scoreboard, name: str) -> list[str]:
    rows = [
        (row.instance, *(format_number(board.mean(policy, row.instance, name)) for policy in board.policies))
        for row in board.instances
    ]
    return markdown_table(("instance", *board.policies), rows)


def _instance_table(instances: Sequence[InstanceRow]) -> list[str]:
    header = ("instance", "format", "tasks", "edges", "rows", "cluster", "bound, s", "best known, s")
    rows = [
        (row.instance, row.format, f"{row.tasks:,}", f"{row.edges:,}", _describe_rows(row), row.cluster,
         format_number(row.bound), format_number(row.best_known))
        for row in instances
    ]  # fmt: skip
    return markdown_table(header, rows)


def _describe_rows(row: InstanceRow) -> str:
    if not row.skipped:
        return f"{row.rows:,}, all used"
    reasons = "; ".join(f"{count:,} {reason}" for reason, count in row.skipped.items())
    return f"{row.rows:,}, skipped: {reasons}"


def format_number(value: float) -> str:
    """Format a number with four or more digits; one that does not exist is a dash."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    ruler = ["---", *("---:" for _ in header[1:])]
    return ["| " + " | ".join(each) + " |" for each in (header, ruler, *rows)]
