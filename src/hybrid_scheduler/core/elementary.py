"""Logarithms, exponentials and cosines of arrays, with the same bits on every processor.

NumPy computes them by vector instructions where the processor has some, and those round differently: one seed would
give another forest, and another schedule, on another machine. These call the C library number by number, as `math`
does; code that is compiled or interpreted calls `math` itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.compiler import jit_later
from hybrid_scheduler.core.tasks import Floats

LARGEST_EXPONENT = 709.0  # of what is below, no exponential is infinite


def log(values: npt.ArrayLike) -> Floats:
    """Return natural logarithms; -inf of zero, NaN of what is below."""
    return _apply(_fill_log, values)


def log1p(values: npt.ArrayLike) -> Floats:
    """Return natural logarithms of one more than the values."""
    return _apply(_fill_log1p, values)


def log2(values: npt.ArrayLike) -> Floats:
    """Return binary logarithms; -inf of zero, NaN of what is below."""
    return _apply(_fill_log2, values)


def log10(values: npt.ArrayLike) -> Floats:
    """Return decimal logarithms; -inf of zero, NaN of what is below."""
    return _apply(_fill_log10, values)


def exp(values: npt.ArrayLike) -> Floats:
    """Return exponentials."""
    return _apply(_fill_exp, values)


def cos(values: npt.ArrayLike) -> Floats:
    """Return cosines."""
    return _apply(_fill_cos, values)


def _apply(fill: Callable[[Floats, Floats], None], values: npt.ArrayLike) -> Floats:
    given = np.ascontiguousarray(values, np.float64)
    out = np.empty_like(given)
    fill(given.reshape(-1), out.reshape(-1))
    return out


@jit_later
def _fill_log(values: Floats, out: Floats) -> None:
    for at in range(len(values)):
        value = values[at]
        out[at] = math.log(value) if value > 0.0 else -np.inf if value == 0.0 else np.nan


@jit_later
def _fill_log1p(values: Floats, out: Floats) -> None:
    for at in range(len(values)):
        value = values[at]
        out[at] = math.log1p(value) if value > -1.0 else -np.inf if value == -1.0 else np.nan


@jit_later
def _fill_log2(values: Floats, out: Floats) -> None:
    for at in range(len(values)):
        value = values[at]
        out[at] = math.log2(value) if value > 0.0 else -np.inf if value == 0.0 else np.nan


@jit_later
def _fill_log10(values: Floats, out: Floats) -> None:
    for at in range(len(values)):
        value = values[at]
        out[at] = math.log10(value) if value > 0.0 else -np.inf if value == 0.0 else np.nan


@jit_later
def _fill_exp(values: Floats, out: Floats) -> None:
    for at in range(len(values)):
        value = values[at]
        out[at] = math.exp(value) if value <= LARGEST_EXPONENT else np.exp(value)


@jit_later
def _fill_cos(values: Floats, out: Floats) -> None:
    for at in range(len(values)):
        out[at] = math.cos(values[at]) if np.isfinite(values[at]) else np.nan
