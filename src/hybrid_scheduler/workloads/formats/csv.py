"""The project's own tables of tasks: what each column means, how tasks are built from them, and the table as CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.core.tasks import EXPECTED, FEATURE, MEASURED, TRAITS, Edges, Ints, Tasks, edges_from_ids
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import job_table
from hybrid_scheduler.workloads.formats.columns import parse_header, require_columns
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.reader import MEASURED as GIVEN
from hybrid_scheduler.workloads.formats.tables import (
    NO_TASKS,
    NUMBER,
    TEXT,
    WHOLE,
    WHOLE_NUMBER,
    read_table,
    require_column_limit,
)
from hybrid_scheduler.workloads.formats.unpack import open_for_writing

if TYPE_CHECKING:
    import pandas as pd

DEPENDENCIES, MEGABYTES = "dependencies", "dependency_megabytes"
REQUIRED = ("size", "compute_intensity", "memory_required")
OPTIONAL = ("task_id", "arrival_time", "duration_estimate", DEPENDENCIES, MEGABYTES, *TRAITS)
PREFIXES = (MEASURED, EXPECTED, FEATURE)
_SEPARATOR = re.compile(r"\s*[;,]\s*|\s+")

MAPPING = (
    Mapped("size, task_size", "size", GIVEN, "N, above 0"),
    Mapped("compute_intensity", "compute_intensity", GIVEN, "I, from 0 to 1"),
    Mapped("memory_required", "memory_required", GIVEN, "MB, 0 or more"),
    Mapped("task_id", "task_id", GIVEN, "whole number, unique; the row number if absent"),
    Mapped("arrival_time", "arrival_time", GIVEN, "seconds, 0 or more; 0 if absent"),
    Mapped("dependencies", "dependencies", GIVEN, "ids of parents, `1;2` or `[1, 2]`"),
    Mapped("dependency_megabytes", "MB on edges", GIVEN, "MB from each parent, `0.5;3`; 0 if absent"),
    Mapped("duration_estimate", "duration_estimate", GIVEN, "seconds; the formula if absent or empty"),
    Mapped("time_<class>", "time_<class>", GIVEN, "seconds; `inf`: cannot run there; empty: the formula"),
    Mapped("", "time_<class>", ASSUMED, "`inf` on classes without a column if there are others; --assume formula"),
    Mapped("expected_<class>", "expected_<class>", GIVEN, "seconds that policies see; empty: the true ones"),
    Mapped("feature_<name>", "feature_<name>", GIVEN, "a feature for learners, or empty"),
    Mapped("indivisible", "indivisible", GIVEN, "1: never split between a CPU and a GPU; 0 if absent or empty"),
    Mapped("serialised", "serialised", GIVEN, "processors whose work the one device does; needs --serialise above 1"),
    Mapped("", "duration_estimate", ASSUMED, "k·N^1.5/(I + 0.5) where the file has none"),
    Mapped("any other", "", IGNORED),
)
TYPES = {"task_id": WHOLE, DEPENDENCIES: TEXT, MEGABYTES: TEXT}  # all other columns are numbers
OVERHEAD = 1.5
"""Bytes that may still be needed for every byte of the columns, which become those of the tasks unchanged."""


def sniff(head: bytes) -> bool:
    """Whether the first line names the columns that tasks need."""
    names = parse_header(head)
    return bool(names & {"size", "task_size"}) and {"compute_intensity", "memory_required"} <= names


def read(path: str | Path) -> Tasks:
    """Read tasks; an error names the file and the line."""
    table = read_table(path, _select_columns, NO_TASKS, OVERHEAD)
    columns = dict(table.columns)
    if "size" not in columns:
        columns["size"] = columns.pop("task_size")
    ids, parents = columns.pop("task_id", None), columns.pop(DEPENDENCIES, None)
    megabytes = columns.pop(MEGABYTES, None)
    with table.locate_errors():
        edges = None if parents is None else parse_edges(ids, parents, megabytes)
        return build_tasks(columns, ids, edges)


def _select_columns(header: list[str]) -> dict[str, str]:
    return {column: TYPES.get(name, NUMBER) for name, column in check_header(header).items()}


def check_header(columns: Sequence[str]) -> dict[str, str]:
    """Return the file's name of every column that tasks have; a header that lacks one or repeats one is refused."""
    if not columns:
        raise InputError("the file is empty: it needs a header line and a line for every task")
    require_column_limit(len(columns))
    alias = "task_size" if "size" not in columns else "size"
    header = ["size" if name == alias else name for name in columns]
    require_columns(header, REQUIRED)
    found = {}
    for name, column in zip(header, columns, strict=True):
        if name in (*REQUIRED, *OPTIONAL) or name.startswith(PREFIXES):
            if name in found:
                raise InputError(f"column '{name[:40]}' appears twice: keep one of them")
            found[name] = column
    return found


