"""What this machine has: GPUs that torch finds (CUDA or ROCm, MPS, XPU), CPU, memory, system, libraries."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hybrid_scheduler.errors import unknown_name
from hybrid_scheduler.registry import how_to_install, is_installed

DEVICE_TYPES = ("auto", "cpu", "cuda", "mps", "xpu")
GPU_TYPES = DEVICE_TYPES[2:]
CPUINFO = Path("/proc/cpuinfo")
LIBRARIES = ("numpy", "torch")
MACOS_CPU = ("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")


@dataclass(frozen=True)
class Device:
    """A torch device: its name in torch, and how to wait until it has finished its work."""

    type: str
    name: str
    place: str = "cpu"
    count: int = 1
    memory_mb: float | None = None
    settle: Callable[[], None] = lambda: None  # calls on the CPU are complete when they return


CPU_DEVICE = Device("cpu", "CPU")


def _find_device(kind: str, torch: Any) -> Device | None:
    """Return the first device of a kind; CUDA and XPU have the same interface in torch."""
    module = getattr(torch.backends if kind == "mps" else torch, kind, None)
    if module is None or not module.is_available():
        return None
    if kind == "mps":
        # The GPU shares the machine's memory; torch knows how much of it a process may take.
        memory = float(torch.mps.recommended_max_memory() // 1_000_000)
        return Device("mps", "Apple GPU (Metal)", "mps", 1, memory, torch.mps.synchronize)
    properties = module.get_device_properties(0)
    memory = float(properties.total_memory // 1_000_000)
    return Device(kind, str(properties.name), f"{kind}:0", int(module.device_count()), memory, module.synchronize)


def check_device_type(device_type: str) -> None:
    """Raise an error for a device type that does not exist."""
    if device_type not in DEVICE_TYPES:
        raise unknown_name("device type", str(device_type), DEVICE_TYPES)


def load_torch() -> Any:
    """Return torch, None if it is not installed."""
    return import_module("torch") if is_installed("torch") else None


def find_gpu(device_type: str, torch: Any) -> tuple[Device | None, str]:
    """Return the GPU of a type (`auto`: the first of any), or None and the reason; `torch` is None without it."""
    check_device_type(device_type)
    if device_type == "cpu":
        return None, "only the CPU was asked for"
    if torch is None:
        return None, f"torch, which finds GPUs, is not installed ({how_to_install('rl')})"
    wanted = GPU_TYPES if device_type == "auto" else (device_type,)
    found = next(filter(None, (_find_device(kind, torch) for kind in wanted)), None)
    names = " or ".join(each.upper() for each in wanted)
    return found, "" if found else f"torch {torch.__version__} finds no {names} device"


def cpu_name(cpuinfo: Path = CPUINFO) -> str:
    """Return the CPU's model name."""
    if cpuinfo.is_file():
        found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", cpuinfo.read_text("utf-8", "replace"), re.M)
        if found:
            return " ".join(found[1].split())
    if platform.system() == "Darwin":
        done = subprocess.run(MACOS_CPU, capture_output=True, text=True, check=False)  # noqa: S603  # a fixed command
        if done.stdout.strip():
            return done.stdout.strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(usable(0)) if usable else os.cpu_count() or 1


def memory_mb() -> float | None:
    """Return the machine's memory in MB, None if unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000)
    except (AttributeError, ValueError, OSError):
        return None


def load_average() -> float | None:
    """Return the load of the last minute, None if unknown; above the number of cores, measured times are too long."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def system_name() -> str:
    """Return the operating system and the version of its release, without suffixes that may hold names."""
    numbers = re.match(r"\d+(\.\d+)*", platform.release())
    return " ".join(filter(None, (platform.system(), numbers[0] if numbers else "", platform.machine())))


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that run the kernels."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
