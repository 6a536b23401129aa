"""When a claim holds: the interval of each place is compared with what was claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from docs.results.data import Results, RunResults
from hybrid_scheduler.core.metrics import Interval

MIN_SEEDS = 3  # fewer give no meaningful interval
HOLDS, FAILS, UNDECIDED, MISSING = "holds", "does not hold", "cannot be told", "missing"


@dataclass(frozen=True)
class Claim:
    """A sentence of the guide, and the number from which (or up to which) it is true."""

    text: str
    limit: float
    beyond: float | None = None  # the other end of a claimed range: past it, more was reached than claimed
    at_most: bool = False
    as_percent: bool = False


@dataclass(frozen=True)
class Evidence:
    """A number for or against a claim: a description of the place, the run, and how to compute it from the run."""

    where: str
    run: str
    compute: Callable[[RunResults], Interval]

    def interval(self, results: Results) -> Interval | None:
        """Return the number, or None if the run is missing."""
        run = results.get(self.run)
        return None if run is None else self.compute(run)


def judge_evidence(claim: Claim, evidence: Evidence, results: Results) -> str:
    """Return the verdict of one place; one or two seeds decide nothing."""
    interval = evidence.interval(results)
    if interval is None:
        return MISSING
    return judge_interval(claim, interval) if len(results[evidence.run].seeds) >= MIN_SEEDS else UNDECIDED


def judge_interval(claim: Claim, interval: Interval) -> str:
    """Return the verdict on one number: decided only if its whole interval lies on one side of the limit."""
    worst, best = (interval.high, interval.low) if claim.at_most else (interval.low, interval.high)
    if _reaches(claim, worst):
        return HOLDS
    return UNDECIDED if _reaches(claim, best) else FAILS


def _reaches(claim: Claim, value: float) -> bool:
    return value <= claim.limit if claim.at_most else value >= claim.limit


def exceeds_claim(claim: Claim, interval: Interval | None) -> bool:
    """Whether more than the claimed range was clearly reached."""
    if interval is None or claim.beyond is None or claim.at_most:
        return False
    return interval.low > claim.beyond


def combine_verdicts(verdicts: Sequence[tuple[str, str]]) -> str:
    """Return one verdict for several places; where they differ, it names the exceptions."""
    known = [(where, each) for where, each in verdicts if each != MISSING]
    kinds = {each for _, each in known}
    if not known:
        return MISSING
    if len(kinds) == 1:
        return kinds.pop()
    if HOLDS not in kinds:
        return f"{FAILS}; {UNDECIDED} for {_join_places(known, UNDECIDED)}"
    count = sum(each == HOLDS for _, each in known)
    against = [f"{kind} for {_join_places(known, kind)}" for kind in (FAILS, UNDECIDED) if kind in kinds]
    if 2 * count <= len(known):
        against.insert(0, f"only for {_join_places(known, HOLDS)}")
    return f"{HOLDS} under conditions ({count} of {len(known)} places): {'; '.join(against)}"


def _join_places(verdicts: Sequence[tuple[str, str]], kind: str) -> str:
    return " · ".join(where for where, each in verdicts if each == kind)
