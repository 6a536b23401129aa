"""Result folders: what was compared or tried, what came out, and how to repeat it bit for bit.

A run folder keeps a comparison (`manifest.json`, `result.json`, `measures.csv`), an experiment folder the table of an
experiment (`manifest.json`, `NAME.csv`). Folders appear whole or not at all and never replace others.
"""

from __future__ import annotations

import csv
import json
import math
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.bounds.makespan import Bound
from hybrid_scheduler.core import metrics
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.deprecated import restore_defaults
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import new_directory, sha256
from hybrid_scheduler.registry import parse_number
from hybrid_scheduler.studies.compare import (
    ANY,
    WHOLE,
    Comparison,
    Outcome,
    Progress,
    Result,
    TurnaroundCertificate,
    compare,
)
from hybrid_scheduler.studies.experiments import ExperimentResult

SCHEMA = 1
MANIFEST, RESULT, MEASURES = "manifest.json", "result.json", "measures.csv"
PAIRED = ("makespan", "mean_turnaround", "energy", "cost")  # measures whose paired differences are kept
KEYS = ("seed", "scheduler", "bound")  # columns before the measures
EXPERIMENT = "study"
"""The kind of an experiment's manifest; that of a comparison has none."""


# --- JSON and CSV --------------------------------------------------------------------------------------------


def to_json(document: Any) -> str:
    """Return strict JSON: numbers that JSON cannot hold become null."""
    strict = _map_values(document, lambda each: None if isinstance(each, float) and not math.isfinite(each) else each)
    return json.dumps(strict, indent=2, ensure_ascii=False) + "\n"


def spell_infinity(data: Any) -> Any:
    """Return plain data with infinity as text: JSON has none, and a cluster may have unlimited memory."""
    return _map_values(data, lambda each: "inf" if each == math.inf else each)


def read_infinity(data: Any) -> Any:
    """Return what `spell_infinity` was given."""
    return _map_values(data, lambda each: math.inf if each == "inf" else each)


