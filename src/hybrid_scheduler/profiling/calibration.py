"""Calibration: fits the execution model to a profile by medians, which a single outlier does not bend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.profile import MEASURED, REFERENCE, TO_DEVICE, Profile

SLOPES = np.concatenate([[0.0], np.geomspace(0.01, 1000.0, 501)])
"""Speed-up slopes of the grid search; neighbours differ by 2.3 %."""
SIDES = ("cpu", "gpu")
MIN_RANGE = 0.3  # smallest range of intensities from which a slope can be fitted
REFERENCE_GPUS = 4


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
    slope_fitted: bool = False  # False: the intensities are too similar, the slope is the reference model's
    error: float = 0.0
    worst: float = 0.0
    points: int = 0


def relative_errors(predicted: Floats, actual: Floats) -> Floats:
    """Return the errors of predictions as a factor minus 1: both twice and half the actual value are 1."""
    errors: Floats = np.expm1(np.abs(np.log(predicted / actual)))
    return errors


def fit_power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """Fit a power law in logarithms: the median slope of all pairs (Theil–Sen), then the median level."""
    xs, ys = np.log(_positive(x)), np.log(_positive(y))
    slopes = _pair_slopes(xs, ys)
    exponent = float(np.median(slopes)) if len(slopes) else 1.0  # a single size: assume proportional
    level = float(np.median(ys - exponent * xs))
    errors = np.expm1(np.abs(level + exponent * xs - ys))
    return PowerLaw(float(np.exp(level)), exponent, float(np.median(errors)), float(errors.max()), len(xs))


def fit_shared_power_law(groups: Sequence[tuple[Floats, Floats]]) -> PowerLaw:
    """Fit one power law to several groups: slopes within groups, the level over all of them."""
    slopes = [_pair_slopes(np.log(x), np.log(y)) for x, y in groups]
    exponent = float(np.median(np.concatenate(slopes))) if any(len(each) for each in slopes) else 1.0
    x, y = (np.concatenate([group[side] for group in groups]) for side in (0, 1))
    level = float(np.median(np.log(y) - exponent * np.log(x)))
    errors = relative_errors(np.exp(level) * x**exponent, y)
    return PowerLaw(float(np.exp(level)), exponent, float(np.median(errors)), float(errors.max()), len(x))


def fit_speedup_law(intensity: Sequence[float], speedup: Sequence[float], slope: float) -> SpeedupLaw:
    """Fit speed · (1 + slope · intensity) by least absolute log errors; `slope` stays if intensities are alike."""
    xs, logs = np.asarray(intensity, np.float64), np.log(_positive(speedup))
    if len(xs) != len(logs):
        raise InputError(f"there are {len(xs)} intensities and {len(logs)} speed-ups: give one of each a point")
    fitted = float(np.ptp(xs)) >= MIN_RANGE
    slopes = SLOPES if fitted else np.array([slope])
    shapes = np.log1p(np.outer(slopes, xs))
    levels = np.median(logs - shapes, axis=1)  # the best speed for each slope
    residuals = np.abs(shapes + levels[:, None] - logs)
    best = int(np.argmin(residuals.sum(axis=1)))
    errors = np.expm1(residuals[best])
    speed = float(np.exp(levels[best]))
    return SpeedupLaw(speed, float(slopes[best]), fitted, float(np.median(errors)), float(errors.max()), len(xs))


def fit_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Fit y = start + slope · x with start ≥ 0 and slope > 0; return start, slope and the median relative error."""
    xs, ys = _positive(x), _positive(y)
    slopes = _pair_slopes(xs, ys)
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    start = float(np.median(ys - slope * xs))
    if slope <= 0 or start < 0:  # too noisy: fall back to a line through the origin
        start, slope = 0.0, float(np.median(ys / xs))
    return start, slope, float(np.median(relative_errors(start + slope * xs, ys)))


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


