"""StarPU's performance models as tables: how long kernels took on the cores and GPUs of some machines.

Two tables are known: that of all measurements (columns `device_type`, `mean_us`, `dev_us` …) and that of pairs
(`cpu_us`, `gpu_us` …). Files of StarPU's bus folder tell the cores, GPUs and links of a machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, DeviceClass, Node
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.profiling.kernels import normalise_intensity
from hybrid_scheduler.profiling.profile import UNKNOWN_INTENSITY
from hybrid_scheduler.profiling.starpu import parse_counts, parse_matrix
from hybrid_scheduler.workloads.formats import columns, unpack
from hybrid_scheduler.workloads.formats.columns import Mask, RowFilter, StringColumn
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.tables import NO_ROWS, Table, read_table

CPU, GPU = "cpu", "gpu"
KINDS = (CPU, GPU)
DEVICE_TYPES = {"cpu": 0, "cuda": 1}  # places in `KINDS` by the names of devices in the table
KEYS = ("machine", "codelet", "footprint_hash")
FIGURES = ("size_bytes", "flops")
ROW_TEXTS, ROW_NUMBERS = ("device_type", "device_id", "ncores", "impl", "derived"), ("mean_us", "dev_us")
PAIR_NUMBERS = ("cpu_us", "cpu_dev_us", "gpu_us", "gpu_dev_us")
BUS_FILES = ("config", "bandwidth")
COMPANIONS = "MACHINE.config and MACHINE.bandwidth of StarPU's bus folder"
MICROSECONDS = 1e-6
BYTES_PER_MEGABYTE = 1e6
MAX_DEVICES = 4096
NO_CPU = "on a machine without a measured CPU, and a node needs one"
DERIVED = "not a measurement of its own: computed from another row (derived)"
OTHER_DEVICE = "on a device that is neither a CPU nor a CUDA GPU"
SEVERAL_CORES = "of a kernel on several cores at once, or of a second implementation"

MAPPING = (
    Mapped("mean_us; cpu_us, gpu_us", "time_<machine>_cpu, …", MEASURED, "with data in place; mean over devices"),
    Mapped("", "time_<class>", ASSUMED, "`inf` where a kernel was not measured on a class: it cannot run there"),
    Mapped("machine, device_type", "device classes", MEASURED, "cpu is a core, cuda a GPU"),
    Mapped("codelet, footprint_hash, size_bytes", "tasks", MEASURED, "one each; several rows give one task"),
    Mapped("codelet", "feature_codelet", MEASURED, "its number in alphabetical order"),
    Mapped("flops", "feature_gflop", MEASURED, "empty where it is 0: not known"),
    Mapped("flops, size_bytes", "compute_intensity", ASSUMED, "from operations per byte as for profiles, else 0.5"),
    Mapped("size_bytes", "memory_required", MEASURED, "MB of all operands"),
    Mapped("size_bytes", "size", ASSUMED, "edge of a square matrix of 4-byte numbers with these bytes, at least 1"),
    Mapped("dev_us; cpu_dev_us, gpu_dev_us", "", IGNORED, "`starpu.read_variation` returns them over the means"),
    Mapped("derived", "", IGNORED, "rows that were computed from others are skipped"),
    Mapped("device_id", "cluster: GPUs of a node", MEASURED, "as many as were measured, unless .config says"),
    Mapped(".config", "cluster: cores and GPUs of a node", MEASURED, "without it a node has one core"),
    Mapped(".bandwidth", "cluster: links of the GPUs", MEASURED, "from the host, mean over GPUs; else the default"),
    Mapped("", "duration_estimate", ASSUMED, "mean over the classes of CPUs, else of GPUs"),
    Mapped("", "arrival_time", ASSUMED, "0: all kernels arrive at the start"),
    Mapped("n_samples; n_cpu, n_gpu; speedup", "", IGNORED),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names codelets on machines with times."""
    names = columns.parse_header(head)
    return {"machine", "codelet"} <= names and bool(names & {"mean_us", "cpu_us"})


