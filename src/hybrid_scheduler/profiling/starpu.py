"""Reads profiles from StarPU's published performance models of kernels on CPU cores and GPUs.

The folder holds `starpu_cpu_vs_cuda_paired.csv` (mean and deviation of kernels on one core and on one GPU, data in
place) and `bus/MACHINE.{bandwidth,latency,config}` as StarPU writes them.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling.kernels import FLOAT
from hybrid_scheduler.profiling.profile import MEASURED, TO_DEVICE, TO_HOST, Link, Machine, Point, Processor, Profile
from hybrid_scheduler.profiling.timing import Timing

PAIRS = "starpu_cpu_vs_cuda_paired.csv"
QUARTILES = 1.349  # interquartile range of a normal distribution in standard deviations
HOST, FIRST_GPU = 0, 1  # memory nodes of the bus matrices


def read_starpu(folder: str | Path, machine: str) -> Profile:
    """Return the profile of a machine from a folder of StarPU's figures."""
    path = Path(folder) / PAIRS
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the folder that holds it") from None
    names = {row["machine"] for row in rows}
    if machine not in names:
        raise unknown_name("machine", machine, names)
    try:
        return _build_profile(Path(folder) / "bus", machine, [row for row in rows if row["machine"] == machine])
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read ({error.strerror}): restore it") from None
    except (KeyError, ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise InputError(f"the figures of {machine} in {folder} are damaged ({error}): fetch them again") from None


def _build_profile(bus: Path, machine: str, rows: list[dict[str, str]]) -> Profile:
    cores, gpus = parse_counts((bus / f"{machine}.config").read_text("utf-8"))
    bandwidth, latency = (
        parse_matrix((bus / f"{machine}.{name}").read_text("utf-8")) for name in ("bandwidth", "latency")
    )
    directions = {TO_DEVICE: (HOST, FIRST_GPU), TO_HOST: (FIRST_GPU, HOST)}
    links = tuple(Link(name, bandwidth[a][b], latency[a][b] / 1e6) for name, (a, b) in directions.items())
    name = f"{machine} (StarPU)"
    return Profile(
        machine=Machine(name, cores, None, "measured by StarPU"),
        cpu=Processor(name, cores, MEASURED, threads=1, energy="not measured"),
        gpu=Processor(f"GPU of {machine}", gpus, MEASURED, type="cuda", energy="not measured"),
        points=tuple(sorted(map(_build_point, rows), key=lambda each: (each.kernel, each.size))),
        links=links,
    )


def _build_point(row: dict[str, str]) -> Point:
    traffic, flops = float(row["size_bytes"]), float(row["flops"])
    timings = {}
    for side in ("cpu", "gpu"):
        mean, deviation = float(row[f"{side}_us"]), float(row[f"{side}_dev_us"])
        timings[side] = Timing(mean / 1e6, QUARTILES * deviation / mean, int(row[f"n_{side}"]))
    size = math.sqrt(traffic / FLOAT)
    return Point(row["codelet"], size, traffic, flops or None, "flop", timings["cpu"], timings["gpu"])


def parse_counts(config: str) -> tuple[int, int]:
    """Return the numbers of CPU cores and CUDA devices in a `.config` file."""
    lines = [each for each in config.splitlines() if not each.startswith("#")]
    return int(lines[0].split()[0]), int(lines[1].split()[0])


def parse_matrix(figures: str) -> list[list[float]]:
    """Return the figures of a `.bandwidth` or `.latency` file by source and target (0: the host, then GPUs)."""
    return [
        [float(each) for each in line.split()] for line in figures.splitlines() if line and not line.startswith("#")
    ]
