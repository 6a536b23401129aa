"""The slow, checked reader of text tables: cell by cell, with the exact line of whatever is wrong.

`table` reads with Arrow and falls back on this reader where a table is not plain enough.
"""

from __future__ import annotations

import csv
import io
import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats.unpack import open_unpacked

NUMBER, FINITE, WHOLE, TEXT = "number", "finite number", "whole number", "text"
"""Types of columns: floats with NaN for empty cells, floats without NaN and infinity, int64, and text."""
ROWS_AT_ONCE = 20_000  # rows held as Python objects, which take ten times the memory of numbers
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")

SelectColumns = Callable[[list[str]], dict[str, str]]
"""Takes the header of a table and returns the type of every wanted column, or refuses the header."""
Block = dict[str, Any]
"""Columns of some rows by name."""


def read_blocks(path: str | Path, select: SelectColumns, lines: array[int]) -> Iterator[Block]:
    """Read a table in blocks of rows; the line at which each row begins is appended to `lines`."""
    try:
        with open_unpacked(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield from _read_blocks(text, select, lines)
    except RowError as error:
        raise InputError(f"{path} line {lines[error.row]}: {error.reason}") from None
    except InputError as error:
        raise InputError(prefix_path(path, str(error))) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text in line {_find_bad_line(path)}: save it as UTF-8") from None
    except csv.Error as error:
        line = lines[-1] if lines else 1
        raise InputError(f"{path} is no CSV table after line {line} ({error}): correct it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from None


def prefix_path(path: str | Path, message: str) -> str:
    """Begin a message about a file with its path, unless it does already."""
    return message if message.startswith(str(path)) else f"{path}: {message}"


def parse_number(cell: str | bytes) -> float:
    """Parse a cell; NaN if it is no number."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _find_bad_line(path: str | Path) -> int:
    with open_unpacked(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return number


def _read_blocks(text: TextIO, select: SelectColumns, lines: array[int]) -> Iterator[Block]:
    reader = csv.reader(text, strict=True, skipinitialspace=True)
    header = [name.strip() for name in next(reader, [])]
    types = select(header)
    places = {name: header.index(name) for name in types}
    rows = _read_rows(reader, len(header), lines)
    while block := list(islice(rows, ROWS_AT_ONCE)):
        first = len(lines) - len(block)
        try:
            yield {name: PARSERS[types[name]](name, [row[at] for row in block]) for name, at in places.items()}
        except RowError as error:
            raise RowError(first + error.row, error.reason) from None


def _read_rows(reader: Any, width: int, lines: array[int]) -> Iterator[list[str]]:
    line = reader.line_num + 1
    for row, cells in enumerate(reader):
        lines.append(line)
        line = reader.line_num + 1  # a quoted cell may span lines
        if len(cells) != width:
            raise RowError(row, f"there are {len(cells)} fields, expected {width}: correct this line")
        yield cells


def _parse_numbers(name: str, cells: Sequence[str]) -> Floats:
    try:
        return np.array([float(cell) if cell else math.nan for cell in cells])
    except ValueError:
        return np.array([_parse_number(row, name, cell) for row, cell in enumerate(cells)])


def _parse_number(row: int, name: str, cell: str) -> float:
    try:
        return float(cell) if cell.strip() and cell != "NA" else math.nan
    except ValueError:
        raise RowError(row, f"{name} is '{cell[:40]}', expected a number: correct or drop this row") from None


def _parse_finite(name: str, cells: Sequence[str]) -> Floats:
    numbers = np.array([parse_number(cell) for cell in cells])
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        raise RowError(row, f"{name} is '{shorten(cells[row])}', expected a number: correct or drop this line")
    return numbers


def shorten(cell: str) -> str:
    """Return the beginning of a cell on one line, for an error."""
    return " ".join(cell[:40].split())


def _parse_whole_numbers(name: str, cells: Sequence[str]) -> Ints:
    return np.array([_parse_whole_number(row, name, cell) for row, cell in enumerate(cells)], np.int64)


def _parse_whole_number(row: int, name: str, cell: str) -> int:
    text = cell.strip().removesuffix(".0")
    if WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    raise RowError(row, f"{name} is '{cell[:40]}', expected a whole number")


def _parse_text(_: str, cells: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.array(cells, pa.string())


PARSERS: dict[str, Callable[[str, Sequence[str]], Any]] = {
    NUMBER: _parse_numbers,
    FINITE: _parse_finite,
    WHOLE: _parse_whole_numbers,
    TEXT: _parse_text,
}
"""By type: turns the cells of a column into an array."""