@dataclass(frozen=True)
class Measurements:
    """Seconds of kernels on devices and their standard deviations, as columns with one value a measurement."""

    row: Ints  # of the table
    machine: StringColumn
    codelet: StringColumn
    footprint: StringColumn
    traffic: Floats  # bytes of all operands
    operations: Floats  # 0: not known
    seconds: Floats
    deviation: Floats
    kind: Ints  # place in KINDS
    device: StringColumn
    derived: Mask

    def select_machines(self, names: set[str]) -> Measurements:
        """Return the measurements on some machines."""
        if names.issuperset(self.machine.names):
            return self
        rows = np.flatnonzero(self.machine.match(names.__contains__))
        values: list[Any] = [getattr(self, each.name) for each in fields(self)]
        taken: list[Any] = [each.take(rows) if isinstance(each, StringColumn) else each[rows] for each in values]
        return Measurements(*taken)

    def machines(self, kind: str) -> set[str]:
        """Return the machines with a measurement on devices of a kind."""
        found = _distinct(self.machine.codes[self.kind == KINDS.index(kind)])
        return {self.machine.names[code] for code in found}

    @cached_property
    def class_codes(self) -> Ints:
        """A number for the device class of every measurement."""
        codes: Ints = self.machine.codes * len(KINDS) + self.kind
        return codes

    @cached_property
    def classes(self) -> dict[str, int]:
        """The classes with a measurement and their numbers, in alphabetical order: cores before GPUs of a machine."""
        names = {
            f"{self.machine.names[code // len(KINDS)]}_{KINDS[code % len(KINDS)]}": int(code)
            for code in _distinct(self.class_codes)
        }
        return dict(sorted(names.items()))

    def count_devices(self, name: str) -> int:
        """Return on how many devices of a class something was measured."""
        return len(_distinct(self.device.codes[self.class_codes == self.classes.get(name, -1)]))


def read_measurements(path: str | Path, derived: bool = False) -> tuple[Measurements, RowFilter]:
    """Read either table and what was skipped; rows computed from others are left out unless `derived` is set."""
    table = read_table(path, _select_columns, NO_ROWS)
    with table.locate_errors():
        return _read_rows(table, derived) if "mean_us" in table.columns else _read_pairs(table)


def read_variation(path: str | Path) -> dict[str, Floats]:
    """Return standard deviation / mean by class for each task that `hms import` makes of a table; NaN if unknown."""
    kernels = Kernels(_select_machines_with_cpu(read_measurements(path)[0]))
    return {name: kernels.variation(name) for name in kernels.classes}


def _select_machines_with_cpu(measurements: Measurements) -> Measurements:
    """Return the measurements on machines of which a CPU was measured too."""
    return measurements.select_machines(measurements.machines(CPU))


def _select_columns(header: list[str]) -> dict[str, str]:
    texts, numbers = (ROW_TEXTS, ROW_NUMBERS) if "mean_us" in header else ((), PAIR_NUMBERS)
    selected = columns.select_unique(header, (*KEYS, *FIGURES), (*FIGURES, *numbers).__contains__, (*KEYS, *texts))
    for name in (*texts, *numbers):
        if name not in selected:
            raise InputError(f"column '{name}' is missing: this is no table of StarPU's figures")
    return selected


def _encode(table: Table, name: str) -> StringColumn:
    return columns.encode_strings(table.columns[name], strip=True)


def _read_rows(table: Table, derived: bool) -> tuple[Measurements, RowFilter]:
    types, is_derived = _encode(table, "device_type"), _encode(table, "derived").match(bool)
    single = _encode(table, "ncores").match("1".__eq__) & _encode(table, "impl").match("0".__eq__)
    measured = RowFilter(table.rows)
    if not derived:
        measured.skip(is_derived, DERIVED)
    measured.skip(~types.match(DEVICE_TYPES.__contains__), OTHER_DEVICE)
    measured.skip(~single, SEVERAL_CORES)
    rows = np.flatnonzero(measured.kept)
    kind = np.array([DEVICE_TYPES.get(name, 0) for name in types.names])[types.codes[rows]]
    seconds, deviation = (table.numbers(name)[rows] for name in ROW_NUMBERS)
    device = _encode(table, "device_id").take(rows)
    found = _build_measurements(table, rows, seconds, deviation, kind=kind, device=device, derived=is_derived[rows])
    return found, measured


def _read_pairs(table: Table) -> tuple[Measurements, RowFilter]:
    """Make two measurements of every row: on a core and on a GPU."""
    rows, kind = np.repeat(np.arange(table.rows), len(KINDS)), np.tile(np.arange(len(KINDS)), table.rows)
    seconds, deviation = (
        np.column_stack([table.numbers(f"{each}{ending}") for each in KINDS]).ravel() for ending in ("_us", "_dev_us")
    )
    device, derived = StringColumn(["0"], np.zeros(len(rows), np.int64)), np.zeros(len(rows), np.bool_)
    found = _build_measurements(table, rows, seconds, deviation, kind=kind, device=device, derived=derived)
    return found, RowFilter(table.rows)


