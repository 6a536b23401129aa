"""How RESULTS.md writes things: Markdown tables, seeds, numbers with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docs.results.findings import Finding
from docs.results.plan import PLAN, SEEDS
from hybrid_scheduler.core.metrics import Interval
from hybrid_scheduler.reports.numbers import percent, with_interval


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(each: Interval, unit: str = "×") -> str:
    """Return a mean with its interval; one seed has none."""
    return with_interval(each, unit)


def share(each: Interval) -> str:
    """Return a share as per cent with its interval."""
    mean, low, high = (percent(value) for value in (each.mean, each.low, each.high))
    return mean if each.low == each.high else f"{mean} [{low}, {high}]"


def seeds(numbers: Sequence[int]) -> str:
    """Return '0–9 (10)', or the seeds one by one where some are left out."""
    whole = list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    names = f"{numbers[0]}–{numbers[-1]}" if whole and len(numbers) > 1 else ", ".join(map(str, numbers))
    return f"{names} ({len(numbers)})"


def origin(finding: Finding) -> str:
    """Return the line below a heading: the command, its seeds, and that nothing here was measured on hardware."""
    wanted = next((run.seeds for run in PLAN if run.name == finding.name), SEEDS)
    lacking = wanted - len(finding.seeds)
    more = f"; {lacking} of {wanted} seeds still missing, `make results` adds them" if lacking > 0 else ""
    interval = "mean [95 % interval]" if len(finding.seeds) > 1 else "one seed, so no interval"
    words = f"seeds {seeds(finding.seeds)}{more}; {interval}; simulated; version {finding.version}"
    return f"`{finding.command}`: {words}."
