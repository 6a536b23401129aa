"""Measurements of kernels as columns, and the kernels that they are of: a codelet on operands of one shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats.documents import Sheet, header_of, sheet
from hybrid_scheduler.workloads.formats.table import Mask, Sieve, Words

CPU, GPU = "cpu", "gpu"
KINDS = (CPU, GPU)
"""Kinds of devices; a measurement holds the place of its own in this list."""


@dataclass(frozen=True)
class Measurements:
    """Seconds of kernels on devices, and their standard deviations, one of each a measurement."""

    row: Ints  # of the table
    machine: Words
    codelet: Words
    footprint: Words
    device: Words
    kind: Ints
    traffic: Floats  # bytes of all operands
    operations: Floats  # 0: not known
    seconds: Floats
    deviation: Floats
    derived: Mask

    def __len__(self) -> int:
        return len(self.row)

    def of_machines(self, names: set[str]) -> Measurements:
        """Return the measurements on some machines."""
        if names.issuperset(self.machine.names):
            return self
        rows = np.flatnonzero(self.machine.where(names.__contains__))
        columns: list[Any] = [getattr(self, each.name) for each in fields(self)]
        taken: list[Any] = [each.taken(rows) if isinstance(each, Words) else each[rows] for each in columns]
        return Measurements(*taken)

    def machines(self, kind: str) -> set[str]:
        """Return the machines with a measurement on devices of a kind."""
        found = _there(self.machine.codes[self.kind == KINDS.index(kind)])
        return {self.machine.names[code] for code in found}

    @cached_property
    def class_codes(self) -> Ints:
        """A number for the class of devices of every measurement."""
        codes: Ints = self.machine.codes * len(KINDS) + self.kind
        return codes

    @cached_property
    def classes(self) -> dict[str, int]:
        """The classes with a measurement and their numbers, in alphabetical order: cores before GPUs of a machine."""
        names = {
            f"{self.machine.names[code // len(KINDS)]}_{KINDS[code % len(KINDS)]}": int(code)
            for code in _there(self.class_codes)
        }
        return dict(sorted(names.items()))

    def devices(self, name: str) -> int:
        """Return on how many devices of a class something was measured."""
        return len(_there(self.device.codes[self.class_codes == self.classes.get(name, -1)]))


class Kernels:
    """The kernels that measurements are of, in order of their first one; every column has one value for each."""

    def __init__(self, measurements: Measurements) -> None:
        self.measurements = measurements
        shapes = _paired(measurements.codelet.codes, measurements.footprint.codes)
        keys = _paired(shapes, np.unique(measurements.traffic, return_inverse=True)[1])
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self.first: Ints = first[order]
        self.which: Ints = place[which]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def classes(self) -> list[str]:
        """Names of the classes with a measurement."""
        return list(self.measurements.classes)

    @property
    def traffic(self) -> Floats:
        """Bytes of all operands."""
        return self.measurements.traffic[self.first]

    @property
    def operations(self) -> Floats:
        """Operations, 0 where they are not known."""
        return self.measurements.operations[self.first]

    @property
    def codelet(self) -> Words:
        """Names of the codelets."""
        return self.measurements.codelet.taken(self.first)

    @property
    def derived(self) -> Mask:
        """Whether any of its times was computed from others."""
        return np.bincount(self.which[self.measurements.derived], minlength=len(self)) > 0

    def seconds(self, name: str) -> Floats:
        """Return the mean over the devices of a class; infinite where there is none."""
        return self._mean(self.measurements.seconds, name, math.inf)

    def spread(self, name: str) -> Floats:
        """Return the standard deviation over the mean, each the mean over the devices of a class; NaN if none."""
        return self._mean(self.measurements.deviation, name, math.nan) / self.seconds(name)

    def _mean(self, column: Floats, name: str, missing: float) -> Floats:
        of_class = np.flatnonzero(self.measurements.class_codes == self.measurements.classes.get(name, -1))
        of_class = of_class[np.argsort(self.which[of_class], kind="stable")]
        kernels, begin, counts = np.unique(self.which[of_class], return_index=True, return_counts=True)
        values = column[of_class]
        found = np.full(len(self), missing)
        found[kernels] = values[begin]
        several = np.flatnonzero(counts > 1)
        ends = (begin[several] + counts[several]).tolist()
        parts = [values[start:end] for start, end in zip(begin[several].tolist(), ends, strict=True)]
        found[kernels[several]] = [math.fsum(part) / len(part) for part in parts]  # to the last bit, in any order
        return found


def _there(codes: Ints) -> Ints:
    """Return the different numbers of a column of small ones."""
    return np.flatnonzero(np.bincount(codes))


def _paired(left: Ints, right: Ints) -> Ints:
    """Return a number for every pair, the same for the same pairs, as small as can be."""
    wide = int(right.max(initial=0)) + 1
    codes: Ints = np.unique(left * wide + right, return_inverse=True)[1].astype(np.int64)
    return codes


KIND_OF = {"cpu": 0, "cuda": 1}
"""Places in `KINDS` by the names of devices in the table."""
MICROSECONDS = 1e-6
DERIVED = "not a measurement of its own: computed from another row (derived)"
ELSEWHERE = "on a device that is neither a CPU nor a CUDA GPU"
SEVERAL = "of a kernel on several cores at once, or of a second implementation"
COMMON = ("machine", "codelet", "footprint_hash", "size_bytes", "flops")
EVERY = ("device_type", "device_id", "ncores", "impl", "mean_us", "dev_us", "derived")
PAIRS = ("cpu_us", "cpu_dev_us", "gpu_us", "gpu_dev_us")
NUMBERS = (*COMMON[3:], "mean_us", "dev_us", *PAIRS)


@dataclass(frozen=True)
class Measured:
    """What a table holds: measurements, and an account of its rows."""

    measurements: Measurements
    rows: int
    skipped: Mapping[str, int]


def read_measured(path: str | Path, derived: bool = False) -> Measured:
    """Read either table; rows that were computed from others are left out unless they are asked for."""
    table = sheet(Path(path), COMMON, NUMBERS.__contains__)
    if "mean_us" in table.columns:
        return _from_rows(table, derived)
    return _from_pairs(table)


def _from_rows(table: Sheet, derived: bool) -> Measured:
    _require_columns(table, EVERY)
    kinds, of_others = table.words("device_type"), table.words("derived").where(bool)
    single = table.words("ncores").where(lambda word: word == "1") & table.words("impl").where(
        lambda word: word == "0"
    )
    sieve = Sieve(len(table))
    if not derived:
        sieve.skip(of_others, DERIVED)
    sieve.skip(~kinds.where(KIND_OF.__contains__), ELSEWHERE)
    sieve.skip(~single, SEVERAL)
    rows = np.flatnonzero(sieve.left)
    kind = np.array([KIND_OF.get(name, 0) for name in kinds.names])[kinds.codes[rows]]
    device = table.words("device_id").taken(rows)
    seconds, deviation = (table.numbers(name)[rows] for name in ("mean_us", "dev_us"))
    found = _measurements(table, rows, kind, device, seconds, deviation, of_others[rows])
    return Measured(found, len(table), sieve.skipped)


def _from_pairs(table: Sheet) -> Measured:
    """Take two measurements of every row: on a core and on a GPU."""
    _require_columns(table, PAIRS)
    count = len(table)
    rows, kind = np.repeat(np.arange(count), len(KINDS)), np.tile(np.arange(len(KINDS)), count)
    seconds, deviation = (
        np.column_stack([table.numbers(f"{each}{ending}") for each in KINDS]).ravel() for ending in ("_us", "_dev_us")
    )
    device = Words(["0"], np.zeros(len(rows), np.int64))
    found = _measurements(table, rows, kind, device, seconds, deviation, np.zeros(len(rows), np.bool_))
    return Measured(found, count, {})


def _require_columns(table: Sheet, needed: tuple[str, ...]) -> None:
    for name in needed:
        if name not in table.columns:
            raise InputError(f"{table.path}: column '{name}' is missing: this is no table of StarPU's figures")


def _measurements(
    table: Sheet, rows: Ints, kind: Ints, device: Words, seconds: Floats, deviation: Floats, derived: Mask
) -> Measurements:
    machine, codelet, footprint = (table.words(name).taken(rows) for name in COMMON[:3])
    traffic, operations = (table.numbers(name)[rows] for name in COMMON[3:])
    seconds, deviation = seconds * MICROSECONDS, deviation * MICROSECONDS
    good = (seconds > 0) & (deviation >= 0) & (traffic >= 0) & (operations >= 0) & machine.where(str.isidentifier)
    if not good.all():
        raise table.refusal(
            int(rows[np.argmin(good)]),
            "a machine has no name, a time is not above 0, or another figure is negative: correct this line",
        )
    return Measurements(
        rows, machine, codelet, footprint, device, kind, traffic, operations, seconds, deviation, derived
    )


def with_cpu(measurements: Measurements) -> Measurements:
    """Return the measurements on machines of which a CPU was measured too."""
    return measurements.of_machines(measurements.machines(CPU))


def spread(path: str | Path) -> dict[str, Floats]:
    """Return the standard deviation of the times over their mean by class, one value for each kernel of the table.

    Rows and classes are those of the tasks that `hms import` makes of the same table; NaN where nothing was measured.
    """
    kernels = Kernels(with_cpu(read_measured(path).measurements))
    return {name: kernels.spread(name) for name in kernels.classes}


def is_table(head: bytes) -> bool:
    """Whether the first line is that of one of StarPU's tables."""
    names = header_of(head)
    return {b"machine", b"codelet"} <= names and bool(names & {b"mean_us", b"cpu_us"})


