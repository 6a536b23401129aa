"""Tasks as Parquet: the columns of the CSV file, with dependencies and their megabytes as text or as lists.

A small Parquet file can claim any number of rows, and stores a value that rows share only once, so limits are
checked before columns are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.workloads.formats import csv, job_table, memory, tables
from hybrid_scheduler.workloads.formats.reader import Format, Imported
from hybrid_scheduler.workloads.formats.tables import MAX_ROWS
from hybrid_scheduler.workloads.formats.unpack import open_seekable

MAGIC = b"PAR1"
CELL = 24  # bytes of memory that a cell takes: in Arrow, as a column of its own, and while it is checked
MAX_TEXT = 1 << 29  # bytes of text in a column, once every row has its own copy
MAX_LISTED = 100_000_000  # numbers in all lists of a column


def sniff(head: bytes) -> bool:
    """Whether the file begins with Parquet's magic bytes."""
    return head.startswith(MAGIC)


def read(path: str | Path) -> Tasks:
    """Read tasks; an error names the file and the row, counted from 1."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with open_seekable(path) as unpacked, parquet.ParquetFile(unpacked) as file:
            return _read_tasks(path, file, unpacked)
    except RowError as error:
        raise InputError(f"{path} row {error.row + 1}: {error.reason}") from None
    except InputError as error:
        raise InputError(tables.prefix_path(path, str(error))) from None
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read as Parquet ({reason[:200]}): write it again") from None


def write(tasks: Tasks, path: str | Path) -> None:
    """Write a file that `read` turns into bit-identical tasks."""
    from pyarrow import parquet

    with atomic_write(path) as scratch:
        parquet.write_table(csv.to_arrow(tasks), scratch)


def _read_tasks(path: str | Path, file: Any, unpacked: Any) -> Tasks:
    import pyarrow as pa

    selected = csv.check_header(list(file.schema_arrow.names))
    if not 0 < (rows := file.metadata.num_rows) <= MAX_ROWS:
        raise InputError(f"there are {rows} tasks, expected 1 to {MAX_ROWS}: add or leave out some")
    memory.require(path, CELL * rows * len(selected))
    table = _read_table(file, unpacked, list(selected.values()))
    columns = {name: table.column(column) for name, column in selected.items()}
    ids: Any = np.arange(rows)
    if (given := columns.pop("task_id", None)) is not None:
        if not pa.types.is_integer(given.type) or given.null_count:
            raise InputError("column 'task_id' holds something else than whole numbers of 64 bits: correct it")
        ids = given.cast(pa.int64()).to_numpy()
    parents, megabytes = columns.pop(csv.DEPENDENCIES, None), columns.pop(csv.MEGABYTES, None)
    texts = [each for each in (parents, megabytes) if each is not None]
    plain = all(each.type in (pa.string(), pa.large_string()) and not each.null_count for each in texts)
    parse = csv.parse_edges if plain else csv.parse_edge_cells
    edges = None if parents is None else parse(ids, parents, megabytes)
    numbers = {}
    for name, column in columns.items():
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
            raise InputError(f"column '{name}' holds {kind}, expected numbers: convert it")
        numbers[name] = column.cast(pa.float64(), safe=False).to_numpy().copy()  # arrays of Arrow are read-only
    return csv.build_tasks(numbers, ids, edges)


def _read_table(file: Any, unpacked: Any, names: list[str]) -> Any:
    """Read columns; text comes dictionary-encoded, so that its length is known before it is expanded."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    counts = (sum(each.column(place).num_values for each in groups) for place in range(file.metadata.num_columns))
    if max(counts, default=0) > MAX_LISTED:  # more values than rows: a column with lists
        raise InputError(f"its lists hold more than {MAX_LISTED:,} numbers: leave out some")
    texts = [name for name in names if file.schema_arrow.field(name).type in (pa.string(), pa.large_string())]
    with parquet.ParquetFile(unpacked, read_dictionary=texts) as packed:
        table = packed.read(columns=names)
    for place, name in enumerate(names):
        column = table.column(name)
        if name not in texts or not pa.types.is_dictionary(column.type):
            continue
        lengths = [pc.sum(pc.binary_length(each.dictionary).take(each.indices)).as_py() for each in column.chunks]
        if sum(each or 0 for each in lengths) > MAX_TEXT:
            raise InputError(f"column '{name}' holds more than {MAX_TEXT:,} letters: leave out some")
        table = table.set_column(place, name, column.cast(column.type.value_type))
    return table


def _read(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("parquet", "the same columns as Parquet", csv.MAPPING, sniff, _read, read_jobs=job_table.read)
