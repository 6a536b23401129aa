"""Tasks as CSV: one line a task, the columns of the project's guide.

`size` (or `task_size`), `compute_intensity`, `memory_required` must be there; `task_id`, `arrival_time`,
`duration_estimate`, `dependencies` (ids, as `1;2` or `[1, 2]`) and measured `time_<class>` columns may.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.model.tasks import Edges, Floats, Tasks, edges_from_ids

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("size", "compute_intensity", "memory_required")
OPTIONAL = ("task_id", "arrival_time", "duration_estimate", "dependencies")
MEASURED = "time_"
_IDS = re.compile(r"\s*\[?\s*(-?\d+(?:\s*[;,\s]\s*-?\d+)*)?\s*\]?\s*")


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
    frame = _table(Path(path))
    try:
        return from_frame(frame)
    except RowError as error:
        raise InputError(f"{path} line {error.row + 2}: {error.reason}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def from_frame(frame: pd.DataFrame) -> Tasks:
    """Turn a table with the columns of the file into tasks."""
    if "size" not in frame and "task_size" in frame:
        frame = frame.rename(columns={"task_size": "size"})
    for name in REQUIRED:
        if name not in frame:
            raise InputError(
                f"column '{name}' is missing, found {', '.join(map(str, frame.columns))}: "
                f"needed are {', '.join(REQUIRED)}"
            )
    if len(frame) == 0:
        raise InputError("there are no tasks, only a header: add a line for every task")
    columns = {
        name: _numbers(frame, name) for name in (*REQUIRED, "arrival_time", "duration_estimate") if name in frame
    }
    ids = _ids(frame) if "task_id" in frame else np.arange(len(frame))
    measured = {
        name.removeprefix(MEASURED): _numbers(frame, name) for name in frame.columns if str(name).startswith(MEASURED)
    }
    return Tasks.build(**columns, task_id=ids, edges=_edges(frame, ids), measured=measured)


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        # Blank lines are kept so that a row's number is its line; round_trip gives back the bits that were written.
        return pd.read_csv(path, skip_blank_lines=False, float_precision="round_trip", skipinitialspace=True)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: check the path, or make one with hms generate") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty: it needs a header line and a line for every task") from None
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        where = f" line {found[2]} has {found[3]} fields, expected {found[1]}" if found else " is no CSV table"
        raise InputError(f"{path}{where}: correct that line") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path") from None


def _numbers(frame: pd.DataFrame, name: str) -> Floats:
    import pandas as pd

    column = frame[name]
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    bad = np.isnan(numbers) & column.notna().to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        raise RowError(row, f"{name} is '{column.iloc[row]}', expected a number: correct or drop this row")
    return numbers


def _ids(frame: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    numbers = _numbers(frame, "task_id")
    whole = np.isfinite(numbers) & (np.abs(numbers) < 2**53) & (numbers == np.floor(numbers))
    if not whole.all():
        row = int(np.argmin(whole))
        raise RowError(row, f"task_id is '{frame['task_id'].iloc[row]}', expected a whole number")
    return numbers.astype(np.int64)


def _edges(frame: pd.DataFrame, ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Edges | None:
    if "dependencies" not in frame or frame["dependencies"].isna().all():
        return None
    parents = []
    for row, cell in enumerate(frame["dependencies"].astype("string").fillna("").tolist()):
        text = cell.removesuffix(".0")  # a column of single ids and blanks is read as floats
        match = _IDS.fullmatch(text)
        if match is None:
            raise RowError(row, f"dependencies are '{cell}', expected task ids such as 1;2")
        parents.append([int(number) for number in re.findall(r"-?\d+", match[1] or "")])
    return edges_from_ids(ids.tolist(), parents)
