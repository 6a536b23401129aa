"""Our own table of jobs of shared clusters as CSV or Parquet: what columns mean, how they are read and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.core.jobs import Bools, Jobs
from hybrid_scheduler.core.machines import WHOLE
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.workloads.formats import columns
from hybrid_scheduler.workloads.formats.reader import ImportedJobs
from hybrid_scheduler.workloads.formats.tables import NUMBER, TEXT, Table, prefix_errors, read_table
from hybrid_scheduler.workloads.formats.unpack import open_for_writing, open_seekable, read_head

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

NUMBERS = (
    *("job_id", "arrival", "seconds", "requested", "cpu_milli", "memory_mib", "gpus", "gpu_milli", "gpu_memory_mib"),
    *("span", "deadline", "weight"),
)
"""Columns of numbers: seconds, thousandths of cores and of each GPU, MiB; `span` 1: GPUs may lie on several nodes."""
SYNONYMS = {"cores": "cpu_milli", "gpu_share": "gpu_milli"}
"""Columns of whole units, with fractions, in place of thousandths."""
GANG = "gang"
"""0: the parts of a job, a GPU or a core each, need not start together, and are jobs of their own; 1 if absent."""
SIZES, TASKS = {"cpu_milli", "gpus", *SYNONYMS}, {"size", "task_size"}
"""Columns of which jobs need one, and those that only tasks of one device have."""
USER = "user"
"""Users by number, or, if one of them is no whole number, all by name."""
MODELS = "models"
"""The column of accepted models, `V100|T4`, or with how fast a job runs on each, `V100=1|T4=0.4`; empty: any."""
TEXTS = (USER, MODELS)


def read(path: Path, _: Sequence[Path]) -> ImportedJobs:
    """Read jobs; an error names the file and the line. Empty cells of `requested` and `deadline` mean none."""
    table = _read_parquet(path) if _is_parquet(path) else read_table(path, _select_columns)
    with table.locate_errors():
        found: dict[str, Any] = {name: table.numbers(name) for name in NUMBERS if name in table.columns}
        for name, column in SYNONYMS.items():
            if name in table.columns:
                found[column] = _count_thousandths(name, column, table)
        if "deadline" in found:
            found["deadline"] = np.where(np.isnan(found["deadline"]), np.inf, found["deadline"])
        if "span" in found:
            found["span"] = _read_flags("span", table)
        if USER in table.columns:
            found |= _read_users(table)
        if MODELS in table.columns:
            cells = table.columns[MODELS].to_pylist()
            found["accepts"] = [_parse_models(row, cell or "") for row, cell in enumerate(cells)]
        if "gpus" not in found and "gpu_milli" in found:
            found["gpus"] = (found["gpu_milli"] > 0).astype(float)
        loose = ~_read_flags(GANG, table) if GANG in table.columns else np.zeros(table.rows, bool)
        if loose.any():
            Jobs.build(**found)  # refuses a bad row by its own number
            names = found.pop("user_names", ())
            found = {**_split(found, loose, table.rows), "user_names": names}
        return ImportedJobs(Jobs.build(**found), table.rows)


def holds_jobs(path: Path) -> bool:
    """Whether a table has the columns of jobs and not those of tasks of one device."""
    if _is_parquet(path):
        with open_seekable(path) as file, prefix_errors(path):
            names = set(_open_parquet(file).schema_arrow.names)
    else:
        names = columns.parse_header(read_head(path))
    return "seconds" in names and bool(SIZES & names) and not TASKS & names


def _is_parquet(path: Path) -> bool:
    return read_head(path).startswith(b"PAR1")


def _read_flags(name: str, table: Table) -> Bools:
    values = table.numbers(name)
    columns.require_values(name, values, np.isin(values, (0, 1)), "0 or 1")
    return np.equal(values, 1)


def _read_users(table: Table) -> dict[str, Any]:
    """Return users by number, and their names, in alphabetical order, if they are not numbers themselves."""
    cells = [(cell or "").strip() for cell in table.columns[USER].to_pylist()]
    if missing := [row for row, cell in enumerate(cells) if not cell]:
        raise RowError(missing[0], f"{USER} is empty, expected a number or a name: correct or drop this row")
    try:
        return {USER: np.array(cells, np.float64)}
    except ValueError:  # they have names
        found = columns.encode_strings(cells)
        return {USER: found.codes, "user_names": found.names}


def _count_thousandths(name: str, column: str, table: Table) -> Floats:
    """Return a column of whole units, such as 2.5 cores, in thousandths; an empty share is a whole GPU."""
    if column in table.columns:
        raise InputError(f"columns '{name}' and '{column}' say the same: keep one of them")
    values = table.numbers(name)
    if name == "gpu_share":
        values = np.where(np.isnan(values), 1.0, values)
        without = np.equal(table.numbers("gpus"), 0) if "gpus" in table.columns else np.equal(values, 0)
        columns.require_values(name, values, (values > 0) & (values <= 1) | without, "above 0 and at most 1")
    return np.round(values * WHOLE)


def _split(found: dict[str, Any], loose: Bools, count: int) -> dict[str, Any]:
    """Return a job for every GPU, or every core, of the jobs that are no gangs; parts keep their job's number."""
    whole = {name: np.asarray(found.get(name, np.zeros(count))) for name in ("cpu_milli", "gpus", "memory_mib")}
    wide = np.where(whole["gpus"] > 0, whole["gpus"], np.ceil(whole["cpu_milli"] / WHOLE))
    parts = np.where(loose, np.maximum(wide, 1), 1)
    rows = columns.repeat_rows(np.arange(count), parts)
    found = {"job_id": np.arange(count), **found}
    apart = {name: [each[row] for row in rows] if name == "accepts" else each[rows] for name, each in found.items()}
    shared = {name: np.ceil(whole[name] / parts)[rows] for name in ("cpu_milli", "memory_mib")}
    return {**apart, **shared, "gpus": np.where(loose, np.minimum(whole["gpus"], 1), whole["gpus"])[rows]}


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
            names = _open_parquet(file).schema_arrow.names
            found = parquet.read_table(file, columns=list(_select_columns(names)))
            columns_ = {
                name: found[name].cast(pa.string()) if name in TEXTS else found[name].cast(pa.float64()).to_numpy()
                for name in found.column_names
            }
        except pa.ArrowException as error:
            raise InputError(
                f"cannot be read as Parquet ({str(error).splitlines()[0][:80]}): write it anew"
            ) from None
    return Table(path, found.num_rows, columns_, lambda row: row + 1)


