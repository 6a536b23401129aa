"""ETC matrices (Braun et al. 2001): the expected time to compute every task on every machine, as plain numbers.

A first line `tasks machines` may tell the shape; else a line is a row, or 16 lines of one number are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, Cluster, Node
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import tables, unpack
from hybrid_scheduler.workloads.formats.reader import ASSUMED, MEASURED, Format, Imported, Mapped

MACHINES = 16
"""Machines of a file of one number a line without a first line that says how many: Braun's files have 16."""
MAX_MACHINES = 4096
SWF_FIELDS = 18
"""Fields of a job in the Standard Workload Format, which is made of numbers too."""
OVERHEAD = 6.0
"""Bytes of memory for every byte of the text: it is copied, and a number may have two letters."""

MAPPING = (
    Mapped("row i, column m", "time_m00, time_m01 …", MEASURED, "seconds, synthetic: not measured; or `inf`"),
    Mapped("first line `tasks machines`", "tasks, device classes", MEASURED, "may be missing"),
    Mapped("numbers of a line", "device classes", MEASURED, "one for each machine, if there are several"),
    Mapped("", "device classes", ASSUMED, "16 machines if a line has one number and no first line tells"),
    Mapped("", "cluster", ASSUMED, "a node for each machine with one device; data moves in no time"),
    Mapped("", "duration_estimate", ASSUMED, "mean of the row over the machines that can run it"),
    Mapped("", "size, compute_intensity, memory_required, arrival_time", ASSUMED, "1, 0.5, 0 and 0: not in the file"),
)


def sniff(head: bytes) -> bool:
    """Whether the first lines hold nothing but numbers between blanks, and no jobs of SWF."""
    lines = [line.split() for line in head.split(b"\n")[:-1][:20] if line.strip()]  # the last may be cut off
    if len(lines) < 2 or any(math.isnan(tables.parse_number(cell)) for line in lines for cell in line):
        return False
    return len(lines[0]) != SWF_FIELDS


def _read(path: Path, _: Sequence[Path]) -> Imported:
    times = _read_matrix(path)
    count, machines = times.shape
    digits = max(2, len(str(machines - 1)))
    names = [f"m{number:0{digits}}" for number in range(machines)]
    try:
        tasks = Tasks.build(
            size=np.ones(count),
            compute_intensity=np.full(count, 0.5),
            memory_required=np.zeros(count),
            duration_estimate=_mean_times(times),
            measured={name: times[:, column] for column, name in enumerate(names)},
        )
    except RowError as error:
        raise InputError(f"{path}: task {error.row + 1}: {error.reason}") from None
    classes = tuple(replace(DEFAULT_CPU, name=name) for name in names)
    return Imported(tasks, count, cluster=Cluster(classes, tuple(Node({name: 1}) for name in names), math.inf))


def _mean_times(times: Floats) -> Floats:
    """Return the mean of every row over the machines that can run it."""
    runs = np.isfinite(times)
    with np.errstate(over="ignore"):  # invalid columns are refused when tasks are built
        known = times if runs.all() else np.where(runs, times, 0.0)
        mean: Floats = known.sum(axis=1) / np.maximum(runs.sum(axis=1), 1)
    return mean


def _read_matrix(path: Path) -> Floats:
    content = unpack.read_bytes(path, OVERHEAD)
    try:
        machines, numbers = _read_fast(path, content)
    except tables.NotPlainError:  # lines of different lengths, or something that is no number
        machines, numbers = _read_slowly(path, unpack.decode(path, content, unpack.CELLS))
    if machines > MAX_MACHINES:
        raise InputError(f"{path}: there are {machines} machines, expected at most {MAX_MACHINES}")
    return numbers.reshape(-1, machines)


def _read_fast(path: Path, content: bytes) -> tuple[int, Floats]:
    """Return the number of machines and all numbers; every line but the first must hold as many."""
    lines = tables.collapse_blanks(content)
    if b"\r" in lines:
        raise tables.NotPlainError
    first, _, below = lines.partition(b"\n")
    if first.count(b" ") == 1 != below.partition(b"\n")[0].count(b" "):
        table = _parse_lines(below)
        machines = _parse_shape(_parse_lines(first)[0].tolist(), table.size)
        if not machines:
            raise tables.NotPlainError
        return machines, table.ravel()
    table = _parse_lines(lines)
    machines = _parse_shape(table[0].tolist(), table.size - table.shape[1])
    numbers = table[1 if machines else 0 :].ravel()
    machines = machines or table.shape[1]
    return machines if machines > 1 else _assume_machines(path, len(numbers)), numbers


def _parse_lines(lines: bytes) -> Floats:
    width = lines.partition(b"\n")[0].count(b" ") + 1
    if width > MAX_MACHINES:
        raise tables.NotPlainError
    names = [f"{place}" for place in range(width)]
    found = tables.make_converter(names, dict.fromkeys(names, tables.NUMBER), " ", empty_lines=True)(lines)
    table = np.column_stack([found[name] for name in names])
    if np.isnan(table).any():
        raise tables.NotPlainError
    return table


def _read_slowly(path: Path, content: str) -> tuple[int, Floats]:
    """Read line by line, and find the first line that is wrong."""
    rows: dict[int, list[float]] = {}
    for line, text in enumerate(content.split("\n"), 1):
        if cells := text.split():
            rows[line] = [_parse_number(path, line, cell) for cell in cells]
    if not rows:
        raise InputError(f"{path}: there are no numbers: give one row for each task")
    first, *below = rows.values()
    machines = _parse_shape(first, sum(map(len, below)))
    numbers = np.array([number for row in (below if machines else rows.values()) for number in row], np.float64)
    return machines or _count_machines(path, rows), numbers


def _parse_number(path: Path, line: int, cell: str) -> float:
    number = tables.parse_number(cell)
    if math.isnan(number):
        raise InputError(f"{path} line {line}: '{tables.shorten(cell)}' is no number: correct it")
    return number


def _parse_shape(first: list[float], count: int) -> int:
    """Return the machines of a first line `tasks machines`, 0 if the `count` numbers below it do not fit it."""
    if len(first) != 2 or not all(each.is_integer() and each > 0 for each in first):
        return 0
    tasks, machines = first
    return int(machines) if count == tasks * machines else 0


def _count_machines(path: Path, rows: dict[int, list[float]]) -> int:
    """Return how many numbers the first line holds; a line that holds more or fewer is refused."""
    width = len(next(iter(rows.values())))
    for line, row in rows.items():
        if len(row) != width:
            raise InputError(
                f"{path} line {line}: there are {len(row)} numbers, expected {width} as in the first line"
            )
    return width if width > 1 else _assume_machines(path, len(rows))


def _assume_machines(path: Path, count: int) -> int:
    if count % MACHINES:
        raise InputError(
            f"{path}: {count} numbers are no rows of {MACHINES} machines: begin with a line 'tasks machines'"
        )
    return MACHINES


FORMAT = Format("etc", "ETC matrices: a time of every task on every machine", MAPPING, sniff, _read)