@dataclass(frozen=True)
class MeasuredKernel:
    """A kernel of a factorisation: which codelet's times it takes, how many times them, and its work."""

    codelet: str
    operands: int  # tiles that the codelet touches
    cubes: float  # operations in n³
    times: float = 1.0


def _cholesky(letter: str) -> dict[str, MeasuredKernel]:  # noqa: ARG001  # measured in single precision alone
    return {
        "potrf": MeasuredKernel("chol_model_potrf", 1, 1 / 3),
        "trsm": MeasuredKernel("chol_model_trsm", 2, 1.0),
        "syrk": MeasuredKernel("chol_model_syrk", 2, 1.0),
        "gemm": MeasuredKernel("chol_model_gemm", 3, 2.0),
    }


def _lu(letter: str) -> dict[str, MeasuredKernel]:
    prefix = f"starpu_{letter}lu_lu_model_"
    return {
        "getrf": MeasuredKernel(f"{prefix}getrf", 1, 2 / 3),
        "trsm_ll": MeasuredKernel(f"{prefix}trsm_ll", 2, 1.0),
        "trsm_ru": MeasuredKernel(f"{prefix}trsm_ru", 2, 1.0),
        "gemm": MeasuredKernel(f"{prefix}gemm", 3, 2.0),
    }


def _qr(letter: str) -> dict[str, MeasuredKernel]:
    """QR was not measured: its kernels are assumed to do as many operations a second as those of LU."""
    panel, update = f"starpu_{letter}lu_lu_model_getrf", f"starpu_{letter}lu_lu_model_gemm"
    return {
        "geqrt": MeasuredKernel(panel, 1, 4 / 3, times=2.0),
        "tsqrt": MeasuredKernel(panel, 1, 2.0, times=3.0),
        "ormqr": MeasuredKernel(update, 3, 2.0, times=1.0),
        "tsmqr": MeasuredKernel(update, 3, 4.0, times=2.0),
    }


CODELETS = {"cholesky": _cholesky, "lu": _lu, "qr": _qr}
ASSUMED = {
    "cholesky": "SYRK takes half the time of GEMM, as in StarPU's own models",
    "lu": "",
    "qr": "no kernel of QR was measured: GEQRT and TSQRT take 2 and 3 times as long as GETRF of LU, ORMQR and TSMQR "
    "1 and 2 times as long as its GEMM, in proportion to their operations",
}
"""What is not measured about the times of each factorisation."""
