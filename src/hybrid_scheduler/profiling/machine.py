"""What a machine is, in words that say nothing about whose it is: no host, user or file names."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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
