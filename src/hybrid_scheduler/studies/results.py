"""A run directory keeps a comparison: what was asked, what came out, and how to repeat it bit for bit."""

from __future__ import annotations

import csv
import json
import math
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.bounds.makespan import Bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import new_directory, sha256
from hybrid_scheduler.studies.compare import Comparison, Outcome, Result
from hybrid_scheduler.studies.experiments import Study

SCHEMA = 1
MANIFEST, RESULT, MEASURES = "manifest.json", "result.json", "measures.csv"


def to_document(result: Result) -> dict[str, Any]:
    """Return the one JSON document of a comparison: workload, bound, schedulers, and what seeds say together."""
    comparison, first = result.comparison, result.outcomes[0]
    several = len(result.outcomes) > 1
    schedulers = {spec: _scheduler_document(result, spec, several) for spec in comparison.schedulers}
    document: dict[str, Any] = {
        "version": __version__,
        "simulated": not comparison.measured,
        "mode": comparison.mode,
        "seeds": list(comparison.seeds),
        "workload": {**first.workload, "load": comparison.source.load, "rate": comparison.source.rate},
        "cluster": comparison.cluster.to_dict(),
        "bound": {
            "makespan": sum(o.bound.makespan for o in result.outcomes) / len(result.outcomes),
            "prices": first.bound.prices,
            "by_seed": [_bound_document(o.seed, o.bound) for o in result.outcomes],
        },
        "schedulers": schedulers,
        "wins": result.wins("makespan"),
    }
    return document


def _bound_document(seed: int, bound: Any) -> dict[str, Any]:
    return {
        "seed": seed,
        "makespan": bound.makespan,
        "kind": bound.kind,
        "prices": bound.prices,
        "since": bound.since,
        "tail": bound.tail,
        "path": list(bound.path),
    }


def _scheduler_document(result: Result, spec: str, several: bool) -> dict[str, Any]:
    names = list(result.outcomes[0].measures[spec])
    intervals = {name: result.interval(spec, name) for name in names}
    document: dict[str, Any] = {name: interval.mean for name, interval in intervals.items()}
    latency = [outcome.decision_seconds[spec] for outcome in result.outcomes]
    devices = result.outcomes[0].utilisation[spec]
    document["device_utilisation"] = {
        device: sum(each.utilisation[spec][device] for each in result.outcomes) / len(result.outcomes)
        for device in devices
    }
    document["measured"] = {"decision_seconds": sorted(latency)[len(latency) // 2]}
    if several:
        document["intervals"] = {name: [each.low, each.high] for name, each in intervals.items()}
        document["difference"] = {
            other: _difference(result, spec, other) for other in result.comparison.schedulers if other != spec
        }
    return document


def _difference(result: Result, spec: str, other: str) -> dict[str, list[float]]:
    """Paired differences: mean, low, high of this scheduler minus the other."""
    rows = {}
    for name in ("makespan", "mean_turnaround", "energy", "cost"):
        each = result.difference(spec, other, name)
        rows[name] = [each.mean, each.low, each.high]
    return rows


def to_json(document: Any) -> str:
    """Return strict JSON: numbers that JSON cannot hold become null."""
    return json.dumps(_strict(document), indent=2, ensure_ascii=False) + "\n"


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def measures_table(result: Result) -> str:
    """Return every measure of every seed and scheduler as CSV; floats are written to the last bit."""
    names = list(next(iter(result.outcomes[0].measures.values())))
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["seed", "scheduler", "bound", *names])
    for outcome in result.outcomes:
        for spec, figures in outcome.measures.items():
            writer.writerow(
                [outcome.seed, spec, repr(outcome.bound.makespan), *(repr(figures[name]) for name in names)]
            )
    return out.getvalue()


def save(result: Result, directory: str | Path, command: list[str], more: Mapping[str, str] | None = None) -> Path:
    """Write a run directory, `more` files included; it appears whole or not at all, and never replaces another."""
    with new_directory(directory) as folder:
        (folder / RESULT).write_text(to_json(to_document(result)), encoding="utf-8")
        (folder / MEASURES).write_text(measures_table(result), encoding="utf-8")
        for name, text in (more or {}).items():
            (folder / name).write_text(text, encoding="utf-8")
        manifest = {
            "schema": SCHEMA,
            "version": __version__,
            "command": command,
            "comparison": result.comparison.to_dict(),
            "workloads": {str(outcome.seed): outcome.workload["digest"] for outcome in result.outcomes},
            "sha256": {
                **{name: sha256(folder / name) for name in (MEASURES, *(more or {}))},
                **_policy_files(result.comparison),
            },
            "environment": environment(),
        }
        (folder / MANIFEST).write_text(to_json(_portable(manifest)), encoding="utf-8")
    return Path(directory)


def environment() -> dict[str, str]:
    """Return what a run was made with: on other versions the last bits may differ."""
    libraries = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"python": sys.version.split()[0], "platform": platform.platform(), **libraries}


