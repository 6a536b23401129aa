"""Tables of kernels that were run on a CPU and on GPUs, with static features of their source (Cummins et al. 2017).

A column `runtime_CLASS` holds the times on a class, such as `runtime_cpu` and `runtime_gpu_amd`; other columns of
numbers are features that are known before the kernel runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.tasks import Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats.columns import encode_strings, matrix_edge, parse_header, select_unique
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.tables import NO_ROWS, Table, read_table

SECONDS = 1e-3  # seconds of the file's unit of time: the table does not state it, its magnitudes fit milliseconds
BYTES_PER_MEGABYTE = 1e6
RUNTIME, CPU = "runtime_", "cpu"
TEXT_COLUMNS = ("suite", "benchmark", "dataset", "oracle", "src", "seq")
REQUIRED = ("benchmark", f"{RUNTIME}{CPU}", "comp", "mem")

MAPPING = (
    Mapped("runtime_<class>", "time_<class>", MEASURED, "kernel times; the unit is not stated, assumed: ms"),
    Mapped("runtime_cpu", "duration_estimate", MEASURED, "the time on the CPU"),
    Mapped("comp, mem, wgsize… and other numbers", "feature_<column>", MEASURED, "static counts, as in the file"),
    Mapped("transfer…", "memory_required", MEASURED, "MB moved; the largest if there are several"),
    Mapped("transfer…", "size", ASSUMED, "edge of a square matrix of 4-byte numbers with these bytes, at least 1"),
    Mapped("comp, mem", "compute_intensity", ASSUMED, "comp / (comp + mem), static counts"),
    Mapped("benchmark", "", IGNORED, "`kernels.groups` returns which rows are the same kernel"),
    Mapped("suite, dataset, oracle, src, seq", "", IGNORED, "names and text"),
    Mapped("", "arrival_time", ASSUMED, "0: all kernels arrive at the start"),
    Mapped("", "cluster", ASSUMED, "one node with one device of each class; memory and links as in the model"),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names times on a CPU and on something else."""
    names = parse_header(head)
    return set(REQUIRED) <= names and sum(name.startswith(RUNTIME) for name in names) > 1


def groups(path: str | Path, by: str = "benchmark") -> Ints:
    """Return a number for each row, the same for rows of one kernel (or `suite`), in order of their names."""
    # They are not among the features, so that a model can be tested on kernels that it has never seen.
    select = partial(select_unique, required=(by,), is_number=lambda _: False, texts=(by,))
    return encode_strings(read_table(Path(path), select, NO_ROWS).columns[by], strip=True).codes


def _read(path: Path, _: Sequence[Path]) -> Imported:
    select = partial(select_unique, required=REQUIRED, is_number=lambda name: bool(name) and name not in TEXT_COLUMNS)
    table = read_table(path, select, NO_ROWS)
    with table.locate_errors():
        tasks = _build_tasks(table)
    gpus = tuple(replace(DEFAULT_GPU, name=name) for name in tasks.measured if name != CPU)
    node = Node(dict.fromkeys([CPU, *(each.name for each in gpus)], 1))
    return Imported(tasks, len(tasks), cluster=Cluster((DEFAULT_CPU, *gpus), (node,)))


def _build_tasks(table: Table) -> Tasks:
    features = {name: column for name, column in table.columns.items() if not name.startswith(RUNTIME)}
    times = {
        name.removeprefix(RUNTIME): column * SECONDS
        for name, column in table.columns.items()
        if name.startswith(RUNTIME)
    }
    if not all(name.isidentifier() for name in times):
        raise InputError(f"a column {RUNTIME}… names no class of devices: call it {RUNTIME}gpu")
    if len(times) < 2:
        raise InputError(f"there are times of {', '.join(times)} only: add a column {RUNTIME}gpu")
    transfers = [column for name, column in features.items() if name.startswith("transfer")]
    moved = np.maximum(np.max(transfers, axis=0) if transfers else np.zeros(table.rows), 0.0)  # bytes
    with np.errstate(over="ignore"):  # invalid columns are refused when tasks are built
        counts = features["comp"] + features["mem"]
    return Tasks.build(
        size=matrix_edge(moved),
        compute_intensity=np.divide(features["comp"], counts, out=np.full(table.rows, 0.5), where=counts != 0),
        memory_required=moved / BYTES_PER_MEGABYTE,
        duration_estimate=times[CPU],
        measured=times,
        features=features,
    )


FORMAT = Format("kernels", "kernels measured on a CPU and on GPUs, with static features", MAPPING, sniff, _read)
