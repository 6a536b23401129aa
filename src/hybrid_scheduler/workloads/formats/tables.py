"""Reads text tables as columns, in blocks: fast with Arrow while they are plain, else cell by cell.

Both ways give the same columns. What Arrow might misunderstand raises `NotPlainError` and is read again by the slow
reader, which names the line of whatever is wrong.
"""

from __future__ import annotations

import csv
import io
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np

from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import memory
from hybrid_scheduler.workloads.formats.unpack import HEAD, SMALL, open_unpacked

NUMBER, FINITE, WHOLE, TEXT = "number", "finite number", "whole number", "text"
"""Types of columns: floats with NaN for empty cells, floats without NaN and infinity, int64, and text."""
ROWS_AT_ONCE = 20_000  # rows held as Python objects, which take ten times the memory of numbers
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")

SelectColumns = Callable[[list[str]], dict[str, str]]
"""Takes the header of a table and returns the type of every wanted column, or refuses the header."""
Block = dict[str, Any]  # columns of some rows by name
MAX_ROWS = 30_000_000  # rows that a file may have, each of some eight bytes a column: a week of Azure has 27 million
MAX_COLUMNS = 10_000
BLOCK = 8 << 20
OVERHEAD = 5.0
"""Bytes that may still be needed for every byte of the columns: they are joined, filtered and converted."""
MISSING = ["", "NA"]
NO_TASKS = ": there are no tasks, only a header: add a line for every task"
NO_ROWS = ": there are no rows, only a header: add some"


class NotPlainError(Exception):
    """A block that must be read cell by cell to be sure what it means."""


@dataclass(frozen=True)
class Table:
    """The columns of a file, and how to find the line of a row."""

    path: Path
    rows: int
    columns: Mapping[str, Any]
    find_line: Callable[[int], int]

    def numbers(self, name: str) -> Floats:
        """Return a column of numbers."""
        column: Floats = self.columns[name]
        return column

    @contextmanager
    def locate_errors(self, rows: Ints | None = None) -> Iterator[None]:
        """Turn an error about a row, or about one of the given rows, into one that names file and line."""
        try:
            yield
        except RowError as error:
            row = error.row if rows is None else int(rows[error.row])
            raise InputError(f"{self.path} line {self.find_line(row)}: {error.reason}") from None
        except InputError as error:
            raise InputError(prefix_path(self.path, str(error))) from None


def read_table(
    path: str | Path, select: SelectColumns, if_empty: str = NO_TASKS, overhead: float = OVERHEAD
) -> Table:
    """Read the selected columns of a table separated by commas; an error names the file and the line."""
    lines: array[int] | None = None
    with prefix_errors(path):
        try:
            columns = join_blocks(path, _read_fast(path, select), if_empty, overhead)
        except NotPlainError:
            lines = array("q")
            columns = join_blocks(path, read_slowly(path, select, lines), if_empty, overhead)
    rows = len(next(iter(columns.values()), ()))
    return Table(Path(path), rows, columns, lines.__getitem__ if lines else lambda row: row + 2)


def prefix_path(path: str | Path, message: str) -> str:
    """Begin a message about a file with its path, unless it does already."""
    return message if message.startswith(str(path)) else f"{path}: {message}"


@contextmanager
def prefix_errors(path: str | Path) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except InputError as error:
        raise InputError(prefix_path(path, str(error))) from None
    except OSError as error:  # what Arrow says may have several lines
        reason = " ".join(str(error.strerror or error).split())
        raise InputError(f"{path} cannot be read ({reason}): check the path") from None


def join_blocks(path: str | Path, blocks: Iterator[Block], if_empty: str, overhead: float = OVERHEAD) -> Block:
    """Join blocks into columns; too many rows are refused while they are read."""
    parts: dict[str, list[Any]] = {}
    rows = size = 0
    for block in blocks:
        rows += len(next(iter(block.values())))
        size += sum(column.nbytes for column in block.values())
        require_row_limit(path, rows)
        if size > SMALL:
            memory.require(path, overhead * size)
        for name, column in block.items():
            parts.setdefault(name, []).append(column)
    if not rows:
        raise InputError(f"{path}{if_empty}")
    return {name: _join_column(parts.pop(name)) for name in list(parts)}


def require_row_limit(path: str | Path, rows: int) -> None:
    """Refuse a file with too many rows."""
    if rows > MAX_ROWS:
        raise InputError(f"{path} has more than {MAX_ROWS:,} rows, which is the limit: take a part of it")


def require_column_limit(columns: int) -> None:
    """Refuse a table with too many columns."""
    if columns > MAX_COLUMNS:
        raise InputError(f"there are {columns:,} columns, at most {MAX_COLUMNS:,} can be read: leave out some")


def _find_places(header: list[str], wanted: Iterable[str]) -> dict[str, int]:
    """Return where each wanted column stands, the first one of its name."""
    places = {name: place for place, name in reversed(list(enumerate(header)))}
    return {name: places[name] for name in wanted}


