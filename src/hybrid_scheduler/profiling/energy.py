"""Joules of a device where the machine lets us read them: RAPL for CPUs, NVML for NVIDIA GPUs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

POWERCAP = Path("/sys/class/powercap")


class Meter(Protocol):
    """Counts joules; `name` says what is counted."""

    name: str

    def joules(self) -> float | None:
        """Return joules since some fixed moment, None if the meter stopped answering."""


class RaplMeter:
    """The energy counters of the CPU packages; they wrap around."""

    name = "RAPL, all CPU packages"

    def __init__(self, packages: list[Path]) -> None:
        self._files = [package / "energy_uj" for package in packages]
        self._ranges = [_microjoules(package / "max_energy_range_uj") for package in packages]
        self._last = [_microjoules(file) for file in self._files]
        self._total = 0.0

    def joules(self) -> float | None:
        """Return joules of all packages since the meter was made."""
        try:
            now = [_microjoules(file) for file in self._files]
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
        nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)  # raises at once on a GPU that does not count

    def joules(self) -> float | None:
        """Return joules since the driver was loaded."""
        try:
            return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3
        except self._nvml.NVMLError:
            return None


def cpu_meter(folder: Path = POWERCAP) -> tuple[Meter | None, str]:
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


def gpu_meter(device_type: str, module: str = "pynvml") -> tuple[Meter | None, str]:
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


def _microjoules(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))
