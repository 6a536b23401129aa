"""`eft` against the same system written by hand in C."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.rows import BenchmarkError, Row, require, side_by_side
from benchmarks.workload import cluster, mixed, simulate
from hybrid_scheduler import Tasks

HERE = Path(__file__).parent
POINTER, LONG, DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


def eft_vs_c() -> list[Row]:
    """Measure tasks a second; both sides read the task columns and allocate the placement columns."""
    tasks, plain, native = mixed(), load("-O3"), load("-O3", "-march=native")
    for loop in (plain, native):
        same = np.allclose(c_eft(loop, tasks), simulate(tasks).finish, rtol=1e-9, atol=0.0)
        require(same, "the C loop and the simulator give different finish times")
    ours, *theirs = side_by_side(
        15, lambda: simulate(tasks), lambda: c_eft(plain, tasks), lambda: c_eft(native, tasks)
    )
    speeds = [len(tasks) / seconds for seconds in theirs]
    return [
        Row("eft_vs_c", len(tasks) / ours, speeds[0], "tasks/s", target=0.5),
        Row("eft_vs_c_native", len(tasks) / ours, speeds[1], "tasks/s", target=0.45),
    ]


def load(*flags: str) -> Callable[..., None]:
    """Compile eft_loop.c with these flags and load it."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        raise BenchmarkError(f"there is no C compiler '{compiler}': install gcc, or set CC to the one you have")
    library = HERE / "build" / f"eft_loop{''.join(flags)}.so"
    library.parent.mkdir(exist_ok=True)
    command = [compiler, *flags, "-shared", "-fPIC", str(HERE / "eft_loop.c"), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{compiler} cannot compile eft_loop.c: {done.stderr.strip()}")
    loop: Any = ctypes.CDLL(str(library)).eft_loop
    loop.argtypes = [LONG, *[POINTER] * 4, LONG, DOUBLE, DOUBLE, *[POINTER] * 7]
    loop.restype = None
    found: Callable[..., None] = loop
    return found


def c_eft(loop: Callable[..., None], tasks: Tasks) -> npt.NDArray[np.float64]:
    """Run the C loop; return the finish times."""
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