def _join_column(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pyarrow as pa

    return pa.chunked_array([chunk for part in parts for chunk in getattr(part, "chunks", [part])], pa.string())


def _read_fast(path: str | Path, select: SelectColumns) -> Iterator[Block]:
    with open_unpacked(path) as file:
        header = _read_header(file)
        require_column_limit(len(header))
        types = select(header)
        names = [f"{place}" for place in range(len(header))]
        columns = {name: names[place] for name, place in _find_places(header, types).items()}
        convert = make_converter(names, {place: types[name] for name, place in columns.items()})
        for block in split_lines(file):
            # What Arrow and Python may understand differently; one byte is found faster than two.
            hexadecimal = (b"x" in block and b"0x" in block) or (b"X" in block and b"0X" in block)
            if b'"' in block or b"(" in block or hexadecimal:
                raise NotPlainError
            require_text(block)
            found = convert(block)
            yield {name: found[place] for name, place in columns.items()}


def _read_header(file: IO[bytes]) -> list[str]:
    line = file.readline(HEAD)
    if not line.endswith(b"\n") or b'"' in line or b"\r" in line.removesuffix(b"\r\n"):
        raise NotPlainError
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotPlainError from None
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def split_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Cut a stream into blocks that end with a line."""
    rest = b""
    while part := file.read(BLOCK):
        cut = part.rfind(b"\n") + 1
        if cut:
            yield rest + part[:cut]
            rest = part[cut:]
        elif len(rest := rest + part) > 4 * BLOCK:
            raise NotPlainError
    if rest:
        yield rest


def require_text(block: bytes) -> None:
    """Reject a block whose lines end in different ways, or that is no UTF-8."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        raise NotPlainError
    if not block.isascii():
        try:
            block.decode("utf-8")
        except UnicodeDecodeError:
            raise NotPlainError from None


def collapse_blanks(block: bytes) -> bytes:
    """Leave one blank between cells and none around lines, so that they can be read as a table."""
    block = block.replace(b"\t", b" ").replace(b"\r\n", b"\n")
    if b"  " in block:
        letters = np.frombuffer(block, np.uint8)
        blank = letters == ord(" ")
        kept = np.ones(len(letters), np.bool_)
        kept[1:] = ~(blank[1:] & blank[:-1])
        block = letters[kept].tobytes()
    return block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip()


def make_converter(
    names: list[str], types: Mapping[str, str], delimiter: str = ",", empty_lines: bool = False
) -> Callable[[bytes], Block]:
    """Return a function that turns a block of plain lines into columns of the given types."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    arrow_types = {NUMBER: pa.float64(), FINITE: pa.float64(), WHOLE: pa.int64(), TEXT: pa.string()}
    read = arrow.ReadOptions(column_names=names, block_size=1 << 20)
    parse = arrow.ParseOptions(delimiter=delimiter, ignore_empty_lines=empty_lines, quote_char=False)
    conversion = arrow.ConvertOptions(
        column_types={name: arrow_types[each] for name, each in types.items()},
        include_columns=list(types),
        null_values=MISSING,
        check_utf8=False,
    )

    def convert(block: bytes) -> Block:
        try:
            table = arrow.read_csv(pa.BufferReader(block), read, parse, conversion)
        except pa.ArrowInvalid:
            raise NotPlainError from None
        columns = {name: table.column(name) for name in types}
        # Empty cells become NaN, which only plain numbers may be.
        found = {name: each if types[name] == TEXT else _to_numpy(each) for name, each in columns.items()}
        for name, each in types.items():
            missing = each == WHOLE and columns[name].null_count
            if missing or (each == FINITE and not np.isfinite(found[name]).all()):
                raise NotPlainError
        return found

    return convert


def _to_numpy(column: Any) -> Any:
    """Return a column as an array; where nothing is missing, without pandas, which Arrow's own way imports."""
    if column.null_count or not column.num_chunks:
        return column.to_numpy()
    return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks])


def read_slowly(path: str | Path, select: SelectColumns, lines: array[int]) -> Iterator[Block]:
    """Read a table in blocks of rows; the line at which each row begins is appended to `lines`."""
    try:
        with open_unpacked(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield from _read_blocks(text, select, lines)
    except RowError as error:
        raise InputError(f"{path} line {lines[error.row]}: {error.reason}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text in line {_find_bad_line(path)}: save it as UTF-8") from None
    except csv.Error as error:
        line = lines[-1] if lines else 1
        raise InputError(f"{path} is no CSV table after line {line} ({error}): correct it") from None


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
    require_column_limit(len(header))
    types = select(header)
    places = _find_places(header, types)
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
    numbers = []
    for row, cell in enumerate(cells):
        try:
            numbers.append(float(cell) if cell and cell != "NA" and not cell.isspace() else math.nan)
        except ValueError:
            raise RowError(row, f"{name} is '{cell[:40]}', expected a number: correct or drop this row") from None
    return np.array(numbers)


def _parse_finite(name: str, cells: Sequence[str]) -> Floats:
    numbers = np.array([parse_number(cell) for cell in cells])
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        raise RowError(row, f"{name} is '{shorten(cells[row])}', expected a number: correct or drop this line")
    return numbers


def _parse_whole_numbers(name: str, cells: Sequence[str]) -> Ints:
    texts = [cell.strip().removesuffix(".0") for cell in cells]
    for row, text in enumerate(texts):
        if not WHOLE_NUMBER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
            raise RowError(row, f"{name} is '{cells[row][:40]}', expected a whole number")
    return np.array([int(text) for text in texts], np.int64)


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


def parse_number(cell: str | bytes) -> float:
    """Parse a cell; NaN if it is no number."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def shorten(cell: str) -> str:
    """Return the beginning of a cell on one line, for an error."""
    return " ".join(cell[:40].split())
