"""Reading hundreds of thousands of rows of every format as checked tasks.

Tables of text go against pandas, which only reads them. Where pandas would do another piece of work, a row goes
against the limit: 300 000 rows a second, or 50 MB a second for what is written with many letters a row.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks import import_files
from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler.workloads.formats import reader

ROWS = 300_000
ROWS_A_SECOND, BYTES_A_SECOND = 300_000, 50e6
REPEATS = 3

# Moments may be dates, so those of requests and jobs are read as text first and become numbers in a second step.
AGAINST_PANDAS = {"csv": 0.5, "swf": 0.5, "alibaba": 0.4, "philly": 0.2, "requests": 0.2, "kernels": 0.5}
"""Formats whose files pandas can read, and how many times as many rows a second as pandas ours shall read."""
AGAINST_LIMIT = ("csv_gz", "parquet", "swf_gz", "gavel", "etc", "starpu", "starpu_pairs", "wfcommons")


def import_vs_pandas() -> list[Row]:
    """Measure rows a second of every format, against pandas or against the limit."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [_against_pandas(name, Path(folder), target) for name, target in AGAINST_PANDAS.items()]
        return rows + [_against_limit(name, Path(folder)) for name in AGAINST_LIMIT]


def _against_pandas(name: str, folder: Path, target: float) -> Row:
    paths = import_files.written(name, folder, ROWS)
    theirs: Callable[[Path], pd.DataFrame] = _log_with_pandas if name == "swf" else pd.read_csv
    found = reader.read_all(paths)
    require(found.rows == len(theirs(paths[0])) == ROWS, f"{name}: the two sides read different numbers of rows")
    ours_best, theirs_best = side_by_side(REPEATS, lambda: reader.read_all(paths), lambda: theirs(paths[0]))
    return Row(f"import_{name}", ROWS / ours_best, ROWS / theirs_best, "rows/s", target)


def _against_limit(name: str, folder: Path) -> Row:
    """Take rows or bytes, whichever is nearer to its limit."""
    count = ROWS // 3 if name == "wfcommons" else ROWS  # each has some 1200 letters
    paths = import_files.written(name, folder, count)
    require(reader.read_all(paths).rows == count, f"{name}: another number of rows was read than written")
    seconds = min(_cpu_seconds(paths) for _ in range(REPEATS))
    size = paths[0].stat().st_size
    if count / seconds / ROWS_A_SECOND >= size / seconds / BYTES_A_SECOND:
        return Row(f"import_{name}", count / seconds, ROWS_A_SECOND, "rows/s", 1.0)
    return Row(f"import_{name}", size / seconds, BYTES_A_SECOND, "B/s", 1.0)


def _cpu_seconds(paths: list[Path]) -> float:
    """Return processor time: a limit in seconds would else depend on what else the machine does."""
    begin = time.process_time()
    found = reader.read_all(paths)
    spent = time.process_time() - begin
    del found
    return spent


def _log_with_pandas(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep=r"\s+", comment=";", header=None)
