"""Robust fits of three small laws; medians instead of squares, so that one bad time cannot bend them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Floats

SLOPES = np.concatenate([[0.0], np.geomspace(0.01, 1000.0, 501)])
"""Speed-up slopes that are tried; neighbours differ by 2.3 %."""
APART = 0.3
"""Range of intensities below which they say nothing about a slope."""


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """y = scale · x^exponent, with the median and the largest relative error on its points."""

    scale: float
    exponent: float
    error: float = 0.0
    worst: float = 0.0
    points: int = 0

    def __call__(self, x: float) -> float:
        """Return y."""
        return float(self.scale * x**self.exponent)


@dataclass(frozen=True, slots=True)
class SpeedupLaw:
    """Speed-up of a GPU: speed · (1 + slope · intensity)."""

    speed: float
    slope: float
    slope_fitted: bool = False  # False: the intensities were too much alike, the slope is the reference model's
    error: float = 0.0
    worst: float = 0.0
    points: int = 0


def relative_errors(predicted: Floats, actual: Floats) -> Floats:
    """Return how far predictions are off, as a factor minus 1: twice and half as much are both 1."""
    errors: Floats = np.expm1(np.abs(np.log(predicted / actual)))
    return errors


def power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """Fit a power law through logarithms: the median slope of all pairs (Theil–Sen), then the median level."""
    xs, ys = np.log(_positive(x)), np.log(_positive(y))
    exponent = _median_slope(xs, ys)
    level = float(np.median(ys - exponent * xs))
    errors = np.expm1(np.abs(level + exponent * xs - ys))
    return PowerLaw(float(np.exp(level)), exponent, float(np.median(errors)), float(errors.max()), len(xs))


def shared_power_law(groups: Sequence[tuple[Floats, Floats]]) -> PowerLaw:
    """Fit one power law to several groups: slopes are taken within groups, the level over all of them."""
    slopes = [_pair_slopes(np.log(x), np.log(y)) for x, y in groups]
    exponent = float(np.median(np.concatenate(slopes))) if any(len(each) for each in slopes) else 1.0
    x, y = (np.concatenate([group[side] for group in groups]) for side in (0, 1))
    level = float(np.median(np.log(y) - exponent * np.log(x)))
    errors = relative_errors(np.exp(level) * x**exponent, y)
    return PowerLaw(float(np.exp(level)), exponent, float(np.median(errors)), float(errors.max()), len(x))


def speedup_law(intensity: Sequence[float], speedup: Sequence[float], slope: float) -> SpeedupLaw:
    """Fit speed · (1 + slope · intensity) by the smallest sum of absolute logarithmic errors.

    `slope` is taken as it is if the intensities are too much alike to fit one.
    """
    xs, logs = np.asarray(intensity, np.float64), np.log(_positive(speedup))
    if len(xs) != len(logs):
        raise InputError(f"there are {len(xs)} intensities and {len(logs)} speed-ups: give one of each a point")
    fitted = float(np.ptp(xs)) >= APART
    slopes = SLOPES if fitted else np.array([slope])
    shapes = np.log1p(np.outer(slopes, xs))
    levels = np.median(logs - shapes, axis=1)  # the best speed for each slope
    misses = np.abs(shapes + levels[:, None] - logs)
    best = int(np.argmin(misses.sum(axis=1)))
    errors = np.expm1(misses[best])
    speed = float(np.exp(levels[best]))
    return SpeedupLaw(speed, float(slopes[best]), fitted, float(np.median(errors)), float(errors.max()), len(xs))


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Fit y = start + slope · x with start ≥ 0 and slope > 0; return start, slope and the median relative error."""
    xs, ys = _positive(x), _positive(y)
    slopes = _pair_slopes(xs, ys)
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    start = float(np.median(ys - slope * xs))
    if slope <= 0 or start < 0:  # noise: a line through the origin is what is left
        start, slope = 0.0, float(np.median(ys / xs))
    return start, slope, float(np.median(relative_errors(start + slope * xs, ys)))


def _median_slope(xs: Floats, ys: Floats) -> float:
    slopes = _pair_slopes(xs, ys)
    return float(np.median(slopes)) if len(slopes) else 1.0  # one size: twice the size, twice the time


def _pair_slopes(xs: Floats, ys: Floats) -> Floats:
    first, second = np.triu_indices(len(xs), k=1)
    apart = xs[first] != xs[second]
    first, second = first[apart], second[apart]
    slopes: Floats = (ys[second] - ys[first]) / (xs[second] - xs[first])
    return slopes


def _positive(values: Sequence[float]) -> Floats:
    column = np.asarray(values, np.float64)
    if not len(column) or not np.all((column > 0) & np.isfinite(column)):
        raise InputError("a fit needs at least one point, and numbers above 0: drop the others")
    return column
