"""The list of nodes of Alibaba's GPU trace: every kind of node gives a class of CPUs and one of GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import MOST_NODES, Cluster, DeviceClass, Node
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats.checked import NUMBER, TEXT
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.own import names_in, shown
from hybrid_scheduler.workloads.formats.table import (
    Mask,
    Sieve,
    Table,
    from_first,
    read_table,
    repeated,
    require,
    require_amounts,
    require_counts,
)

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
MEGABYTES_PER_MIB = 1.048576
MOST_KINDS = 200
"""Classes that a cluster may get: each is a column of times."""


@dataclass(frozen=True)
class Kind:
    """What a class of devices offers: of a whole node for a CPU, of the node around it for a GPU."""

    cores: float  # thousandths of a core
    mib: float
    gpus: int  # GPUs of the node; 0: a class of CPUs
    model: str

    @property
    def name(self) -> str:
        """A name for the class, such as `cpu_96c_384g` and `t4x2_104c_512g`."""
        cores = f"{self.cores / 1000:g}c".replace(".", "_")
        memory = f"{self.mib / 1024:g}g".replace(".", "_")
        model = re.sub(r"\W+", "_", self.model.lower()) or "gpu"
        return f"{model}x{self.gpus}_{cores}_{memory}" if self.gpus else f"cpu_{cores}_{memory}"

    def device_class(self, name: str) -> DeviceClass:
        """Return the class of devices; its memory is that of the node."""
        memory = self.mib * MEGABYTES_PER_MIB
        if self.gpus:
            return DeviceClass(name, memory=memory, bandwidth=16_000.0)
        return DeviceClass(name, kind="cpu", speedup_slope=0.0, memory=memory, watts=30.0, dollars_per_second=2e-5)


@dataclass(frozen=True)
class Nodes:
    """The machines of a trace: a cluster, and what each of its classes offers."""

    cluster: Cluster
    kinds: Mapping[str, Kind]


def is_nodes(head: bytes) -> bool:
    """Whether the first line names the columns of a list of nodes."""
    return set(NODE_COLUMNS) <= names_in(head)


def read_nodes(path: Path) -> Nodes:
    """Read a list of nodes; an error names the file and the line."""
    table = read_table(path, _node_kinds)
    with table.explained():
        return _nodes(table)


def _node_kinds(header: list[str]) -> dict[str, str]:
    for name in NODE_COLUMNS:
        if name not in header:
            raise InputError(f"column '{name}' is missing, found {shown(header)}: nodes need {', '.join(NEEDED)}")
    return {"model": TEXT, **dict.fromkeys(("cpu_milli", "memory_mib", "gpu"), NUMBER)}


def _nodes(table: Table) -> Nodes:
    for name in ("cpu_milli", "memory_mib"):
        column = table.numbers(name)
        require(name, column, (column > 0) & (column < np.inf), "a number above 0")
    require_counts("gpu", table.numbers("gpu"))
    if table.rows > MOST_NODES:
        raise InputError(f"there are {table.rows} nodes, at most {MOST_NODES} can be used: take a part of the list")
    columns = (table.numbers(name).tolist() for name in ("cpu_milli", "memory_mib", "gpu"))
    names: dict[Kind, str] = {}
    nodes = []
    for cores, mib, gpus, model in zip(*columns, table.columns["model"].to_pylist(), strict=True):
        devices = {_named(names, Kind(cores, mib, 0, "")): 1}
        if gpus:
            devices[_named(names, Kind(cores, mib, int(gpus), model.strip()))] = int(gpus)
        nodes.append(Node(devices))
    kinds = {name: kind for kind, name in sorted(names.items(), key=lambda each: (each[0].gpus > 0, each[1]))}
    cluster = Cluster(tuple(kind.device_class(name) for name, kind in kinds.items()), tuple(nodes))
    return Nodes(cluster, kinds)


def _named(names: dict[Kind, str], kind: Kind) -> str:
    """Return the name of a kind; two kinds never share one."""
    if kind not in names:
        if len(names) >= MOST_KINDS:
            raise InputError(f"there are more than {MOST_KINDS} kinds of nodes: round their figures or take fewer")
        taken = names.values()
        names[kind] = kind.name if kind.name not in taken else f"{kind.name}_{len(names)}"
    return names[kind]


AMOUNTS = ("cpu_milli", "memory_mib", "gpu_milli", "creation_time", "deletion_time")
NEEDED = (*AMOUNTS, "num_gpu", "scheduled_time")
MAPPING = (
    Mapped("creation_time", "arrival_time", MEASURED, "seconds, counted from the first pod"),
    Mapped(
        "deletion_time, scheduled_time", "duration", MEASURED, "deletion − scheduled; pods never scheduled skipped"
    ),
    Mapped("num_gpu, gpu_milli", "time_<GPU class>", MEASURED, "duration · share of one GPU (gpu_milli / 1000)"),
    Mapped("num_gpu", "tasks", ASSUMED, "a pod of g GPUs is g tasks that arrive together; starting together is lost"),
    Mapped(
        "cpu_milli", "time_<CPU class>", ASSUMED, "pods without GPU: duration · share of a node's cores, as a fluid"
    ),
    Mapped("gpu_spec", "inf", MEASURED, "GPU models that the pod does not take cannot run it"),
    Mapped(
        "cpu_milli, num_gpu", "inf", MEASURED, "nodes with too few cores or GPUs cannot run it, nor CPUs a GPU pod"
    ),
    Mapped("memory_mib", "memory_required", MEASURED, "MiB · 1.048576; the limit is the memory of a node"),
    Mapped("cpu_milli, memory_mib, num_gpu, gpu_milli", "feature_…", MEASURED, "known before the pod runs"),
    Mapped(
        "nodes: sn, cpu_milli, memory_mib, gpu, model", "cluster", MEASURED, "a class per kind of node, CPU and GPU"
    ),
    Mapped("", "time_<GPU class>", ASSUMED, "the same on all models: the file has one duration, of an unknown model"),
    Mapped("", "size", ASSUMED, "thousandths of a GPU, or of a core, that the pod asks for: no duration is in it"),
    Mapped("", "compute_intensity", ASSUMED, "1 with a GPU, 0 without"),
    Mapped("", "watts, prices", ASSUMED, "the defaults of the product"),
    Mapped(
        "",
        "classes cpu and gpu",
        ASSUMED,
        "without a list of nodes: one core, a GPU of any model, no limit of memory",
    ),
    Mapped("name, qos, pod_phase", "", IGNORED),
)
ONE_CORE = {"cpu": Kind(1000.0, np.inf, 0, ""), "gpu": Kind(np.inf, np.inf, 4096, "any")}
"""What pods run on if no node is known."""


def sniff(head: bytes) -> bool:
    """Whether the first line names the columns of pods."""
    return set(NEEDED) <= names_in(head)


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    for each in companions[1:]:
        raise InputError(f"{each}: pods take one list of nodes: give one")
    nodes = read_nodes(companions[0]) if companions else None
    table = read_table(path, _kinds)
    with table.explained():
        _check(table)
        sieve = Sieve(table.rows)
        duration = _durations(table, sieve)
        rows = sieve.rows
        tasks = _tasks(table, rows, duration, nodes.kinds if nodes else ONE_CORE)
    return Imported(tasks, table.rows, sieve.skipped, nodes.cluster if nodes else None)


def _kinds(header: list[str]) -> dict[str, str]:
    for name in NEEDED:
        if name not in header:
            raise InputError(f"column '{name}' is missing, found {shown(header)}: pods need {', '.join(NEEDED)}")
    return {**dict.fromkeys(NEEDED, NUMBER), **({"gpu_spec": TEXT} if "gpu_spec" in header else {})}


def _check(table: Table) -> None:
    for name in AMOUNTS:
        require_amounts(name, table.numbers(name))
    require_counts("num_gpu", table.numbers("num_gpu"))
    scheduled = table.numbers("scheduled_time")
    require("scheduled_time", scheduled, ~(scheduled < 0) & ~np.isinf(scheduled), "seconds, 0 or more, or empty")


def _durations(table: Table, sieve: Sieve) -> Floats:
    scheduled = table.numbers("scheduled_time")
    duration = table.numbers("deletion_time") - scheduled
    gpus, shares = table.numbers("num_gpu"), table.numbers("gpu_milli")
    sieve.skip(np.isnan(scheduled), "never scheduled, so its duration is not known")
    sieve.skip(duration <= 0, "ran for 0 s")
    sieve.skip((gpus > 0) & (shares == 0), "asks for 0 of a GPU")
    sieve.skip((gpus == 0) & (table.numbers("cpu_milli") == 0), "asks for no core and no GPU")
    return duration


def _tasks(table: Table, rows: Ints, duration: Floats, kinds: Mapping[str, Kind]) -> Tasks:
    rows = repeated(rows, np.maximum(table.numbers("num_gpu")[rows], 1))
    asked = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    cores, memory, gpus, shares = (table.numbers(name)[rows] for name in asked)
    on_gpu, seconds = gpus > 0, duration[rows]
    gpu_seconds = seconds * shares / 1000
    allowed = _allowed(table, rows, {kind.model for kind in kinds.values() if kind.gpus})
    measured = {}
    for name, kind in kinds.items():
        if kind.gpus:
            runs = on_gpu & (gpus <= kind.gpus) & (cores <= kind.cores) & allowed[kind.model]
            measured[name] = np.where(runs, gpu_seconds, np.inf)
        else:
            # A pod that asks for more cores than a node has cannot run there; one core stands for as many as needed.
            runs = ~on_gpu & ((cores <= kind.cores) | (kinds is ONE_CORE))
            measured[name] = np.where(runs, seconds * (cores / kind.cores), np.inf)
    return Tasks.build(
        size=np.where(on_gpu, shares, cores),
        compute_intensity=on_gpu.astype(float),
        # It is memory of the node: without a list of nodes there is nothing that it could be held against.
        memory_required=np.zeros(len(rows)) if kinds is ONE_CORE else memory * MEGABYTES_PER_MIB,
        arrival_time=from_first(table.numbers("creation_time")[rows]),
        duration_estimate=np.where(on_gpu, gpu_seconds, seconds * cores / 1000),
        measured=measured,
        features={"cpu_milli": cores, "memory_mib": memory, "num_gpu": gpus, "gpu_milli": shares},
    )


def _allowed(table: Table, rows: Ints, models: set[str]) -> dict[str, Mask]:
    """Say for every model of GPU which rows take it; an empty `gpu_spec` takes all."""
    if "gpu_spec" not in table:
        return {model: np.ones(len(rows), bool) for model in models}
    found = table.columns["gpu_spec"].combine_chunks().dictionary_encode()
    words = [set(filter(None, word.strip().split("|"))) for word in found.dictionary.to_pylist()]
    codes = found.indices.to_numpy()[rows]
    return {
        model: np.array([not word or model in word or model == "any" for word in words])[codes] for model in models
    }


FORMAT = Format(
    "alibaba",
    "Alibaba GPU trace 2023: a list of pods, with its list of nodes",
    MAPPING,
    sniff,
    _read,
    f"a list of nodes ({', '.join(NEEDED)})",
    is_nodes,
)
