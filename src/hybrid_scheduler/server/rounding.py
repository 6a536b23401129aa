"""Fewer digits for those who watch: a good part of a frame were digits that nobody can see.

Plain Python, because there are a few thousand numbers in a frame, in many short columns.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any


def figure(value: float) -> float:
    """Return a figure with six significant digits."""
    return float(f"{value:.6g}")


def moment(value: float) -> float:
    """Return simulated seconds to a tenth of a millisecond, however long a run has been going on."""
    return round(value, 4)


def brief(value: Any) -> Any:
    """Return plain data with six significant digits, of data and dataclasses in one another."""
    if isinstance(value, float):
        return figure(value)
    if is_dataclass(value):
        return {name: brief(each) for name, each in vars(value).items()}
    if isinstance(value, dict):
        return {name: brief(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [brief(each) for each in value]
    return value
