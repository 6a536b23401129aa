"""Profiles of machines that others measured: StarPU's performance models of kernels on CPU cores and GPUs.

The folder holds `starpu_cpu_vs_cuda_paired.csv` (mean and deviation of kernels on one core and on one GPU, data in
place) and `bus/MACHINE.{bandwidth,latency,config}` as StarPU writes them.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling.kernels import FLOAT
from hybrid_scheduler.profiling.profile import MEASURED, TO_DEVICE, TO_HOST, Link, Machine, Part, Point, Profile
from hybrid_scheduler.profiling.timing import Timing

PAIRS = "starpu_cpu_vs_cuda_paired.csv"
QUARTILES = 1.349
"""Interquartile range of a normal distribution in standard deviations."""
HOST, FIRST_GPU = 0, 1


def read_starpu(folder: str | Path, machine: str) -> Profile:
    """Return the profile of a machine in a folder of StarPU's figures."""
    rows = _rows(Path(folder) / PAIRS)
    names = {row["machine"] for row in rows}
    if machine not in names:
        raise unknown_name("machine", machine, names)
    try:
        return _profile(Path(folder) / "bus", machine, [row for row in rows if row["machine"] == machine])
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read ({error.strerror}): restore it") from None
    except (KeyError, ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise InputError(f"the figures of {machine} in {folder} are torn ({error}): fetch them again") from None


def _profile(bus: Path, machine: str, rows: list[dict[str, str]]) -> Profile:
    cores, gpus = counts(_text(bus / f"{machine}.config"))
    bandwidth, latency = (matrix(_text(bus / f"{machine}.{figure}")) for figure in ("bandwidth", "latency"))
    ways = {TO_DEVICE: (HOST, FIRST_GPU), TO_HOST: (FIRST_GPU, HOST)}
    links = tuple(Link(name, bandwidth[a][b], latency[a][b] / 1e6) for name, (a, b) in ways.items())
    name = f"{machine} (StarPU)"
    return Profile(
        machine=Machine(name, cores, None, "measured by StarPU"),
        cpu=Part(name, cores, MEASURED, threads=1, energy="not measured"),
        gpu=Part(f"GPU of {machine}", gpus, MEASURED, type="cuda", energy="not measured"),
        points=tuple(sorted(map(_point, rows), key=lambda each: (each.kernel, each.size))),
        links=links,
    )


def _point(row: dict[str, str]) -> Point:
    traffic, flops = float(row["size_bytes"]), float(row["flops"])
    return Point(
        kernel=row["codelet"],
        size=math.sqrt(traffic / FLOAT),
        traffic=traffic,
        operations=flops or None,
        unit="flop",
        cpu=_timing(row, "cpu"),
        gpu=_timing(row, "gpu"),
    )


def _timing(row: dict[str, str], side: str) -> Timing:
    mean = float(row[f"{side}_us"])
    return Timing(mean / 1e6, QUARTILES * float(row[f"{side}_dev_us"]) / mean, int(row[f"n_{side}"]))


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the folder that holds it") from None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def counts(config: str) -> tuple[int, int]:
    """Return the numbers of CPU cores and CUDA devices that a `.config` tells."""
    lines = [each for each in config.splitlines() if not each.startswith("#")]
    return int(lines[0].split()[0]), int(lines[1].split()[0])


def matrix(figures: str) -> list[list[float]]:
    """Return the figures of a `.bandwidth` or `.latency` from every place (0: the host, then GPUs) to every other."""
    return [
        [float(each) for each in line.split()] for line in figures.splitlines() if line and not line.startswith("#")
    ]
