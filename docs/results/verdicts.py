"""When a claim holds: its interval is compared with what was claimed, and each place speaks for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from docs.results.findings import Finding, Findings
from hybrid_scheduler.core.metrics import Interval

FEWEST = 3  # seeds below which an interval says nothing
HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "cannot be told", "missing"


@dataclass(frozen=True)
class Claim:
    """A sentence of the guide, and the number from which on (or up to which) it is true."""

    says: str
    limit: float
    beyond: float | None = None  # the other end of a claimed range: past it, more was reached than claimed
    at_most: bool = False
    as_percent: bool = False


@dataclass(frozen=True)
class Evidence:
    """A number that speaks for or against a claim: where it was seen, in which run, and how it is taken from it."""

    where: str
    run: str
    take: Callable[[Finding], Interval]

    def interval(self, findings: Findings) -> Interval | None:
        """Return the number, or none if the run is missing."""
        finding = findings.get(self.run)
        return None if finding is None else self.take(finding)


def judged(claim: Claim, evidence: Evidence, findings: Findings) -> str:
    """Judge what one place says; one or two seeds settle nothing."""
    seen = evidence.interval(findings)
    if seen is None:
        return MISSING
    return verdict(claim, seen) if len(findings[evidence.run].seeds) >= FEWEST else OPEN


def verdict(claim: Claim, seen: Interval) -> str:
    """Judge one number: clear only if its whole interval lies on one side of the limit."""
    worst, best = (seen.high, seen.low) if claim.at_most else (seen.low, seen.high)
    if _reaches(claim, worst):
        return HOLDS
    return OPEN if _reaches(claim, best) else FAILS


def _reaches(claim: Claim, value: float) -> bool:
    return value <= claim.limit if claim.at_most else value >= claim.limit


def exceeds(claim: Claim, seen: Interval | None) -> bool:
    """Whether more than the claimed range was clearly reached."""
    return seen is not None and claim.beyond is not None and not claim.at_most and seen.low > claim.beyond


def overall(verdicts: Sequence[tuple[str, str]]) -> str:
    """Put the verdicts of several places together; where they differ, name the places that are fewer."""
    known = [(where, each) for where, each in verdicts if each != MISSING]
    kinds = {each for _, each in known}
    if not known:
        return MISSING
    if len(kinds) == 1:
        return kinds.pop()
    if HOLDS not in kinds:
        return f"{FAILS}; {OPEN} for {_places(known, OPEN)}"
    count = sum(each == HOLDS for _, each in known)
    against = [f"{kind} for {_places(known, kind)}" for kind in (FAILS, OPEN) if kind in kinds]
    if 2 * count <= len(known):
        against.insert(0, f"only for {_places(known, HOLDS)}")
    return f"{HOLDS} under conditions ({count} of {len(known)} places): {'; '.join(against)}"


def _places(verdicts: Sequence[tuple[str, str]], kind: str) -> str:
    return " · ".join(where for where, each in verdicts if each == kind)
