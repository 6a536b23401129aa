"""Reads tables of text cell by cell, as people write them, and says what is wrong with a line."""

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
from hybrid_scheduler.workloads.formats.unpack import opened

NUMBER, WHOLE, TEXT = "number", "whole number", "text"
"""Kinds of columns: floats with NaN for empty cells, integers of 64 bits, and text."""
ROWS_AT_ONCE = 20_000  # rows kept as Python objects, which take ten times the memory of numbers
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")

Kinds = Callable[[list[str]], dict[str, str]]
"""Says which columns of a header are wanted, and of which kind; refuses a header."""
Block = dict[str, Any]


def header_of(text: Sequence[str]) -> list[str]:
    """Return the names of columns without blanks around them."""
    return [name.strip() for name in text]


def blocks(path: str | Path, kinds: Kinds, lines: array[int]) -> Iterator[Block]:
    """Read a table in blocks of rows; `lines` grows by the line at which each row begins."""
    try:
        with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield from _blocks(text, kinds, lines)
    except RowError as error:
        raise InputError(f"{path} line {lines[error.row]}: {error.reason}") from None
    except InputError as error:
        raise InputError(named(path, str(error))) from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text in line {bad_line(path)}: save it as UTF-8") from None
    except csv.Error as error:
        raise InputError(
            f"{path} is no CSV table after line {lines[-1] if lines else 1} ({error}): correct it"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from None


def named(path: str | Path, said: str) -> str:
    """Begin what is said about a file with its name, unless it does already."""
    return said if said.startswith(str(path)) else f"{path}: {said}"


def bad_line(path: str | Path) -> int:
    """Return the first line that is no UTF-8."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return number


def _blocks(text: TextIO, kinds: Kinds, lines: array[int]) -> Iterator[Block]:
    reader = csv.reader(text, strict=True, skipinitialspace=True)
    header = header_of(next(reader, []))
    wanted = kinds(header)
    places = {name: header.index(name) for name in wanted}
    rows = _rows(reader, len(header), lines)
    while block := list(islice(rows, ROWS_AT_ONCE)):
        first = len(lines) - len(block)
        try:
            yield {name: CELLS[wanted[name]](name, [row[at] for row in block]) for name, at in places.items()}
        except RowError as error:
            raise RowError(first + error.row, error.reason) from None


def _rows(reader: Any, width: int, lines: array[int]) -> Iterator[list[str]]:
    line = reader.line_num + 1
    for row, cells in enumerate(reader):
        lines.append(line)
        line = reader.line_num + 1  # a quoted cell may span lines
        if len(cells) != width:
            raise RowError(row, f"there are {len(cells)} fields, expected {width}: correct this line")
        yield cells


def _numbers(name: str, cells: Sequence[str]) -> Floats:
    try:
        return np.array([float(cell) if cell else math.nan for cell in cells])
    except ValueError:
        return np.array([_number(row, name, cell) for row, cell in enumerate(cells)])


def _number(row: int, name: str, cell: str) -> float:
    try:
        return float(cell) if cell.strip() and cell != "NA" else math.nan
    except ValueError:
        raise RowError(row, f"{name} is '{cell[:40]}', expected a number: correct or drop this row") from None


def _whole_numbers(name: str, cells: Sequence[str]) -> Ints:
    return np.array([_whole_number(row, name, cell) for row, cell in enumerate(cells)], np.int64)


def _whole_number(row: int, name: str, cell: str) -> int:
    text = cell.strip().removesuffix(".0")
    if WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    raise RowError(row, f"{name} is '{cell[:40]}', expected a whole number")


def _texts(_: str, cells: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.array(cells, pa.string())


CELLS: dict[str, Callable[[str, Sequence[str]], Any]] = {NUMBER: _numbers, WHOLE: _whole_numbers, TEXT: _texts}
"""How the cells of each kind become a column."""
