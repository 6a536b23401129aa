"""Profiles made up by known laws, so that tests know what must come out."""

from __future__ import annotations

from dataclasses import replace

from hybrid_scheduler.profiling.kernels import KERNELS
from hybrid_scheduler.profiling.profile import (
    MEASURED,
    REFERENCE,
    TO_DEVICE,
    TO_HOST,
    Link,
    Machine,
    Point,
    Processor,
    Profile,
    Transfer,
)
from hybrid_scheduler.profiling.timing import Timing

SIZES = (256, 512, 1024, 2048)
MACHINE = Machine("a CPU", 2, 8000.0, "Linux 6 x86_64", {"torch": "2"}, 0.5)
CPU_PART = Processor("a CPU", 1, MEASURED, threads=2, energy="no RAPL counters")
GPU_PART = Processor("a GPU", 2, MEASURED, type="cuda", memory_mb=6000.0, energy="NVML")
NO_GPU = Processor("reference GPU", 4, REFERENCE, "no GPU was found", type="reference", energy="not measured")
LINKS = (Link(TO_DEVICE, 8000.0, 1e-5, 0.01), Link(TO_HOST, 7000.0, 2e-5, 0.01))


def point(kernel: str, size: int, seconds: float, gpu: float | None = None) -> Point:
    """Return a point of a kernel with these times."""
    each = KERNELS[kernel]
    timings = [None if time is None else Timing(time, 0.05, 7, 1) for time in (seconds, gpu)]
    assert timings[0] is not None
    return Point(kernel, float(size), each.traffic(size), each.operations(size), each.unit, timings[0], timings[1])


def cpu_only(scale: float = 1e-9) -> Profile:
    """Return a machine without a GPU: matrix multiplication is cubic, a copy quadratic."""
    points = [point("matmul", size, scale * size**3) for size in SIZES]
    points += [point("copy", size, scale * size**2) for size in SIZES]
    return Profile(MACHINE, CPU_PART, NO_GPU, tuple(points), created="2026-01-01T00:00:00+00:00")


def with_gpu(speed: float = 0.5, slope: float = 20.0) -> Profile:
    """Return the same machine with two GPUs whose speed-up is speed · (1 + slope · intensity)."""
    base = cpu_only()
    points = tuple(
        replace(each, gpu=Timing(each.cpu.seconds / (speed * (1 + slope * each.compute_intensity)), 0.02, 9))
        for each in base.points
    )
    transfers = tuple(
        Transfer(link.direction, mb, Timing(link.seconds(mb), 0.01, 9)) for link in LINKS for mb in (1.0, 4.0, 16.0)
    )
    return replace(base, gpu=GPU_PART, points=points, transfers=transfers, links=LINKS)
