"""Our own table of jobs of shared clusters as CSV or Parquet: what columns mean, how they are read and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.workloads.formats import columns
from hybrid_scheduler.workloads.formats.reader import ImportedJobs
from hybrid_scheduler.workloads.formats.tables import NUMBER, TEXT, Table, prefix_errors, read_table
from hybrid_scheduler.workloads.formats.unpack import open_for_writing, open_seekable, read_head

NUMBERS = (
    *("job_id", "arrival", "seconds", "requested", "cpu_milli", "memory_mib", "gpus", "gpu_milli", "gpu_memory_mib"),
    *("span", "deadline", "user", "weight"),
)
"""Columns of numbers: seconds, thousandths of cores and of each GPU, MiB; `span` 1: GPUs may lie on several nodes."""
MODELS = "models"
"""The column of accepted models, `V100|T4`, or with how fast a job runs on each, `V100=1|T4=0.4`; empty: any."""


def read(path: Path, _: Sequence[Path]) -> ImportedJobs:
    """Read jobs; an error names the file and the line. Empty cells of `requested` and `deadline` mean none."""
    table = _read_parquet(path) if read_head(path).startswith(b"PAR1") else read_table(path, _select_columns)
    with table.locate_errors():
        found: dict[str, Any] = {name: table.numbers(name) for name in NUMBERS if name in table.columns}
        if "deadline" in found:
            found["deadline"] = np.where(np.isnan(found["deadline"]), np.inf, found["deadline"])
        if "span" in found:
            columns.require_values("span", found["span"], np.isin(found["span"], (0, 1)), "0 or 1")
            found["span"] = found["span"] == 1
        if MODELS in table.columns:
            cells = table.columns[MODELS].to_pylist()
            found["accepts"] = [_parse_models(row, cell or "") for row, cell in enumerate(cells)]
        return ImportedJobs(Jobs.build(**found), table.rows)


def _parse_models(row: int, cell: str) -> dict[str, float]:
    """Return how fast a job runs on each model that its cell names: 1 where it does not say."""
    speeds = {}
    for part in filter(None, cell.strip().split("|")):
        name, _, speed = part.partition("=")
        try:
            speeds[name] = float(speed or 1.0)
        except ValueError:
            raise RowError(row, f"models has the speed '{speed}', expected a number as in V100=1|T4=0.4") from None
    return speeds


def _read_parquet(path: Path) -> Table:
    """Read the same columns from Parquet; an error names the row, counted from 1."""
    import pyarrow as pa
    from pyarrow import parquet

    with open_seekable(path) as file, prefix_errors(path):
        try:
            names = parquet.ParquetFile(file).schema_arrow.names
            found = parquet.read_table(file, columns=list(_select_columns(names)))
            columns_ = {
                name: found[name].cast(pa.string()) if name == MODELS else found[name].cast(pa.float64()).to_numpy()
                for name in found.column_names
            }
        except pa.ArrowException as error:
            raise InputError(
                f"cannot be read as Parquet ({str(error).splitlines()[0][:80]}): write it anew"
            ) from None
    return Table(path, found.num_rows, columns_, lambda row: row + 1)


def _select_columns(header: list[str]) -> dict[str, str]:
    if "seconds" not in header or not {"cpu_milli", "gpus"} & set(header):
        raise InputError(
            f"found {columns.format_names(header)}: jobs need seconds and cpu_milli or gpus, and may have "
            f"{', '.join(name for name in (*NUMBERS, MODELS) if name not in ('seconds', 'cpu_milli', 'gpus'))}"
        )
    return {name: TEXT if name == MODELS else NUMBER for name in header if name in (*NUMBERS, MODELS)}


def write(jobs: Jobs, path: str | Path) -> None:
    """Write a file that `read` turns into the same jobs: Parquet by its name, else CSV, packed as .gz or .zst."""
    import pyarrow as pa
    from pyarrow import csv as arrow
    from pyarrow import parquet

    models = [
        "|".join(
            name if speed == 1.0 else f"{name}={speed!r}"
            for bit, (name, speed) in enumerate(zip(jobs.model_names, speeds, strict=True))
            if mask >> bit & 1
        )
        for mask, speeds in zip(jobs.models.tolist(), jobs.speed.tolist(), strict=True)
    ]
    table = pa.table({**{name: np.asarray(getattr(jobs, name)) + 0 for name in NUMBERS}, MODELS: models})
    if Path(path).suffix == ".parquet":
        with atomic_write(path) as scratch:
            parquet.write_table(table, scratch)
        return
    with open_for_writing(path) as file:
        file.write(f"{','.join(table.column_names)}\n".encode())
        arrow.write_csv(table, file, arrow.WriteOptions(include_header=False, quoting_style="none"))
