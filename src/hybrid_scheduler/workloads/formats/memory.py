"""How much memory this process may still take, so that a file is refused before the kernel kills the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hybrid_scheduler.errors import InputError

MEMINFO, STATM, CGROUPS = Path("/proc/meminfo"), Path("/proc/self/statm"), Path("/proc/self/cgroup")
CGROUP_ROOT = Path("/sys/fs/cgroup")
CGROUP_FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Files with the limit and the usage, and the reclaimable entry of memory.stat, for cgroups v2 and v1."""

OUT_OF_MEMORY = (
    *("Failed to launch worker thread", "can't start new thread"),
    *("failed to map segment", "cannot allocate memory", "Cannot allocate memory"),
)
"""Messages of Arrow, Python and the loader when there is no memory for a thread or a library."""
SHARE = 0.9  # the share of the free memory that a file may take


def available() -> int | None:
    """Return the bytes that this process may still take; none where that is unknown."""
    known = [each for each in (_free_on_machine(), _free_in_cgroup(), _free_address_space()) if each is not None]
    return int(SHARE * max(min(known), 0)) if known else None


def require(path: str | Path, needed: float) -> None:
    """Refuse a file that takes more memory than there is."""
    room = available()
    if room is not None and needed > room:
        raise InputError(
            f"{path} takes some {needed / 1e6:,.0f} MB more memory and {room / 1e6:,.0f} MB are left: "
            "take a part of it, or a machine with more memory"
        )


@contextmanager
def report_shortage(path: str | Path) -> Iterator[None]:
    """Turn a lack of memory into an error that names the file."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, MemoryError) and not any(words in str(error) for words in OUT_OF_MEMORY):
            raise
        raise InputError(
            f"{path} takes more memory than there is: take a part of it, or a machine with more memory"
        ) from None


def _free_on_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return 1024 * int(MEMINFO.read_text().partition("MemAvailable:")[2].split()[0])
    return None


def _free_address_space() -> int | None:
    """Return what the limit of the address space (`ulimit -v`) leaves."""
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource  # not on every system

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return limit - int(STATM.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_in_cgroup() -> int | None:
    """Return what the control group of a container leaves."""
    with suppress(OSError):
        for line in CGROUPS.read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            kind = "memory" if "memory" in controllers.split(",") else controllers
            if kind not in CGROUP_FILES:
                continue
            root, (limit, used, spare) = CGROUP_ROOT / kind, CGROUP_FILES[kind]
            own = root / place.lstrip("/")
            folder = own if own.is_dir() else root  # a container sees its own group as the root
            with suppress(OSError, ValueError):  # "max" is no number: there is no limit
                lines = (folder / "memory.stat").read_text().splitlines()
                idle = [int(each.split()[1]) for each in lines if each.startswith(spare)]
                return int((folder / limit).read_text()) - int((folder / used).read_text()) + sum(idle[:1])
    return None
