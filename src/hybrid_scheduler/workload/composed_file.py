"""A composed workload as a file, with what is known of its columns in a second file beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import sha256, written_whole
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.workload.composition import Composition, Part
from hybrid_scheduler.workload.formats import csv

SUFFIXES = (".parquet", ".csv")


def beside(path: str | Path) -> Path:
    """Return where the composition of a file of tasks is kept."""
    return Path(path).with_suffix(".composition.json")


def machines(path: str | Path) -> Path:
    """Return where the machines of the measured times are kept, for `--cluster`."""
    return Path(path).with_suffix(".cluster.yaml")


def check(path: str | Path) -> None:
    """Refuse a name whose ending says nothing of the format; called before the work."""
    if Path(path).suffix not in SUFFIXES:
        raise InputError(f"{path} ends neither in .parquet nor in .csv: the ending says how to write it")


def write(composition: Composition, path: str | Path) -> None:
    """Write the tasks, and beside them where each column came from, and the machines if the times name some."""
    check(path)
    _write(composition.tasks, path)
    if composition.cluster:
        with written_whole(machines(path)) as scratch:
            scratch.write_text(composition.cluster.to_yaml(), encoding="utf-8")
    document = {"schema": 1, "file": Path(path).name, "sha256": sha256(path), **composition.to_dict()}
    with written_whole(beside(path)) as scratch:
        scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _write(tasks: Tasks, path: str | Path) -> None:
    if Path(path).suffix == ".csv":
        csv.write(tasks, path)
        return
    with written_whole(path) as scratch:
        csv.to_frame(tasks).to_parquet(scratch, index=False)


def composition_of(path: str | Path, digest: str) -> dict[str, Any] | None:
    """Return what is kept beside a file of tasks; none if nothing is, or if it was written for other bytes."""
    try:
        document = json.loads(beside(path).read_text(encoding="utf-8"))
        found: dict[str, Any] | None = document if document["sha256"] == digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # beside any file may lie one of this name that is not ours
    return found


def lines(document: dict[str, Any]) -> list[str]:
    """Return a composition in lines for people."""
    parts = [Part(**{**part, "columns": tuple(part["columns"])}) for part in document["parts"]]
    head = f"composed (seed {document['seed']}), {document['composed']}; arrivals {document['pace']}"
    return [head, *(f"  {part.describe()}" for part in parts)]
