"""Robust fits of three small laws; medians instead of squares, so that one bad time cannot bend them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, DeviceClass, Node
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.profile import MEASURED, REFERENCE, TO_DEVICE, Point, Profile
from hybrid_scheduler.profiling.timing import Timing

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


REFERENCE_GPUS = 4
REFERENCE_SPEEDUP = SpeedupLaw(DEFAULT_GPU.speed, DEFAULT_GPU.speedup_slope)
Side = Callable[[Point], Timing | None]


@dataclass(frozen=True)
class Calibration:
    """Fitted figures of the physics; `sources` says which of them were measured."""

    duration: PowerLaw  # base = scale · N^exponent / (intensity + 0.5), one law for all kernels
    speedup: SpeedupLaw
    bandwidth: float  # MB/s to the device
    latency: float  # s of a transfer, however small
    bandwidth_error: float
    cpu_laws: dict[str, PowerLaw]  # kernel by kernel: seconds = scale · N^exponent
    gpu_laws: dict[str, PowerLaw]
    sources: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def calibrate(profile: Profile) -> Calibration:
    """Fit the physics to a profile; what was not measured stays as the reference model has it."""
    link = profile.link(TO_DEVICE)
    gpu_laws = _laws(profile, lambda point: point.gpu)
    source = MEASURED if gpu_laws else REFERENCE
    return Calibration(
        duration=shared_power_law([_group(profile, name) for name in profile.kernels]),
        speedup=_speedup(profile) if gpu_laws else REFERENCE_SPEEDUP,
        bandwidth=link.bandwidth if link else DEFAULT_GPU.bandwidth,
        latency=link.latency if link else 0.0,
        bandwidth_error=link.error if link else 0.0,
        cpu_laws=_laws(profile, lambda point: point.cpu),
        gpu_laws=gpu_laws,
        sources={"duration": MEASURED, "speedup": source, "bandwidth": MEASURED if link else REFERENCE},
    )


def _group(profile: Profile, kernel: str) -> tuple[Floats, Floats]:
    """Sizes of a kernel and what is left of its times when the model's share of intensity is taken out."""
    points = list(profile.of_kernel(kernel))
    sizes = np.array([each.size for each in points])
    return sizes, np.array([each.cpu.seconds * (each.compute_intensity + 0.5) for each in points])


def _laws(profile: Profile, side: Side) -> dict[str, PowerLaw]:
    laws = {}
    for name in profile.kernels:
        timed = [(point.size, timing.seconds) for point in profile.of_kernel(name) if (timing := side(point))]
        if timed:
            sizes, seconds = zip(*timed, strict=True)
            laws[name] = power_law(sizes, seconds)
    return laws


def _speedup(profile: Profile) -> SpeedupLaw:
    both = [(each, each.gpu) for each in profile.points if each.gpu]
    known = [pair for pair in both if pair[0].operations is not None] or both
    return speedup_law(
        [point.compute_intensity for point, _ in known],
        [point.cpu.seconds / gpu.seconds for point, gpu in known],
        DEFAULT_GPU.speedup_slope,
    )


def cluster_of(profile: Profile, gpus: int | None = None) -> Cluster:
    """Return the machine of a profile as a cluster; a GPU that was not measured is the reference model's."""
    fitted = calibrate(profile)
    count = profile.gpu.count if profile.gpu_measured else REFERENCE_GPUS
    gpu = replace(
        DEFAULT_GPU,
        speed=fitted.speedup.speed,
        speedup_slope=fitted.speedup.slope,
        bandwidth=fitted.bandwidth,
        memory=profile.gpu.memory_mb or DEFAULT_GPU.memory,
        watts=_watts(profile, lambda point: point.gpu, DEFAULT_GPU),
    )
    cpu = replace(DEFAULT_CPU, watts=_watts(profile, lambda point: point.cpu, DEFAULT_CPU))
    return Cluster((cpu, gpu), (Node({"cpu": profile.cpu.count, "gpu": count if gpus is None else gpus}),))


def _watts(profile: Profile, side: Side, default: DeviceClass) -> float:
    """Median watts of the kernels whose joules were metered, else the model's."""
    timings = [timing for point in profile.points if (timing := side(point)) and timing.joules is not None]
    watts = [timing.joules / timing.seconds for timing in timings if timing.joules is not None]
    return float(np.median(watts)) if watts else default.watts


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A time that the law did not see: fitted on the kernel's other sizes, predicted, compared."""

    kernel: str
    side: str  # cpu or gpu
    size: float
    position: str  # inside: between sizes that were fitted; outside: beyond them
    seconds: float
    predicted: float

    @property
    def error(self) -> float:
        """How far the prediction is off, as a factor minus 1."""
        return float(relative_errors(np.array([self.predicted]), np.array([self.seconds]))[0])


def held_out(profile: Profile) -> list[HeldOut]:
    """Leave out each size of each kernel in turn, fit the others and predict it; kernels with three sizes or more."""
    sides: dict[str, Side] = {"cpu": lambda point: point.cpu, "gpu": lambda point: point.gpu}
    return [
        each
        for name in profile.kernels
        for side, timing_of in sides.items()
        for each in _leave_one_out(name, side, _timed(profile, name, timing_of))
    ]


def _timed(profile: Profile, kernel: str, side: Side) -> list[tuple[float, float]]:
    return sorted((each.size, timing.seconds) for each in profile.of_kernel(kernel) if (timing := side(each)))


def _leave_one_out(kernel: str, side: str, timed: list[tuple[float, float]]) -> list[HeldOut]:
    if len({size for size, _ in timed}) < 3:
        return []
    found = []
    smallest, largest = timed[0][0], timed[-1][0]
    for size, seconds in timed:
        others = [pair for pair in timed if pair[0] != size]
        law = power_law([each for each, _ in others], [each for _, each in others])
        position = "inside" if smallest < size < largest else "outside"
        found.append(HeldOut(kernel, side, size, position, seconds, law(size)))
    return found
