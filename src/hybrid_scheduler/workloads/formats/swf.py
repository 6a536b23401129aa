"""The lines of the Standard Workload Format as columns: numbers with blanks between them, comments after `;`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, MOST_NODES, Cluster, Node
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats.checked import NUMBER, Block
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.table import (
    DoubtError,
    Sieve,
    converter,
    from_first,
    gathered,
    reading,
    require,
    single_blanks,
    whole_lines,
)
from hybrid_scheduler.workloads.formats.unpack import head, opened

FIELDS = (
    "job",
    "submit",
    "wait",
    "run_time",
    "processors",
    "cpu_time",
    "used_memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "program",
    "queue",
    "partition",
    "preceding",
    "think_time",
)
USED = (*(FIELDS[place] for place in (0, 1, 3, 4, 6)), *FIELDS[7:11])
ROWS_AT_ONCE = 20_000
NOTHING = " has no jobs, only comments: add a line for every job"


def read_fields(path: Path) -> dict[str, Floats]:
    """Return the columns that matter; an error names the file and the line."""
    with reading(path):
        try:
            return gathered(path, _fast(path), NOTHING)
        except DoubtError:
            return gathered(path, _careful(path), NOTHING)


def _fast(path: Path) -> Iterator[Block]:
    convert = converter(list(FIELDS), dict.fromkeys(USED, NUMBER), " ", empty_lines=True)
    with opened(path) as file:
        for block in whole_lines(file):
            if plain := _data(block):
                yield convert(plain)


def _data(block: bytes) -> bytes:
    while block.startswith(b";"):  # the usual place of comments: no line below them is looked at
        block = block.partition(b"\n")[2]
    if b";" in block:
        block = b"\n".join(data_lines(block.split(b"\n"))) + b"\n"
    if not block.isascii() or b"n" in block or b"N" in block:
        raise DoubtError  # Arrow knows words for what is no number
    return single_blanks(block)


def data_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Leave out comments and empty lines."""
    return (line for line in lines if line.strip() and not line.lstrip().startswith(b";"))


def _careful(path: Path) -> Iterator[Block]:
    with opened(path) as file:
        rows = _rows(path, file)
        while block := list(islice(rows, ROWS_AT_ONCE)):
            columns = np.array(block).T.copy()
            found = dict(zip(FIELDS, columns, strict=True))
            yield {name: found[name] for name in USED}


def _rows(path: Path, file: Iterable[bytes]) -> Iterator[list[float]]:
    for number, line in enumerate(file, 1):
        cells = line.split()
        if not cells or cells[0].startswith(b";"):
            continue
        if len(cells) != len(FIELDS):
            raise InputError(
                f"{path} line {number}: there are {len(cells)} fields, expected {len(FIELDS)}: correct this line"
            )
        yield [_number(path, number, cell) for cell in cells]


def _number(path: Path, line: int, cell: bytes) -> float:
    try:
        found = float(cell)
    except ValueError:
        found = np.nan
    if np.isnan(found):
        shown = cell[:40].decode("utf-8", "replace")
        raise InputError(f"{path} line {line}: '{shown}' is no number: write -1 for what is not known")
    return found


def line_of(path: Path, row: int) -> int:
    """Return the line at which a job stands."""
    with opened(path) as file:
        numbers = (
            number for number, line in enumerate(file, 1) if line.strip() and not line.lstrip().startswith(b";")
        )
        return next(islice(numbers, row, None))


FAILED, PARTS, CANCELLED = 0, (2, 3, 4), 5
KB_PER_MB = 1024.0
MAPPING = (
    Mapped("1 job", "task_id", MEASURED),
    Mapped("2 submit", "arrival_time", MEASURED, "seconds, counted from the first job that is kept"),
    Mapped("4 run time, 5 processors", "time_cpu", ASSUMED, "run time · processors / processors of a device"),
    Mapped(
        "9 requested time", "expected_cpu", ASSUMED, "reckoned like time_cpu; policies are told this if it is known"
    ),
    Mapped(
        "7 used memory", "memory_required", MEASURED, "KB a processor · processors / 1024; else 10 requested; else 0"
    ),
    Mapped("8 requested processors", "size", ASSUMED, "processors asked for, or used: no duration is in it"),
    Mapped("8, 9, 10", "feature_…", MEASURED, "requested processors, seconds and KB: known before the job runs"),
    Mapped("11 status", "", IGNORED, "0 failed, 5 cancelled, 2–4 parts of a job: skipped; all others are tasks"),
    Mapped("; MaxProcs, MaxNodes", "cluster", MEASURED, "a CPU device per node, or per processor without MaxNodes"),
    Mapped(
        "", "one task a job", ASSUMED, "a wide job is stretched on one device: its work is kept, its width is lost"
    ),
    Mapped("", "compute_intensity", ASSUMED, "0, and no GPU can run it: the log knows no GPUs"),
    Mapped("3, 6, 12–16", "", IGNORED, "wait, CPU time, user, group, program, queue, partition"),
    Mapped("17, 18", "", IGNORED, "preceding job and think time: the submit time has waited for them already"),
)
_HEADER = re.compile(rb"^;\s*(MaxProcs|MaxNodes)\s*:\s*([0-9]{1,9})\b", re.MULTILINE)
_NUMBER = re.compile(rb"[-+]?[0-9]*\.?[0-9]+")