def _map_values(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _map_values(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_map_values(each, change) for each in value]
    return change(value)


def to_document(result: Result) -> dict[str, Any]:
    """Return the JSON document of a comparison: workload, bound, and measures of the schedulers over all seeds."""
    comparison, first = result.comparison, result.outcomes[0]
    return {
        "version": __version__,
        "simulated": not comparison.measured,
        "mode": comparison.mode,
        "score": result.score,
        "seeds": list(comparison.seeds),
        "workload": {**first.workload, "load": comparison.source.load, "rate": comparison.source.rate},
        "cluster": comparison.cluster.to_dict(),
        "bound": {
            "makespan": sum(o.bound.makespan for o in result.outcomes) / len(result.outcomes),
            "prices": first.bound.prices,
            "by_seed": [_bound_document(o.seed, o.bound) for o in result.outcomes],
        },
        **({"turnaround_bound": _turnaround_document(result)} if result.has_turnaround_bounds else {}),
        "schedulers": {spec: _scheduler_document(result, spec) for spec in comparison.schedulers},
        "wins": result.wins("mean_turnaround" if comparison.score == "turnaround" else "makespan"),
    }


def _bound_document(seed: int, bound: Bound) -> dict[str, Any]:
    names = ("makespan", "kind", "prices", "since", "tail", "path")
    return {"seed": seed, **{name: getattr(bound, name) for name in names}}


def _parse_bound(data: dict[str, Any]) -> Bound:
    path, tail = tuple(data["path"]), data.get("tail", 0.0)  # older runs have no tail
    return Bound(float(data["makespan"]), data["kind"], dict(data["prices"]), data["since"], path, tail)


def _turnaround_document(result: Result) -> dict[str, Any]:
    by_seed = [
        {"seed": each.seed} | {covered: asdict(found) for covered, found in each.turnaround_bounds.items()}
        for each in result.outcomes
    ]
    means = {covered: result.turnaround_bound(covered) for covered in (WHOLE, ANY)}
    return {covered: mean for covered, mean in means.items() if not math.isnan(mean)} | {"by_seed": by_seed}


def _parse_certificates(document: dict[str, Any]) -> dict[int, dict[str, TurnaroundCertificate]]:
    """Return the bounds of turnaround by seed; runs of version 1.0 have none."""
    rows = document.get("turnaround_bound", {"by_seed": []})["by_seed"]
    return {
        row["seed"]: {each: TurnaroundCertificate(**row[each]) for each in (WHOLE, ANY) if each in row}
        for row in rows
    }


def _scheduler_document(result: Result, spec: str) -> dict[str, Any]:
    outcomes = result.outcomes
    intervals = {name: result.interval(spec, name) for name in outcomes[0].measures[spec]}
    document: dict[str, Any] = {name: interval.mean for name, interval in intervals.items()}
    document["device_utilisation"] = {
        device: sum(each.utilisation[spec][device] for each in outcomes) / len(outcomes)
        for device in outcomes[0].utilisation[spec]
    }
    latencies = sorted(outcome.decision_seconds[spec] for outcome in outcomes)
    document["measured"] = {"decision_seconds": latencies[len(latencies) // 2]}
    if len(outcomes) > 1:
        document["intervals"] = {name: [each.low, each.high] for name, each in intervals.items()}
        document["difference"] = {  # this scheduler minus the other: mean, low and high
            other: {name: list(astuple(result.difference(spec, other, name))) for name in PAIRED}
            for other in result.comparison.schedulers
            if other != spec
        }
    return document


def measures_to_csv(result: Result, names: Iterable[str] | None = None) -> str:
    """Return measures, all by default, of every seed and scheduler as CSV; floats read back exactly."""
    names = list(next(iter(result.outcomes[0].measures.values())) if names is None else names)
    rows = [
        (outcome.seed, spec, repr(outcome.bound.makespan), *(repr(measures[name]) for name in names))
        for outcome in result.outcomes
        for spec, measures in outcome.measures.items()
    ]
    return to_csv((*KEYS, *names), rows)


def repeat(manifest: dict[str, Any], progress: Progress | None = None) -> Result:
    """Run a kept comparison again, each scheduler as it was in the version that kept it."""
    comparison = parse_comparison(manifest)
    then = {restore_defaults(spec, manifest["version"]): spec for spec in comparison.schedulers}
    result = compare(replace(comparison, schedulers=tuple(then)), progress)
    outcomes = (
        replace(each, measures={then[spec]: figures for spec, figures in each.measures.items()})
        for each in result.outcomes
    )
    return Result(comparison, tuple(outcomes))


def repeats_bit_for_bit(result: Result, directory: str | Path) -> bool:
    """Whether a result has the measures of a kept run, bit for bit; older versions kept fewer."""
    kept = (Path(directory) / MEASURES).read_text(encoding="utf-8")
    known = next(iter(result.outcomes[0].measures.values()))
    names = [name for name in next(csv.reader(StringIO(kept))) if name in known]
    return measures_to_csv(result, names) == kept


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


# --- manifests -----------------------------------------------------------------------------------------------


def describe_environment() -> dict[str, str]:
    """Return the versions that a result was made with; on others the last bits may differ."""
    libraries = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"python": sys.version.split()[0], "platform": platform.platform(), **libraries}


def read_manifest(directory: str | Path) -> dict[str, Any]:
    """Read the manifest of a run or an experiment; its contents are checked no further than its schema."""
    path = Path(directory) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        schema = manifest["schema"]
    except FileNotFoundError:
        raise InputError(
            f"{directory} is no run directory (no {MANIFEST}): give the folder of hms compare --out"
        ) from None
    except (ValueError, KeyError, TypeError, OSError):
        raise corrupt_file(path) from None
    if isinstance(schema, int) and schema > SCHEMA:
        raise InputError(
            f"{path} was written by a newer version (schema {schema}, known {SCHEMA}): upgrade to read it"
        )
    if not isinstance(schema, int) or not isinstance(manifest, dict) or not isinstance(manifest.get("sha256"), dict):
        raise corrupt_file(path)
    return manifest


def write_manifest(folder: Path, command: Sequence[str], contents: Mapping[str, Any], kind: str = "") -> None:
    """Write the manifest of a folder: what it holds, and the command and the versions that it was made with."""
    head = {"schema": SCHEMA, **({"kind": kind} if kind else {}), "version": __version__, "command": list(command)}
    document = {**head, **contents, "environment": describe_environment()}
    (folder / MANIFEST).write_text(to_json(document), encoding="utf-8")


def corrupt_file(path: Path) -> InputError:
    """Return the error for a file of a result folder that cannot be read."""
    what = "manifest" if path.name == MANIFEST else "file of a run"
    return InputError(f"{path} is damaged or no {what}: repeat the comparison with hms compare --out")


def require_same_inputs(manifest: dict[str, Any]) -> None:
    """Refuse to go on if a file that was run, named by its whole path, or a policy file has changed since."""
    for name, digest in manifest["sha256"].items():
        if (Path(name).is_absolute() or name.endswith(".py")) and (
            not Path(name).is_file() or sha256(name) != digest
        ):
            raise InputError(f"{name} is not the file that was run (its SHA-256 differs): restore it")


def require_intact(path: Path, manifest: dict[str, Any]) -> None:
    """Refuse a file whose digest is not the one in the manifest."""
    if not path.is_file() or sha256(path) != manifest["sha256"].get(path.name):
        raise InputError(f"{path} is missing or not the file of the manifest (its SHA-256 differs): restore it")


# --- comparisons ---------------------------------------------------------------------------------------------


def save_result(
    result: Result, directory: str | Path, command: list[str], files: Mapping[str, str] | None = None
) -> Path:
    """Write a run folder; `files` are texts by name that it keeps too."""
    with new_directory(directory) as folder:
        texts = {MEASURES: measures_to_csv(result), **(files or {})}
        for name, text in {RESULT: to_json(to_document(result)), **texts}.items():
            (folder / name).write_text(text, encoding="utf-8")
        comparison = result.comparison.to_dict()
        comparison["cluster"] = spell_infinity(comparison["cluster"])
        policies = sorted({spec.partition(":")[0] for spec in result.comparison.schedulers})
        digests = {name: sha256(folder / name) for name in texts}
        contents = {
            "comparison": comparison,
            "workloads": {str(outcome.seed): outcome.workload["digest"] for outcome in result.outcomes},
            "sha256": digests | {name: sha256(name) for name in policies if name.endswith(".py")},
        }
        write_manifest(folder, command, contents)
    return Path(directory)


def load_manifest(directory: str | Path) -> dict[str, Any]:
    """Read a run's manifest and check that its measures and policy files are those that it was written for."""
    manifest = read_manifest(directory)
    if manifest.get("kind", "comparison") != "comparison":
        raise InputError(
            f"{directory} holds an experiment, no comparison or jobs: repeat it with the command that it names"
        )
    for name, digest in manifest["sha256"].items():
        if name.endswith(".py") and (not Path(name).is_file() or sha256(name) != digest):
            raise InputError(f"policy file {name} is not the one that was compared (its SHA-256 differs): restore it")
    require_intact(Path(directory) / MEASURES, manifest)
    return manifest


def parse_comparison(manifest: dict[str, Any]) -> Comparison:
    """Return the comparison that a manifest records."""
    try:
        data = dict(manifest["comparison"])
        data["cluster"] = read_infinity(data["cluster"])
        return Comparison.from_dict(data)
    except (KeyError, TypeError, AttributeError):
        raise corrupt_file(Path(MANIFEST)) from None


def load_result(directory: str | Path) -> Result:
    """Read a kept comparison back.

    Every measure comes back for every seed; of wall times, device utilisation and the workload's shape a run folder
    keeps one value for all seeds, which every outcome then carries.
    """
    manifest, path = load_manifest(directory), Path(directory) / RESULT
    comparison, measures = parse_comparison(manifest), {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        for row in csv.DictReader(StringIO((path.parent / MEASURES).read_text(encoding="utf-8"))):
            seed, spec, _ = (row.pop(name) for name in KEYS)
            # A measure that an older version did not have is undefined.
            absent = dict.fromkeys((name for name in metrics.MEASURES if name not in row), math.nan)
            measures[int(seed), spec] = {name: float(value) for name, value in row.items()} | absent
        certificates = _parse_certificates(document)
        bounds = {each["seed"]: _parse_bound(each) for each in document["bound"]["by_seed"]}
        # Strict JSON writes an infinite arrival rate as null.
        shape = {name: math.inf if value is None else value for name, value in document["workload"].items()}
        rows = document["schedulers"]
        outcomes = tuple(
            Outcome(
                seed=seed,
                workload={**shape, "digest": manifest["workloads"][str(seed)]},
                bound=bounds[seed],
                measures={spec: measures[seed, spec] for spec in comparison.schedulers},
                decision_seconds={spec: rows[spec]["measured"]["decision_seconds"] for spec in rows},
                utilisation={spec: rows[spec]["device_utilisation"] for spec in rows},
                turnaround_bounds=certificates.get(seed, {}),
            )
            for seed in comparison.seeds
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise corrupt_file(path) from None
    return Result(comparison, outcomes)


# --- experiments ---------------------------------------------------------------------------------------------


def save_experiment(
    experiment: ExperimentResult, folder: Path, cluster: Cluster | str, seeds: Iterable[int], command: list[str]
) -> None:
    """Write the table and the manifest of an experiment into a folder that is being created."""
    table = folder / f"{experiment.name}.csv"
    table.write_text(experiment.to_csv(), encoding="utf-8")
    contents = {
        "experiment": experiment.name,
        "x": experiment.x_name,
        "measures": list(experiment.measures),
        "seeds": list(seeds),
        "cluster": cluster if isinstance(cluster, str) else cluster.describe(),
        "sha256": {table.name: sha256(table)},
    }
    write_manifest(folder, command, contents, EXPERIMENT)


def load_experiment(directory: str | Path) -> tuple[ExperimentResult, dict[str, Any]]:
    """Read a kept experiment and its manifest."""
    manifest = read_manifest(directory)
    path = Path(directory) / MANIFEST
    if manifest.get("kind") != EXPERIMENT:
        raise InputError(f"{directory} holds no experiment: give the folder of hms experiment --out")
    try:
        experiment = ExperimentResult(manifest["experiment"], manifest["x"], tuple(manifest["measures"]))
        table = path.parent / f"{experiment.name}.csv"
        require_intact(table, manifest)
        for row in csv.DictReader(StringIO(table.read_text(encoding="utf-8"))):
            measures = {name: float(row[name]) for name in experiment.measures}
            experiment.add(row["series"], parse_number(row[experiment.x_name]), int(row["seed"]), **measures)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError):
        raise corrupt_file(path) from None
    return experiment, manifest


def is_experiment(directory: str | Path) -> bool:
    """Whether the manifest of a folder calls it an experiment; whether it can be read is checked by loading it."""
    try:
        manifest = json.loads((Path(directory) / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == EXPERIMENT
