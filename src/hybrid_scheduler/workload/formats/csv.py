"""Tasks as CSV: one line a task, the columns of the project's guide.

`size` (or `task_size`), `compute_intensity`, `memory_required` must be there; `task_id`, `arrival_time`,
`duration_estimate`, `dependencies` (ids, as `1;2` or `[1, 2]`) and measured `time_<class>` columns may.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.model.tasks import Tasks, edges_from_ids
from hybrid_scheduler.workload.formats.format import Format, Imported
from hybrid_scheduler.workload.formats.opening import opened
from hybrid_scheduler.workload.formats.own import MAPPING

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("size", "compute_intensity", "memory_required")
OPTIONAL = ("task_id", "arrival_time", "duration_estimate", "dependencies")
TIMES = ("arrival_time", "duration_estimate")
MEASURED = "time_"
_ID = re.compile(r"-?[0-9]{1,19}")
_BETWEEN = re.compile(r"\s*[;,]\s*|\s+")


def to_frame(tasks: Tasks) -> pd.DataFrame:
    """Return the tasks as a table with the columns of the file."""
    import pandas as pd

    ids = tasks.task_id
    parents = (
        [";".join(str(ids[p]) for p in tasks.edges.of(row)) for row in range(len(tasks))] if tasks.has_edges else ""
    )
    columns = {
        "task_id": ids,
        "size": tasks.size,
        "compute_intensity": tasks.compute_intensity,
        "memory_required": tasks.memory_required,
        "arrival_time": tasks.arrival_time,
        "dependencies": parents,
        "duration_estimate": tasks.duration_estimate,
        **{f"{MEASURED}{name}": times for name, times in tasks.measured.items()},
    }
    return pd.DataFrame(columns)


def write(tasks: Tasks, path: str | Path) -> None:
    """Write a file that `read` turns into the same tasks, to the last bit."""
    with written_whole(path) as scratch:
        to_frame(tasks).to_csv(scratch, index=False)


def read(path: str | Path) -> Tasks:
    """Read tasks; an error names the file and the line."""
    lines: list[int] = []  # line of the file at which each row begins
    try:
        with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            return _tasks(text, lines)
    except RowError as error:
        raise InputError(f"{path} line {lines[error.row]}: {error.reason}") from None
    except InputError as error:
        raise InputError(named(path, str(error))) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    except csv.Error as error:
        raise InputError(
            f"{path} is no CSV table after line {lines[-1] if lines else 1} ({error}): correct it"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from None


def _tasks(file: TextIO, lines: list[int]) -> Tasks:
    reader = csv.reader(file, strict=True, skipinitialspace=True)
    header = [name.strip() for name in next(reader, [])]
    if "size" not in header:
        header = ["size" if name == "task_size" else name for name in header]
    check_header(header)
    rows: list[list[str]] = []
    line = reader.line_num + 1
    for row, cells in enumerate(reader):
        lines.append(line)
        line = reader.line_num + 1  # a quoted cell may span lines
        if len(cells) != len(header):
            raise RowError(row, f"there are {len(cells)} fields, expected {len(header)}: correct this line")
        rows.append(cells)
    if not rows:
        raise InputError("there are no tasks, only a header: add a line for every task")
    table = dict(zip(header, zip(*rows, strict=True), strict=True))
    ids = _ids(table["task_id"]) if "task_id" in table else list(range(len(rows)))
    parents = [parents_of(row, cell) if cell else [] for row, cell in enumerate(table.get("dependencies", ()))]
    columns: dict[str, Any] = {name: _numbers(name, table[name]) for name in (*REQUIRED, *TIMES) if name in table}
    return Tasks.build(
        **columns,
        task_id=ids,
        edges=edges_from_ids(ids, parents) if any(parents) else None,
        measured={
            name.removeprefix(MEASURED): _numbers(name, cells)
            for name, cells in table.items()
            if name.startswith(MEASURED)
        },
    )


def check_header(header: list[str]) -> None:
    """Refuse columns from which no tasks can be made, whatever kind of file they come from."""
    if not header:
        raise InputError("the file is empty: it needs a header line and a line for every task")
    for name in REQUIRED:
        if name not in header:
            raise InputError(f"column '{name}' is missing, found {_shown(header)}: needed are {', '.join(REQUIRED)}")
    for name in header:
        if header.count(name) > 1 and (name in (*REQUIRED, *OPTIONAL) or name.startswith(MEASURED)):
            raise InputError(f"column '{name[:40]}' appears twice: keep one of them")


def _shown(header: list[str]) -> str:
    """Write names of columns in one line, whatever they are."""
    names = [" ".join(name[:40].split()) for name in header[:20]]
    return ", ".join([*names, "…"] if len(header) > 20 else names)


def _numbers(name: str, cells: tuple[str, ...]) -> list[float]:
    try:
        return [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        return [_number(row, name, cell) for row, cell in enumerate(cells)]


def _number(row: int, name: str, cell: str) -> float:
    try:
        return float(cell) if cell.strip() and cell != "NA" else math.nan
    except ValueError:
        raise RowError(row, f"{name} is '{cell[:40]}', expected a number: correct or drop this row") from None


def _ids(cells: tuple[str, ...]) -> list[int]:
    try:
        return list(map(int, cells))
    except ValueError:
        return [_id(row, cell) for row, cell in enumerate(cells)]


def _id(row: int, cell: str) -> int:
    text = cell.strip().removesuffix(".0")
    if _ID.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    raise RowError(row, f"task_id is '{cell[:40]}', expected a whole number")


def parents_of(row: int, cell: str) -> list[int]:
    """Read the ids of parents as people write them."""
    text = cell.strip().removesuffix(".0")  # a spreadsheet may write single ids as 1.0
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    parts = _BETWEEN.split(text) if text else []
    if all(_ID.fullmatch(part) for part in parts):
        return [int(part) for part in parts]
    raise RowError(row, f"dependencies are '{cell[:40]}', expected task ids such as 1;2")


def named(path: str | Path, said: str) -> str:
    """Begin what is said about a file with its name, unless it does already."""
    return said if said.startswith(str(path)) else f"{path}: {said}"


def sniff(head: bytes) -> bool:
    """Whether the first line names the columns that tasks need."""
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    names = {name.strip(b'\r "\t') for name in line.split(b",")}
    return bool(names & {b"size", b"task_size"}) and {b"compute_intensity", b"memory_required"} <= names


def _imported(path: Path, _: Sequence[Path]) -> Imported:
    tasks = read(path)
    return Imported(tasks, len(tasks))


FORMAT = Format("csv", "our own table of tasks as text", MAPPING, sniff, _imported)