def _build_measurements(table: Table, row: Ints, seconds: Floats, deviation: Floats, **columns: Any) -> Measurements:
    machine, codelet, footprint = (_encode(table, name).take(row) for name in KEYS)
    traffic, operations = (table.numbers(name)[row] for name in FIGURES)
    seconds, deviation = seconds * MICROSECONDS, deviation * MICROSECONDS
    found = Measurements(row, machine, codelet, footprint, traffic, operations, seconds, deviation, **columns)
    return require_valid(found)


def require_valid(found: Measurements) -> Measurements:
    """Refuse measurements on a machine without a name, and figures that cannot be."""
    valid = (found.seconds > 0) & (found.deviation >= 0) & found.machine.match(str.isidentifier)
    for column in (found.seconds, found.deviation, found.traffic, found.operations):
        valid &= (column >= 0) & (column < math.inf)
    if not valid.all():
        raise RowError(
            int(found.row[np.argmin(valid)]),
            "a machine has no name, a time is not above 0, or another figure is negative: correct this line",
        )
    return found


class Kernels:
    """The kernels of measurements (a codelet on operands of one shape), as columns in order of their first one."""

    def __init__(self, measurements: Measurements) -> None:
        self.measurements = measurements
        shapes = _pair_codes(measurements.codelet.codes, measurements.footprint.codes)
        keys = _pair_codes(shapes, np.unique(measurements.traffic, return_inverse=True)[1])
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        first = first[order]
        self.which: Ints = place[which]
        self.classes = list(measurements.classes)
        self.codelet = measurements.codelet.take(first)
        self.traffic = measurements.traffic[first]  # bytes of all operands
        self.operations = measurements.operations[first]  # 0: not known
        self.is_derived = np.bincount(self.which[measurements.derived], minlength=len(first)) > 0

    def seconds(self, name: str) -> Floats:
        """Return the mean over the devices of a class; infinite where there is none."""
        return self._mean(self.measurements.seconds, name, math.inf)

    def variation(self, name: str) -> Floats:
        """Return the standard deviation over the mean, each the mean over the devices of a class; NaN if none."""
        return self._mean(self.measurements.deviation, name, math.nan) / self.seconds(name)

    def _mean(self, column: Floats, name: str, missing: float) -> Floats:
        rows = np.flatnonzero(self.measurements.class_codes == self.measurements.classes.get(name, -1))
        rows = rows[np.argsort(self.which[rows], kind="stable")]
        kernels, begin, counts = np.unique(self.which[rows], return_index=True, return_counts=True)
        values = column[rows]
        found = np.full(len(self.traffic), missing)
        found[kernels] = values[begin]
        several = np.flatnonzero(counts > 1)
        ends = (begin[several] + counts[several]).tolist()
        parts = [values[start:end] for start, end in zip(begin[several].tolist(), ends, strict=True)]
        found[kernels[several]] = [math.fsum(part) / len(part) for part in parts]  # bit-identical in any order
        return found


def _distinct(codes: Ints) -> Ints:
    return np.flatnonzero(np.bincount(codes))


def _pair_codes(left: Ints, right: Ints) -> Ints:
    """Return a number for every pair, the same for equal pairs, as small as possible."""
    width = int(right.max(initial=0)) + 1
    codes: Ints = np.unique(left * width + right, return_inverse=True)[1].astype(np.int64)
    return codes


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    table, *bus = sorted([path, *companions], key=lambda each: not sniff(unpack.read_head(each)))
    return build_imported(table, *read_measurements(table), bus)


def build_imported(table: Path, found: Measurements, measured: RowFilter, bus: Sequence[Path]) -> Imported:
    """Build the kernels of measurements as tasks, and the machines with the figures of StarPU's bus folder."""
    usable, rows = _select_machines_with_cpu(found), len(measured.kept)
    if not len(usable.row):
        raise InputError(f"{table}: no machine has measured times on a CPU: there is nothing to place")
    skipped = Counter(measured.skipped)
    skipped[NO_CPU] += rows - sum(skipped.values()) - int(np.count_nonzero(np.diff(usable.row))) - 1
    gpus = {machine: usable.count_devices(f"{machine}_{GPU}") for machine in sorted(usable.machines(CPU))}
    buses, classes, nodes = _read_bus(bus, gpus), list[DeviceClass](), []
    for machine, count in gpus.items():
        cpu, gpu, node = build_machine(buses.get(machine, {}), count, f"{machine}_")
        classes += [cpu, gpu] if node.devices[gpu.name] else [cpu]
        nodes.append(Node({name: number for name, number in node.devices.items() if number}))
    cluster = Cluster(tuple(classes), tuple(nodes))
    return Imported(_build_tasks(table, Kernels(usable)), rows, +skipped, cluster)


