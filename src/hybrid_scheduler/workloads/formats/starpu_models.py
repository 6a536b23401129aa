"""StarPU's own performance models, one file a codelet and machine: `~/.starpu/sampling/codelets/45/CODELET.MACHINE`.

Comments tell what follows: the combinations of devices, for each its implementations, and for each of those a line
for every shape of operands: hash, bytes, operations, mean, deviation, sum, sum of squares, number of samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats import starpu, tables, unpack
from hybrid_scheduler.workloads.formats.columns import RowFilter, encode_strings
from hybrid_scheduler.workloads.formats.reader import IGNORED, MEASURED, Format, Imported, Mapped

TITLE = b"# Performance Model Version"
VERSION = 45
TYPES = (0, 1)  # of devices: cores and CUDA, by their place in `starpu.KINDS`
MAX_COUNT = 10_000
NO_MACHINE = "host"  # of a file whose name does not tell, such as an uploaded one
COMPANIONS = f"models of other codelets or machines, and {starpu.COMPANIONS}"
NO_MEAN = "without a mean: never measured"
_ENTRY = re.compile(r"[0-9a-f]{8}(?:\s+\S+){7}")

MAPPING = (
    Mapped(
        "name of the file",
        "codelets, device classes",
        MEASURED,
        "CODELET.MACHINE, as StarPU writes it; else the machine is `host`",
    ),
    Mapped("device type, device id", "device classes", MEASURED, "CPU is a core, CUDA a GPU; others are skipped"),
    Mapped(
        "number of cores, implementation", "", IGNORED, "several cores at once and second implementations: skipped"
    ),
    Mapped("hash, size, flops, mean (us), dev (us)", "as in starpu's tables", MEASURED, "a line a shape of operands"),
    Mapped("sum, sum2, n; regressions", "", IGNORED),
    *(each for each in starpu.MAPPING if not each.column or each.column.startswith(".")),
)


def sniff(head: bytes) -> bool:
    """Whether the file begins with the title of a performance model."""
    return TITLE in head[:200]


@dataclass(frozen=True)
class _Entry:
    """A line of a model: a shape of operands on a device."""

    codelet: str
    machine: str
    kind: int  # of the device, as StarPU counts them; -1: several devices at once
    device: str
    single: bool  # on one core, by the first implementation
    cells: tuple[str, ...]

    def number(self, place: int) -> float:
        """Return a figure of the line; NaN if it is none."""
        return tables.parse_number(self.cells[place])


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    files = [path, *companions]
    models = [each for each in files if sniff(unpack.read_head(each))]
    if not models:
        raise InputError(f"{path} is no performance model of StarPU: give files of ~/.starpu/sampling/codelets/45")
    entries = [entry for each in sorted(models) for entry in _read_model(each)]
    tables.require_row_limit(path, len(entries))
    found, measured = _build_measurements(path, entries)
    return starpu.build_imported(path, found, measured, [each for each in files if each not in models])


def _read_model(path: Path) -> list[_Entry]:
    codelet, _, machine = path.name.removesuffix(".gz").removesuffix(".zst").partition(".")
    lines = iter(unpack.read_text(path, unpack.CELLS).splitlines())
    try:
        return list(_parse_model(lines, codelet, re.sub(r"\W", "_", machine) or NO_MACHINE))
    except (ValueError, StopIteration, RuntimeError):
        raise InputError(
            f"{path} is no whole performance model of version {VERSION}: fetch it again, or let StarPU "
            "write it again if it is of another version"
        ) from None


def _parse_model(lines: Iterator[str], codelet: str, machine: str) -> Iterator[_Entry]:
    if _next_count(lines) != VERSION:
        raise ValueError("another version")
    for _ in range(_next_count(lines)):
        devices = [[_next_count(lines) for _ in range(3)] for _ in range(_next_count(lines))]
        kind, number, cores = devices[0] if len(devices) == 1 else (-1, 0, 0)
        for implementation in range(_next_count(lines)):
            count, found = _next_count(lines), 0
            single = cores == 1 and implementation == 0
            while found < count:  # what stands before the entries are regressions
                if _ENTRY.fullmatch(line := next(lines).strip()):
                    yield _Entry(codelet, machine, kind, str(number), single, tuple(line.split()))
                    found += 1
            if not count:
                _skip_regressions(lines)


def _skip_regressions(lines: Iterator[str]) -> None:
    """Skip what a model without entries holds: up to the empty line that ends it."""
    while next(lines, "").strip():
        pass


def _next_count(lines: Iterator[str]) -> int:
    """Return the next line that is no comment, a whole number."""
    line = next(each for each in lines if each.strip() and not each.startswith("#"))
    count = int(line)
    if not 0 <= count <= MAX_COUNT:
        raise ValueError("a number that cannot be")
    return count


def _build_measurements(path: Path, entries: list[_Entry]) -> tuple[starpu.Measurements, RowFilter]:
    if not entries:
        raise InputError(f"{path}: there is no entry in the model: nothing was measured")
    kinds, means = np.array([each.kind for each in entries]), np.array([each.number(3) for each in entries])
    measured = RowFilter(len(entries))
    measured.skip(~np.isin(kinds, TYPES), starpu.OTHER_DEVICE)
    measured.skip(~np.array([each.single for each in entries]), starpu.SEVERAL_CORES)
    measured.skip(np.isnan(means), NO_MEAN)
    kept = [entries[row] for row in np.flatnonzero(measured.kept)]
    if not kept:
        raise InputError(f"{path}: nothing was measured on one core or one CUDA device: there is nothing to place")
    texts = zip(*((each.machine, each.codelet, each.cells[0], each.device) for each in kept), strict=True)
    machine, codelet, footprint, device = map(encode_strings, texts)
    size, operations, seconds, deviation = (np.array([each.number(place) for each in kept]) for place in (1, 2, 3, 4))
    found = starpu.Measurements(
        row=np.flatnonzero(measured.kept),
        machine=machine,
        codelet=codelet,
        footprint=footprint,
        traffic=size,
        operations=operations,
        seconds=seconds * starpu.MICROSECONDS,
        deviation=np.where(np.isnan(deviation), 0.0, deviation) * starpu.MICROSECONDS,
        kind=kinds[measured.kept],
        device=device,
        derived=np.zeros(len(kept), np.bool_),
    )
    try:
        return starpu.require_valid(found), measured
    except RowError as error:
        entry = entries[error.row]
        where = f"{entry.codelet} on {entry.machine}, entry {entry.cells[0]}"
        raise InputError(f"{path}: {where}: {error.reason}") from None


FORMAT = Format(
    "starpu_models", "performance models as StarPU writes them, a file a codelet", MAPPING, sniff, _read, COMPANIONS
)
