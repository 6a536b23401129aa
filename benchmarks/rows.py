"""A row of the table, and how its two sides are timed."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache


class BenchmarkError(Exception):
    """A row cannot be measured, or its two sides do not agree."""


@dataclass(frozen=True)
class Row:
    """Ours against theirs in one unit; the ratio ours/theirs shall be at least (or at most) the target."""

    name: str
    ours: float
    theirs: float
    unit: str
    target: float
    at_most: bool = False

    @property
    def ratio(self) -> float:
        """Ours divided by theirs."""
        return self.ours / self.theirs

    @property
    def ok(self) -> bool:
        """Whether the target is met."""
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target

    def to_dict(self) -> dict[str, float | str | bool]:
        """Return the row as results.json holds it."""
        data: dict[str, float | str | bool] = {
            "ours": float(f"{self.ours:.6g}"),
            "theirs": float(f"{self.theirs:.6g}"),
            "unit": self.unit,
            "ratio": float(f"{self.ratio:.6g}"),
            "target": self.target,
            "ok": self.ok,
        }
        return data | {"at_most": True} if self.at_most else data


def side_by_side(
    repeats: int,
    *sides: Callable[[], object],
    recycle: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the best seconds of every side; the sides take turns, so noise hits them alike."""
    if recycle:
        _recycle_memory()
    best = [math.inf] * len(sides)
    for side in sides:
        side()  # compiles, and gets the memory that the timed runs use again
    for _ in range(repeats):
        for number, side in enumerate(sides):
            begin = clock()
            result = side()
            best[number] = min(best[number], clock() - begin)
            del result
    return best


def require(agrees: bool, complaint: str) -> None:
    """Fail unless both sides did the same work."""
    if not agrees:
        raise BenchmarkError(complaint)


@cache
def _recycle_memory() -> None:
    """Let glibc keep freed memory (M_MMAP_MAX 0, M_TRIM_THRESHOLD off); other C libraries stay as they are.

    Else the kernel maps and clears new pages now and then, on either side and as often as the allocator
    happens to give some back, which takes as long as the loops that are compared.
    """
    with suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(-4, 0)
        libc.mallopt(-1, -1)
