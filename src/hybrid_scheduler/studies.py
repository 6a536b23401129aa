"""A study directory keeps what an experiment found: its table, and a manifest that says how to repeat it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.experiments import Study
from hybrid_scheduler.files import sha256
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.runs import MANIFEST, SCHEMA, environment, read_manifest, require_intact, to_json, torn

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
