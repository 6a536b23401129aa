"""Reads the kernels that StarPU measured from its tables: a row for a measurement, or for a pair of CPU and GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Floats, Ints
from hybrid_scheduler.workload.formats.documents import Sheet, header_of, sheet
from hybrid_scheduler.workload.formats.sieve import Mask, Sieve
from hybrid_scheduler.workload.formats.words import Words
from hybrid_scheduler.workload.starpu_kernels import CPU, KINDS, Kernels, Measurements

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
