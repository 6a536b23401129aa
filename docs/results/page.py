"""RESULTS.md, written from the numbers alone: the same numbers give the same page."""

from __future__ import annotations

from docs.results import words
from docs.results.claims import CLAIMS
from docs.results.findings import Findings
from docs.results.sections import SECTIONS, Section
from docs.results.verdicts import HOLDS, MISSING, Claim, Evidence, exceeds, judged, overall
from hybrid_scheduler.core.metrics import Interval

PICTURES = "docs/images/results"
HEAD = """# Results

Written by `make results` from [docs/results.json](docs/results.json); change neither by hand. **Everything here is
simulated**: one CPU and four GPUs of the [model](docs/model.md), nothing was measured on a GPU. How it was done, and
what it cannot show, stands in [METHODOLOGY.md](METHODOLOGY.md). Numbers are means over seeds with 95 % bootstrap
intervals in brackets; comparisons are paired by seed. `DIR` in a command is any new folder; `hms report DIR` makes a
document of it. Each table names the version that made it: of those of 0.1.0, workflows and pods aside, seed 0 was run
again with 1.0.0 and gave the same bytes."""

RULE = """A claim holds in a place if the whole 95 % interval is on its side, and cannot be told if the claimed number
lies inside the interval or fewer than three seeds were run. A range counts from its modest end. Every place where we
looked is listed below, wins and losses alike; "measured" shows the first of them and the span of all."""


def page(findings: Findings) -> str:
    """Return the whole document."""
    parts = [HEAD, _claims(findings), *(_section(name, each, findings) for name, each in SECTIONS.items())]
    return "\n\n".join(parts) + "\n"


def _claims(findings: Findings) -> str:
    rows = [
        [claim.says, _range(claim, each, findings), _overall(claim, each, findings)] for claim, each in CLAIMS.items()
    ]
    short = words.table(["the guide claims", "measured", "verdict"], rows)
    details = [_details(claim, found, findings) for claim, found in CLAIMS.items()]
    heads = ["## What the project's guide claims, and what we measured", RULE, short]
    return "\n\n".join([*heads, "### Number by number", *details])


def _range(claim: Claim, evidence: list[Evidence], findings: Findings) -> str:
    """Return the first number with its interval, and the smallest and largest mean of all places."""
    seen = [each for each in (one.interval(findings) for one in evidence) if each is not None]
    if not seen:
        return "–"
    ends = [
        _written(claim, Interval(end, end, end)) for end in (pick(each.mean for each in seen) for pick in (min, max))
    ]
    spread = f"; {ends[0]} to {ends[1]} in {len(seen)} places" if len(seen) > 1 else ""
    return f"{_written(claim, seen[0])}{spread}"


def _written(claim: Claim, each: Interval) -> str:
    return words.share(each) if claim.as_percent else words.number(each)


def _overall(claim: Claim, evidence: list[Evidence], findings: Findings) -> str:
    found = overall([(each.where, judged(claim, each, findings)) for each in evidence])
    more = found == HOLDS and all(exceeds(claim, each.interval(findings)) for each in evidence)
    return f"**{found}**, by more than claimed" if more else f"**{found}**"


def _details(claim: Claim, evidence: list[Evidence], findings: Findings) -> str:
    rows = [_evidence(claim, each, findings) for each in evidence]
    return f"**{claim.says}**\n\n{words.table(['where', 'measured', 'seeds', 'from', 'verdict'], rows)}"


def _evidence(claim: Claim, each: Evidence, findings: Findings) -> list[str]:
    seen = each.interval(findings)
    if seen is None:
        return [each.where, "–", "–", _link(each.run), MISSING]
    return [
        each.where,
        _written(claim, seen),
        words.seeds(findings[each.run].seeds),
        _link(each.run),
        judged(claim, each, findings),
    ]


def _link(run: str) -> str:
    return f"[{run}](#{run})"


def _section(name: str, section: Section, findings: Findings) -> str:
    head = f'<a id="{name}"></a>\n\n## {section.title}'
    finding = findings.get(name)
    if finding is None:
        return f"{head}\n\n{section.about}\n\n**Missing**: not run yet; `make results` runs it."
    picture = [f"![{section.title}]({PICTURES}/{section.picture}.png)"] if section.picture else []
    return "\n\n".join([head, section.about, words.origin(finding), section.body(finding), *picture])