def _policy_files(comparison: Comparison) -> dict[str, str]:
    files = {spec.partition(":")[0] for spec in comparison.schedulers}
    return {name: sha256(name) for name in sorted(files) if name.endswith(".py")}


def _portable(manifest: dict[str, Any]) -> dict[str, Any]:
    """Write infinities of the cluster (unlimited memory) as the word that YAML and Python read back."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(each) for key, each in value.items()}
        if isinstance(value, list):
            return [walk(each) for each in value]
        return "inf" if value == float("inf") else value

    comparison = manifest["comparison"]
    return {**manifest, "comparison": {**comparison, "cluster": walk(comparison["cluster"])}}


def read_manifest(directory: str | Path) -> dict[str, Any]:
    """Read the manifest of a run or an experiment; what it says is checked no further."""
    path = Path(directory) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        schema = manifest["schema"]
    except FileNotFoundError:
        raise InputError(
            f"{directory} is no run directory (no {MANIFEST}): give the folder of hms compare --out"
        ) from None
    except (ValueError, KeyError, TypeError, OSError):
        raise torn(path) from None
    if not isinstance(schema, int):
        raise torn(path)
    if schema > SCHEMA:
        raise InputError(
            f"{path} was written by a newer version (schema {schema}, known {SCHEMA}): upgrade to read it"
        )
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sha256"), dict):
        raise torn(path)
    return manifest


def torn(path: Path) -> InputError:
    """Build the error for a file of a run directory that cannot be read."""
    what = "manifest" if path.name == MANIFEST else "file of a run"
    return InputError(f"{path} is torn or no {what}: repeat the comparison with hms compare --out")


def load_manifest(directory: str | Path) -> dict[str, Any]:
    """Read a run's manifest, and check that its measures and policies are those that it was written for."""
    manifest = read_manifest(directory)
    if manifest.get("kind", "comparison") != "comparison":
        raise InputError(f"{directory} holds an experiment, not a comparison: repeat it with the command it names")
    for name, digest in manifest["sha256"].items():
        if name.endswith(".py") and (not Path(name).is_file() or sha256(name) != digest):
            raise InputError(f"policy file {name} is not the one that was compared (its SHA-256 differs): restore it")
    require_intact(Path(directory) / MEASURES, manifest)
    return manifest


def require_intact(path: Path, manifest: dict[str, Any]) -> None:
    """Refuse a file that is not the one whose digest the manifest holds."""
    if not path.is_file() or sha256(path) != manifest["sha256"].get(path.name):
        raise InputError(f"{path} is missing or not the file of the manifest (its SHA-256 differs): restore it")


