"""A run directory keeps a comparison: what was asked, what came out, and how to repeat it bit for bit."""

from __future__ import annotations

import csv
import json
import math
import platform
import sys
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import new_directory, sha256
from hybrid_scheduler.race import Comparison, Result

SCHEMA = 1
MANIFEST, RESULT, MEASURES = "manifest.json", "result.json", "measures.csv"


def to_document(result: Result) -> dict[str, Any]:
    """Return the one JSON document of a comparison: workload, bound, schedulers, and what seeds say together."""
    comparison, first = result.comparison, result.outcomes[0]
    several = len(result.outcomes) > 1
    schedulers = {spec: _scheduler_document(result, spec, several) for spec in comparison.schedulers}
    document: dict[str, Any] = {
        "version": __version__,
        "simulated": True,
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


def save(result: Result, directory: str | Path, command: list[str]) -> Path:
    """Write a run directory; it appears whole or not at all, and never replaces another."""
    with new_directory(directory) as folder:
        (folder / RESULT).write_text(to_json(to_document(result)), encoding="utf-8")
        (folder / MEASURES).write_text(measures_table(result), encoding="utf-8")
        manifest = {
            "schema": SCHEMA,
            "version": __version__,
            "command": command,
            "comparison": result.comparison.to_dict(),
            "workloads": {str(outcome.seed): outcome.workload["digest"] for outcome in result.outcomes},
            "sha256": {MEASURES: sha256(folder / MEASURES), **_policy_files(result.comparison)},
            "environment": {
                "python": sys.version.split()[0],
                "platform": platform.platform(),
                **{name: version(name) for name in ("numpy", "numba", "scipy")},
            },
        }
        (folder / MANIFEST).write_text(to_json(_portable(manifest)), encoding="utf-8")
    return Path(directory)


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


def load_manifest(directory: str | Path) -> dict[str, Any]:
    """Read a run's manifest."""
    path = Path(directory) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        schema = manifest["schema"]
    except FileNotFoundError:
        raise InputError(
            f"{directory} is no run directory (no {MANIFEST}): give the folder of hms compare --out"
        ) from None
    except (ValueError, KeyError, TypeError, OSError):
        raise InputError(f"{path} is torn or no manifest: repeat the comparison with hms compare --out") from None
    if not isinstance(schema, int):
        raise InputError(f"{path} is torn or no manifest: repeat the comparison with hms compare --out")
    if schema > SCHEMA:
        raise InputError(
            f"{path} was written by a newer version (schema {schema}, known {SCHEMA}): upgrade to read it"
        )
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sha256"), dict):
        raise InputError(f"{path} is torn or no manifest: repeat the comparison with hms compare --out")
    for name, digest in manifest["sha256"].items():
        if name.endswith(".py") and (not Path(name).is_file() or sha256(name) != digest):
            raise InputError(f"policy file {name} is not the one that was compared (its SHA-256 differs): restore it")
    measures = path.parent / MEASURES
    if not measures.is_file() or sha256(measures) != manifest["sha256"].get(MEASURES):
        raise InputError(f"{measures} is missing or not the file of the manifest (its SHA-256 differs): restore it")
    return manifest


def comparison_of(manifest: dict[str, Any]) -> Comparison:
    """Return the comparison that a manifest records."""
    try:
        data = dict(manifest["comparison"])
        data["cluster"] = _numbers(data["cluster"])
        return Comparison.from_dict(data)
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{MANIFEST} is torn or no manifest: repeat the comparison with hms compare --out") from None


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return float("inf") if value == "inf" else value
