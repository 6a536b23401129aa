"""RESULTS.md, written from the numbers alone: the same numbers give the same page."""

from __future__ import annotations

from docs.results.claims import CLAIMS
from docs.results.data import Results
from docs.results.markdown import describe_origin, format_seeds, format_share, format_table
from docs.results.plan import PLAN
from docs.results.sections import SECTIONS, Section
from docs.results.verdicts import HOLDS, MISSING, Claim, Evidence, combine_verdicts, exceeds_claim, judge_evidence
from hybrid_scheduler.core.formatting import format_interval
from hybrid_scheduler.core.metrics import Interval

FIGURES = "docs/images/results"
HEAD = """# Results

Written by `make results` from [docs/results.json](docs/results.json); change neither by hand. **Everything here is
simulated**: one CPU and four GPUs of the [model](docs/model.md), nothing was measured on a GPU. How it was done, and
what it cannot show, stands in [METHODOLOGY.md](METHODOLOGY.md). Numbers are means over seeds with 95 % bootstrap
intervals in brackets; comparisons are paired by seed. `DIR` in a command is any new folder; `hms report DIR` makes a
document of it. Each table names the version that made it."""

RULE = """A claim holds in a place if the whole 95 % interval is on its side, and cannot be told if the claimed number
lies inside the interval or fewer than three seeds were run. A range counts from its modest end. Every place where we
looked is listed below, wins and losses alike; "measured" shows the first of them and the span of all."""

DATA_OF_OTHERS = """## On data of others

Measured times, recorded workflows and traces that this project did not make, and settings on which the learners of
version 1.0 failed; what held and what is still lost."""


def build_page(results: Results) -> str:
    """Return the whole document."""
    others = {run.name for run in PLAN if run.needs_data}
    own = [_build_section(name, each, results) for name, each in SECTIONS.items() if name not in others]
    of_others = [_build_section(name, each, results, "###") for name, each in SECTIONS.items() if name in others]
    return "\n\n".join([HEAD, _build_claims(results), *own, DATA_OF_OTHERS, *of_others]) + "\n"


def _build_claims(results: Results) -> str:
    rows = [
        [claim.text, _format_range(claim, each, results), _format_verdict(claim, each, results)]
        for claim, each in CLAIMS.items()
    ]
    short = format_table(["the guide claims", "measured", "verdict"], rows)
    details = [_build_details(claim, each, results) for claim, each in CLAIMS.items()]
    heads = ["## What the project's guide claims, and what we measured", RULE, short]
    return "\n\n".join([*heads, "### Number by number", *details])


def _format_range(claim: Claim, evidence: list[Evidence], results: Results) -> str:
    """Return the first number with its interval, and the smallest and largest mean of all places."""
    intervals = [each for each in (one.interval(results) for one in evidence) if each is not None]
    if not intervals:
        return "–"
    means = [each.mean for each in intervals]
    ends = [_format_number(claim, Interval(end, end, end)) for end in (min(means), max(means))]
    spread = f"; {ends[0]} to {ends[1]} in {len(intervals)} places" if len(intervals) > 1 else ""
    return f"{_format_number(claim, intervals[0])}{spread}"


def _format_number(claim: Claim, each: Interval) -> str:
    return format_share(each) if claim.as_percent else format_interval(each, "×")


def _format_verdict(claim: Claim, evidence: list[Evidence], results: Results) -> str:
    verdict = combine_verdicts([(each.where, judge_evidence(claim, each, results)) for each in evidence])
    more = verdict == HOLDS and all(exceeds_claim(claim, each.interval(results)) for each in evidence)
    return f"**{verdict}**, by more than claimed" if more else f"**{verdict}**"


def _build_details(claim: Claim, evidence: list[Evidence], results: Results) -> str:
    rows = [_list_evidence(claim, each, results) for each in evidence]
    return f"**{claim.text}**\n\n{format_table(['where', 'measured', 'seeds', 'from', 'verdict'], rows)}"


def _list_evidence(claim: Claim, each: Evidence, results: Results) -> list[str]:
    interval = each.interval(results)
    if interval is None:
        return [each.where, "–", "–", _link(each.run), MISSING]
    return [
        each.where,
        _format_number(claim, interval),
        format_seeds(results[each.run].seeds),
        _link(each.run),
        judge_evidence(claim, each, results),
    ]


def _link(run: str) -> str:
    return f"[{run}](#{run})"


def _build_section(name: str, section: Section, results: Results, level: str = "##") -> str:
    head = f'<a id="{name}"></a>\n\n{level} {section.title}'
    run = results.get(name)
    if run is None:
        return f"{head}\n\n{section.about}\n\n**Missing**: not run yet; `make results` runs it."
    figure = [f"![{section.title}]({FIGURES}/{section.figure}.png)"] if section.figure else []
    return "\n\n".join([head, section.about, describe_origin(run), section.format(run), *figure])