def load_result(directory: str | Path) -> Result:
    """Read a kept comparison back.

    Every measure comes back for every seed; of wall times, device utilisation and the workload's shape a run
    directory keeps one figure for all seeds, which every outcome then carries.
    """
    manifest, path = load_manifest(directory), Path(directory) / RESULT
    comparison = comparison_of(manifest)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        measures = _read_measures((path.parent / MEASURES).read_text(encoding="utf-8"))
        bounds = {each["seed"]: _bound_of(each) for each in document["bound"]["by_seed"]}
        rows = document["schedulers"]
        outcomes = tuple(
            Outcome(
                seed=seed,
                workload=_workload_of(document["workload"], manifest["workloads"][str(seed)]),
                bound=bounds[seed],
                measures={spec: measures[seed, spec] for spec in comparison.schedulers},
                decision_seconds={spec: rows[spec]["measured"]["decision_seconds"] for spec in rows},
                utilisation={spec: rows[spec]["device_utilisation"] for spec in rows},
            )
            for seed in comparison.seeds
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise torn(path) from None
    return Result(comparison, outcomes)


def _read_measures(text: str) -> dict[tuple[int, str], dict[str, float]]:
    found = {}
    for row in csv.DictReader(StringIO(text)):
        seed, spec, _ = int(row.pop("seed")), row.pop("scheduler"), row.pop("bound")
        found[seed, spec] = {name: float(value) for name, value in row.items()}
    return found


def _bound_of(data: dict[str, Any]) -> Bound:
    path, tail = tuple(data["path"]), data.get("tail", 0.0)  # runs of before have no tail
    return Bound(float(data["makespan"]), data["kind"], dict(data["prices"]), data["since"], path, tail)


def _workload_of(shape: dict[str, Any], digest: str) -> dict[str, Any]:
    """Return the shape of the first seed's tasks with a seed's own digest; strict JSON has no word for infinite."""
    never = float("inf")
    return {**{name: never if value is None else value for name, value in shape.items()}, "digest": digest}


def comparison_of(manifest: dict[str, Any]) -> Comparison:
    """Return the comparison that a manifest records."""
    try:
        data = dict(manifest["comparison"])
        data["cluster"] = _numbers(data["cluster"])
        return Comparison.from_dict(data)
    except (KeyError, TypeError, AttributeError):
        raise torn(Path(MANIFEST)) from None


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return float("inf") if value == "inf" else value


KIND = "study"


def write(study: Study, folder: Path, cluster: Cluster | str, seeds: Iterable[int], command: list[str]) -> None:
    """Write the table and the manifest of a study into a folder that is being made."""
    table = folder / f"{study.name}.csv"
    table.write_text(study.to_csv(), encoding="utf-8")
    manifest = {
        "schema": SCHEMA,
        "kind": KIND,
        "version": __version__,
        "command": command,
        "experiment": study.name,
        "x": study.x_name,
        "measures": list(study.measures),
        "seeds": list(seeds),
        "cluster": cluster if isinstance(cluster, str) else cluster.describe(),
        "sha256": {table.name: sha256(table)},
        "environment": environment(),
    }
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def load(directory: str | Path) -> tuple[Study, dict[str, Any]]:
    """Read a kept study and its manifest."""
    manifest = read_manifest(directory)
    path = Path(directory) / MANIFEST
    if manifest.get("kind") != KIND:
        raise InputError(f"{directory} holds no experiment: give the folder of hms experiment --out")
    try:
        study = Study(manifest["experiment"], manifest["x"], tuple(manifest["measures"]))
        table = path.parent / f"{study.name}.csv"
        require_intact(table, manifest)
        for row in csv.DictReader(StringIO(table.read_text(encoding="utf-8"))):
            figures = {name: float(row[name]) for name in study.measures}
            study.add(row["series"], _place(row[study.x_name]), int(row["seed"]), **figures)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise torn(path) from None
    return study, manifest


def is_study(directory: str | Path) -> bool:
    """Whether a folder says of itself that it holds a study; what else is wrong with it is said when it is read."""
    try:
        manifest = json.loads((Path(directory) / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == KIND


def _place(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
