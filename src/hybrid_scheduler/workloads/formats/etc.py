"""ETC matrices (Braun et al. 2001): expected times to compute of every task on every machine, as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.cluster import DEFAULT_CPU, Cluster, Node
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import unpack
from hybrid_scheduler.workloads.formats.checked import NUMBER
from hybrid_scheduler.workloads.formats.documents import CELLS, named, shown
from hybrid_scheduler.workloads.formats.format import ASSUMED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.table import DoubtError, converter, single_blanks

MACHINES = 16
"""Machines of a file of one number a line without a first line that says how many: Braun's files have 16."""
MOST_MACHINES = 4096
SWF_FIELDS = 18
"""Fields of a job in the Standard Workload Format, which is made of numbers too."""
NUMBERS = 6.0
"""Bytes of memory for every byte of the text: it is copied, and a number may have two letters."""
Matrix = npt.NDArray[np.float64]

MAPPING = (
    Mapped(
        "row i, column m",
        "time_m00, time_m01 …",
        MEASURED,
        "seconds; figures of a synthetic benchmark as they are: nobody measured them; `inf`: cannot run there",
    ),
    Mapped("first line `tasks machines`", "tasks, device classes", MEASURED, "may be missing"),
    Mapped("numbers of a line", "device classes", MEASURED, "one each machine, if there are several"),
    Mapped(
        "", "device classes", ASSUMED, "16 machines if there is one number a line and no first line, as in Braun's"
    ),
    Mapped("", "cluster", ASSUMED, "a node for each machine with one device of its class; data moves in no time"),
    Mapped("", "duration_estimate", ASSUMED, "mean of the row over the machines that can run it"),
    Mapped("", "size, compute_intensity, memory_required, arrival_time", ASSUMED, "1, 0.5, 0 and 0: not in the file"),
)


def _read(path: Path, _: Sequence[Path]) -> Imported:
    times = _matrix(path)
    names = class_names(times.shape[1])
    count = len(times)
    try:
        tasks = Tasks.build(
            size=np.ones(count),
            compute_intensity=np.full(count, 0.5),
            memory_required=np.zeros(count),
            duration_estimate=_mean(times),
            measured={name: times[:, column] for column, name in enumerate(names)},
        )
    except RowError as error:
        raise named(error, path, f"task {error.row + 1}") from None
    classes = tuple(replace(DEFAULT_CPU, name=name) for name in names)
    return Imported(tasks, count, cluster=Cluster(classes, tuple(Node({name: 1}) for name in names), math.inf))


def _mean(times: Matrix) -> Matrix:
    """Mean of every row over the machines that can run it."""
    runs = np.isfinite(times)
    with np.errstate(over="ignore"):  # what cannot be used is found by the check of the columns
        known = times if runs.all() else np.where(runs, times, 0.0)
        mean: Matrix = known.sum(axis=1) / np.maximum(runs.sum(axis=1), 1)
    return mean


def class_names(machines: int) -> list[str]:
    """Return the names of the machines' classes: m00, m01 and so on."""
    width = max(2, len(str(machines - 1)))
    return [f"m{number:0{width}}" for number in range(machines)]


def _matrix(path: Path) -> Matrix:
    content = unpack.whole(path, NUMBERS)
    try:
        machines, flat = _plain(path, content)
    except DoubtError:  # lines of different lengths, or something that is no number: looked at line by line
        machines, flat = _careful(path, unpack.decoded(path, content, CELLS))
    if machines > MOST_MACHINES:
        raise InputError(f"{path}: there are {machines} machines, expected at most {MOST_MACHINES}")
    return flat.reshape(-1, machines)


def _plain(path: Path, content: bytes) -> tuple[int, Matrix]:
    """Return the machines and all numbers, read at once; doubted unless every line but the first holds as many."""
    lines = single_blanks(content)
    if b"\r" in lines:
        raise DoubtError
    first, _, below = lines.partition(b"\n")
    if first.count(b" ") == 1 != below.partition(b"\n")[0].count(b" "):
        table = _table(below)
        machines = _told(_table(first)[0].tolist(), table.size)
        if not machines:
            raise DoubtError
        return machines, table.ravel()
    table = _table(lines)
    machines = _told(table[0].tolist(), table.size - table.shape[1])
    flat = table[1 if machines else 0 :].ravel()
    machines = machines or table.shape[1]
    return machines if machines > 1 else _sixteen(path, len(flat)), flat


def _table(lines: bytes) -> Matrix:
    """Read numbers with a blank between them; doubted unless every line holds as many."""
    wide = lines.partition(b"\n")[0].count(b" ") + 1
    if wide > MOST_MACHINES:
        raise DoubtError
    names = [f"{place}" for place in range(wide)]
    found = converter(names, dict.fromkeys(names, NUMBER), " ", empty_lines=True)(lines)
    table = np.column_stack([found[name] for name in names])
    if np.isnan(table).any():
        raise DoubtError
    return table


def _careful(path: Path, content: str) -> tuple[int, Matrix]:
    """Read line by line, and find the first line that is wrong."""
    lines, rows = _numbers(path, content)
    machines = _told(rows[0], sum(map(len, rows[1:])))
    flat = np.array([number for row in rows[1 if machines else 0 :] for number in row], np.float64)
    return machines or _laid_out(path, lines, rows), flat


def _numbers(path: Path, content: str) -> tuple[list[int], list[list[float]]]:
    lines, rows = [], []
    for line, cells in enumerate(content.split("\n"), 1):
        if cells.strip():
            lines.append(line)
            rows.append([_number(path, line, cell) for cell in cells.split()])
    if not rows:
        raise InputError(f"{path}: there are no numbers: give one row for each task")
    return lines, rows


def _number(path: Path, line: int, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise InputError(f"{path} line {line}: '{shown(cell)}' is no number: correct it")
    return number


def _told(first: list[float], count: int) -> int:
    """Return the number of machines that a first line tells of the `count` numbers below it, 0 if it tells none."""
    if len(first) != 2 or not all(each.is_integer() and each > 0 for each in first):
        return 0
    tasks, machines = first
    return int(machines) if count == tasks * machines else 0


def _laid_out(path: Path, lines: list[int], rows: list[list[float]]) -> int:
    """Return how many numbers the first line holds; another one that holds more or fewer is refused."""
    width = len(rows[0])
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            raise InputError(
                f"{path} line {line}: there are {len(row)} numbers, expected {width} as in the first line"
            )
    return width if width > 1 else _sixteen(path, len(rows))


def _sixteen(path: Path, count: int) -> int:
    """Take one number a line for rows of 16 machines."""
    if count % MACHINES:
        raise InputError(
            f"{path}: {count} numbers are no rows of {MACHINES} machines: begin with a line 'tasks machines'"
        )
    return MACHINES


def sniff(head: bytes) -> bool:
    """Whether the first lines hold nothing but numbers between blanks, and no jobs of SWF."""
    lines = [line.split() for line in head.split(b"\n")[:-1][:20] if line.strip()]  # the last may be cut off
    if len(lines) < 2 or not all(_is_number(cell) for line in lines for cell in line):
        return False
    return len(lines[0]) != SWF_FIELDS


def _is_number(cell: bytes) -> bool:
    try:
        return not math.isnan(float(cell))
    except ValueError:
        return False


FORMAT = Format("etc", "ETC matrices: a time of every task on every machine", MAPPING, sniff, _read)
