"""Tasks as Parquet: the columns of the CSV file, `dependencies` and their megabytes as text or as lists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Edges, Floats, Tasks, edges_from_ids
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.workloads.formats import memory, own
from hybrid_scheduler.workloads.formats.checked import named
from hybrid_scheduler.workloads.formats.csv import to_arrow
from hybrid_scheduler.workloads.formats.edges import (
    DEPENDENCIES,
    MEGABYTES,
    edges_from_text,
    megabytes_of,
    parents_of,
)
from hybrid_scheduler.workloads.formats.format import Format, Imported
from hybrid_scheduler.workloads.formats.table import MOST_ROWS  # a small file can claim to hold any number of rows
from hybrid_scheduler.workloads.formats.unpack import seekable

MAGIC = b"PAR1"
CELL = 24
"""Bytes of memory that a cell takes: as Arrow has it, as a column of its own, and to be checked."""
MOST_TEXT = 1 << 29
"""Bytes of text in a column, once every row has its own: a word that all rows share is in the file only once."""
MOST_LISTED = 100_000_000
"""Numbers in all lists of a column, for the same reason."""


def write(tasks: Tasks, path: str | Path) -> None:
    """Write a file that `read` turns into the same tasks, to the last bit."""
    from pyarrow import parquet

    with written_whole(path) as scratch:
        parquet.write_table(to_arrow(tasks), scratch)


def read(path: str | Path) -> Tasks:
    """Read tasks; an error names the file and the row, counted from 1."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with seekable(path) as unpacked, parquet.ParquetFile(unpacked) as file:
            return _tasks(path, file, unpacked)
    except RowError as error:
        raise InputError(f"{path} row {error.row + 1}: {error.reason}") from None
    except InputError as error:
        raise InputError(named(path, str(error))) from None
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read as Parquet ({why[:200]}): write it again") from None


def _tasks(path: str | Path, file: Any, unpacked: Any) -> Tasks:
    names = list(file.schema_arrow.names)
    header = names if "size" in names else ["size" if name == "task_size" else name for name in names]
    own.check_header(header)
    if not 0 < (rows := file.metadata.num_rows) <= MOST_ROWS:
        raise InputError(f"there are {rows} tasks, expected 1 to {MOST_ROWS}: add or leave out some")
    wanted = {name: column for name, column in zip(header, names, strict=True) if own.is_ours(name)}
    memory.require(path, CELL * rows * len(wanted))
    table = _table(file, unpacked, list(wanted.values()))
    columns = {name: table.column(column) for name, column in wanted.items()}
    ids = _ids(columns.pop("task_id")) if "task_id" in columns else np.arange(rows)
    parents, megabytes = columns.pop(DEPENDENCIES, None), columns.pop(MEGABYTES, None)
    edges = None if parents is None else _edges(ids, parents, megabytes)
    return own.built({name: _numbers(name, column) for name, column in columns.items()}, ids, edges)


def _table(file: Any, unpacked: Any, names: list[str]) -> Any:
    """Read columns; text comes with every word once, so that its length is known before it is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    if _values(file.metadata) > MOST_LISTED:
        raise InputError(f"its lists hold more than {MOST_LISTED:,} numbers: leave out some")
    words = [name for name in names if file.schema_arrow.field(name).type in (pa.string(), pa.large_string())]
    with parquet.ParquetFile(unpacked, read_dictionary=words) as packed:
        table = packed.read(columns=names)
    for place, name in enumerate(names):
        column = table.column(name)
        if name not in words or not pa.types.is_dictionary(column.type):
            continue
        lengths = [pc.sum(pc.binary_length(each.dictionary).take(each.indices)).as_py() for each in column.chunks]
        if sum(each or 0 for each in lengths) > MOST_TEXT:
            raise InputError(f"column '{name}' holds more than {MOST_TEXT:,} letters: leave out some")
        table = table.set_column(place, name, column.cast(column.type.value_type))
    return table


def _values(metadata: Any) -> int:
    """Return how many values the longest column holds; more than there are rows, if it has lists."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    by_column = [[group.column(place).num_values for group in groups] for place in range(metadata.num_columns)]
    return max(map(sum, by_column), default=0)


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


def _edges(ids: Any, parents: Any, megabytes: Any | None) -> Edges | None:
    if all(each is None or _is_text(each) for each in (parents, megabytes)):
        return edges_from_text(ids, parents, megabytes)
    rows = [_parents(row, cell) for row, cell in enumerate(parents.to_pylist())]
    cells = [] if megabytes is None else megabytes.to_pylist()
    weights = [_megabytes(row, cell, len(rows[row])) for row, cell in enumerate(cells)]
    return edges_from_ids(ids.tolist(), rows, weights or None) if any(rows) else None


def _is_text(column: Any) -> bool:
    import pyarrow as pa

    return column.type in (pa.string(), pa.large_string()) and not column.null_count


def _parents(row: int, cell: Any) -> list[int]:
    if cell is None or isinstance(cell, str):
        return parents_of(row, cell or "")
    if isinstance(cell, list) and all(isinstance(each, int) for each in cell):
        return cell
    raise RowError(row, f"dependencies are '{str(cell)[:40]}', expected task ids such as 1;2")


def _megabytes(row: int, cell: Any, count: int) -> Sequence[float]:
    if cell is None or isinstance(cell, str):
        return megabytes_of(row, cell or "", count)
    if isinstance(cell, list) and all(isinstance(each, int | float) for each in cell):
        return megabytes_of(row, cell, count)
    raise RowError(row, f"dependency_megabytes are '{str(cell)[:40]}', expected {count} numbers such as 0.5;3")


def _imported(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("parquet", "the same columns as Parquet", own.MAPPING, lambda head: head.startswith(MAGIC), _imported)
