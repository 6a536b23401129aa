"""Tasks as CSV: one line a task, with the columns of `task_table.MAPPING`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.core.tasks import EXPECTED, FEATURE, MEASURED, Tasks
from hybrid_scheduler.workloads.formats import task_table
from hybrid_scheduler.workloads.formats.columns import parse_header
from hybrid_scheduler.workloads.formats.reader import Format, Imported
from hybrid_scheduler.workloads.formats.tables import NO_TASKS, NUMBER, TEXT, WHOLE, read_table
from hybrid_scheduler.workloads.formats.unpack import open_for_writing

if TYPE_CHECKING:
    import pandas as pd

TYPES = {"task_id": WHOLE, task_table.DEPENDENCIES: TEXT, task_table.MEGABYTES: TEXT}
"""Types of columns; all others are numbers."""
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
    ids, parents = columns.pop("task_id", None), columns.pop(task_table.DEPENDENCIES, None)
    megabytes = columns.pop(task_table.MEGABYTES, None)
    with table.locate_errors():
        edges = None if parents is None else task_table.parse_edges(ids, parents, megabytes)
        return task_table.build_tasks(columns, ids, edges)


def _select_columns(header: list[str]) -> dict[str, str]:
    return {column: TYPES.get(name, NUMBER) for name, column in task_table.check_header(header).items()}


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
    }


def _format_edges(tasks: Tasks) -> dict[str, list[str]]:
    if not tasks.has_edges:
        return {task_table.DEPENDENCIES: [""] * len(tasks)}
    edges, spans = tasks.edges, list(pairwise(tasks.edges.start.tolist()))
    parents, megabytes = tasks.task_id[edges.parents].tolist(), edges.megabytes.tolist()
    columns = {task_table.DEPENDENCIES: [";".join(map(str, parents[first:last])) for first, last in spans]}
    if edges.megabytes.any():
        columns[task_table.MEGABYTES] = [";".join(map(repr, megabytes[first:last])) for first, last in spans]
    return columns


def _quote(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"' if any(mark in name for mark in ',"\r\n') else name


def _read(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("csv", "our own table of tasks as text", task_table.MAPPING, sniff, _read)
