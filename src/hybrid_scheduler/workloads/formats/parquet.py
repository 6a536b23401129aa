"""Tasks as Parquet: the columns of the CSV file, with dependencies and their megabytes as text or as lists.

A small Parquet file can claim any number of rows, and stores a value that rows share only once, so limits are
checked before columns are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Edges, Floats, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.workloads.formats import memory, tables, task_table
from hybrid_scheduler.workloads.formats.csv import to_arrow
from hybrid_scheduler.workloads.formats.reader import Format, Imported
from hybrid_scheduler.workloads.formats.tables import MAX_ROWS
from hybrid_scheduler.workloads.formats.unpack import open_seekable

MAGIC = b"PAR1"
CELL = 24
"""Bytes of memory that a cell takes: in Arrow, as a column of its own, and while it is checked."""
MAX_TEXT = 1 << 29
"""Bytes of text in a column, once every row has its own copy."""
MAX_LISTED = 100_000_000
"""Numbers in all lists of a column."""


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
        parquet.write_table(to_arrow(tasks), scratch)


def _read_tasks(path: str | Path, file: Any, unpacked: Any) -> Tasks:
    selected = task_table.check_header(list(file.schema_arrow.names))
    if not 0 < (rows := file.metadata.num_rows) <= MAX_ROWS:
        raise InputError(f"there are {rows} tasks, expected 1 to {MAX_ROWS}: add or leave out some")
    memory.require(path, CELL * rows * len(selected))
    table = _read_table(file, unpacked, list(selected.values()))
    columns = {name: table.column(column) for name, column in selected.items()}
    ids = _convert_ids(columns.pop("task_id")) if "task_id" in columns else np.arange(rows)
    parents, megabytes = columns.pop(task_table.DEPENDENCIES, None), columns.pop(task_table.MEGABYTES, None)
    edges = None if parents is None else _read_edges(ids, parents, megabytes)
    return task_table.build_tasks(
        {name: _convert_numbers(name, column) for name, column in columns.items()}, ids, edges
    )


def _read_table(file: Any, unpacked: Any, names: list[str]) -> Any:
    """Read columns; text comes dictionary-encoded, so that its length is known before it is expanded."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    if _count_values(file.metadata) > MAX_LISTED:
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


def _count_values(metadata: Any) -> int:
    """Return how many values the longest column holds: more than there are rows, if it has lists."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    by_column = [[group.column(place).num_values for group in groups] for place in range(metadata.num_columns)]
    return max(map(sum, by_column), default=0)


def _convert_numbers(name: str, column: Any) -> Floats:
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_null(column.type)):
        raise InputError(f"column '{name}' holds {column.type}, expected numbers: convert it")
    numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers.copy()  # arrays of Arrow are read-only


def _convert_ids(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_integer(column.type) or column.null_count:
        raise InputError("column 'task_id' holds something else than whole numbers of 64 bits: correct it")
    return column.cast(pa.int64()).to_numpy()


def _read_edges(ids: Any, parents: Any, megabytes: Any | None) -> Edges | None:
    import pyarrow as pa

    given = [column for column in (parents, megabytes) if column is not None]
    if all(each.type in (pa.string(), pa.large_string()) and not each.null_count for each in given):
        return task_table.parse_edges(ids, parents, megabytes)
    return task_table.parse_edge_cells(ids, parents, megabytes)


def _read(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("parquet", "the same columns as Parquet", task_table.MAPPING, sniff, _read)
