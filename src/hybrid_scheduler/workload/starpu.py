"""Kernels that StarPU measured: seconds and deviations on the cores and GPUs of machines, read from its tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Floats
from hybrid_scheduler.workload.formats.documents import Sheet, header_of, sheet

CPU, GPU = "cpu", "gpu"
KINDS = {"cpu": CPU, "cuda": GPU}
MICROSECONDS = 1e-6
DERIVED = "not a measurement of its own: computed from another row (derived)"
COMMON = ("machine", "codelet", "footprint_hash", "size_bytes", "flops")
EVERY = ("device_type", "device_id", "ncores", "impl", "mean_us", "dev_us", "derived")
PAIRS = ("cpu_us", "cpu_dev_us", "gpu_us", "gpu_dev_us")


@dataclass(frozen=True)
class Measurement:
    """Seconds of one kernel on one device, and their standard deviation."""

    row: int  # of the table
    machine: str
    codelet: str
    footprint: str
    traffic: float  # bytes of all operands
    operations: float  # 0: not known
    kind: str
    device: str
    seconds: float
    deviation: float
    derived: bool

    @property
    def class_name(self) -> str:
        """The class of devices of this machine."""
        return f"{self.machine}_{self.kind}"


@dataclass(frozen=True)
class Kernels:
    """What a table holds: measurements, and an account of its rows."""

    measurements: list[Measurement]
    rows: int
    skipped: Mapping[str, int]

    @property
    def classes(self) -> list[str]:
        """Names of the classes with a measurement, in alphabetical order: cores before GPUs of a machine."""
        return sorted({each.class_name for each in self.measurements})


@dataclass(frozen=True)
class Kernel:
    """A codelet on operands of one shape, on all devices where it was measured."""

    codelet: str
    footprint: str
    traffic: float
    operations: float
    measured: dict[str, list[Measurement]] = field(default_factory=dict)

    def seconds(self, name: str) -> float:
        """Return the mean over the devices of a class; infinite where there is none."""
        return fmean(each.seconds for each in self.measured[name]) if name in self.measured else math.inf

    def spread(self, name: str) -> float:
        """Return the standard deviation over the mean, each the mean over the devices of a class; NaN if none."""
        if name not in self.measured:
            return math.nan
        return fmean(each.deviation for each in self.measured[name]) / self.seconds(name)


def read_kernels(path: str | Path, derived: bool = False) -> Kernels:
    """Read either table; rows that were computed from others are left out unless they are asked for."""
    table = sheet(Path(path), COMMON)
    if "mean_us" in table.columns:
        return _from_rows(table, derived)
    return _from_pairs(table)


def _from_rows(table: Sheet, derived: bool) -> Kernels:
    reader = _Reader(table, EVERY)
    found, skipped = [], Counter[str]()
    for row in range(len(table)):
        kind, of_others = reader.text("device_type", row), bool(reader.text("derived", row))
        reason = DERIVED if of_others and not derived else _unusable(reader, row, kind)
        if reason:
            skipped[reason] += 1
        else:
            device = reader.text("device_id", row)
            found.append(reader.measurement(row, KINDS[kind], device, ("mean_us", "dev_us"), of_others))
    return Kernels(found, len(table), skipped)


def _unusable(reader: _Reader, row: int, kind: str) -> str:
    if kind not in KINDS:
        return "on a device that is neither a CPU nor a CUDA GPU"
    if reader.text("ncores", row) != "1" or reader.text("impl", row) != "0":
        return "of a kernel on several cores at once, or of a second implementation"
    return ""


def _from_pairs(table: Sheet) -> Kernels:
    reader = _Reader(table, PAIRS)
    found = [
        reader.measurement(row, kind, "0", (f"{kind}_us", f"{kind}_dev_us"), False)
        for row in range(len(table))
        for kind in (CPU, GPU)
    ]
    return Kernels(found, len(table), {})


class _Reader:
    """Takes measurements from the rows of a table."""

    def __init__(self, table: Sheet, needed: tuple[str, ...]) -> None:
        self.table = table
        for name in needed:
            if name not in table.columns:
                raise InputError(f"{table.path}: column '{name}' is missing: this is no table of StarPU's figures")

    def text(self, name: str, row: int) -> str:
        return self.table.columns[name][row].strip()

    @cached_property
    def _numbers(self) -> dict[str, Floats]:
        names = (*COMMON[3:], "mean_us", "dev_us", *PAIRS)
        return {name: self.table.numbers(name) for name in names if name in self.table.columns}

    def measurement(self, row: int, kind: str, device: str, times: tuple[str, str], derived: bool) -> Measurement:
        seconds, deviation = (float(self._numbers[name][row]) * MICROSECONDS for name in times)
        traffic, operations = (float(self._numbers[name][row]) for name in COMMON[3:])
        machine, codelet, footprint = (self.text(name, row) for name in COMMON[:3])
        if seconds <= 0 or min(deviation, traffic, operations) < 0 or not machine.isidentifier():
            raise self.table.refusal(
                row, "a machine has no name, a time is not above 0, or another figure is negative: correct this line"
            )
        return Measurement(
            row, machine, codelet, footprint, traffic, operations, kind, device, seconds, deviation, derived
        )


def kernels_of(kernels: Kernels) -> list[Kernel]:
    """Return the kernels in order of their first row, each with its measurements on all classes."""
    found: dict[tuple[str, str, float], Kernel] = {}
    for each in kernels.measurements:
        key = each.codelet, each.footprint, each.traffic
        kernel = found.setdefault(key, Kernel(*key, each.operations))
        kernel.measured.setdefault(each.class_name, []).append(each)
    return list(found.values())


def spread(path: str | Path) -> dict[str, Floats]:
    """Return the standard deviation of the times over their mean by class, one value for each kernel of the table.

    Rows and classes are those of the tasks that `hms import` makes of the same table; NaN where nothing was measured.
    """
    kernels = read_kernels(path)
    with_cpu = {each.machine for each in kernels.measurements if each.kind == CPU}
    kept = Kernels([each for each in kernels.measurements if each.machine in with_cpu], 0, {})
    rows = kernels_of(kept)
    return {name: np.array([each.spread(name) for each in rows]) for name in kept.classes}


def is_table(head: bytes) -> bool:
    """Whether the first line is that of one of StarPU's tables."""
    names = header_of(head)
    return {b"machine", b"codelet"} <= names and bool(names & {b"mean_us", b"cpu_us"})
