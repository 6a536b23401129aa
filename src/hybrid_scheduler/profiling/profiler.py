"""`HardwareProfiler` measures this machine: kernels on the CPU and, if torch finds one, on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from loguru import logger

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling import devices
from hybrid_scheduler.profiling.calibration import REFERENCE_GPUS, line
from hybrid_scheduler.profiling.devices import CPU_DEVICE, Device, check_type, find_gpu
from hybrid_scheduler.profiling.kernels import FLOAT, KERNELS, Kernel, random_array
from hybrid_scheduler.profiling.profile import (
    CPU_TIME,
    MEASURED,
    REFERENCE,
    TO_DEVICE,
    TO_HOST,
    WALL,
    Link,
    Machine,
    Part,
    Point,
    Profile,
    Transfer,
)
from hybrid_scheduler.profiling.profile_file import save
from hybrid_scheduler.profiling.timing import QUICK, Meter, Sampling, Timing, cpu_meter, gpu_meter, measure

SIZES = (256, 512, 1024, 2048)
QUICK_SIZES = (128, 256, 512)
SMALLEST, LARGEST = 8, 32_768
MEMORY_SHARE = 0.5  # of the machine's memory that arrays may take
CLOCKS = {WALL: time.perf_counter, CPU_TIME: time.thread_time}
Progress = Callable[[int, int, str], None]


class HardwareProfiler:
    """Measures kernels of several sizes and keeps the last profile in `profile`.

    `device_type` is auto, cpu, cuda, mps or xpu. If there is no such GPU the profile says so, and its GPU part is the
    reference model, not measured. `gpu` takes a device that was found elsewhere, or a stand-in.
    """

    def __init__(
        self,
        device_type: str = "auto",
        *,
        quick: bool = False,
        kernels: Sequence[str] = (),
        progress: Progress | None = None,
        threads: int | None = None,
        gpu: Device | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        check_type(device_type)
        self.kernels = _kernels(kernels)
        self.sampling = sampling or (QUICK if quick else Sampling())
        self.profile: Profile | None = None
        self._sizes = QUICK_SIZES if quick else SIZES
        self._progress = progress or (lambda _done, _total, _what: None)
        self.threads = _threads(threads)
        self.gpu, self.reason = (gpu, "") if gpu else _looked_for(device_type)
        self.device = self.gpu.type if self.gpu else "cpu"
        self._meters, self._energy = _meters(self.gpu)
        logger.info("Hardware Profiler initialized on device: {}", self.device)
        if not self.gpu:
            logger.warning("{}: the GPU part is the {}", self.reason, REFERENCE)

    def profile_range(self, sizes: Iterable[int] = ()) -> Profile:
        """Measure every kernel at every size; no sizes are 256, 512, 1024 and 2048 (quick: 128, 256, 512)."""
        checked = _checked(tuple(sizes) or self._sizes, self.kernels)
        logger.info("Starting hardware profiling with sizes: {}", list(checked))
        host = self._machine()
        with _running_on(self.threads):
            points = self._points(checked)
        transfers = measured_transfers(self.gpu, checked, self.sampling) if self.gpu else ()
        self.profile = Profile(
            machine=host,
            cpu=self._cpu_part(host),
            gpu=self._gpu_part(points),
            points=points,
            transfers=transfers,
            links=links_of(transfers),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        self._conclude(self.profile)
        return self.profile

    def save_profile(self, path: str | Path) -> None:
        """Write the last profile as JSON."""
        if self.profile is None:
            raise InputError("nothing was measured yet: call profile_range first")
        save(self.profile, path)

    def _points(self, sizes: tuple[int, ...]) -> tuple[Point, ...]:
        points: list[Point] = []
        total = len(sizes) * len(self.kernels)
        for size in sizes:
            logger.info("Profiling size {0}x{0}...", size)
            for kernel in self.kernels:
                self._progress(len(points), total, f"{kernel.name} {size}")
                points.append(self._point(kernel, size))
        self._progress(total, total, "done")
        return tuple(points)

    def _point(self, kernel: Kernel, size: int) -> Point:
        cpu = self._timed(kernel, size, CPU_DEVICE)
        gpu, reason = self._on_gpu(kernel, size)
        if kernel.name == "matmul":
            logger.info("CPU benchmark {0}x{0}: {1:.4f}s", size, cpu.seconds)
            if gpu:
                logger.info("GPU benchmark {0}x{0}: {1:.4f}s", size, gpu.seconds)
        operations, traffic = kernel.operations(size), kernel.traffic(size)
        return Point(kernel.name, float(size), traffic, operations, kernel.unit, cpu, gpu, reason)

    def _timed(self, kernel: Kernel, size: int, device: Device) -> Timing:
        run = kernel.build(size, device.place)
        if device is not CPU_DEVICE:
            return measure(run, device.settle, self.sampling, self._meters["gpu"])
        return measure(run, device.settle, self.sampling, self._meters["cpu"], CLOCKS[self._clock])

    def _on_gpu(self, kernel: Kernel, size: int) -> tuple[Timing | None, str]:
        if not self.gpu:
            return None, ""
        try:
            return self._timed(kernel, size, self.gpu), ""
        except (RuntimeError, NotImplementedError, TypeError) as error:
            # Not every backend has every kernel, nor memory for every size: the others are still worth having.
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            logger.warning("{} of size {} does not run on {}: {}", kernel.name, size, self.gpu.type, reason)
            return None, reason

    @property
    def _clock(self) -> str:
        # On one thread the time that the core spent on it is the kernel's, however busy the machine is.
        return CPU_TIME if self.threads == 1 else WALL

    def _cpu_part(self, host: Machine) -> Part:
        """As many CPUs as kernels can run side by side: one on all cores, or one for every core."""
        count = max(1, host.cores // self.threads)
        return Part(host.cpu, count, MEASURED, threads=self.threads, clock=self._clock, energy=self._energy["cpu"])

    def _gpu_part(self, points: tuple[Point, ...]) -> Part:
        if self.gpu and any(point.gpu for point in points):
            gpu = self.gpu
            return Part(
                gpu.name, gpu.count, MEASURED, type=gpu.type, memory_mb=gpu.memory_mb, energy=self._energy["gpu"]
            )
        reason = self.reason or f"no kernel ran on the {self.device} device"
        return Part("reference GPU", REFERENCE_GPUS, REFERENCE, reason, type="reference", energy="not measured")

    def _machine(self) -> Machine:
        return Machine(
            cpu=devices.cpu_name(),
            cores=devices.cores(),
            memory_mb=devices.memory_mb(),
            system=devices.system(),
            libraries=devices.libraries(),
            load_average=devices.load_average(),
        )

    def _conclude(self, profile: Profile) -> None:
        kind = "" if profile.gpu_measured else f" ({REFERENCE})"
        logger.info("Performance Model: CPU/GPU Ratio = {:.2f}{}", profile.cpu_gpu_ratio, kind)
        logger.info("GPU should receive {:.1%} of work{}", profile.gpu_fraction, kind)


def _looked_for(device_type: str) -> tuple[Device | None, str]:
    import torch

    return find_gpu(device_type, torch)


def _threads(threads: int | None) -> int:
    most = devices.cores()
    if threads is None:
        return most
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= most:
        raise InputError(f"threads is {threads!r}, expected a whole number from 1 to {most} (the cores there are)")
    return threads


@contextmanager
def _running_on(threads: int) -> Iterator[None]:
    """Let kernels on the CPU use so many threads while a block runs."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _meters(gpu: Device | None) -> tuple[dict[str, Meter | None], dict[str, str]]:
    """Return the meters of both sides, and for each what it counts or why there is none."""
    found = {"cpu": cpu_meter(), "gpu": gpu_meter(gpu.type) if gpu else (None, "not measured")}
    return (
        {side: meter for side, (meter, _) in found.items()},
        {side: meter.name if meter else reason for side, (meter, reason) in found.items()},
    )


