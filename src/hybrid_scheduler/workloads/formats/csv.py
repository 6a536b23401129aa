"""Tasks as CSV: one line a task, the columns of the project's guide.

`size` (or `task_size`), `compute_intensity`, `memory_required` must be there; what else may be, says `own.MAPPING`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.core.tasks import EXPECTED, FEATURE, MEASURED, Tasks
from hybrid_scheduler.workloads.formats import own
from hybrid_scheduler.workloads.formats.checked import NUMBER, TEXT, WHOLE
from hybrid_scheduler.workloads.formats.edges import DEPENDENCIES, MEGABYTES, edges_from_text
from hybrid_scheduler.workloads.formats.format import Format, Imported
from hybrid_scheduler.workloads.formats.table import Table, read_table
from hybrid_scheduler.workloads.formats.unpack import written

if TYPE_CHECKING:
    import pandas as pd

AS_THEY_ARE = 1.5
"""Bytes that may still be taken for every byte of the columns, which become those of tasks as they are."""


def columns_of(tasks: Tasks) -> dict[str, Any]:
    """Return the columns of a file by their names."""
    return {
        "task_id": tasks.task_id,
        "size": tasks.size,
        "compute_intensity": tasks.compute_intensity,
        "memory_required": tasks.memory_required,
        "arrival_time": tasks.arrival_time,
        **_edges_as_text(tasks),
        "duration_estimate": tasks.duration_estimate,
        **{f"{MEASURED}{name}": times for name, times in tasks.measured.items()},
        **{f"{EXPECTED}{name}": times for name, times in tasks.expected.items()},
        **{f"{FEATURE}{name}": column for name, column in tasks.features.items()},
    }


def _edges_as_text(tasks: Tasks) -> dict[str, Any]:
    if not tasks.has_edges:
        return {DEPENDENCIES: [""] * len(tasks)}
    ids, edges = tasks.task_id, tasks.edges
    columns = {DEPENDENCIES: [";".join(map(str, ids[edges.of(row)])) for row in range(len(tasks))]}
    if edges.megabytes.any():
        first = edges.start.tolist()
        columns[MEGABYTES] = [
            ";".join(map(repr, edges.megabytes[first[row] : first[row + 1]].tolist())) for row in range(len(tasks))
        ]
    return columns


def to_frame(tasks: Tasks) -> pd.DataFrame:
    """Return the tasks as a table with the columns of the file."""
    import pandas as pd

    return pd.DataFrame(columns_of(tasks))


def to_arrow(tasks: Tasks) -> Any:
    """Return the tasks as an Arrow table, empty cells for what is not known."""
    import pyarrow as pa

    return pa.table({name: pa.array(column, from_pandas=True) for name, column in columns_of(tasks).items()})


def write(tasks: Tasks, path: str | Path) -> None:
    """Write a file that `read` turns into the same tasks, to the last bit; packed if it ends in .gz or .zst."""
    from pyarrow import csv as arrow

    table = to_arrow(tasks)
    header = ",".join(_quoted(name) for name in table.column_names)
    with written(path) as file:
        file.write(f"{header}\n".encode())
        arrow.write_csv(table, file, arrow.WriteOptions(include_header=False, quoting_style="none"))


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"' if any(mark in name for mark in ',"\r\n') else name


def read(path: str | Path) -> Tasks:
    """Read tasks; an error names the file and the line."""
    alias: dict[str, str] = {}
    table = read_table(path, lambda header: _kinds(header, alias), AS_THEY_ARE)
    with table.explained():
        return _tasks(table, alias.get("size", "size"))


def _kinds(header: list[str], alias: dict[str, str]) -> dict[str, str]:
    """Say which columns are wanted; `task_size` stands in for a missing `size`."""
    if "size" not in header and "task_size" in header:
        alias["size"] = "task_size"
    own.check_header(["size" if name == alias.get("size") else name for name in header])
    texts, wholes = (DEPENDENCIES, MEGABYTES), ("task_id",)
    wanted = [name for name in header if own.is_ours(name) or name == alias.get("size")]
    return {name: TEXT if name in texts else WHOLE if name in wholes else NUMBER for name in wanted}


def _tasks(table: Table, size: str) -> Tasks:
    columns = {"size" if name == size else name: column for name, column in table.columns.items()}
    ids = columns.pop("task_id", None)
    parents, megabytes = columns.pop(DEPENDENCIES, None), columns.pop(MEGABYTES, None)
    edges = None if parents is None else edges_from_text(ids, parents, megabytes)
    return own.built(columns, ids, edges)


def sniff(head: bytes) -> bool:
    """Whether the first line names the columns that tasks need."""
    names = own.names_in(head)
    return bool(names & {"size", "task_size"}) and {"compute_intensity", "memory_required"} <= names


def _imported(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("csv", "our own table of tasks as text", own.MAPPING, sniff, _imported)
