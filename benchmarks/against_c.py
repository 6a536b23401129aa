"""`eft` and `spt` against the same systems written by hand in C."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.rows import BenchmarkError, Row, require, side_by_side
from benchmarks.workload import cluster, mixed, simulate
from hybrid_scheduler import Tasks

HERE = Path(__file__).parent
POINTER, LONG, DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
Loop = Callable[..., None]


def eft_vs_c() -> list[Row]:
    """Measure tasks a second; both sides read the task columns and allocate the placement columns."""
    ours, plain, native = compare_with_c("eft")
    return [
        Row("eft_vs_c", ours, plain, "tasks/s", target=0.5),
        Row("eft_vs_c_native", ours, native, "tasks/s", target=0.45),
    ]


def spt_vs_c() -> list[Row]:
    """Measure the same with queues that serve the shortest task first; C keeps them in binary heaps."""
    ours, plain, _ = compare_with_c("spt")
    return [
        Row("spt_vs_c", ours, plain, "tasks/s", target=0.5),
        Row("spt_throughput", ours, 5e6, "tasks/s", target=1.0),
    ]


def compare_with_c(scheduler: str) -> list[float]:
    """Return tasks a second of the simulator, of C, and of C for this very processor."""
    tasks, loops = mixed(), [load(scheduler, "-O3"), load(scheduler, "-O3", "-march=native")]
    for loop in loops:
        same = np.allclose(run_c(loop, tasks), simulate(tasks, scheduler).finish, rtol=1e-9, atol=0.0)
        require(same, "the C loop and the simulator give different finish times")
    sides: list[Callable[[], object]] = [partial(simulate, tasks, scheduler)]
    sides += [partial(run_c, loop, tasks) for loop in loops]
    return [len(tasks) / seconds for seconds in side_by_side(15, *sides)]


def load(scheduler: str, *flags: str) -> Loop:
    """Compile a C loop with these flags and load it."""
    compiler, source = os.environ.get("CC", "cc"), HERE / f"{scheduler}_loop.c"
    if shutil.which(compiler) is None:
        raise BenchmarkError(f"there is no C compiler '{compiler}': install gcc, or set CC to the one you have")
    library = HERE / "build" / f"{source.stem}{''.join(flags)}.so"
    library.parent.mkdir(exist_ok=True)
    command = [compiler, *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{compiler} cannot compile {source.name}: {done.stderr.strip()}")
    loop: Any = getattr(ctypes.CDLL(str(library)), source.stem)
    loop.argtypes = [LONG, *[POINTER] * 4, LONG, DOUBLE, DOUBLE, *[POINTER] * 7]
    loop.restype = None
    found: Loop = loop
    return found


def run_c(loop: Loop, tasks: Tasks) -> npt.NDArray[np.float64]:
    """Run a C loop; return the finish times."""
    gpu = next(each for each in cluster.classes if each.kind == "gpu")
    columns = (tasks.duration_estimate, tasks.compute_intensity, tasks.memory_required, tasks.arrival_time)
    kinds = (np.float64, np.int32, np.int32, np.float64, np.float64, np.float64, np.uint8)
    placed: list[npt.NDArray[Any]] = [np.empty(len(tasks), kind) for kind in kinds]
    loop(
        len(tasks),
        *(column.ctypes.data for column in columns),
        len(cluster.devices),
        gpu.bandwidth,
        gpu.memory,
        *(column.ctypes.data for column in placed),
    )
    return placed[5]