def _kernels(names: Sequence[str]) -> tuple[Kernel, ...]:
    for name in names:
        if name not in KERNELS:
            raise unknown_name("kernel", name, KERNELS)
    return tuple(KERNELS[name] for name in names or KERNELS)


def _checked(sizes: tuple[int, ...], kernels: tuple[Kernel, ...]) -> tuple[int, ...]:
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or not SMALLEST <= size <= LARGEST:
            raise InputError(f"size is {size!r}, expected whole numbers from {SMALLEST} to {LARGEST}")
    if len(set(sizes)) < len(sizes):
        raise InputError(f"a size is given twice in {', '.join(map(str, sizes))}: give each once")
    needed = max(kernel.traffic(max(sizes)) for kernel in kernels) / 1e6
    there = devices.memory_mb()
    if there is not None and needed > MEMORY_SHARE * there:
        raise InputError(
            f"size {max(sizes)} needs {needed:,.0f} MB, this machine has {there:,.0f} MB: choose smaller sizes"
        )
    return sizes


@contextmanager
def silent() -> Iterator[None]:
    """Keep the profiler's log off the terminal, where a progress bar says the same."""
    logger.disable("hybrid_scheduler.profiling")
    try:
        yield
    finally:
        logger.enable("hybrid_scheduler.profiling")


def measured_transfers(gpu: Device, sizes: Sequence[int], sampling: Sampling) -> tuple[Transfer, ...]:
    """Move an array of N × N floats there and back for every size."""
    found = []
    for size in sizes:
        for direction, run in _moves(gpu, size).items():
            timing = measure(run, gpu.settle, sampling)
            found.append(Transfer(direction, FLOAT * size * size / 1e6, timing))
    return tuple(found)


def _moves(gpu: Device, size: int) -> dict[str, Callable[[], object]]:
    import torch

    host = random_array("cpu", size, size)
    there = torch.empty_like(host, device=gpu.place)
    back = torch.empty_like(host)
    return {TO_DEVICE: lambda: there.copy_(host), TO_HOST: lambda: back.copy_(there)}


def links_of(transfers: Sequence[Transfer]) -> tuple[Link, ...]:
    """Fit latency and bandwidth of every direction that was measured."""
    links = []
    for direction in dict.fromkeys(each.direction for each in transfers):
        chosen = [each for each in transfers if each.direction == direction]
        latency, per_mb, error = line([each.megabytes for each in chosen], [each.timing.seconds for each in chosen])
        links.append(Link(direction, 1.0 / per_mb, latency, error))
    return tuple(links)
