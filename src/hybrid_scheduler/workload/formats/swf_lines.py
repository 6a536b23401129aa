"""The lines of the Standard Workload Format as columns: numbers with blanks between them, comments after `;`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Floats
from hybrid_scheduler.workload.formats.careful import NUMBER, Block
from hybrid_scheduler.workload.formats.opening import opened
from hybrid_scheduler.workload.formats.table import (
    DoubtError,
    converter,
    gathered,
    reading,
    single_blanks,
    whole_lines,
)

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