def build_tasks(columns: Mapping[str, Any], ids: Ints | None, edges: Edges | None) -> Tasks:
    """Build tasks from the columns of a file."""
    size, intensity, memory = (columns[name] for name in REQUIRED)
    arrival, duration = columns.get("arrival_time"), columns.get("duration_estimate")
    measured, expected, features = (
        {name.removeprefix(prefix): each for name, each in columns.items() if name.startswith(prefix)}
        for prefix in PREFIXES
    )
    traits = {name: columns[name] for name in TRAITS if name in columns}
    return Tasks.build(size, intensity, memory, arrival, ids, duration, edges, measured, expected, features, traits)


def parse_edges(ids: Ints | None, parents: Any, megabytes: Any | None) -> Edges | None:
    """Parse columns of text such as `1;2` and `0.5;3`; none if no task has a parent."""
    import pyarrow.compute as pc

    if not any(pc.max(pc.binary_length(each)).as_py() for each in (parents, megabytes) if each is not None):
        return None
    known = np.arange(len(parents)) if ids is None else ids
    return _parse_plain_edges(known, parents, megabytes) or parse_edge_cells(known, parents, megabytes)


def _parse_plain_edges(ids: Ints, parents: Any, megabytes: Any | None) -> Edges | None:
    """Parse ids and numbers with `;` between them with Arrow; none if something is written otherwise."""
    import pyarrow as pa

    try:
        start, parent_ids = _split_column(parents, pa.int64())
        starts, weights = (
            (start, np.zeros(len(parent_ids))) if megabytes is None else _split_column(megabytes, pa.float64())
        )
    except pa.ArrowInvalid:
        return None
    order = np.argsort(ids, kind="stable")
    rows = order[np.searchsorted(ids[order], parent_ids).clip(max=len(ids) - 1)]
    usable = np.array_equal(start, starts) and np.array_equal(ids[rows], parent_ids)
    if not usable or not np.all((weights >= 0) & (weights < np.inf)):
        return None
    return Edges(start, rows.astype(np.int64), weights)


def _split_column(column: Any, kind: Any) -> tuple[Ints, Any]:
    """Split text at `;` into numbers: where those of each row begin, and all of them."""
    import pyarrow.compute as pc

    filled = column.combine_chunks()
    lengths = pc.binary_length(filled).to_numpy()
    split = pc.split_pattern(filled, ";")
    counts = np.where(lengths > 0, pc.list_value_length(split).to_numpy(), 0)
    values = pc.list_flatten(split.filter(pc.greater(pc.binary_length(filled), 0)))
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), values.cast(kind).to_numpy()


def parse_edge_cells(ids: Ints, parents: Any, megabytes: Any | None) -> Edges | None:
    """Parse edges cell by cell; a cell is text, a list of numbers, or empty."""
    rows = [[] if cell in (None, "") else _parse_parents(row, cell) for row, cell in enumerate(parents.to_pylist())]
    cells = [] if megabytes is None else megabytes.to_pylist()
    weights = [_parse_megabytes(row, cell, len(rows[row])) for row, cell in enumerate(cells)]
    return edges_from_ids(ids.tolist(), rows, weights or None) if any(rows) else None


