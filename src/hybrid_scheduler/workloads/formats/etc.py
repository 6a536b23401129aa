"""ETC matrices (Braun et al. 2001): the expected time to compute every task on every machine, as plain numbers.

A first line `tasks machines` may tell the shape; else a line is a row, or 16 lines of one number are. Numbers stand
between blanks or commas; with commas a first line may name the machines (`job,m1,m2`) and the first column the jobs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, Cluster, Node
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import tables, unpack
from hybrid_scheduler.workloads.formats.columns import mean_finite
from hybrid_scheduler.workloads.formats.reader import ASSUMED, MEASURED, Format, Imported, Mapped

MACHINES = 16
"""Machines of a file of one number a line without a first line that says how many: Braun's files have 16."""
MAX_MACHINES = 4096
SWF_FIELDS = 18  # fields of a job in the Standard Workload Format, which is made of numbers too
_NUMBERED = re.compile(rb"[A-Za-z_ ]*[0-9]+")  # the name of a machine, such as m1 or Machine 1
_GAP = re.compile(rb"(?:^|,)[ \t]*,", re.MULTILINE)
OVERHEAD = 6.0  # bytes of memory for every byte of the text: it is copied, and a number may have two letters

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
    """Whether the first lines hold nothing but numbers between blanks or commas, and no jobs of SWF."""
    full, _, _ = head.rpartition(b"\n")  # the last line may be cut off
    lines = [line.split() for line in _separate_by_blanks(full).split(b"\n")[:20] if line.strip()]
    numbers = [tables.parse_number(cell) for line in lines for cell in line]
    return len(lines) > 1 and len(lines[0]) != SWF_FIELDS and not any(map(math.isnan, numbers))


def _read(path: Path, _: Sequence[Path]) -> Imported:
    content = unpack.read_bytes(path, OVERHEAD)
    if b"," in content:
        if gap := _GAP.search(content):
            line = content.count(b"\n", 0, gap.end()) + 1
            raise InputError(
                f"{path} line {line}: there is no number between two commas: write inf for a machine that cannot"
            )
        content = _separate_by_blanks(content)
    try:
        machines, numbers = _read_fast(path, content)
    except tables.NotPlainError:  # lines of different lengths, or something that is no number
        machines, numbers = _read_slowly(path, unpack.decode(path, content, unpack.CELLS))
    if machines > MAX_MACHINES:
        raise InputError(f"{path}: there are {machines} machines, expected at most {MAX_MACHINES}")
    times = numbers.reshape(-1, machines)
    count = len(times)
    digits = max(2, len(str(machines - 1)))
    names = [f"m{number:0{digits}}" for number in range(machines)]
    try:
        tasks = Tasks.build(
            size=np.ones(count),
            compute_intensity=np.full(count, 0.5),
            memory_required=np.zeros(count),
            duration_estimate=mean_finite(times),
            measured={name: times[:, column] for column, name in enumerate(names)},
        )
    except RowError as error:
        raise InputError(f"{path}: task {error.row + 1}: {error.reason}") from None
    classes = tuple(replace(DEFAULT_CPU, name=name) for name in names)
    return Imported(tasks, count, cluster=Cluster(classes, tuple(Node({name: 1}) for name in names), math.inf))


def _separate_by_blanks(content: bytes) -> bytes:
    """Return numbers between blanks where they stand between commas, without the names of machines and jobs."""
    first, _, below = content.removeprefix(unpack.BYTE_ORDER_MARK).partition(b"\n")
    if b"," not in first:
        return content
    names = [name.strip(b' "\r') for name in first.split(b",")]
    machines = names[1:] if not _NUMBERED.fullmatch(names[0]) else names
    if not all(map(_NUMBERED.fullmatch, machines)) or all(
        not math.isnan(tables.parse_number(name)) for name in names
    ):
        return content.replace(b",", b" ")
    if machines is not names:
        below = b"\n".join(line.partition(b",")[2] for line in below.split(b"\n"))
    return below.replace(b",", b" ")


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
            rows[line] = [tables.parse_number(cell) for cell in cells]
            wrong = next((cell for cell, number in zip(cells, rows[line], strict=True) if math.isnan(number)), None)
            if wrong is not None:
                raise InputError(f"{path} line {line}: '{tables.shorten(wrong)}' is no number: correct it")
    if not rows:
        raise InputError(f"{path}: there are no numbers: give one row for each task")
    first, *below = rows.values()
    machines = _parse_shape(first, sum(map(len, below)))
    numbers = np.array([number for row in (below if machines else rows.values()) for number in row], np.float64)
    if machines:
        return machines, numbers
    for line, row in rows.items():
        if len(row) != len(first):
            raise InputError(
                f"{path} line {line}: there are {len(row)} numbers, expected {len(first)} as in the first line"
            )
    return len(first) if len(first) > 1 else _assume_machines(path, len(rows)), numbers


def _parse_shape(first: list[float], count: int) -> int:
    """Return the machines of a first line `tasks machines`, 0 if the `count` numbers below it do not fit it."""
    if len(first) != 2 or not all(each.is_integer() and each > 0 for each in first):
        return 0
    tasks, machines = first
    return int(machines) if count == tasks * machines else 0


def _assume_machines(path: Path, count: int) -> int:
    if count % MACHINES:
        raise InputError(
            f"{path}: {count} numbers are no rows of {MACHINES} machines: begin with a line 'tasks machines'"
        )
    return MACHINES


FORMAT = Format("etc", "ETC matrices: a time of every task on every machine", MAPPING, sniff, _read)