@dataclass(frozen=True)
class Calibration:
    """Fitted figures of the execution model; `sources` says which of them were measured."""

    duration: PowerLaw  # scale · N^exponent / (intensity + 0.5), one law for all kernels
    speedup: SpeedupLaw
    bandwidth: float  # MB/s to the device
    latency: float  # s of the smallest transfer
    bandwidth_error: float
    cpu_laws: dict[str, PowerLaw]  # kernel by kernel: seconds = scale · N^exponent
    gpu_laws: dict[str, PowerLaw]
    sources: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def calibrate(profile: Profile) -> Calibration:
    """Fit the execution model to a profile; what was not measured is the reference model's."""
    link = profile.link(TO_DEVICE)
    gpu_laws = _fit_kernels(profile, "gpu")
    source = MEASURED if gpu_laws else REFERENCE
    speedup = SpeedupLaw(DEFAULT_GPU.speed, DEFAULT_GPU.speedup_slope)
    if gpu_laws:
        both = [(each, each.gpu) for each in profile.points if each.gpu]
        pairs = [pair for pair in both if pair[0].operations is not None] or both
        intensities = [point.compute_intensity for point, _ in pairs]
        speedup = fit_speedup_law(
            intensities, [point.cpu.seconds / gpu.seconds for point, gpu in pairs], DEFAULT_GPU.speedup_slope
        )
    kernels = [profile.select_kernel(name) for name in profile.kernels]
    sizes = [np.array([each.size for each in points]) for points in kernels]
    # One law for all kernels: their CPU times without the model's factor of intensity.
    times = [np.array([each.cpu.seconds * (each.compute_intensity + 0.5) for each in points]) for points in kernels]
    return Calibration(
        duration=fit_shared_power_law(list(zip(sizes, times, strict=True))),
        speedup=speedup,
        bandwidth=link.bandwidth if link else DEFAULT_GPU.bandwidth,
        latency=link.latency if link else 0.0,
        bandwidth_error=link.error if link else 0.0,
        cpu_laws=_fit_kernels(profile, "cpu"),
        gpu_laws=gpu_laws,
        sources={"duration": MEASURED, "speedup": source, "bandwidth": MEASURED if link else REFERENCE},
    )


def _fit_kernels(profile: Profile, side: str) -> dict[str, PowerLaw]:
    times = {name: _list_times(profile, name, side) for name in profile.kernels}
    return {name: fit_power_law(*zip(*pairs, strict=True)) for name, pairs in times.items() if pairs}


def _list_times(profile: Profile, kernel: str, side: str) -> list[tuple[float, float]]:
    """Return size and seconds of every measurement of a kernel on one side."""
    points = profile.select_kernel(kernel)
    return [(each.size, timing.seconds) for each in points if (timing := getattr(each, side))]


def build_cluster(profile: Profile, gpus: int | None = None) -> Cluster:
    """Build the cluster of a profile; a GPU that was not measured is the reference model's."""
    fitted = calibrate(profile)
    count = profile.gpu.count if profile.gpu_measured else REFERENCE_GPUS
    gpu = replace(
        DEFAULT_GPU,
        speed=fitted.speedup.speed,
        speedup_slope=fitted.speedup.slope,
        bandwidth=fitted.bandwidth,
        memory=profile.gpu.memory_mb or DEFAULT_GPU.memory,
        watts=_median_watts(profile, "gpu", DEFAULT_GPU.watts),
    )
    cpu = replace(DEFAULT_CPU, watts=_median_watts(profile, "cpu", DEFAULT_CPU.watts))
    return Cluster((cpu, gpu), (Node({"cpu": profile.cpu.count, "gpu": count if gpus is None else gpus}),))


def _median_watts(profile: Profile, side: str, default: float) -> float:
    """Return the median power of the kernels whose energy was metered, else the default."""
    timings = [timing for point in profile.points if (timing := getattr(point, side))]
    watts = [timing.joules / timing.seconds for timing in timings if timing.joules is not None]
    return float(np.median(watts)) if watts else default


@dataclass(frozen=True, slots=True)
class HoldOut:
    """A measured time and its prediction by a law fitted to the kernel's other sizes."""

    kernel: str
    side: str  # cpu or gpu
    size: float
    position: str  # inside or outside the range of the fitted sizes
    seconds: float
    predicted: float

    @property
    def error(self) -> float:
        """Relative error of the prediction, as a factor minus 1."""
        return float(relative_errors(np.array([self.predicted]), np.array([self.seconds]))[0])


def cross_validate(profile: Profile) -> list[HoldOut]:
    """Predict each size of each kernel from its other sizes; kernels with three sizes or more."""
    found = []
    for kernel, side in product(profile.kernels, SIDES):
        times = sorted(_list_times(profile, kernel, side))
        if len({size for size, _ in times}) < 3:
            continue
        for size, seconds in times:
            law = fit_power_law(*zip(*(pair for pair in times if pair[0] != size), strict=True))
            position = "inside" if times[0][0] < size < times[-1][0] else "outside"
            found.append(HoldOut(kernel, side, size, position, seconds, law(size)))
    return found
