"""`HardwareProfiler` measures this machine: kernels on the CPU and, if torch finds one, on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from loguru import logger
from threadpoolctl import threadpool_limits

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling import devices
from hybrid_scheduler.profiling.calibration import REFERENCE_GPUS, fit_line
from hybrid_scheduler.profiling.devices import CPU_DEVICE, Device, check_device_type, find_gpu
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
    Point,
    Processor,
    Profile,
    Transfer,
)
from hybrid_scheduler.profiling.profile_file import save_profile
from hybrid_scheduler.profiling.timing import QUICK, Sampling, Timing, find_cpu_meter, find_gpu_meter, time_call

SIZES = (256, 512, 1024, 2048)
QUICK_SIZES = (128, 256, 512)
SMALLEST, LARGEST = 8, 32_768
MEMORY_SHARE = 0.5  # of the machine's memory, for the arrays of a kernel
CLOCKS = {WALL: time.perf_counter, CPU_TIME: time.thread_time}
Progress = Callable[[int, int, str], None]


class HardwareProfiler:
    """Measures kernels of several sizes and keeps the last profile in `profile`.

    `device_type` is auto, cpu, cuda, mps or xpu. If there is no such GPU the profile says so, and its GPU part is the
    reference model, not measured. `gpu` overrides the search for a device.
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
        check_device_type(device_type)
        for name in kernels:
            if name not in KERNELS:
                raise unknown_name("kernel", name, KERNELS)
        self.kernels = tuple(KERNELS[name] for name in kernels or KERNELS)
        self.sampling = sampling or (QUICK if quick else Sampling())
        self.profile: Profile | None = None
        self._sizes = QUICK_SIZES if quick else SIZES
        self._progress = progress or (lambda _done, _total, _what: None)
        most = devices.usable_cores()
        self.threads = most if threads is None else threads
        if isinstance(threads, bool) or not isinstance(self.threads, int) or not 1 <= self.threads <= most:
            raise InputError(
                f"threads is {threads!r}, expected a whole number from 1 to {most} (the cores there are)"
            )
        self.gpu, self.reason = gpu, ""
        if self.gpu is None:
            self.gpu, self.reason = find_gpu(device_type, devices.load_torch())
        self.device = self.gpu.type if self.gpu else "cpu"
        self._meters = {
            "cpu": find_cpu_meter(),
            "gpu": find_gpu_meter(self.gpu.type) if self.gpu else (None, "not measured"),
        }
        logger.info("Hardware Profiler initialized on device: {}", self.device)
        if not self.gpu:
            logger.warning("{}: the GPU part is the {}", self.reason, REFERENCE)

    def profile_range(self, sizes: Iterable[int] = ()) -> Profile:
        """Measure every kernel at every size, by default 256, 512, 1024 and 2048 (quick: 128, 256, 512)."""
        chosen = tuple(sizes) or self._sizes
        _check_sizes(chosen, self.kernels)
        logger.info("Starting hardware profiling with sizes: {}", list(chosen))
        host = Machine(
            cpu=devices.cpu_name(),
            cores=devices.usable_cores(),
            memory_mb=devices.memory_mb(),
            system=devices.system_name(),
            libraries=devices.library_versions(),
            load_average=devices.load_average(),
        )
        with use_threads(self.threads):
            points = self._measure_points(chosen)
        transfers = measure_transfers(self.gpu, chosen, self.sampling) if self.gpu else ()
        # As many CPUs as kernels can run in parallel: one on all cores, or one per core.
        count, energy = max(1, host.cores // self.threads), self._energy("cpu")
        cpu = Processor(host.cpu, count, MEASURED, threads=self.threads, clock=self._clock, energy=energy)
        self.profile = Profile(
            machine=host,
            cpu=cpu,
            gpu=self._describe_gpu(points),
            points=points,
            transfers=transfers,
            links=fit_links(transfers),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        kind = "" if self.profile.gpu_measured else f" ({REFERENCE})"
        logger.info("Performance Model: CPU/GPU Ratio = {:.2f}{}", self.profile.cpu_gpu_ratio, kind)
        logger.info("GPU should receive {:.1%} of work{}", self.profile.gpu_fraction, kind)
        return self.profile

    def save_profile(self, path: str | Path) -> None:
        """Write the last profile as JSON."""
        if self.profile is None:
            raise InputError("nothing was measured yet: call profile_range first")
        save_profile(self.profile, path)

    def _measure_points(self, sizes: tuple[int, ...]) -> tuple[Point, ...]:
        points: list[Point] = []
        total = len(sizes) * len(self.kernels)
        for size in sizes:
            logger.info("Profiling size {0}x{0}...", size)
            for kernel in self.kernels:
                self._progress(len(points), total, f"{kernel.name} {size}")
                cpu = self._time_kernel(kernel, size, CPU_DEVICE)
                gpu, reason = self._time_on_gpu(kernel, size)
                if kernel.name == "matmul":
                    logger.info("CPU benchmark {0}x{0}: {1:.4f}s", size, cpu.seconds)
                    if gpu:
                        logger.info("GPU benchmark {0}x{0}: {1:.4f}s", size, gpu.seconds)
                work = kernel.traffic(size), kernel.operations(size), kernel.unit
                points.append(Point(kernel.name, float(size), *work, cpu, gpu, reason))
        self._progress(total, total, "done")
        return tuple(points)

    def _time_kernel(self, kernel: Kernel, size: int, device: Device) -> Timing:
        on_cpu = device is CPU_DEVICE
        meter, clock = self._meters["cpu" if on_cpu else "gpu"][0], self._clock if on_cpu else WALL
        return time_call(kernel.build(size, device.place), device.settle, self.sampling, meter, CLOCKS[clock])

    def _time_on_gpu(self, kernel: Kernel, size: int) -> tuple[Timing | None, str]:
        if not self.gpu:
            return None, ""
        try:
            return self._time_kernel(kernel, size, self.gpu), ""
        except (RuntimeError, NotImplementedError, TypeError) as error:
            # Not every backend has every kernel, or memory for every size; the others are still of use.
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            logger.warning("{} of size {} does not run on {}: {}", kernel.name, size, self.gpu.type, reason)
            return None, reason

    @property
    def _clock(self) -> str:
        # CPU time of a single thread does not depend on how busy the machine is.
        return CPU_TIME if self.threads == 1 else WALL

    def _energy(self, side: str) -> str:
        meter, reason = self._meters[side]
        return meter.name if meter else reason

    def _describe_gpu(self, points: tuple[Point, ...]) -> Processor:
        gpu, energy = self.gpu, self._energy("gpu")
        if gpu and any(point.gpu for point in points):
            return Processor(gpu.name, gpu.count, MEASURED, type=gpu.type, memory_mb=gpu.memory_mb, energy=energy)
        reason = self.reason or f"no kernel ran on the {self.device} device"
        return Processor("reference GPU", REFERENCE_GPUS, REFERENCE, reason, type="reference", energy="not measured")


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Let torch, or NumPy without it, use so many CPU threads inside the block."""
    torch = devices.load_torch()
    if torch is None:
        with threadpool_limits(threads):
            yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_sizes(sizes: tuple[int, ...], kernels: tuple[Kernel, ...]) -> None:
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or not SMALLEST <= size <= LARGEST:
            raise InputError(f"size is {size!r}, expected whole numbers from {SMALLEST} to {LARGEST}")
    if len(set(sizes)) < len(sizes):
        raise InputError(f"a size is given twice in {', '.join(map(str, sizes))}: give each once")
    needed = max(kernel.traffic(max(sizes)) for kernel in kernels) / 1e6
    available = devices.memory_mb()
    if available is not None and needed > MEMORY_SHARE * available:
        raise InputError(
            f"size {max(sizes)} needs {needed:,.0f} MB, this machine has {available:,.0f} MB: choose smaller sizes"
        )


@contextmanager
def silent() -> Iterator[None]:
    """Disable the profiler's log inside the block, for callers that show progress themselves."""
    logger.disable("hybrid_scheduler.profiling")
    try:
        yield
    finally:
        logger.enable("hybrid_scheduler.profiling")


def measure_transfers(gpu: Device, sizes: Sequence[int], sampling: Sampling) -> tuple[Transfer, ...]:
    """Time the transfer of an N × N array to the device and back for every size."""
    import torch

    found = []
    for size in sizes:
        host = random_array("cpu", size, size)
        target, back = torch.empty_like(host, device=gpu.place), torch.empty_like(host)
        copies = {TO_DEVICE: partial(target.copy_, host), TO_HOST: partial(back.copy_, target)}
        for direction, copy in copies.items():
            timing = time_call(copy, gpu.settle, sampling)
            found.append(Transfer(direction, FLOAT * size * size / 1e6, timing))
    return tuple(found)


def fit_links(transfers: Sequence[Transfer]) -> tuple[Link, ...]:
    """Fit latency and bandwidth of every measured direction."""
    links = []
    for direction in dict.fromkeys(each.direction for each in transfers):
        chosen = [each for each in transfers if each.direction == direction]
        megabytes, seconds = [each.megabytes for each in chosen], [each.timing.seconds for each in chosen]
        latency, per_mb, error = fit_line(megabytes, seconds)
        links.append(Link(direction, 1.0 / per_mb, latency, error))
    return tuple(links)
