"""The jobs of Gavel's traces as columns: fields with tabs between them, a line each, in one of three layouts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Floats
from hybrid_scheduler.workload.formats import opening
from hybrid_scheduler.workload.formats.careful import NUMBER, TEXT, Block
from hybrid_scheduler.workload.formats.documents import CELLS, shown
from hybrid_scheduler.workload.formats.table import (
    DoubtError,
    converter,
    gathered,
    reading,
    require_few,
    require_text,
    whole_lines,
)
from hybrid_scheduler.workload.formats.words import Words, words_of

COMMON = ("job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps")
LAYOUTS = {
    7: (*COMMON, "arrival_time", "scale_factor"),
    9: (*COMMON, "scale_factor", "priority_weight", "SLO", "arrival_time"),
    10: (
        "job_type",
        "command",
        "working_directory",
        *COMMON[2:],
        "scale_factor",
        "priority_weight",
        "SLO",
        "arrival_time",
    ),
}
"""Columns of a trace by their number: three generations of Gavel."""
MOST = 1e15
NOTHING = ": there are no jobs: give a line for each"
LEAST = {"total_steps": 1.0, "scale_factor": 1.0, "arrival_time": 0.0}
"""Columns of numbers, and the smallest that each may hold."""
WANTED = {"job_type": TEXT, **dict.fromkeys(LEAST, NUMBER)}


@dataclass(frozen=True)
class Jobs:
    """The columns of a trace that matter."""

    kind: Words  # the types of the jobs
    steps: Floats
    scale: Floats
    arrival: Floats

    def __len__(self) -> int:
        return len(self.steps)


def read_jobs(path: Path) -> Jobs:
    """Read a trace; an error names the file and the line."""
    try:
        columns = _plain(path)
    except DoubtError:
        columns = _careful(path)
    return Jobs(words_of(columns["job_type"]), *(columns[name] for name in LEAST))


def _plain(path: Path) -> Block:
    with reading(path):
        columns = gathered(path, _fast(path), NOTHING)
    if not all(_is_good(name, columns[name]).all() for name in LEAST):
        raise DoubtError
    return columns


def _is_good(name: str, column: Floats) -> Any:
    return (column >= LEAST[name]) & (column < MOST)


def _fast(path: Path) -> Iterator[Block]:
    convert = None
    with opening.opened(path) as file:
        for block in whole_lines(file):
            require_text(block)
            if convert is None:
                first, block = _first_line(block.removeprefix(b"\xef\xbb\xbf"))  # a mark of UTF-8 is no text
                convert = converter(list(_layout(first)), WANTED, "\t", empty_lines=True)
            yield convert(block)


def _first_line(block: bytes) -> tuple[str, bytes]:
    """Return the first line that is not empty, and the lines from there on."""
    block = block.lstrip(b"\r\n")
    line = block.partition(b"\n")[0].decode()
    if not line.strip():
        raise DoubtError
    return line, block


def _layout(line: str) -> tuple[str, ...]:
    return LAYOUTS.get(line.count("\t") + 1, LAYOUTS[10])


def _careful(path: Path) -> Block:
    """Read line by line what is not plain, and find the first line that is no job."""
    lines = [
        (line, content) for line, content in enumerate(opening.text(path, CELLS).split("\n"), 1) if content.strip()
    ]
    if not lines:
        raise InputError(f"{path}{NOTHING}")
    require_few(path, len(lines))
    layout = _layout(lines[0][1])
    rows = [content.split("\t") for _, content in lines]
    for (line, _), cells in zip(lines, rows, strict=True):
        if len(cells) != len(layout):
            raise InputError(f"{path} line {line}: there are {len(cells)} fields, expected {len(layout)}: correct it")
    columns = dict(zip(layout, zip(*rows, strict=True), strict=True))
    found: Block = {"job_type": columns["job_type"]}
    for name, least in LEAST.items():
        found[name] = np.array([_number(cell) for cell in columns[name]])
        good = _is_good(name, found[name])
        if not good.all():
            row = int(np.argmin(good))
            said = f"{name} is '{shown(columns[name][row])}', expected a number from {least:g} on"
            raise InputError(f"{path} line {lines[row][0]}: {said}")
    return found


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
