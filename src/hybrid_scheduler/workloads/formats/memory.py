"""How much memory is left, so that a file that does not fit is refused before the kernel ends the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hybrid_scheduler.errors import InputError

MEMINFO, STATM, GROUPS = Path("/proc/meminfo"), Path("/proc/self/statm"), Path("/proc/self/cgroup")
GROUP_ROOT = Path("/sys/fs/cgroup")
GROUP_FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Limit, use, and the name of what can be given back at once, by the version of control groups: 2, and 1."""

NO_ROOM = (
    *("Failed to launch worker thread", "can't start new thread"),
    *("failed to map segment", "cannot allocate memory", "Cannot allocate memory"),
)
"""What Arrow and Python say when there is no memory for a thread, and the loader when there is none for a library."""
SHARE = 0.9
"""Of what is free, so that something is left for all else."""


def left() -> int | None:
    """Return the bytes that this process may still take; none where that cannot be known."""
    known = [each for each in (_of_machine(), _of_group(), _of_process()) if each is not None]
    return int(SHARE * max(min(known), 0)) if known else None


def require(path: str | Path, needed: float) -> None:
    """Refuse a file that takes more memory than there is."""
    room = left()
    if room is not None and needed > room:
        raise InputError(
            f"{path} takes some {_megabytes(needed)} more memory and {_megabytes(room)} are left: "
            "take a part of it, or a machine with more memory"
        )


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn the end of all memory into an error that names the file."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, MemoryError) and not any(words in str(error) for words in NO_ROOM):
            raise
        raise InputError(
            f"{path} takes more memory than there is: take a part of it, or a machine with more memory"
        ) from None


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return 1024 * int(MEMINFO.read_text().partition("MemAvailable:")[2].split()[0])
    return None


def _of_process() -> int | None:
    """Return what a limit of the address space leaves (`ulimit -v`)."""
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource  # not on every system

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return limit - int(STATM.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_group() -> int | None:
    """Return what the control group of a container leaves."""
    with suppress(OSError):
        for line in GROUPS.read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            kind = "memory" if "memory" in controllers.split(",") else controllers
            if kind in GROUP_FILES and (found := _in_group(GROUP_ROOT / kind, place.lstrip("/"), kind)) is not None:
                return found
    return None


def _in_group(root: Path, place: str, kind: str) -> int | None:
    folder = root / place if (root / place).is_dir() else root  # a container sees its own group as the root
    limit, used, spare = GROUP_FILES[kind]
    with suppress(OSError, ValueError):  # "max" is no number: there is no limit
        idle = [
            line.split()[1] for line in (folder / "memory.stat").read_text().splitlines() if line.startswith(spare)
        ]
        return int((folder / limit).read_text()) - int((folder / used).read_text()) + sum(map(int, idle[:1]))
    return None