def _parse_parents(row: int, cell: Any) -> list[int]:
    if isinstance(cell, list) and all(isinstance(each, int) for each in cell):
        return cell
    if isinstance(cell, str):
        text = cell.strip().removesuffix(".0")  # a spreadsheet may write single ids as 1.0
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1].strip()
        parts = _SEPARATOR.split(text) if text else []
        if all(WHOLE_NUMBER.fullmatch(part) for part in parts):
            return [int(part) for part in parts]
    raise RowError(row, f"dependencies are '{str(cell)[:40]}', expected task ids such as 1;2")


def _parse_megabytes(row: int, cell: Any, count: int) -> list[float]:
    """Parse the megabytes from each of `count` parents; an empty cell is 0 from each."""
    numbers = [] if cell is None else cell
    try:
        if isinstance(cell, str):
            text = cell.strip().removeprefix("[").removesuffix("]").strip()
            numbers = [float(part) for part in _SEPARATOR.split(text)] if text else []
        valid = len(numbers) in (0, count) and all(
            isinstance(each, int | float) and 0 <= each < np.inf for each in numbers
        )
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise RowError(row, f"dependency_megabytes are '{str(cell)[:40]}', expected {count} numbers such as 0.5;3")
    return numbers or [0.0] * count


def write(tasks: Tasks, path: str | Path) -> None:
    """Write a file that `read` turns into bit-identical tasks; packed if its name ends in .gz or .zst."""
    from pyarrow import csv as arrow

    table = to_arrow(tasks)
    header = ",".join(_quote(name) for name in table.column_names)
    with open_for_writing(path) as file:
        file.write(f"{header}\n".encode())
        arrow.write_csv(table, file, arrow.WriteOptions(include_header=False, quoting_style="none"))


def to_frame(tasks: Tasks) -> pd.DataFrame:
    """Return the tasks as a data frame with the columns of the file."""
    import pandas as pd

    return pd.DataFrame(to_columns(tasks))


def to_arrow(tasks: Tasks) -> Any:
    """Return the tasks as an Arrow table, with empty cells for unknown values."""
    import pyarrow as pa

    return pa.table({name: pa.array(column, from_pandas=True) for name, column in to_columns(tasks).items()})


def to_columns(tasks: Tasks) -> dict[str, Any]:
    """Return the columns of the file by name."""
    return {
        "task_id": tasks.task_id,
        "size": tasks.size,
        "compute_intensity": tasks.compute_intensity,
        "memory_required": tasks.memory_required,
        "arrival_time": tasks.arrival_time,
        **_format_edges(tasks),
        "duration_estimate": tasks.duration_estimate,
        **{f"{MEASURED}{name}": times for name, times in tasks.measured.items()},
        **{f"{EXPECTED}{name}": times for name, times in tasks.expected.items()},
        **{f"{FEATURE}{name}": column for name, column in tasks.features.items()},
        **tasks.traits,
    }


def _format_edges(tasks: Tasks) -> dict[str, list[str]]:
    if not tasks.has_edges:
        return {DEPENDENCIES: [""] * len(tasks)}
    edges, spans = tasks.edges, list(pairwise(tasks.edges.start.tolist()))
    parents, megabytes = tasks.task_id[edges.parents].tolist(), edges.megabytes.tolist()
    columns = {DEPENDENCIES: [";".join(map(str, parents[first:last])) for first, last in spans]}
    if edges.megabytes.any():
        columns[MEGABYTES] = [";".join(map(repr, megabytes[first:last])) for first, last in spans]
    return columns


def _quote(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"' if any(mark in name for mark in ',"\r\n') else name


def _read(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("csv", "our own table of tasks as text", MAPPING, sniff, _read, read_jobs=job_table.read)
