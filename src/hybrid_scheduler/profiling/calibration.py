"""Calibration: the model's physics with the figures of a measured machine, and how well they fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hybrid_scheduler.model.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, DeviceClass, Node
from hybrid_scheduler.model.tasks import Floats
from hybrid_scheduler.profiling.fits import (
    PowerLaw,
    SpeedupLaw,
    power_law,
    relative_errors,
    shared_power_law,
    speedup_law,
)
from hybrid_scheduler.profiling.profile import MEASURED, REFERENCE, TO_DEVICE, Point, Profile
from hybrid_scheduler.profiling.timing import Timing

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
