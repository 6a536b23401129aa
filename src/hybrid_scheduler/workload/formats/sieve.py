"""Sorts the rows of a trace: those that become tasks, those that do not and why, and those that are wrong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.model.tasks import Floats, Ints
from hybrid_scheduler.workload.formats.table import MOST_ROWS

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
