"""Reads tables of text as columns, in blocks: fast while a block is plain, cell by cell where it is not."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import checked, memory
from hybrid_scheduler.workloads.formats.checked import NUMBER, TEXT, WHOLE, Block, Kinds, header_of, named
from hybrid_scheduler.workloads.formats.unpack import HEAD, SMALL, opened

MOST_ROWS = 10_000_000
"""Rows that a file may have: each takes some eight bytes a column."""
BLOCK = 8 << 20
FURTHER = 5.0
"""Bytes that may still be taken for every byte of the columns: they are joined, sorted out and become other ones."""
MISSING = ["", "NA"]
NOTHING = ": there are no tasks, only a header: add a line for every task"


class DoubtError(Exception):
    """A block that must be read cell by cell to be sure what it means."""


@dataclass(frozen=True)
class Table:
    """Columns of a file, and the line at which each row stands."""

    path: Path
    rows: int
    columns: Mapping[str, Any]
    lines: array[int] | None  # none: one row a line, below the header

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def numbers(self, name: str) -> Floats:
        """Return a column of numbers."""
        column: Floats = self.columns[name]
        return column

    def wholes(self, name: str) -> Ints:
        """Return a column of whole numbers."""
        column: Ints = self.columns[name]
        return column

    def line(self, row: int) -> int:
        """Return the line at which a row begins."""
        return row + 2 if self.lines is None else self.lines[row]

    @contextmanager
    def explained(self, rows: Ints | None = None) -> Iterator[None]:
        """Turn what is wrong with a row, or with one of those that were kept, into what is wrong with a line."""
        try:
            yield
        except RowError as error:
            row = error.row if rows is None else int(rows[error.row])
            raise InputError(f"{self.path} line {self.line(row)}: {error.reason}") from None
        except InputError as error:
            raise InputError(named(self.path, str(error))) from None


def read_table(path: str | Path, kinds: Kinds, further: float = FURTHER) -> Table:
    """Read the wanted columns of a table; an error names the file and the line."""
    lines: array[int] | None = None
    try:
        found = read_plain(path, kinds, further=further)
    except DoubtError:
        lines = array("q")
        found = gathered(path, checked.blocks(path, kinds, lines), further=further)
    rows = len(next(iter(found.values()), ()))
    return Table(Path(path), rows, found, lines)


def read_plain(path: str | Path, kinds: Kinds, nothing: str = NOTHING, further: float = FURTHER) -> Block:
    """Read the wanted columns of a table that is plain throughout; any other is doubted."""
    with reading(path):
        return gathered(path, _fast(path, kinds), nothing, further)


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Name the file in what goes wrong while it is read."""
    try:
        yield
    except InputError as error:
        raise InputError(named(path, str(error))) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from None


def gathered(path: str | Path, blocks: Iterator[Block], nothing: str = NOTHING, further: float = FURTHER) -> Block:
    """Join blocks into columns; more rows than can be used are refused while they come."""
    parts: dict[str, list[Any]] = {}
    rows = size = 0
    for block in blocks:
        rows += len(next(iter(block.values())))
        size += sum(column.nbytes for column in block.values())
        require_few(path, rows)
        if size > SMALL:
            memory.require(path, further * size)
        for name, column in block.items():
            parts.setdefault(name, []).append(column)
    if not rows:
        raise InputError(f"{path}{nothing}")
    return {name: _joined(parts.pop(name)) for name in list(parts)}


def require_few(path: str | Path, rows: int) -> None:
    """Refuse more rows than memory is meant for."""
    if rows > MOST_ROWS:
        raise InputError(f"{path} has more than {MOST_ROWS:,} rows, which is the limit: take a part of it")


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pyarrow as pa

    return pa.chunked_array([chunk for part in parts for chunk in getattr(part, "chunks", [part])], pa.string())


def whole_lines(file: IO[bytes], size: int = 0) -> Iterator[bytes]:
    """Cut a stream into blocks that end with a line."""
    rest = b""
    while part := file.read(size or BLOCK):
        cut = part.rfind(b"\n") + 1
        if cut:
            yield rest + part[:cut]
            rest = part[cut:]
        elif len(rest := rest + part) > 4 * BLOCK:
            raise DoubtError
    if rest:
        yield rest


def _fast(path: str | Path, kinds: Kinds) -> Iterator[Block]:
    with opened(path) as file:
        header = _plain_header(file)
        wanted = kinds(header)
        names = [f"{place}" for place in range(len(header))]
        columns = {name: names[header.index(name)] for name in wanted}
        converted = converter(names, {place: wanted[name] for name, place in columns.items()})
        for block in whole_lines(file):
            require_plain(block)
            found = converted(block)
            yield {name: found[place] for name, place in columns.items()}


def _plain_header(file: IO[bytes]) -> list[str]:
    line = file.readline(HEAD)
    if not line.endswith(b"\n") or b'"' in line or b"\r" in line.removesuffix(b"\r\n"):
        raise DoubtError
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DoubtError from None
    return header_of(next(csv.reader([text], skipinitialspace=True), []))


def require_plain(block: bytes) -> None:
    """Doubt a block with something in it that Arrow and Python may understand differently."""
    if b'"' in block or b"(" in block:
        raise DoubtError
    if (b"x" in block and b"0x" in block) or (b"X" in block and b"0X" in block):  # one byte is found faster than two
        raise DoubtError
    require_text(block)


