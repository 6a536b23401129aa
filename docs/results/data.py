"""The numbers behind RESULTS.md, small enough for git: one value per command, series, x, measure and seed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.results.plan import PLAN, Run
from docs.results.runner import RUNS, has_run, seed_folder
from hybrid_scheduler import __version__
from hybrid_scheduler.core.metrics import Interval, bootstrap
from hybrid_scheduler.studies import results, suite
from hybrid_scheduler.studies.experiments import ExperimentResult

MEASURES = (
    "makespan_over_bound",
    "execution_over_best",
    "makespan",
    "total_time",
    "mean_turnaround",
    "turnaround_over_bound",
    "p99_turnaround",
    "load_balance",
    "energy",
    "cost",
)
"""Measures kept of a comparison, unless they are undefined in it."""
SCORES = ("makespan_over_reference", "mean_turnaround", "energy", "cost")
"""Measures kept of a scoreboard."""
DIGITS = 7  # enough for every table; all digits are in the run directories


@dataclass(frozen=True)
class RunResults:
    """The numbers of one command on its seeds."""

    name: str
    command: str
    version: str
    seeds: tuple[int, ...]
    experiment: ExperimentResult

    def values(self, series: str, measure: str, x: float | str | None = None) -> list[float]:
        """Return a measure of a series, seed by seed; x may be left out where there is only one."""
        rows = [row for row in self.experiment.rows if row["series"] == series and x in (None, row["x"])]
        return [row[measure] for row in sorted(rows, key=lambda row: int(row["seed"]))]

    def interval(self, series: str, measure: str, x: float | str | None = None) -> Interval:
        """Return the mean over the seeds with its interval."""
        return bootstrap(self.values(series, measure, x))

    def ratio(self, one: str, other: str, measure: str, x: float | str | None = None) -> Interval:
        """Return one series over another, paired by seed."""
        pairs = zip(self.values(one, measure, x), self.values(other, measure, x), strict=True)
        return bootstrap([ours / theirs for ours, theirs in pairs])


Results = Mapping[str, RunResults]


def collect_results(plan: Iterable[Run] = PLAN, root: Path = RUNS) -> dict[str, RunResults]:
    """Read the run directories of this version; a command without any is left out."""
    collected = {run.name: _collect_run(run, root) for run in plan}
    return {name: each for name, each in collected.items() if each.seeds}


def _collect_run(run: Run, root: Path) -> RunResults:
    seeds = tuple(seed for seed in range(run.seeds) if has_run(run, seed, root))
    parts = [_load_experiment(seed_folder(run, seed, root), run.name) for seed in seeds]
    first = parts[0] if parts else ExperimentResult(run.name, "", ())
    rows = [row for part in parts for row in part.rows]
    experiment = ExperimentResult(run.name, first.x_name, first.measures, rows)
    return RunResults(run.name, " ".join(run.command()), __version__, seeds, experiment)


def _load_experiment(folder: Path, name: str) -> ExperimentResult:
    """Read an experiment, or a comparison as one with its workload as the only x."""
    if results.is_experiment(folder):
        return results.load_experiment(folder)[0]
    if suite.is_scoreboard(folder):
        return _load_scoreboard(folder, name)
    result = results.load_result(folder)
    rows = [figures for outcome in result.outcomes for figures in outcome.measures.values()]
    measures = tuple(key for key in MEASURES if all(math.isfinite(figures[key]) for figures in rows))
    experiment = ExperimentResult(name, "workload", measures)
    for outcome in result.outcomes:
        for spec, figures in outcome.measures.items():
            experiment.add(
                spec, result.comparison.source.name, outcome.seed, **{key: figures[key] for key in measures}
            )
    return experiment


def _load_scoreboard(folder: Path, name: str) -> ExperimentResult:
    """Read a scoreboard as an experiment over instances; a policy that did not finish has NaN there."""
    experiment = ExperimentResult(name, "instance", SCORES)
    for row in suite.load_scoreboard(folder):
        figures = {key: float(row[key]) for key in SCORES}
        experiment.add(row["policy"], f"{row['instance']} ({row['against']})", int(row["seed"]), **figures)
    return experiment


def merge_results(before: Results, collected: Results) -> dict[str, RunResults]:
    """Return the new results, and the old ones where those rest on more seeds of the same version."""
    merged = dict(collected)
    for name, old in before.items():
        new = collected.get(name)
        if new is None or (old.version == new.version and len(old.seeds) > len(new.seeds)):
            merged[name] = old
    return {run.name: merged[run.name] for run in PLAN if run.name in merged}


def read_results(path: Path) -> dict[str, RunResults]:
    """Read the numbers in git; none if the file is not there yet."""
    if not path.exists():
        return {}
    return {name: _parse_run(name, each) for name, each in json.loads(path.read_text(encoding="utf-8")).items()}


def _parse_run(name: str, data: dict[str, Any]) -> RunResults:
    experiment = ExperimentResult(name, data["x"], tuple(data["measures"]))
    for series, x, by_measure in data["rows"]:
        for number, seed in enumerate(data["seeds"]):
            experiment.add(series, x, seed, **{key: values[number] for key, values in by_measure.items()})
    return RunResults(name, data["command"], data["version"], tuple(data["seeds"]), experiment)


def dump_results(results: Results) -> str:
    """Write one line per series and x, so that a difference in git can be read."""
    texts = [f"{json.dumps(name)}: {_dump_run(each)}" for name, each in results.items()]
    return "{\n" + ",\n".join(texts) + "\n}\n"


def _dump_run(run: RunResults) -> str:
    experiment = run.experiment
    head = {
        "command": run.command, "version": run.version, "seeds": run.seeds,
        "x": experiment.x_name, "measures": experiment.measures,
    }  # fmt: skip
    places = dict.fromkeys((row["series"], row["x"]) for row in experiment.rows)
    lines = [json.dumps([*place, _collect_values(run, *place)], ensure_ascii=False) for place in places]
    opening = json.dumps(head, ensure_ascii=False)[:-1]
    return f'{opening}, "rows": [\n  ' + ",\n  ".join(lines) + "]}"


def _collect_values(run: RunResults, series: str, x: float | str) -> dict[str, list[float]]:
    return {
        name: [float(f"{value:.{DIGITS}g}") for value in run.values(series, name, x)]
        for name in run.experiment.measures
    }
