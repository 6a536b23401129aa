"""Documents that are read in one piece, JSON or a table with a header: what is wrong is told with file and line."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import unpack
from hybrid_scheduler.workloads.formats.checked import NUMBER, TEXT
from hybrid_scheduler.workloads.formats.table import DoubtError, Words, read_plain, require_few, words_of

FLOAT = 4
"""Bytes of a number, for sizes: N is the edge of a square matrix of such numbers with as many bytes."""
OBJECTS, CELLS = 5.0, 15.0
"""Bytes of memory for every byte of a JSON document, and of a table whose cells all are Python's strings."""
NO_ROWS = ": there are no rows, only a header: add some"


def edge_of(traffic: Floats) -> Floats:
    """Return the edge of a square matrix of so many bytes, at least 1: a size for work known by its bytes alone."""
    edge: Floats = np.maximum(1.0, np.sqrt(traffic / FLOAT))
    return edge


def json_document(path: Path) -> Any:
    """Return what a JSON file holds."""
    content = unpack.text(path, OBJECTS)
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} line {error.lineno} is no valid JSON ({error.msg.lower()}): it may be cut off, fetch it again"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is no JSON that can be read (a number or its depth is too great)") from None


@dataclass(frozen=True)
class Sheet:
    """A table: columns as numbers or as text, and the line at which each row begins."""

    path: Path
    columns: Mapping[str, Any]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)

    def refusal(self, row: int, said: str) -> InputError:
        """Build the error about a row."""
        return InputError(f"{self.path} line {self.lines[row]}: {said}")

    def numbers(self, name: str) -> Floats:
        """Return a column as finite numbers."""
        cells = self.columns[name]
        if isinstance(cells, np.ndarray):  # known to be finite since the table was read
            return cells
        try:
            numbers = np.array(list(map(float, cells)))
        except ValueError:
            numbers = np.full(1, math.nan)
        if np.isfinite(numbers).all():
            return numbers
        return np.array([self._number(row, name, cell) for row, cell in enumerate(cells)])

    def words(self, name: str) -> Words:
        """Return a column of text as words."""
        return words_of(self.columns[name], strip=True)

    def _number(self, row: int, name: str, cell: str) -> float:
        try:
            number = float(cell)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.refusal(row, f"{name} is '{shown(cell)}', expected a number: correct or drop this line")
        return number


def shown(cell: str) -> str:
    """Return the beginning of a cell on one line."""
    return " ".join(cell[:40].split())


def sheet(path: Path, needed: tuple[str, ...], is_number: Callable[[str], bool] = bool) -> Sheet:
    """Read a table separated by commas; a missing column or a line of another length is refused.

    Columns of numbers are read as such at once while all is plain; else every cell is text until it is asked for.
    """
    try:
        return _plain_sheet(path, needed, is_number)
    except DoubtError:
        return _careful_sheet(path, needed)


def _plain_sheet(path: Path, needed: tuple[str, ...], is_number: Callable[[str], bool]) -> Sheet:
    def kinds(header: list[str]) -> dict[str, str]:
        if not header or _miscounted((*needed, *header), header) is not None:
            raise DoubtError
        return {name: NUMBER if is_number(name) else TEXT for name in header}

    columns = read_plain(path, kinds, NO_ROWS)
    if not all(np.isfinite(each).all() for each in columns.values() if isinstance(each, np.ndarray)):
        raise DoubtError
    return Sheet(path, columns, range(2, len(next(iter(columns.values()))) + 2))


def _miscounted(names: Sequence[str], header: list[str]) -> str | None:
    """Return the first name that is not just once in the header."""
    return next((name for name in names if header.count(name) != 1), None)


def _careful_sheet(path: Path, needed: tuple[str, ...]) -> Sheet:
    """Read a table cell by cell, all of it as text."""
    reader = csv.reader(io.StringIO(unpack.text(path, CELLS), newline=""), strict=True)
    rows, lines = [], []
    try:
        header = [name.strip() for name in next(reader, [])]
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) != len(header):
                raise InputError(f"{path} line {line}: there are {len(cells)} fields, expected {len(header)}")
            rows.append(cells)
            lines.append(line)
            line = reader.line_num + 1  # a quoted cell may span lines
    except csv.Error as error:
        raise InputError(f"{path} is no CSV table near line {reader.line_num} ({error}): correct it") from None
    wrong = _miscounted((*needed, *header), header)
    if wrong is not None:
        raise InputError(f"{path}: column '{shown(wrong)}' is there {header.count(wrong)} times, expected once")
    if not rows:
        raise InputError(f"{path}{NO_ROWS}")
    require_few(path, len(rows))
    return Sheet(path, dict(zip(header, zip(*rows, strict=True), strict=True)), lines)


def header_of(head: bytes) -> set[bytes]:
    """Return the names in the first line of a table, as its first bytes show it."""
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return {name.strip(b'\r "\t') for name in line.split(b",")}


def named(error: RowError, path: Path, what: str) -> InputError:
    """Turn an error about a row of tasks into one about a thing in a file."""
    return InputError(f"{path}: {what}: {error.reason}")
