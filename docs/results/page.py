"""RESULTS.md, written from the numbers alone: the same numbers give the same page."""

from __future__ import annotations

from docs.results import words
from docs.results.claims import CLAIMS
from docs.results.findings import Findings
from docs.results.sections import SECTIONS, Section
from docs.results.verdicts import HOLDS, MISSING, Claim, Evidence, exceeds, judged, overall

PICTURES = "docs/images/results"
HEAD = """# Results

Written by `make results` from [docs/results.json](docs/results.json); change neither by hand. **Everything here is
simulated**: one CPU and four GPUs of the [model](docs/model.md), nothing was measured on a GPU. How it was done, and
what it cannot show, stands in [METHODOLOGY.md](METHODOLOGY.md). Numbers are means over seeds with 95 % bootstrap
intervals in brackets; comparisons are paired by seed. `DIR` in a command is any new folder; `hms report DIR` makes a
document of it."""

RULE = """A claim holds in a place if the whole 95 % interval is on its side, and cannot be told if the claimed number
lies inside the interval or fewer than three seeds were run. A range counts from its modest end. Every place where we
looked is listed below, wins and losses alike."""


def page(findings: Findings) -> str:
    """Return the whole document."""
    parts = [HEAD, _claims(findings), *(_section(name, each, findings) for name, each in SECTIONS.items())]
    return "\n\n".join(parts) + "\n"


def _claims(findings: Findings) -> str:
    rows = [[claim.says, _overall(claim, found, findings)] for claim, found in CLAIMS.items()]
    short = words.table(["the guide claims", "verdict"], rows)
    details = [_details(claim, found, findings) for claim, found in CLAIMS.items()]
    heads = ["## What the project's guide claims, and what we measured", RULE, short]
    return "\n\n".join([*heads, "### Number by number", *details])


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
    text = words.share(seen) if claim.as_percent else words.number(seen)
    return [each.where, text, words.seeds(findings[each.run].seeds), _link(each.run), judged(claim, each, findings)]


def _link(run: str) -> str:
    return f"[{run}](#{run})"


def _section(name: str, section: Section, findings: Findings) -> str:
    head = f'<a id="{name}"></a>\n\n## {section.title}'
    finding = findings.get(name)
    if finding is None:
        return f"{head}\n\n{section.about}\n\n**Missing**: not run yet; `make results` runs it."
    picture = [f"![{section.title}]({PICTURES}/{section.picture}.png)"] if section.picture else []
    return "\n\n".join([head, section.about, words.origin(finding), section.body(finding), *picture])