def _build_tasks(path: Path, kernels: Kernels) -> Tasks:
    times = {name: kernels.seconds(name) for name in kernels.classes}
    codelets, operations = kernels.codelet, kernels.operations
    number = np.unique(codelets.codes, return_inverse=True)[1]
    known = (operations > 0) & (kernels.traffic > 0)
    intensity = np.full(len(known), UNKNOWN_INTENSITY)
    intensity[known] = normalise_intensity(operations[known], kernels.traffic[known])
    try:
        return Tasks.build(
            size=columns.matrix_edge(kernels.traffic),
            compute_intensity=intensity,
            memory_required=kernels.traffic / BYTES_PER_MEGABYTE,
            duration_estimate=_estimate_duration(times),
            measured=times,
            features={"codelet": number, "gflop": np.where(operations > 0, operations / 1e9, math.nan)},
        )
    except RowError as error:
        name = codelets.names[codelets.codes[error.row]]
        raise InputError(f"{path}: kernel '{name[:80]}': {error.reason}") from None


def _estimate_duration(times: dict[str, Floats]) -> Floats:
    """Return the mean over the classes of CPUs that run a kernel; over those of GPUs where no CPU ran it."""
    count = len(next(iter(times.values())))
    means: list[Floats] = []
    for is_cpu in (True, False):
        chosen = [each for name, each in times.items() if name.endswith(f"_{CPU}") is is_cpu]
        table = np.array(chosen).reshape(len(chosen), count)
        runs = np.isfinite(table)
        known = runs.sum(axis=0)
        means.append(np.full(count, math.nan))
        np.divide(np.where(runs, table, 0.0).sum(axis=0), known, out=means[-1], where=known > 0)
    return np.where(np.isnan(means[0]), means[1], means[0])


def build_machine(bus: dict[str, str], gpus: int, prefix: str = "") -> tuple[DeviceClass, DeviceClass, Node]:
    """Return the classes of a machine's cores and GPUs, and its node, from its `.config` and `.bandwidth`."""
    cores, gpus = parse_counts(bus["config"]) if "config" in bus else (1, gpus)
    if not (1 <= cores <= MAX_DEVICES and 0 <= gpus <= MAX_DEVICES):
        raise ValueError(f"{cores} cores and {gpus} GPUs")
    bandwidth = DEFAULT_GPU.bandwidth
    if gpus and "bandwidth" in bus:
        from_host = parse_matrix(bus["bandwidth"])[0]
        bandwidth = fmean(from_host[number] for number in range(1, gpus + 1))
    cpu = replace(DEFAULT_CPU, name=f"{prefix}{CPU}")
    gpu = replace(DEFAULT_GPU, name=f"{prefix}{GPU}", bandwidth=bandwidth)
    return cpu, gpu, Node({cpu.name: cores, gpu.name: gpus})


def _read_bus(paths: Sequence[Path], gpus: dict[str, int]) -> dict[str, dict[str, str]]:
    """Return the text of companions by machine and kind, as their names tell."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(paths, key=lambda each: "bandwidth" in each.name):  # checked against the number of GPUs
        machine, _, kind = path.name.removesuffix(".gz").removesuffix(".zst").partition(".")
        if machine not in gpus or kind not in BUS_FILES:
            raise InputError(f"{path} does not belong to this table: it takes {COMPANIONS}, of {', '.join(gpus)}")
        figures = found.setdefault(machine, {})
        figures[kind] = unpack.read_text(path)
        try:
            build_machine(figures, gpus[machine])
        except (ValueError, IndexError):  # also the error of a bandwidth that no class can have
            raise InputError(f"{path} is no {kind} as StarPU writes it: fetch it again") from None
    return found


FORMAT = Format("starpu", "kernels measured by StarPU on several machines", MAPPING, sniff, _read, COMPANIONS)
