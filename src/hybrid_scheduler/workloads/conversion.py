"""Converts files of any known format into the project's own tables of tasks, completely or not at all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write, require_absent
from hybrid_scheduler.workloads.formats import csv, memory, parquet, reader
from hybrid_scheduler.workloads.formats.reader import Format, Imported

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".csv.zst")
CLUSTER_SUFFIX = ".cluster.yaml"


@dataclass(frozen=True)
class Report:
    """What was read, how fast, and which files were written."""

    form: Format
    found: Imported
    bytes: int
    seconds: float
    tasks_file: Path
    cluster_file: Path | None


def import_files(
    paths: Sequence[Path], out: Path, form: str = "", cluster_out: Path | None = None, force: bool = False
) -> Report:
    """Read files that belong together; write their tasks, and their cluster if they name machines."""
    with memory.report_shortage(paths[0] if paths else "the file"):
        import pandas as pd  # noqa: F401  # as the next two: Arrow needs it for its columns
        import pyarrow.compute
        import pyarrow.csv  # noqa: F401  # loaded before the timer starts

    if not out.name.endswith(SUFFIXES):
        raise InputError(f"{out}: tasks are written as {', '.join(SUFFIXES)}: choose one of these endings")
    if out.exists() and any(path.exists() and out.samefile(path) for path in paths):
        raise InputError(f"{out} is one of the files to read: choose another path to write to")
    _require_writable(out, force)
    used = reader.choose_format(paths, form)
    started = time.perf_counter()
    found = reader.read_all(paths, used.name)
    seconds = time.perf_counter() - started
    if found.cluster is None and cluster_out:
        raise InputError(f"the files name no machines, so there is nothing to write to {cluster_out}: leave it out")
    cluster_file = (cluster_out or cluster_path(out)) if found.cluster else None
    if cluster_file:
        _require_writable(cluster_file, force)
    with memory.report_shortage(paths[0]), ExitStack() as stack:  # both files appear, or none
        if cluster_file and found.cluster:
            stack.enter_context(atomic_write(cluster_file)).write_text(found.cluster.to_yaml(), encoding="utf-8")
        writer = parquet if out.suffix == ".parquet" else csv
        writer.write(found.tasks, stack.enter_context(atomic_write(out)))
    return Report(used, found, sum(path.stat().st_size for path in paths), seconds, out, cluster_file)


def cluster_path(out: Path) -> Path:
    """Return the path of the cluster that belongs to a file of tasks: `tasks.cluster.yaml` for `tasks.csv.gz`."""
    suffix = next((each for each in SUFFIXES if out.name.endswith(each) and each != ".csv"), out.suffix)
    return out.with_name(out.name.removesuffix(suffix) + CLUSTER_SUFFIX)


def find_cluster_file(path: str | Path) -> Path | None:
    """Return the file with the cluster of a table of tasks, if there is one beside it."""
    found = cluster_path(Path(path)) if str(path).endswith(SUFFIXES) else None
    return found if found and found.is_file() else None


def _require_writable(path: Path, force: bool) -> None:
    """Refuse a file that exists, unless it may be replaced, and a path that cannot be written."""
    if path.exists() and not force:
        raise InputError(f"{path} exists: choose another path, or replace it with --force")
    if not path.exists():
        require_absent(path)
