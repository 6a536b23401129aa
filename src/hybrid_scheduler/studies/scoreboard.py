"""The scoreboard of a suite: policies × instances, each makespan over the best known value or the certified bound."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.studies.results import to_csv

BEST_KNOWN, BOUND, WHOLE_BOUND = "best known", "bound", "whole-task bound"
TIE = 1e-9  # makespans that differ by less, relatively, share a win
MEASURES = {
    "mean_turnaround": "Mean turnaround in seconds",
    "bounded_slowdown": "Mean bounded slowdown of wide jobs",
    "turnaround_over_bound": "Mean turnaround over its certified bound, of schedules that split no task",
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
    turnaround_bound: float = math.nan  # of the mean, for schedules that split no task; none for very many tasks
    whole_bound: float = math.nan  # of the makespan of schedules that split no task; none for very many tasks

    def against(self, whole: bool = True) -> str:
        """Say which value makespans are divided by; schedules that split no task have a sharper bound."""
        if not math.isnan(self.best_known):
            return BEST_KNOWN
        return WHOLE_BOUND if whole and self.whole_bound > self.bound else BOUND

    def reference(self, whole: bool) -> float:
        """Return the value that makespans are divided by."""
        values = {BEST_KNOWN: self.best_known, BOUND: self.bound, WHOLE_BOUND: self.whole_bound}
        return values[self.against(whole)]


@dataclass(frozen=True)
class Score:
    """A policy on an instance with one seed; `problem` says why there are no numbers, and is empty otherwise."""

    instance: str
    policy: str
    seed: int
    makespan: float = math.nan
    mean_turnaround: float = math.nan
    turnaround_over_bound: float = math.nan
    energy: float = math.nan
    cost: float = math.nan
    rejected: float = math.nan
    split: float = math.nan
    bounded_slowdown: float = math.nan  # of wide jobs
    seconds: float = math.nan  # wall time of deciding and simulating, without training and compiling
    problem: str = ""


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
        """Return makespan / best known value or bound, the sharper one if the policy split no task."""
        reference = row.reference(all(each.split == 0 for each in self.cell(policy, row.instance)))
        return self.mean(policy, row.instance, "makespan") / reference if reference > 0 else math.nan

    def problem(self, policy: str, instance: str) -> str:
        """Return why a policy did not finish an instance; empty if it did."""
        return next((each.problem for each in self.cell(policy, instance) if each.problem), "")

    def standings(self) -> list[Standing]:
        """Return the policies, most finished instances first, then best geometric mean."""
        standings = map(self._compute_standing, self.policies)
        return sorted(standings, key=lambda each: (-each.instances, each.mean, each.policy))

    def _compute_standing(self, policy: str) -> Standing:
        ratios = np.array([self.ratio(policy, row) for row in self.instances])
        finite, wins = ratios[np.isfinite(ratios)], 0
        for row in self.instances:
            makespans = {each: self.mean(each, row.instance, "makespan") for each in self.policies}
            wins += bool(makespans[policy] <= np.nanmin(list(makespans.values()), initial=np.inf) * (1 + TIE))
        return Standing(
            policy,
            len(finite),
            float(np.exp(np.log(finite).mean())) if len(finite) else math.nan,
            float(finite.max()) if len(finite) else math.nan,
            wins,
            float(np.nansum([self.mean(policy, row.instance, "seconds") for row in self.instances])),
        )


# --- files ---------------------------------------------------------------------------------------------------


def write_csv(board: Scoreboard, path: str | Path) -> None:
    """Write one line for every instance, policy and seed."""
    with atomic_write(path) as scratch:
        scratch.write_text(scores_to_csv(board), encoding="utf-8")


def scores_to_csv(board: Scoreboard) -> str:
    """Return a table with a line for every instance, policy and seed."""
    rows = {row.instance: row for row in board.instances}
    names, policies = list(rows), board.policies
    own = [each.name for each in fields(Score)]

    def order(score: Score) -> tuple[int, int, int]:
        return names.index(score.instance), policies.index(score.policy), score.seed

    lines = list[tuple[object, ...]]()
    for score in sorted(board.scores, key=order):
        row, values, whole = rows[score.instance], astuple(score), score.split == 0
        reference = row.reference(whole)
        ratio = score.makespan / reference if reference > 0 else math.nan
        lines.append((*values[:3], ratio, reference, row.against(whole), row.bound, *values[3:]))
    return to_csv((*own[:3], "makespan_over_reference", "reference", "against", "bound", *own[3:]), lines)


def write_markdown(board: Scoreboard, path: str | Path, command: Sequence[str], ignored: Mapping[str, str]) -> None:
    """Write the whole scoreboard as a page, with the files that were ignored and why."""
    with atomic_write(path) as scratch:
        scratch.write_text("\n".join(_page(board, shlex.join(command), ignored)) + "\n", encoding="utf-8")


def _page(board: Scoreboard, command: str, ignored: Mapping[str, str]) -> Iterator[str]:
    yield from ("# Scoreboard", "", "Simulated. Every figure comes from:", "", f"    {command}", "")
    yield "Makespans are divided by the best known value where a reference file gives one, else by the certified"
    yield "lower bound: 1 is provably optimal. Where a policy split no task that is the sharper bound of whole tasks."
    yield from ("The mean over instances is geometric.", "")
    yield from standings_table(board)
    yield from ("", "## Makespan over best known value or bound", "", *ratio_table(board))
    for name, title in MEASURES.items():
        rows = [
            (row.instance, *(format_number(board.mean(policy, row.instance, name)) for policy in board.policies))
            for row in board.instances
        ]
        if any(math.isfinite(getattr(each, name)) for each in board.scores):
            yield from ("", f"## {title}", "", *markdown_table(("instance", *board.policies), rows))
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
        rows.append((row.instance, row.against(), *cells))
    return markdown_table(("instance", "against", *board.policies), rows)


def _instance_table(instances: Sequence[InstanceRow]) -> list[str]:
    bounds = ("bound, s", "of whole tasks, s", "best known, s")
    header = ("instance", "format", "tasks", "edges", "rows", "cluster", *bounds)
    rows = []
    for row in instances:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in row.skipped.items())
        used = f"{row.rows:,}, skipped: {reasons}" if row.skipped else f"{row.rows:,}, all used"
        values = map(format_number, (row.bound, row.whole_bound, row.best_known))
        rows.append((row.instance, row.format, f"{row.tasks:,}", f"{row.edges:,}", used, row.cluster, *values))
    return markdown_table(header, rows)


def format_number(value: float) -> str:
    """Format a number with four or more digits; one that does not exist is a dash."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    ruler = ["---", *("---:" for _ in header[1:])]
    return ["| " + " | ".join(each) + " |" for each in (header, ruler, *rows)]
