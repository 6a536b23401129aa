"""Timing of calls, and the energy that they take where the machine can be metered (RAPL, NVML)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hybrid_scheduler.errors import InputError

OUTLIER = 3.5  # robust standard deviations from the median at which a sample is discarded (Iglewicz and Hoaglin)
NORMAL = 1.4826  # median absolute deviations that make one standard deviation of a normal distribution
MIN_SCALE = 0.01  # share of the median that always counts as noise, so that nearly equal samples are not outliers
MIN_METERED = 0.05  # seconds below which a meter that ticks every millisecond is too coarse
POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How often a call is repeated, and for how long."""

    warmups: int = 2  # 1 or more
    least: int = 3  # repeats, even beyond the budget
    most: int = 11
    budget: float = 0.25  # seconds for all repeats
    shortest: float = 0.002  # seconds of one repeat; of shorter calls each repeat makes several


QUICK = Sampling(most=7, budget=0.05, shortest=0.001)


@dataclass(frozen=True, slots=True)
class Timing:
    """Median seconds of a call, their spread, and its joules if they were metered."""

    seconds: float
    spread: float  # interquartile range over the median
    repeats: int  # samples without the discarded ones
    discarded: int = 0
    joules: float | None = None  # of one call

    def __post_init__(self) -> None:
        if not 1e-12 <= self.seconds <= 1e9:
            raise InputError(f"seconds is {self.seconds!r}, expected a number above 0")
        if not 0 <= self.spread < 1e12 or self.repeats < 1 or self.discarded < 0:
            raise InputError("spread and discarded are 0 or more, repeats 1 or more")
        if self.joules is not None and not 0 <= self.joules < 1e18:
            raise InputError(f"joules is {self.joules!r}, expected a number, 0 or more, or null")


def summarise(samples: Sequence[float], joules: float | None = None) -> Timing:
    """Return median and spread of samples without outliers."""
    values = np.asarray(samples, np.float64)
    middle = float(np.median(values))
    scale = max(NORMAL * float(np.median(np.abs(values - middle))), MIN_SCALE * middle)
    kept = values[np.abs(values - middle) <= OUTLIER * scale]
    low, median, high = np.percentile(kept, [25, 50, 75])
    return Timing(float(median), float((high - low) / median), len(kept), len(values) - len(kept), joules)


def time_call(
    run: Callable[[], object],
    settle: Callable[[], None],
    sampling: Sampling,
    meter: Meter | None = None,
    clock: Callable[[], float] = time.perf_counter,
    wall: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Time a call; `settle` waits for the device to finish its work, `wall` is the clock of the budget."""

    def time_repeat(calls: int) -> float:
        start = clock()
        for _ in range(calls):
            run()
        settle()
        return max(clock() - start, 1e-9) / calls

    once = min(time_repeat(1) for _ in range(sampling.warmups))  # the first call may load or compile something
    calls = max(1, math.ceil(sampling.shortest / once))
    start, began = _read_joules(meter), wall()
    samples: list[float] = []
    while len(samples) < sampling.least or (len(samples) < sampling.most and wall() - began < sampling.budget):
        samples.append(time_repeat(calls))
    spent = _read_joules(meter) - start if wall() - began >= MIN_METERED else math.nan
    return summarise(samples, spent / (calls * len(samples)) if spent >= 0 else None)


def _read_joules(meter: Meter | None) -> float:
    """Return a meter's joules, NaN if it has none."""
    joules = meter.joules() if meter else None
    return math.nan if joules is None else joules


class Meter(Protocol):
    """An energy counter; `name` says what it covers."""

    name: str

    def joules(self) -> float | None:
        """Return joules since a fixed moment, None if they cannot be read."""


class RaplMeter:
    """The energy counters of the CPU packages, which wrap around."""

    name = "RAPL, all CPU packages"

    def __init__(self, packages: list[Path]) -> None:
        self._files = [package / "energy_uj" for package in packages]
        self._ranges = [_read_microjoules(package / "max_energy_range_uj") for package in packages]
        self._last = [_read_microjoules(file) for file in self._files]
        self._total = 0.0

    def joules(self) -> float | None:
        """Return joules of all packages since the meter was created."""
        try:
            now = [_read_microjoules(file) for file in self._files]
        except (OSError, ValueError):
            return None
        for value, last, full in zip(now, self._last, self._ranges, strict=True):
            self._total += (value - last) % full if full else value - last
        self._last = now
        return self._total / 1e6


class NvmlMeter:
    """The energy counter of an NVIDIA GPU (Volta and newer)."""

    name = "NVML, whole board"

    def __init__(self, nvml: Any, index: int = 0) -> None:
        self._nvml = nvml
        nvml.nvmlInit()
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
        nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)  # raises on a GPU without a counter

    def joules(self) -> float | None:
        """Return joules since the driver was loaded."""
        try:
            return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3
        except self._nvml.NVMLError:
            return None


def find_cpu_meter(folder: Path = POWERCAP) -> tuple[Meter | None, str]:
    """Return the CPU's meter, or None and why there is none."""
    packages = sorted(folder.glob("intel-rapl:[0-9]")) + sorted(folder.glob("intel-rapl:[0-9][0-9]"))
    if not packages:
        return None, "no RAPL counters (virtual machine, or a CPU or system without them)"
    try:
        return RaplMeter(packages), ""
    except PermissionError:
        return None, "the RAPL counters may not be read by this user"
    except (OSError, ValueError) as error:
        return None, f"the RAPL counters cannot be read ({type(error).__name__})"


def find_gpu_meter(device_type: str, module: str = "pynvml") -> tuple[Meter | None, str]:
    """Return the GPU's meter, or None and why there is none."""
    if device_type != "cuda":
        return None, f"no energy counter is read on {device_type} devices"
    try:
        nvml = import_module(module)
    except ImportError:
        return None, "NVML cannot be read: install nvidia-ml-py"
    try:
        return NvmlMeter(nvml), ""
    except nvml.NVMLError as error:
        return None, f"NVML does not count this GPU's energy ({type(error).__name__})"


def _read_microjoules(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))