def sniff(first: bytes) -> bool:
    """Whether the first line that is no comment holds 18 numbers."""
    line = next(data_lines(first.split(b"\n")), b"").split()
    if line:
        return len(line) == len(FIELDS) and all(_NUMBER.fullmatch(each) for each in line)
    return first.startswith(b";") and _HEADER.search(first) is not None


def _read(path: Path, _: Sequence[Path]) -> Imported:
    fields = read_fields(path)
    machine = {name.decode(): int(count) for name, count in _HEADER.findall(head(path))}
    with _explained(path):
        _check(fields)
        sieve = Sieve(len(fields["job"]))
        _sort_out(fields, sieve)
        rows = sieve.rows
    cluster, wide = _cluster(machine)
    with _explained(path, rows):
        tasks = _tasks({name: column[rows] for name, column in fields.items()}, wide)
    return Imported(tasks, len(fields["job"]), sieve.skipped, cluster)


@contextmanager
def _explained(path: Path, rows: Ints | None = None) -> Iterator[None]:
    """Turn what is wrong with a row, or with one of those that were kept, into what is wrong with a line."""
    try:
        yield
    except RowError as error:
        row = error.row if rows is None else int(rows[error.row])
        raise InputError(f"{path} line {line_of(path, row)}: {error.reason}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _check(fields: Mapping[str, Floats]) -> None:
    job = fields["job"]
    require("job", job, (np.floor(job) == job) & (np.abs(job) < 2**53), "a whole number")
    for name in ("submit", "run_time", "processors", "used_memory"):
        column = fields[name]
        require(name, column, ((column >= 0) & (column < np.inf)) | (column == -1), "0 or more, or -1 for unknown")


def _sort_out(fields: Mapping[str, Floats], sieve: Sieve) -> None:
    status, seconds = fields["status"], fields["run_time"]
    sieve.skip(np.isin(status, PARTS), "part of a job that has a line of its own")
    sieve.skip(status == FAILED, "failed")
    sieve.skip(status == CANCELLED, "cancelled")
    sieve.skip(fields["submit"] < 0, "submit time not known")
    sieve.skip(seconds < 0, "run time not known")
    sieve.skip(seconds == 0, "ran for 0 s")
    sieve.skip(_processors(fields) <= 0, "processors not known")


def _processors(fields: Mapping[str, Floats]) -> Floats:
    given, asked = fields["processors"], fields["requested_processors"]
    return np.where(given > 0, given, np.where(np.isfinite(asked), asked, 0.0))


def _cluster(machine: Mapping[str, int]) -> tuple[Cluster | None, float]:
    """Return the machine of the header, and how many processors one of its devices has."""
    processors = machine.get("MaxProcs") or machine.get("MaxNodes") or 0
    nodes = machine.get("MaxNodes") or processors
    if not 0 < nodes <= MOST_NODES:
        return None, 1.0
    return Cluster((DEFAULT_CPU,), (Node({"cpu": 1}),) * nodes), max(processors / nodes, 1.0)


def _tasks(kept: Mapping[str, Floats], wide: float) -> Tasks:
    processors = _processors(kept)
    work = kept["run_time"] * processors / wide
    asked = {name: _known(kept[f"requested_{name}"]) for name in ("processors", "time", "memory")}
    each = np.where(kept["used_memory"] > 0, kept["used_memory"], np.nan_to_num(asked["memory"]))
    size = np.where(np.isnan(asked["processors"]), processors, asked["processors"])
    return Tasks.build(
        size=size,
        compute_intensity=np.zeros(len(work)),
        memory_required=each * processors / KB_PER_MB,
        arrival_time=from_first(kept["submit"]),
        task_id=kept["job"].astype(np.int64),
        duration_estimate=work,
        measured={"cpu": work, "gpu": np.full(len(work), np.inf)},
        expected={"cpu": asked["time"] * processors / wide},
        features={f"requested_{name}": column for name, column in asked.items()},
    )


def _known(column: Floats) -> Floats:
    """Return what is above 0; the rest is not known."""
    return np.where((column > 0) & (column < np.inf), column, np.nan)


FORMAT = Format("swf", "Standard Workload Format: logs of parallel machines", MAPPING, sniff, _read)