def require_text(block: bytes) -> None:
    """Doubt a block whose lines end in different ways, or that is no UTF-8."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        raise DoubtError
    if not block.isascii():
        try:
            block.decode("utf-8")
        except UnicodeDecodeError:
            raise DoubtError from None


def single_blanks(block: bytes) -> bytes:
    """Leave one blank between words and none around lines, which then can be read as a table."""
    block = block.replace(b"\t", b" ").replace(b"\r\n", b"\n")
    if b"  " in block:
        letters = np.frombuffer(block, np.uint8)
        blank = letters == ord(" ")
        kept = np.ones(len(letters), np.bool_)
        kept[1:] = ~(blank[1:] & blank[:-1])
        block = letters[kept].tobytes()
    return block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip()


def converter(
    names: list[str], wanted: Mapping[str, str], delimiter: str = ",", empty_lines: bool = False
) -> Callable[[bytes], Block]:
    """Return what turns a block of plain lines into columns; it doubts a block that it cannot convert."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    types = {NUMBER: pa.float64(), WHOLE: pa.int64(), TEXT: pa.string()}
    options = arrow.ReadOptions(column_names=names, block_size=1 << 20)
    parsing = arrow.ParseOptions(delimiter=delimiter, ignore_empty_lines=empty_lines, quote_char=False)
    converting = arrow.ConvertOptions(
        column_types={name: types[kind] for name, kind in wanted.items()},
        include_columns=list(wanted),
        null_values=MISSING,
        check_utf8=False,
    )

    def converted(block: bytes) -> Block:
        try:
            table = arrow.read_csv(pa.BufferReader(block), options, parsing, converting)
        except pa.ArrowInvalid:
            raise DoubtError from None
        return {name: _column(table.column(name), kind) for name, kind in wanted.items()}

    return converted


def _column(column: Any, kind: str) -> Any:
    if kind == TEXT:
        return column
    if kind == WHOLE and column.null_count:
        raise DoubtError
    return column.to_numpy()  # empty cells become NaN


Mask = npt.NDArray[np.bool_]
MOST_WIDE = 4096
"""Devices that one job may ask for."""


class Sieve:
    """Rows that are left, and how many were taken out for which reason; a row counts for its first reason."""

    def __init__(self, count: int) -> None:
        self.left: Mask = np.ones(count, bool)
        self.skipped: dict[str, int] = {}

    def skip(self, which: Mask, reason: str) -> None:
        """Take rows out for a reason."""
        gone = which & self.left
        if gone.any():
            self.skipped[reason] = self.skipped.get(reason, 0) + int(gone.sum())
            self.left &= ~which

    @property
    def rows(self) -> Ints:
        """Numbers of the rows that are left; an error if there are none."""
        found = np.flatnonzero(self.left).astype(np.int64)
        if not len(found):
            why = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items())
            raise InputError(f"no row becomes a task ({why}): give a file with finished work")
        return found


def require(name: str, column: Floats, good: Mask, expected: str) -> None:
    """Refuse the first row whose figure cannot be right."""
    if not good.all():
        row = int(np.argmin(good))
        raise RowError(row, f"{name} is {column[row]:g}, expected {expected}: correct or drop this row")


def require_amounts(name: str, column: Floats) -> None:
    """Refuse what is no amount: negative, infinite or missing."""
    require(name, column, (column >= 0) & (column < np.inf), "a number, 0 or more")


def require_counts(name: str, column: Floats) -> None:
    """Refuse what is no number of devices."""
    good = (column >= 0) & (column <= MOST_WIDE) & (np.floor(column) == column)
    require(name, column, good, f"a whole number from 0 to {MOST_WIDE}")


def repeated(rows: Ints, times: Floats) -> Ints:
    """Return each row as often as it becomes a task."""
    if times.sum() > MOST_ROWS:
        raise InputError(f"the rows become {times.sum():,.0f} tasks, at most {MOST_ROWS:,} can be used: take a part")
    return np.repeat(rows, times.astype(np.int64))


def from_first(moments: Floats) -> Floats:
    """Return arrival times counted from the first arrival."""
    since: Floats = moments - moments.min()
    return since


@dataclass(frozen=True)
class Words:
    """A column of words: the different ones, sorted, and for each row its place among them."""

    names: list[str]
    codes: Ints

    def where(self, test: Callable[[str], bool]) -> Mask:
        """Return in which rows a word passes a test, which is asked once for every different word."""
        return np.array([test(name) for name in self.names], np.bool_)[self.codes]

    def taken(self, rows: Ints) -> Words:
        """Return the words of some rows."""
        return Words(self.names, self.codes[rows])


def words_of(column: Any, strip: bool = False) -> Words:
    """Turn a column of text into words, without the blanks around them if they are to be stripped."""
    import pyarrow as pa

    text = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column, pa.string())])
    found = text.combine_chunks().dictionary_encode()
    words = [word.strip() if strip else word for word in found.dictionary.to_pylist()]
    names = sorted(set(words))
    place = {name: code for code, name in enumerate(names)}
    return Words(names, np.array([place[word] for word in words], np.int64)[found.indices.to_numpy()])
