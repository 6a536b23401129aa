"""Devices that torch may know besides the CPU, behind one interface: CUDA (ROCm too), Apple's MPS, Intel's XPU."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hybrid_scheduler.errors import unknown_name

DEVICE_TYPES = ("auto", "cpu", "cuda", "mps", "xpu")
GPU_TYPES = DEVICE_TYPES[2:]


def _nothing_to_wait_for() -> None:
    """Return at once: calls on the CPU are done when they return."""


@dataclass(frozen=True)
class Device:
    """Where kernels run: torch's name of the place and how to wait until it has done its work."""

    type: str
    name: str
    place: str = "cpu"
    count: int = 1
    memory_mb: float | None = None
    settle: Callable[[], None] = _nothing_to_wait_for


CPU_DEVICE = Device("cpu", "CPU")


def _of_accelerator(kind: str, module: Any) -> Device | None:
    """CUDA and XPU have the same interface in torch."""
    if module is None or not module.is_available():
        return None
    figures = module.get_device_properties(0)
    memory = float(figures.total_memory // 1_000_000)
    return Device(kind, str(figures.name), f"{kind}:0", int(module.device_count()), memory, module.synchronize)


def _of_mps(torch: Any) -> Device | None:
    backend = getattr(torch.backends, "mps", None)
    if backend is None or not backend.is_available():
        return None
    # The GPU shares the machine's memory; torch says how much of it it may take.
    memory = float(torch.mps.recommended_max_memory() // 1_000_000)
    return Device("mps", "Apple GPU (Metal)", "mps", 1, memory, torch.mps.synchronize)


def _probe(kind: str, torch: Any) -> Device | None:
    return _of_mps(torch) if kind == "mps" else _of_accelerator(kind, getattr(torch, kind, None))


def check_type(device_type: str) -> None:
    """Refuse a device type that does not exist."""
    if device_type not in DEVICE_TYPES:
        raise unknown_name("device type", str(device_type), DEVICE_TYPES)


def find_gpu(device_type: str, torch: Any) -> tuple[Device | None, str]:
    """Return the GPU of a type (`auto`: the first there is), or None and why there is none."""
    check_type(device_type)
    if device_type == "cpu":
        return None, "only the CPU was asked for"
    wanted = GPU_TYPES if device_type == "auto" else (device_type,)
    found = next(filter(None, (_probe(kind, torch) for kind in wanted)), None)
    names = " or ".join(each.upper() for each in wanted)
    return found, "" if found else f"torch {torch.__version__} finds no {names} device"


CPUINFO = Path("/proc/cpuinfo")
LIBRARIES = ("numpy", "torch")
MACOS_CPU = ("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")


def cpu_name(cpuinfo: Path = CPUINFO) -> str:
    """Return the name of the CPU's model."""
    if cpuinfo.is_file():
        found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", cpuinfo.read_text("utf-8", "replace"), re.M)
        if found:
            return " ".join(found[1].split())
    if platform.system() == "Darwin":
        done = subprocess.run(MACOS_CPU, capture_output=True, text=True, check=False)  # noqa: S603  # a fixed command
        if done.stdout.strip():
            return done.stdout.strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """Return how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(usable(0)) if usable else os.cpu_count() or 1


def memory_mb() -> float | None:
    """Return the machine's memory in MB, None where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000)
    except (AttributeError, ValueError, OSError):
        return None


def load_average() -> float | None:
    """Return how many processes wanted to run during the last minute: above the cores, times are too long."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def system() -> str:
    """Return the operating system and the leading numbers of its release; the rest may hold names."""
    numbers = re.match(r"\d+(\.\d+)*", platform.release())
    return " ".join(filter(None, (platform.system(), numbers[0] if numbers else "", platform.machine())))


def libraries() -> dict[str, str]:
    """Return versions of Python and of the libraries that did the work."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # then it did none of the work
    return found
