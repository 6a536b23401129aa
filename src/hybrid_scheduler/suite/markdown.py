"""The scoreboard as Markdown: who stands where, every cell, and what the instances are."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from hybrid_scheduler.files import written_whole
from hybrid_scheduler.suite.scoreboard import Line, Scoreboard

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
