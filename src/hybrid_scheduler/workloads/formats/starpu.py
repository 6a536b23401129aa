"""StarPU's performance models as tables: how long kernels took on the cores and GPUs of some machines.

Read are the table of all measurements (`machine, codelet, device_type, …, mean_us, dev_us`) and the table of pairs
(`machine, codelet, …, cpu_us, gpu_us`); `MACHINE.config` and `MACHINE.bandwidth` of StarPU's bus folder tell how
many cores and GPUs a machine has and how fast its links are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, DeviceClass, Node
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.profiling.kernels import intensity_of
from hybrid_scheduler.profiling.profile import UNKNOWN_INTENSITY
from hybrid_scheduler.profiling.starpu import counts, matrix
from hybrid_scheduler.workloads.factorisations.starpu import CPU, GPU, Kernels, is_table, read_measured, with_cpu
from hybrid_scheduler.workloads.formats import unpack
from hybrid_scheduler.workloads.formats.documents import edge_of, named
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped

BYTES = 1e6
NO_CPU = "on a machine without a measured CPU, and a node needs one"
KINDS = ("config", "bandwidth")
MOST_DEVICES = 4096
COMPANIONS = "MACHINE.config and MACHINE.bandwidth of StarPU's bus folder"

MAPPING = (
    Mapped(
        "mean_us; cpu_us, gpu_us",
        "time_<machine>_cpu, time_<machine>_gpu",
        MEASURED,
        "seconds on one core and on one GPU with the data in place; the mean over the GPUs of a machine",
    ),
    Mapped("", "time_<class>", ASSUMED, "`inf` where a kernel was not measured on a class: it cannot run there"),
    Mapped("machine, device_type", "device classes", MEASURED, "cpu is a core, cuda a GPU"),
    Mapped("codelet, footprint_hash, size_bytes", "tasks", MEASURED, "one each; several rows make one task"),
    Mapped("codelet", "feature_codelet", MEASURED, "its number in alphabetical order"),
    Mapped("flops", "feature_gflop", MEASURED, "empty where it is 0: not known"),
    Mapped("flops, size_bytes", "compute_intensity", ASSUMED, "from operations per byte as for profiles, else 0.5"),
    Mapped("size_bytes", "memory_required", MEASURED, "MB of all operands"),
    Mapped("size_bytes", "size", ASSUMED, "edge of a square matrix of 4-byte numbers with these bytes, at least 1"),
    Mapped("dev_us; cpu_dev_us, gpu_dev_us", "", IGNORED, "`workload.starpu.spread` returns them over the means"),
    Mapped("derived", "", IGNORED, "rows that were computed from others are skipped"),
    Mapped("device_id", "cluster: GPUs of a node", MEASURED, "as many as were measured, unless the .config tells"),
    Mapped(".config", "cluster: cores and GPUs of a node", MEASURED, "without it a node has one core"),
    Mapped(
        ".bandwidth", "cluster: links of the GPUs", MEASURED, "from the host, mean over the GPUs; else the model's"
    ),
    Mapped("", "duration_estimate", ASSUMED, "mean over the classes of CPUs, else of GPUs"),
    Mapped("", "arrival_time", ASSUMED, "0: all kernels are there at the start"),
    Mapped("n_samples; n_cpu, n_gpu; speedup", "", IGNORED),
)


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    table, *bus = sorted([path, *companions], key=lambda each: not sniff(unpack.head(each)))
    found = read_measured(table)
    usable = with_cpu(found.measurements)
    if not len(usable):
        raise InputError(f"{table}: no machine has measured times on a CPU: there is nothing to place")
    skipped = Counter(found.skipped)
    skipped[NO_CPU] += found.rows - sum(skipped.values()) - int(np.count_nonzero(np.diff(usable.row))) - 1
    gpus = {machine: usable.devices(f"{machine}_{GPU}") for machine in sorted(usable.machines(CPU))}
    cluster = _cluster(gpus, _buses(bus, gpus))
    return Imported(_tasks(table, Kernels(usable)), found.rows, +skipped, cluster)


def _tasks(path: Path, kernels: Kernels) -> Tasks:
    times = {name: kernels.seconds(name) for name in kernels.classes}
    codelets = kernels.codelet
    number = np.unique(codelets.codes, return_inverse=True)[1]
    operations = kernels.operations
    try:
        return Tasks.build(
            size=edge_of(kernels.traffic),
            compute_intensity=_intensity(operations, kernels.traffic),
            memory_required=kernels.traffic / BYTES,
            duration_estimate=_base(times),
            measured=times,
            features={"codelet": number, "gflop": np.where(operations > 0, operations / 1e9, math.nan)},
        )
    except RowError as error:
        what = f"kernel '{codelets.names[codelets.codes[error.row]][:80]}'"
        raise named(error, path, what) from None


def _intensity(operations: Floats, traffic: Floats) -> Floats:
    known = (operations > 0) & (traffic > 0)
    found = np.full(len(traffic), UNKNOWN_INTENSITY)
    found[known] = intensity_of(operations[known], traffic[known])
    return found


def _base(times: dict[str, Floats]) -> Floats:
    """Mean over the classes of CPUs; over those of GPUs where no CPU ran the kernel."""
    count = len(next(iter(times.values())))
    on_cpu = _mean([each for name, each in times.items() if name.endswith(f"_{CPU}")], count)
    on_gpu = _mean([each for name, each in times.items() if not name.endswith(f"_{CPU}")], count)
    return np.where(np.isnan(on_cpu), on_gpu, on_cpu)


def _mean(columns: list[Floats], count: int) -> Floats:
    """Mean of every row over the columns that are finite there; NaN if none is."""
    table = np.array(columns).reshape(len(columns), count)
    runs = np.isfinite(table)
    known = runs.sum(axis=0)
    mean: Floats = np.full(count, math.nan)
    np.divide(np.where(runs, table, 0.0).sum(axis=0), known, out=mean, where=known > 0)
    return mean


def _cluster(gpus: dict[str, int], buses: dict[str, dict[str, str]]) -> Cluster:
    classes: list[DeviceClass] = []
    nodes = []
    for machine, count in gpus.items():
        cpu, gpu, node = machine_of(buses.get(machine, {}), count, f"{machine}_")
        classes += [cpu, gpu] if node.devices[gpu.name] else [cpu]
        nodes.append(Node({name: count for name, count in node.devices.items() if count}))
    return Cluster(tuple(classes), tuple(nodes))


def machine_of(bus: dict[str, str], gpus: int, prefix: str = "") -> tuple[DeviceClass, DeviceClass, Node]:
    """Return the classes of a machine's cores and GPUs, and its node, from its `.config` and `.bandwidth`."""
    cores, gpus = counts(bus["config"]) if "config" in bus else (1, gpus)
    if not (1 <= cores <= MOST_DEVICES and 0 <= gpus <= MOST_DEVICES):
        raise ValueError(f"{cores} cores and {gpus} GPUs")
    bandwidth = DEFAULT_GPU.bandwidth
    if gpus and "bandwidth" in bus:
        from_host = matrix(bus["bandwidth"])[0]
        bandwidth = fmean(from_host[number] for number in range(1, gpus + 1))
    cpu = replace(DEFAULT_CPU, name=f"{prefix}{CPU}")
    gpu = replace(DEFAULT_GPU, name=f"{prefix}{GPU}", bandwidth=bandwidth)
    return cpu, gpu, Node({cpu.name: cores, gpu.name: gpus})


def _buses(paths: Sequence[Path], gpus: dict[str, int]) -> dict[str, dict[str, str]]:
    """Return the text of companions by machine and kind, as their names tell."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(paths, key=lambda each: "bandwidth" in each.name):  # checked against the number of GPUs
        machine, _, kind = path.name.removesuffix(".gz").removesuffix(".zst").partition(".")
        if machine not in gpus or kind not in KINDS:
            raise InputError(f"{path} does not belong to this table: it takes {COMPANIONS}, of {', '.join(gpus)}")
        figures = found.setdefault(machine, {})
        figures[kind] = unpack.text(path)
        try:
            machine_of(figures, gpus[machine])
        except (ValueError, IndexError):  # also the error of a bandwidth that no class can have
            raise InputError(f"{path} is no {kind} as StarPU writes it: fetch it again") from None
    return found


def sniff(head: bytes) -> bool:
    """Whether the first line names codelets on machines with times."""
    return is_table(head)


FORMAT = Format("starpu", "kernels measured by StarPU on several machines", MAPPING, sniff, _read, COMPANIONS)
