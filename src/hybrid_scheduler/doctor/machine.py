"""The machine: Python, cores, memory, disk, the cache of compiled loops, and how fast a compiled loop is."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from hybrid_scheduler.doctor.check import Check
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.profiling import machine

OLDEST = (3, 11)
LEAST_MEMORY_MB, LEAST_DISK_MB = 2000, 2000  # a server and its learners hold 1.3 GB; runs and models need room
TASKS, FEW = 500_000, 500
SLOW = 1e6  # tasks a second below which something is wrong with the compiled loop


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Look at the version of Python."""
    found = f"{'.'.join(map(str, version))}, {platform.system()} {platform.machine()}"
    if version[:2] < OLDEST:
        return Check("Python", "fail", found, "install Python 3.11 or newer")
    return Check("Python", "ok", found)


def cores() -> Check:
    """Count the cores that this process may use."""
    count = machine.cores()
    if count < 2:
        return Check("cores", "note", "1", "learners study in a process of their own: two cores serve them better")
    return Check("cores", "ok", f"{count}, {machine.cpu_name()}")


def memory(free_mb: float | None = None) -> Check:
    """Look at the memory that is free."""
    free, total = free_mb or _available_mb(), machine.memory_mb()
    if free is None:
        return Check("memory", "note", "this system does not tell", f"{LEAST_MEMORY_MB / 1000:g} GB are enough")
    found = f"{free / 1000:.1f} GB free" + (f" of {total / 1000:.1f}" if total else "")
    if free < LEAST_MEMORY_MB:
        return Check("memory", "fail", found, f"free {LEAST_MEMORY_MB / 1000:g} GB: close other programs")
    return Check("memory", "ok", found)


def _available_mb(meminfo: Path = Path("/proc/meminfo")) -> float | None:
    if not meminfo.is_file():
        return machine.memory_mb()
    lines = meminfo.read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("MemAvailable:")), None)


def disk(folder: Path, least_mb: float = LEAST_DISK_MB) -> Check:
    """Look at the room in the folder of data, or in the one that it would be made in."""
    there = nearest(folder)
    if not os.access(there, os.W_OK):
        return Check("disk", "fail", f"{folder} cannot be written", "set DATA_DIR to a folder that can")
    free = shutil.disk_usage(there).free / 1e6
    found = f"{free / 1000:.1f} GB free for {folder}"
    if free < least_mb:
        return Check("disk", "fail", found, "free space, or set DATA_DIR to another disk and lower KEEP_TASKS")
    return Check("disk", "ok", found)


def nearest(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def cache() -> Check:
    """Look whether compiled loops can be kept."""
    from hybrid_scheduler.compiling import cache_directory

    wanted = os.environ.get("HMS_CACHE_DIR")
    try:
        folder = cache_directory()
    except SchedulerError as error:
        return Check("cache", "fail", str(error), "set HMS_CACHE_DIR to a folder that can be written")
    if wanted and folder != Path(wanted):
        return Check("cache", "note", f"{wanted} cannot be written, {folder} is used", "every start may compile anew")
    return Check("cache", "ok", f"{folder} can be written")


def compiled_loop(count: int = TASKS, slow: float = SLOW) -> Check:
    """Simulate with the compiled loop; see that it is quick, and right to the last bit."""
    import numpy as np

    from hybrid_scheduler import Cluster, VirtualMultiGPU, WorkloadGenerator, registry

    cluster = Cluster.default()
    system, policy = VirtualMultiGPU(cluster=cluster), registry.schedulers.create("eft", seed=0)
    tasks = WorkloadGenerator(0).generate_preset("mixed", count, load=0.9, cluster=cluster)
    few = WorkloadGenerator(0).generate_preset("mixed", FEW, load=0.9, cluster=cluster)
    once, plain = system.run(replace(few), policy), system.run(replace(few), policy, interpreted=True)  # compiles
    begin = time.perf_counter()
    system.run(tasks, policy)
    speed = count / (time.perf_counter() - begin)
    found = f"{speed / 1e6:.1f} million tasks a second"
    if not np.array_equal(once.finish, plain.finish):
        return Check("compiled loop", "fail", f"{found}, but not what plain Python gives", "reinstall numba")
    if speed < slow:
        return Check("compiled loop", "note", found, "slow: other programs are busy, or this machine is")
    return Check("compiled loop", "ok", f"{found}, equal to plain Python to the last bit")
