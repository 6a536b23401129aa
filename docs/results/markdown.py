"""Markdown of RESULTS.md: tables, seeds, shares with intervals, the origin of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docs.results.data import RunResults
from docs.results.plan import PLAN, SEEDS
from hybrid_scheduler.core.formatting import format_percent
from hybrid_scheduler.core.metrics import Interval


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_share(each: Interval) -> str:
    """Return a share as per cent with its interval."""
    mean, low, high = (format_percent(value) for value in (each.mean, each.low, each.high))
    return mean if each.low == each.high else f"{mean} [{low}, {high}]"


def format_seeds(numbers: Sequence[int]) -> str:
    """Return '0–9 (10)', or the seeds one by one where some are left out."""
    whole = list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    names = f"{numbers[0]}–{numbers[-1]}" if whole and len(numbers) > 1 else ", ".join(map(str, numbers))
    return f"{names} ({len(numbers)})"


def describe_origin(run: RunResults) -> str:
    """Return the line below a heading: the command, its seeds and version, and that everything was simulated."""
    planned = next((each.seeds for each in PLAN if each.name == run.name), SEEDS)
    missing = planned - len(run.seeds)
    more = f"; {missing} of {planned} seeds still missing, `make results` adds them" if missing > 0 else ""
    interval = "mean [95 % interval]" if len(run.seeds) > 1 else "one seed, so no interval"
    facts = f"seeds {format_seeds(run.seeds)}{more}; {interval}; simulated; version {run.version}"
    return f"`{run.command}`: {facts}."
