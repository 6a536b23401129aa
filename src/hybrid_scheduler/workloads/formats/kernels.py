"""Tables of kernels that were run on a CPU and on GPUs, with static features of their source (Cummins et al. 2017).

A column `runtime_CLASS` holds the times on a class, such as `runtime_cpu` and `runtime_gpu_amd`; other columns of
numbers are features that are known before the kernel runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats.documents import Sheet, edge_of, header_of, sheet
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped

SECONDS = 1e-3
"""Seconds of the file's unit of time: the table does not state it, its magnitudes fit milliseconds."""
BYTES = 1e6
RUNTIME, CPU = "runtime_", "cpu"
WORDS = ("suite", "benchmark", "dataset", "oracle", "src", "seq")
"""Columns that hold names or text."""
NEEDED = ("benchmark", f"{RUNTIME}{CPU}", "comp", "mem")

MAPPING = (
    Mapped("runtime_<class>", "time_<class>", MEASURED, "kernel times; the unit is not stated, assumed milliseconds"),
    Mapped("runtime_cpu", "duration_estimate", MEASURED, "the time on the CPU"),
    Mapped(
        "comp, rational, mem, localmem, coalesced, atomic, transfer…, wgsize…",
        "feature_<column>",
        MEASURED,
        "counted in the source before the kernel runs, in the file's units; as any other column of numbers",
    ),
    Mapped("transfer…", "memory_required", MEASURED, "MB moved; the largest if there are several"),
    Mapped("transfer…", "size", ASSUMED, "edge of a square matrix of 4-byte numbers with these bytes, at least 1"),
    Mapped(
        "comp, mem", "compute_intensity", ASSUMED, "comp / (comp + mem), static counts; says little of the speed-up"
    ),
    Mapped(
        "benchmark",
        "",
        IGNORED,
        "`groups` tells which rows are the same kernel, so that models can be tried on others",
    ),
    Mapped("suite, dataset, oracle, src, seq", "", IGNORED, "names and text"),
    Mapped("", "arrival_time", ASSUMED, "0: all kernels are there at the start"),
    Mapped("", "cluster", ASSUMED, "one node with one device of each class; memory and links are those of the model"),
)


def _read(path: Path, _: Sequence[Path]) -> Imported:
    table = sheet(path, NEEDED, lambda name: _is_feature(name) or name.startswith(RUNTIME))
    tasks = _tasks(table)
    return Imported(tasks, len(tasks), cluster=_cluster(list(tasks.measured)))


def _tasks(table: Sheet) -> Tasks:
    features = {name: table.numbers(name) for name in table.columns if _is_feature(name)}
    times = {
        name.removeprefix(RUNTIME): table.numbers(name) * SECONDS
        for name in table.columns
        if name.startswith(RUNTIME)
    }
    if not all(name.isidentifier() for name in times):
        raise InputError(f"{table.path}: a column {RUNTIME}… names no class of devices: call it {RUNTIME}gpu")
    if len(times) < 2:
        raise InputError(f"{table.path}: there are times of {', '.join(times)} only: add a column {RUNTIME}gpu")
    moved = _moved(features, len(table))
    with np.errstate(over="ignore"):  # what cannot be used is found by the check of the columns
        counts = features["comp"] + features["mem"]
    intensity = np.divide(features["comp"], counts, out=np.full(len(table), 0.5), where=counts != 0)
    try:
        return Tasks.build(
            size=edge_of(moved),
            compute_intensity=intensity,
            memory_required=moved / BYTES,
            duration_estimate=times[CPU],
            measured=times,
            features=features,
        )
    except RowError as error:
        raise table.refusal(error.row, error.reason) from None


def _is_feature(name: str) -> bool:
    return bool(name) and name not in WORDS and not name.startswith(RUNTIME)


def _moved(features: dict[str, Floats], count: int) -> Floats:
    """Bytes moved between host and device."""
    columns = [column for name, column in features.items() if name.startswith("transfer")]
    moved: Floats = np.max(columns, axis=0) if columns else np.zeros(count)
    return np.maximum(moved, 0.0)


def _cluster(names: list[str]) -> Cluster:
    gpus = [replace(DEFAULT_GPU, name=name) for name in names if name != CPU]
    return Cluster((DEFAULT_CPU, *gpus), (Node(dict.fromkeys([CPU, *(each.name for each in gpus)], 1)),))


def groups(path: str | Path, by: str = "benchmark") -> Ints:
    """Return a number for each row, the same for rows of one kernel (or `suite`), in order of their names.

    Not among the features: a model is to be tried on kernels that it has never seen.
    """
    return sheet(Path(path), (by,), lambda _: False).words(by).codes


def sniff(head: bytes) -> bool:
    """Whether the first line names times on a CPU and on something else."""
    names = header_of(head)
    return {name.encode() for name in NEEDED} <= names and sum(name.startswith(b"runtime_") for name in names) > 1


FORMAT = Format("kernels", "kernels measured on a CPU and on GPUs, with static features", MAPPING, sniff, _read)
