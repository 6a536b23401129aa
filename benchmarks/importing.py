"""Reading a million rows as checked tasks against pandas, which only reads them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.rows import Row, require, side_by_side
from benchmarks.workload import mixed
from hybrid_scheduler.workload.formats import csv, reader

ROWS = 1_000_000


def import_vs_pandas() -> list[Row]:
    """Measure rows a second of our own table, of a log in the Standard Workload Format and of a trace of requests."""
    with tempfile.TemporaryDirectory() as folder:
        csv.write(mixed(ROWS), Path(folder) / "tasks.csv")
        _write_log(Path(folder) / "log.swf")
        _write_requests(Path(folder) / "requests.csv")
        return [
            _row("import_csv", Path(folder) / "tasks.csv", pd.read_csv, target=0.5),
            _row("import_swf", Path(folder) / "log.swf", _log_with_pandas, target=0.5),
            # Moments may be dates, so they are read as text first and become numbers in a second step.
            _row("import_requests", Path(folder) / "requests.csv", pd.read_csv, target=0.2),
        ]


def _row(name: str, path: Path, theirs: Callable[[Path], pd.DataFrame], target: float) -> Row:
    found = reader.read_all([path])
    require(found.rows == len(theirs(path)) == ROWS, f"{path.name}: the two sides read different numbers of rows")
    ours_best, theirs_best = side_by_side(5, lambda: reader.read_all([path]), lambda: theirs(path))
    return Row(name, ROWS / ours_best, ROWS / theirs_best, "rows/s", target)


def _log_with_pandas(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep=r"\s+", comment=";", header=None)


def _write_log(path: Path) -> None:
    random = np.random.default_rng(1)
    submit, run = np.cumsum(random.integers(0, 60, ROWS)), random.integers(1, 90_000, ROWS)
    wide = random.integers(1, 512, ROWS)
    with path.open("w", encoding="utf-8") as file:
        file.write("; MaxProcs: 512\n; MaxNodes: 128\n")
        file.writelines(
            f"{job:7d} {start:8d}   10 {seconds:6d} {procs:4d} {seconds:6d} 1024 {procs:4d} {2 * seconds:6d} -1"
            "  1  12   3   5  1 -1 -1 -1\n"
            for job, (start, seconds, procs) in enumerate(
                zip(submit.tolist(), run.tolist(), wide.tolist(), strict=True), 1
            )
        )


def _write_requests(path: Path) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "app": random.integers(0, 100, ROWS),
            "end_timestamp": 10.0 + np.cumsum(random.exponential(0.1, ROWS)),
            "duration": random.exponential(1.0, ROWS) + 1e-3,
        }
    )
    frame.to_csv(path, index=False)
