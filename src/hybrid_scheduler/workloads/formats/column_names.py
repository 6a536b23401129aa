"""Finds columns that are called one thing here and another there, and reads moments and durations of any unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import RowError

UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "min": 60.0}
"""Seconds by the last word of a column's name, as in `duration_ms`; seconds if it has no such word."""
UNKNOWN = ("", "none", "null", "nan", "na", "nat", "-")


def plain(name: str) -> str:
    """Return the name of a column without capitals and blanks."""
    return "_".join(name.strip().strip('"').lower().replace("-", " ").replace("(", " ").replace(")", " ").split())


def roles_of(header: Iterable[str], aliases: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the column of every role that a header has; aliases that come first win."""
    columns = {plain(name): name for name in reversed(list(header))}
    found = {}
    for role, names in aliases.items():
        known = [*names, *(f"{name}_{unit}" for name in names for unit in UNITS)]
        column = next((columns[name] for name in known if name in columns), None)
        if column is not None:
            found[role] = column
    return found


def unit_of(column: str) -> float:
    """Return seconds per unit of a column of times."""
    return UNITS.get(plain(column).rsplit("_", 1)[-1], 1.0)


def seconds(name: str, column: Any) -> Floats:
    """Read numbers in the unit of their column, or dates and times of day (ISO 8601, UTC) as seconds."""
    import pyarrow as pa

    text = _without_unknown(column)
    for convert in (_from_numbers, _from_dates, _from_dates_with_zones):
        try:
            return convert(name, text)
        except pa.ArrowInvalid:
            continue
    return _explained(name, text)


def _without_unknown(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column)
    unknown = pc.is_in(pc.utf8_lower(text), pa.array(UNKNOWN))
    return pc.if_else(unknown, pa.scalar(None, pa.string()), text)


def _from_numbers(name: str, text: Any) -> Floats:
    import pyarrow as pa

    numbers: Floats = text.cast(pa.float64()).to_numpy() * unit_of(name)
    return numbers


def _from_dates(_: str, text: Any, zone: str | None = None) -> Floats:
    import pyarrow as pa

    micros = text.cast(pa.timestamp("us", zone)).cast(pa.int64())
    found: Floats = micros.cast(pa.float64(), safe=False).to_numpy() * 1e-6
    return found


def _from_dates_with_zones(name: str, text: Any) -> Floats:
    return _from_dates(name, text, "UTC")


def _explained(name: str, text: Any) -> Floats:
    """Read cell by cell what is written in several ways, and find the first cell that is no time."""
    return np.array([np.nan if cell is None else _one(name, row, cell) for row, cell in enumerate(text.to_pylist())])


def _one(name: str, row: int, cell: str) -> float:
    with suppress(ValueError):
        return float(cell) * unit_of(name)
    try:
        moment = datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise RowError(row, f"{name} is '{cell[:40]}', expected seconds or a date like 2017-10-03 08:15:00") from None
