"""Imports files of any known format into our own tables, whole or not at all, and keeps an account of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import require_absent, written_whole
from hybrid_scheduler.workloads.formats import csv, memory, parquet, reader
from hybrid_scheduler.workloads.formats.format import Format, Imported

ENDINGS = (".parquet", ".csv", ".csv.gz", ".csv.zst")
CLUSTER = ".cluster.yaml"


@dataclass(frozen=True)
class Report:
    """What was read, how fast, and what was written."""

    form: Format
    found: Imported
    bytes: int
    seconds: float
    tasks_file: Path
    cluster_file: Path | None


def import_files(
    paths: Sequence[Path], out: Path, form: str = "", cluster_out: Path | None = None, force: bool = False
) -> Report:
    """Read files that belong together and write their tasks, and their machines if they name some."""
    with memory.explained(paths[0] if paths else "the file"):
        import pandas as pd  # noqa: F401  # as the next two: Arrow needs it for its columns
        import pyarrow.compute
        import pyarrow.csv  # noqa: F401  # loaded before the clock starts: it is no part of reading

    _check_out(paths, out, force)
    used = reader.format_for(paths, form)
    started = time.perf_counter()
    found = reader.read_all(paths, used.name)
    seconds = time.perf_counter() - started
    machines = _place_of_cluster(found, out, cluster_out)
    if machines:
        _require_free(machines, force)
    with memory.explained(paths[0]), ExitStack() as stack:  # both files appear, or none
        if machines and found.cluster:
            stack.enter_context(written_whole(machines)).write_text(found.cluster.to_yaml(), encoding="utf-8")
        write(found.tasks, stack.enter_context(written_whole(out)))
    size = sum(path.stat().st_size for path in paths)
    return Report(used, found, size, seconds, out, machines)


def write(tasks: Tasks, path: Path) -> None:
    """Write tasks as the ending of the name says."""
    (parquet if path.suffix == ".parquet" else csv).write(tasks, path)


def cluster_beside(out: Path) -> Path:
    """Return where the machines of a file of tasks stand: `tasks.cluster.yaml` beside `tasks.csv.gz`."""
    ending = next((each for each in ENDINGS if out.name.endswith(each) and each != ".csv"), out.suffix)
    return out.with_name(out.name.removesuffix(ending) + CLUSTER)


def machines_beside(path: str | Path) -> Path | None:
    """Return the file with the machines of one of our own tables, if it stands beside the table."""
    place = cluster_beside(Path(path)) if str(path).endswith(ENDINGS) else None
    return place if place and place.is_file() else None


def _place_of_cluster(found: Imported, out: Path, asked: Path | None) -> Path | None:
    if found.cluster is None and asked:
        raise InputError(f"the files name no machines, so there is nothing to write to {asked}: leave it out")
    return (asked or cluster_beside(out)) if found.cluster else None


def _check_out(paths: Sequence[Path], out: Path, force: bool) -> None:
    if not out.name.endswith(ENDINGS):
        raise InputError(f"{out}: tasks are written as {', '.join(ENDINGS)}: choose one of these endings")
    if out.exists() and any(path.exists() and out.samefile(path) for path in paths):
        raise InputError(f"{out} is one of the files to read: choose another path to write to")
    _require_free(out, force)


def _require_free(path: Path, force: bool) -> None:
    """Refuse a file that exists, unless it may be replaced, and a place that cannot be written."""
    if path.exists() and not force:
        raise InputError(f"{path} exists: choose another path, or replace it with --force")
    if not path.exists():
        require_absent(path)
