"""Tasks as Parquet: the columns of the CSV file, `dependencies` as text or as lists of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.model.tasks import Floats, Tasks, edges_from_ids
from hybrid_scheduler.workload.formats.csv import MEASURED, OPTIONAL, REQUIRED, TIMES, check_header, named, parents_of
from hybrid_scheduler.workload.formats.format import Format, Imported
from hybrid_scheduler.workload.formats.opening import seekable
from hybrid_scheduler.workload.formats.own import MAPPING

MAGIC = b"PAR1"
MOST_ROWS = 10_000_000  # a small file can claim to hold any number of rows


def read(path: str | Path) -> Tasks:
    """Read tasks; an error names the file and the row, counted from 1."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with seekable(path) as bytes_, parquet.ParquetFile(bytes_) as file:
            return _tasks(file)
    except RowError as error:
        raise InputError(f"{path} row {error.row + 1}: {error.reason}") from None
    except InputError as error:
        raise InputError(named(path, str(error))) from None
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read as Parquet ({why[:200]}): write it again") from None


def _tasks(file: Any) -> Tasks:
    names = list(file.schema_arrow.names)
    header = names if "size" in names else ["size" if name == "task_size" else name for name in names]
    check_header(header)
    if not 0 < (rows := file.metadata.num_rows) <= MOST_ROWS:
        raise InputError(f"there are {rows} tasks, expected 1 to {MOST_ROWS}: add or leave out some")
    wanted = {
        name: column
        for name, column in zip(header, names, strict=True)
        if name in (*REQUIRED, *OPTIONAL) or name.startswith(MEASURED)
    }
    table = file.read(columns=list(wanted.values()))
    columns = {name: table.column(column) for name, column in wanted.items()}
    ids = _ids(columns["task_id"]) if "task_id" in columns else np.arange(rows)
    parents = list(_parents(columns["dependencies"])) if "dependencies" in columns else []
    given: dict[str, Any] = {name: _numbers(name, columns[name]) for name in (*REQUIRED, *TIMES) if name in columns}
    return Tasks.build(
        **given,
        task_id=ids,
        edges=edges_from_ids(ids.tolist(), parents) if any(parents) else None,
        measured={
            name.removeprefix(MEASURED): _numbers(name, column)
            for name, column in columns.items()
            if name.startswith(MEASURED)
        },
    )


def _numbers(name: str, column: Any) -> Floats:
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_null(column.type)):
        raise InputError(f"column '{name}' holds {column.type}, expected numbers: convert it")
    numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers.copy()  # what Arrow hands out cannot be written to


def _ids(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_integer(column.type) or column.null_count:
        raise InputError("column 'task_id' holds something else than whole numbers of 64 bits: correct it")
    return column.cast(pa.int64()).to_numpy()


def _parents(column: Any) -> Iterator[list[int]]:
    for row, cell in enumerate(column.to_pylist()):
        if cell is None or isinstance(cell, str):
            yield parents_of(row, cell or "")
        elif isinstance(cell, list) and all(isinstance(each, int) for each in cell):
            yield cell
        else:
            raise RowError(row, f"dependencies are '{str(cell)[:40]}', expected task ids such as 1;2")


def _imported(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("parquet", "the same columns as Parquet", MAPPING, lambda head: head.startswith(MAGIC), _imported)
