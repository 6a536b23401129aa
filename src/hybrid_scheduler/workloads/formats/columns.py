"""What formats do with the columns of a table: find and check them, filter rows, read text and moments in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats.tables import FINITE, MAX_ROWS, TEXT, Table, shorten
from hybrid_scheduler.workloads.formats.unpack import BYTE_ORDER_MARK

Mask = npt.NDArray[np.bool_]
MAX_DEVICES = 4096  # devices that one job may ask for
UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "min": 60.0}
"""Seconds by the last word of a column's name, as in `duration_ms`; seconds if it has no such word."""
UNKNOWN = ("", "none", "null", "nan", "na", "nat", "-")
FLOAT_BYTES = 4


def parse_header(head: bytes) -> set[str]:
    """Return the names of columns in the first line of a text table."""
    line = head.removeprefix(BYTE_ORDER_MARK).split(b"\n", 1)[0]
    return {name.strip('\r "\t') for name in line.decode("utf-8", "replace").split(",")}


def format_names(header: Sequence[str]) -> str:
    """Write the names of columns on one line, for an error."""
    names = [shorten(name) for name in header[:20]]
    return ", ".join([*names, "…"] if len(header) > 20 else names)


def require_columns(header: Sequence[str], required: Sequence[str], what: str = "needed are") -> None:
    """Refuse a header that lacks a column."""
    for name in required:
        if name not in header:
            raise InputError(
                f"column '{name}' is missing, found {format_names(header)}: {what} {', '.join(required)}"
            )


def select_unique(
    header: Sequence[str], required: Sequence[str], is_number: Callable[[str], bool], texts: Sequence[str] = ()
) -> dict[str, str]:
    """Select all columns of finite numbers and some of text; a column that is missing or repeated is refused."""
    for name in (*required, *header):
        if header.count(name) != 1:
            raise InputError(f"column '{shorten(name)}' is there {header.count(name)} times, expected once")
    return {name: FINITE if is_number(name) else TEXT for name in header if is_number(name) or name in texts}


def find_roles(header: Iterable[str], aliases: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the column of every role that a header has; aliases that come first win."""
    columns = {_normalise(name): name for name in reversed(list(header))}
    found = {}
    for role, names in aliases.items():
        known = [*names, *(f"{name}_{unit}" for name in names for unit in UNITS)]
        column = next((columns[name] for name in known if name in columns), None)
        if column is not None:
            found[role] = column
    return found


def _normalise(name: str) -> str:
    return "_".join(name.strip().strip('"').lower().replace("-", " ").replace("(", " ").replace(")", " ").split())


class RowFilter:
    """Rows that are kept, and how many were skipped for which reason; a row counts for its first reason."""

    def __init__(self, count: int) -> None:
        self.kept: Mask = np.ones(count, bool)
        self.skipped: dict[str, int] = {}

    def skip(self, which: Mask, reason: str) -> None:
        """Skip rows for a reason."""
        dropped = which & self.kept
        if dropped.any():
            self.skipped[reason] = self.skipped.get(reason, 0) + int(dropped.sum())
            self.kept &= ~which

    @property
    def rows(self) -> Ints:
        """Numbers of the rows that are kept; an error if there are none."""
        found = np.flatnonzero(self.kept).astype(np.int64)
        if not len(found):
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items())
            raise InputError(f"no row becomes a task ({reasons}): give a file with finished work")
        return found


def require_values(name: str, column: Floats, valid: Mask, expected: str) -> None:
    """Refuse the first row whose value is not valid."""
    if not valid.all():
        row = int(np.argmin(valid))
        raise RowError(row, f"{name} is {column[row]:g}, expected {expected}: correct or drop this row")


def require_counts(name: str, column: Floats) -> None:
    """Refuse values that are no number of devices."""
    valid = (column >= 0) & (column <= MAX_DEVICES) & (np.floor(column) == column)
    require_values(name, column, valid, f"a whole number from 0 to {MAX_DEVICES}")


def repeat_rows(rows: Ints, times: Floats) -> Ints:
    """Return each row as often as it becomes a task."""
    if times.sum() > MAX_ROWS:
        raise InputError(f"the rows become {times.sum():,.0f} tasks, at most {MAX_ROWS:,} can be used: take a part")
    return np.repeat(rows, times.astype(np.int64))


def since_first(moments: Floats) -> Floats:
    """Return arrival times counted from the first arrival."""
    since: Floats = moments - moments.min()
    return since


def mean_finite(times: Floats) -> Floats:
    """Return the mean of every row over the columns that are finite there; 0 if none is."""
    runs = np.isfinite(times)
    with np.errstate(over="ignore"):  # invalid columns are refused when tasks are built
        known = times if runs.all() else np.where(runs, times, 0.0)
        mean: Floats = known.sum(axis=1) / np.maximum(runs.sum(axis=1), 1)
    return mean


def matrix_edge(size: Floats) -> Floats:
    """Return the edge of a square matrix of so many bytes, at least 1: a task size for work known by its bytes."""
    edge: Floats = np.maximum(1.0, np.sqrt(size / FLOAT_BYTES))
    return edge


@dataclass(frozen=True)
class StringColumn:
    """A dictionary-encoded column of text: the distinct strings, sorted, and for each row its place among them."""

    names: list[str]
    codes: Ints

    def match(self, test: Callable[[str], bool]) -> Mask:
        """Return which rows pass a test, which is called once for every distinct string."""
        return np.array([test(name) for name in self.names], np.bool_)[self.codes]

    def take(self, rows: Ints) -> StringColumn:
        """Return the strings of some rows."""
        return StringColumn(self.names, self.codes[rows])


def encode_strings(column: Any, strip: bool = False) -> StringColumn:
    """Encode a column of text, without the blanks around each string if they are to be stripped."""
    import pyarrow as pa

    text = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column, pa.string())])
    found = text.combine_chunks().dictionary_encode()
    strings = [each.strip() if strip else each for each in found.dictionary.to_pylist()]
    names = sorted(set(strings))
    place = {name: code for code, name in enumerate(names)}
    return StringColumn(names, np.array([place[each] for each in strings], np.int64)[found.indices.to_numpy()])


def parse_seconds(table: Table, name: str) -> Floats:
    """Read numbers in the unit of their column, or ISO 8601 dates (UTC unless they name a zone), as seconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(table.columns[name])
    unknown = pc.is_in(pc.utf8_lower(trimmed), pa.array(UNKNOWN))
    text = pc.if_else(unknown, pa.scalar(None, pa.string()), trimmed)
    unit = UNITS.get(_normalise(name).rsplit("_", 1)[-1], 1.0)
    with suppress(pa.ArrowInvalid):
        numbers: Floats = text.cast(pa.float64()).to_numpy() * unit
        return numbers
    for unit_name, zone in product(("us", "ns"), (None, "UTC")):  # more than six digits fit nanoseconds only
        with suppress(pa.ArrowInvalid):
            ticks = text.cast(pa.timestamp(unit_name, zone)).cast(pa.int64())
            moments: Floats = ticks.cast(pa.float64(), safe=False).to_numpy() * UNITS[unit_name]
            return moments
    # Written in several ways, or wrong: found out cell by cell.
    cells = enumerate(text.to_pylist())
    return np.array([np.nan if cell is None else _parse_moment(row, name, cell, unit) for row, cell in cells])


def _parse_moment(row: int, name: str, cell: str, unit: float) -> float:
    with suppress(ValueError):
        return float(cell) * unit
    try:
        moment = datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise RowError(row, f"{name} is '{cell[:40]}', expected seconds or a date like 2017-10-03 08:15:00") from None
