"""What the runs found, as numbers small enough for git: one value per command, series, x, measure and seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.results.plan import PLAN, Run
from docs.results.running import KEPT, folder_of, is_kept
from hybrid_scheduler import __version__
from hybrid_scheduler.core.metrics import Interval, bootstrap
from hybrid_scheduler.studies import results
from hybrid_scheduler.studies import suite as scoreboards
from hybrid_scheduler.studies.experiments import Study

MEASURES = (
    "makespan_over_bound",
    "execution_over_best",
    "makespan",
    "total_time",
    "mean_turnaround",
    "p99_turnaround",
    "load_balance",
    "energy",
    "cost",
)
"""What is kept of a comparison."""
SCORES = ("makespan_over_reference", "mean_turnaround", "energy", "cost")
"""What is kept of a scoreboard."""
DIGITS = 7  # enough for every table; all digits are in the run directories


@dataclass(frozen=True)
class Finding:
    """What one command found on some seeds."""

    name: str
    command: str
    version: str
    seeds: tuple[int, ...]
    study: Study

    def values(self, series: str, measure: str, x: float | str | None = None) -> list[float]:
        """Return a measure of a series, seed by seed; x may be left out where there is only one."""
        rows = [row for row in self.study.rows if row["series"] == series and x in (None, row["x"])]
        return [row[measure] for row in sorted(rows, key=lambda row: int(row["seed"]))]

    def interval(self, series: str, measure: str, x: float | str | None = None) -> Interval:
        """Return the mean over the seeds with its interval."""
        return bootstrap(self.values(series, measure, x))

    def ratio(self, one: str, other: str, measure: str, x: float | str | None = None) -> Interval:
        """Return one series over another, paired by seed."""
        pairs = zip(self.values(one, measure, x), self.values(other, measure, x), strict=True)
        return bootstrap([ours / theirs for ours, theirs in pairs])


Findings = Mapping[str, Finding]


def collect(plan: Iterable[Run] = PLAN, kept: Path = KEPT) -> dict[str, Finding]:
    """Read the run directories of this version; a command without any is left out."""
    found = {run.name: _collect_one(run, kept) for run in plan}
    return {name: each for name, each in found.items() if each.seeds}


def _collect_one(run: Run, kept: Path) -> Finding:
    seeds = tuple(seed for seed in range(run.seeds) if is_kept(run, seed, kept))
    parts = [_study_of(folder_of(run, seed, kept), run.name) for seed in seeds]
    first = parts[0] if parts else Study(run.name, "", ())
    rows = [row for part in parts for row in part.rows]
    return Finding(
        run.name, " ".join(run.command()), __version__, seeds, Study(run.name, first.x_name, first.measures, rows)
    )


def _study_of(folder: Path, name: str) -> Study:
    """Read a study, or a comparison as a study with its workload as the only x."""
    if results.is_study(folder):
        return results.load(folder)[0]
    if scoreboards.is_scoreboard(folder):
        return _scoreboard(folder, name)
    result = results.load_result(folder)
    study = Study(name, "workload", MEASURES)
    for outcome in result.outcomes:
        for spec, figures in outcome.measures.items():
            study.add(spec, result.comparison.source.name, outcome.seed, **{key: figures[key] for key in MEASURES})
    return study


def _scoreboard(folder: Path, name: str) -> Study:
    """Read a scoreboard as a study over instances; a policy that came to no end has NaN there."""
    study = Study(name, "instance", SCORES)
    for row in scoreboards.read_rows(folder):
        figures = {key: float(row[key]) for key in SCORES}
        study.add(row["policy"], f"{row['instance']} ({row['against']})", int(row["seed"]), **figures)
    return study


def merged(before: Findings, found: Findings) -> dict[str, Finding]:
    """Return the new findings, and the old ones where those rest on more seeds of the same version."""
    kept = dict(found)
    for name, old in before.items():
        new = found.get(name)
        if new is None or (old.version == new.version and len(old.seeds) > len(new.seeds)):
            kept[name] = old
    return {run.name: kept[run.name] for run in PLAN if run.name in kept}


def read(path: Path) -> dict[str, Finding]:
    """Read the numbers in git; none if the file is not there yet."""
    if not path.exists():
        return {}
    return {name: _finding_of(name, each) for name, each in json.loads(path.read_text(encoding="utf-8")).items()}


def _finding_of(name: str, data: dict[str, Any]) -> Finding:
    study = Study(name, data["x"], tuple(data["measures"]))
    for series, x, by_measure in data["rows"]:
        for number, seed in enumerate(data["seeds"]):
            study.add(series, x, seed, **{key: values[number] for key, values in by_measure.items()})
    return Finding(name, data["command"], data["version"], tuple(data["seeds"]), study)


def to_json(findings: Findings) -> str:
    """Write one line per series and x, so that a difference in git can be read."""
    texts = [f"{json.dumps(name)}: {_document(each)}" for name, each in findings.items()]
    return "{\n" + ",\n".join(texts) + "\n}\n"


def _document(finding: Finding) -> str:
    study = finding.study
    head = {
        "command": finding.command, "version": finding.version, "seeds": finding.seeds,
        "x": study.x_name, "measures": study.measures,
    }  # fmt: skip
    lines = [json.dumps(_row(finding, *place), ensure_ascii=False) for place in _places(study)]
    opened = json.dumps(head, ensure_ascii=False)[:-1]
    return f'{opened}, "rows": [\n  ' + ",\n  ".join(lines) + "]}"


def _places(study: Study) -> list[tuple[str, float | str]]:
    return list(dict.fromkeys((row["series"], row["x"]) for row in study.rows))


def _row(finding: Finding, series: str, x: float | str) -> list[Any]:
    values = {name: [_short(each) for each in finding.values(series, name, x)] for name in finding.study.measures}
    return [series, x, values]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