def _open_parquet(file: IO[bytes]) -> ParquetFile:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(file)
    except ArrowException as error:
        raise InputError(f"cannot be read as Parquet ({str(error).splitlines()[0][:80]}): write it anew") from None


def _select_columns(header: list[str]) -> dict[str, str]:
    known = (*NUMBERS, *SYNONYMS, GANG, USER, MODELS)
    if "seconds" not in header or not SIZES & set(header):
        raise InputError(
            f"found {columns.format_names(header)}: jobs need seconds and cpu_milli or gpus, and may have "
            f"{', '.join(name for name in known if name not in ('seconds', 'cpu_milli', 'gpus'))}"
        )
    return {name: TEXT if name in TEXTS else NUMBER for name in header if name in known}


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
    numbers = {name: np.asarray(getattr(jobs, name)) + 0 for name in NUMBERS}
    users = [jobs.name_user(user) for user in jobs.user.tolist()] if jobs.user_names else jobs.user + 0
    table = pa.table({**numbers, USER: users, MODELS: models})
    if Path(path).suffix == ".parquet":
        with atomic_write(path) as scratch:
            parquet.write_table(table, scratch)
        return
    with open_for_writing(path) as file:
        file.write(f"{','.join(table.column_names)}\n".encode())
        arrow.write_csv(table, file, arrow.WriteOptions(include_header=False, quoting_style="none"))
