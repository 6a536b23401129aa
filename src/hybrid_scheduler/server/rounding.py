"""Fewer digits for those who watch: two thirds of a frame were digits that nobody can see."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import numpy as np

from hybrid_scheduler.model.tasks import Floats

DIGITS = 6  # of a figure
DECIMALS = 4  # of a moment: a tenth of a millisecond, however long a run has been going on
_POWERS = np.array([float(f"1e{power}") for power in range(23)])  # all powers of ten that a float holds exactly


def figures(column: Floats) -> Floats:
    """Return a column with six significant digits; what is larger than that is made whole."""
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 and NaN have no logarithm, and stay what they are
        digits = np.nan_to_num(DIGITS - 1 - np.floor(np.log10(np.abs(column))), posinf=0.0, neginf=0.0)
    power = _POWERS[np.clip(digits, 0, len(_POWERS) - 1).astype(np.int64)]
    rounded: Floats = np.rint(column * power) / power
    return rounded


def moments(column: Floats) -> Floats:
    """Return a column of simulated seconds with four decimals."""
    return np.round(column, DECIMALS)


def brief(value: Any) -> Any:
    """Return plain data with six significant digits, of data and dataclasses in one another."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if is_dataclass(value):
        return {name: brief(each) for name, each in vars(value).items()}
    if isinstance(value, dict):
        return {name: brief(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [brief(each) for each in value]
    return value
