"""Alibaba's GPU cluster trace of 2023 (github.com/alibaba/clusterdata): a list of pods, with its list of nodes.

Every kind of node gives a class of CPUs and one of GPUs; without a list of nodes, pods run on single cores and GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import MAX_NODES, Cluster, DeviceClass, Node
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import columns
from hybrid_scheduler.workloads.formats.columns import Mask, RowFilter
from hybrid_scheduler.workloads.formats.reader import (
    ASSUMED,
    IGNORED,
    MEASURED,
    Format,
    Imported,
    ImportedJobs,
    Mapped,
)
from hybrid_scheduler.workloads.formats.tables import NUMBER, TEXT, Table, read_table

AMOUNTS = ("cpu_milli", "memory_mib", "gpu_milli", "creation_time", "deletion_time")
POD_COLUMNS = (*AMOUNTS, "num_gpu", "scheduled_time")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
REQUESTS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
COMPANION = f"a list of nodes ({', '.join(NODE_COLUMNS)})"
MEGABYTES_PER_MIB = 1.048576
MAX_KINDS = 200  # classes that a cluster may get: each is a column of times

MAPPING = (
    Mapped("creation_time", "arrival_time", MEASURED, "seconds, counted from the first pod"),
    Mapped("deletion_time, scheduled_time", "duration", MEASURED, "deletion − scheduled; skipped if never scheduled"),
    Mapped("num_gpu, gpu_milli", "time_<GPU class>", MEASURED, "duration · share of one GPU (gpu_milli / 1000)"),
    Mapped("num_gpu", "tasks", ASSUMED, "a pod of g GPUs becomes g tasks that arrive together; no gang scheduling"),
    Mapped("cpu_milli", "time_<CPU class>", ASSUMED, "pods without GPU: duration · share of the node's cores"),
    Mapped("gpu_spec", "inf", MEASURED, "GPU models that the pod does not accept cannot run it"),
    Mapped("cpu_milli, num_gpu", "inf", MEASURED, "too few cores or GPUs on a node; CPUs for a GPU pod"),
    Mapped("memory_mib", "memory_required", MEASURED, "MiB · 1.048576; the limit is the memory of a node"),
    Mapped("cpu_milli, memory_mib, num_gpu, gpu_milli", "feature_…", MEASURED, "known before the pod runs"),
    Mapped("nodes: sn, cpu_milli, memory_mib, gpu, model", "cluster", MEASURED, "classes by kind of node"),
    Mapped("", "time_<GPU class>", ASSUMED, "the same on all models: the file has one duration, on an unknown model"),
    Mapped("", "size", ASSUMED, "thousandths of a GPU, or of a core, requested: independent of the duration"),
    Mapped("", "compute_intensity", ASSUMED, "1 with a GPU, 0 without"),
    Mapped("", "watts, prices", ASSUMED, "the defaults"),
    Mapped("", "classes cpu and gpu", ASSUMED, "without nodes: one core, any GPU, unlimited memory"),
    Mapped("name, qos, pod_phase", "", IGNORED),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names what pods ask for; a list without their times is refused when it is read."""
    return set(REQUESTS) <= columns.parse_header(head)


def is_node_list(head: bytes) -> bool:
    """Whether the first line names the columns of a list of nodes."""
    return set(NODE_COLUMNS) <= columns.parse_header(head)


@dataclass(frozen=True)
class NodeKind:
    """What a class of devices offers: a whole node for a CPU, the node around it for a GPU."""

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


SINGLE_DEVICES = {"cpu": NodeKind(1000.0, np.inf, 0, ""), "gpu": NodeKind(np.inf, np.inf, 4096, "any")}
"""What pods run on if there is no list of nodes."""


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    if len(companions) > 1:
        raise InputError(f"{companions[1]}: pods take one list of nodes: give one")
    cluster, kinds = _read_nodes(companions[0]) if companions else (None, SINGLE_DEVICES)
    table = read_table(path, _select_pod_columns)
    with table.locate_errors():
        pods, duration = _filter_pods(table)
        tasks = _build_tasks(table, pods.rows, duration, kinds)
    return Imported(tasks, table.rows, pods.skipped, cluster)


def _select_pod_columns(header: list[str]) -> dict[str, str]:
    if missing := [name for name in POD_COLUMNS if name.endswith("_time") and name not in header]:
        raise InputError(
            f"this list of pods has no {', '.join(missing)}: so it is not known when a pod came and how long it ran, "
            "give a list with these columns, such as openb_pod_list_default.csv"
        )
    columns.require_columns(header, POD_COLUMNS, "pods need")
    return dict.fromkeys(POD_COLUMNS, NUMBER) | ({"gpu_spec": TEXT} if "gpu_spec" in header else {})


def _filter_pods(table: Table) -> tuple[RowFilter, Floats]:
    """Check pods, skip those that did no work, and return how long each ran."""
    for name in AMOUNTS:
        amount = table.numbers(name)
        columns.require_values(name, amount, (amount >= 0) & (amount < np.inf), "a number, 0 or more")
    columns.require_counts("num_gpu", table.numbers("num_gpu"))
    scheduled = table.numbers("scheduled_time")
    valid = ~(scheduled < 0) & ~np.isinf(scheduled)
    columns.require_values("scheduled_time", scheduled, valid, "seconds, 0 or more, or empty")
    pods = RowFilter(table.rows)
    duration = table.numbers("deletion_time") - scheduled
    gpus, shares = table.numbers("num_gpu"), table.numbers("gpu_milli")
    pods.skip(np.isnan(scheduled), "never scheduled, so its duration is not known")
    pods.skip(duration <= 0, "ran for 0 s")
    pods.skip((gpus > 0) & (shares == 0), "asks for 0 of a GPU")
    pods.skip((gpus == 0) & (table.numbers("cpu_milli") == 0), "asks for no core and no GPU")
    return pods, duration


def _build_tasks(table: Table, rows: Ints, duration: Floats, kinds: Mapping[str, NodeKind]) -> Tasks:
    rows = columns.repeat_rows(rows, np.maximum(table.numbers("num_gpu")[rows], 1))
    cores, memory, gpus, shares = (table.numbers(name)[rows] for name in REQUESTS)
    on_gpu, seconds = gpus > 0, duration[rows]
    gpu_seconds = seconds * shares / 1000
    accepted = _find_accepted(table, rows, {kind.model for kind in kinds.values() if kind.gpus})
    measured = {}
    for name, kind in kinds.items():
        if kind.gpus:
            runs = on_gpu & (gpus <= kind.gpus) & (cores <= kind.cores) & accepted[kind.model]
            measured[name] = np.where(runs, gpu_seconds, np.inf)
        else:
            # A pod that asks for more cores than a node has cannot run there; one core stands for as many as needed.
            runs = ~on_gpu & ((cores <= kind.cores) | (kinds is SINGLE_DEVICES))
            measured[name] = np.where(runs, seconds * (cores / kind.cores), np.inf)
    return Tasks.build(
        size=np.where(on_gpu, shares, cores),
        compute_intensity=on_gpu.astype(float),
        # It is memory of the node: without a list of nodes there is nothing to compare it with.
        memory_required=np.zeros(len(rows)) if kinds is SINGLE_DEVICES else memory * MEGABYTES_PER_MIB,
        arrival_time=columns.since_first(table.numbers("creation_time")[rows]),
        duration_estimate=np.where(on_gpu, gpu_seconds, seconds * cores / 1000),
        measured=measured,
        features={"cpu_milli": cores, "memory_mib": memory, "num_gpu": gpus, "gpu_milli": shares},
    )


def _find_accepted(table: Table, rows: Ints, models: set[str]) -> dict[str, Mask]:
    """Return for every model of GPU which rows accept it, by the column `gpu_spec` (`V100|T4`)."""
    if "gpu_spec" not in table.columns:
        return {model: np.ones(len(rows), bool) for model in models}
    specs = columns.encode_strings(table.columns["gpu_spec"]).take(rows)
    named = [set(filter(None, spec.strip().split("|"))) for spec in specs.names]  # one that names none accepts all
    return {
        model: np.array([not names or model in names or model == "any" for names in named], bool)[specs.codes]
        for model in models
    }


def _read_nodes(path: Path) -> tuple[Cluster, Mapping[str, NodeKind]]:
    """Read a list of nodes: the cluster, and what each of its classes offers."""
    table = read_table(path, _select_node_columns)
    with table.locate_errors():
        for name in ("cpu_milli", "memory_mib"):
            column = table.numbers(name)
            columns.require_values(name, column, (column > 0) & (column < np.inf), "a number above 0")
        columns.require_counts("gpu", table.numbers("gpu"))
        if table.rows > MAX_NODES:
            raise InputError(
                f"there are {table.rows} nodes, at most {MAX_NODES} can be used: take a part of the list"
            )
        figures = (table.numbers(name).tolist() for name in ("cpu_milli", "memory_mib", "gpu"))
        names: dict[NodeKind, str] = {}
        nodes = []
        for cores, mib, gpus, model in zip(*figures, table.columns["model"].to_pylist(), strict=True):
            devices = {_name_kind(names, NodeKind(cores, mib, 0, "")): 1}
            if gpus:
                devices[_name_kind(names, NodeKind(cores, mib, int(gpus), model.strip()))] = int(gpus)
            nodes.append(Node(devices))
        kinds = {name: kind for kind, name in sorted(names.items(), key=lambda each: (each[0].gpus > 0, each[1]))}
        return Cluster(tuple(kind.device_class(name) for name, kind in kinds.items()), tuple(nodes)), kinds


def _select_node_columns(header: list[str]) -> dict[str, str]:
    columns.require_columns(header, NODE_COLUMNS, "nodes need")
    return {"model": TEXT, **dict.fromkeys(("cpu_milli", "memory_mib", "gpu"), NUMBER)}


def _name_kind(names: dict[NodeKind, str], kind: NodeKind) -> str:
    """Return the name of a kind; two kinds never share one."""
    if kind not in names:
        if len(names) >= MAX_KINDS:
            raise InputError(f"there are more than {MAX_KINDS} kinds of nodes: round their figures or take fewer")
        taken = names.values()
        names[kind] = kind.name if kind.name not in taken else f"{kind.name}_{len(names)}"
    return names[kind]


def _read_jobs(path: Path, companions: Sequence[Path]) -> ImportedJobs:
    """Read pods with all that they ask for; one whose times are not known stays for ever."""
    table = read_table(path, _select_request_columns)
    with table.locate_errors():
        for name in REQUESTS:
            amount = table.numbers(name)
            columns.require_values(name, amount, (amount >= 0) & (amount < np.inf), "a number, 0 or more")
        kept = RowFilter(table.rows)
        cores, memory, gpus, shares = (table.numbers(name) for name in REQUESTS)
        kept.skip((gpus > 0) & (shares == 0), "asks for 0 of a GPU")
        kept.skip((gpus == 0) & (cores == 0), "asks for no core and no GPU")
        rows = kept.rows
    arrival, seconds = _find_times(table)
    with table.locate_errors(rows):
        jobs = Jobs.build(
            seconds=seconds[rows],
            arrival=arrival[rows],
            cpu_milli=cores[rows],
            memory_mib=np.ceil(memory[rows]),
            gpus=gpus[rows],
            gpu_milli=np.where(gpus[rows] > 0, shares[rows], WHOLE),
            accepts=_list_accepted(table, rows),
        )
    return ImportedJobs(jobs, table.rows, kept.skipped, _read_machines(companions[0]) if companions else None)


def _select_request_columns(header: list[str]) -> dict[str, str]:
    columns.require_columns(header, REQUESTS, "pods need")
    times = dict.fromkeys([name for name in POD_COLUMNS if name.endswith("_time") and name in header], NUMBER)
    return dict.fromkeys(REQUESTS, NUMBER) | times | ({"gpu_spec": TEXT} if "gpu_spec" in header else {})


def _find_times(table: Table) -> tuple[Floats, Floats]:
    """Return when pods came and how long they ran: in the order of the list, and for ever, where it is not known."""
    rows = np.arange(table.rows, dtype=np.float64)
    if not {"creation_time", "deletion_time", "scheduled_time"} <= set(table.columns):
        return rows, np.full(table.rows, np.inf)
    created, ran = table.numbers("creation_time"), table.numbers("deletion_time") - table.numbers("scheduled_time")
    return np.where(np.isfinite(created), created, 0.0), np.where(ran > 0, ran, np.inf)


def _list_accepted(table: Table, rows: Ints) -> list[list[str]]:
    if "gpu_spec" not in table.columns:
        return [[] for _ in rows]
    specs = columns.encode_strings(table.columns["gpu_spec"]).take(rows)
    named = [[name for name in spec.strip().split("|") if name] for spec in specs.names]
    return [named[code] for code in specs.codes.tolist()]


def _read_machines(path: Path) -> Machines:
    """Read a list of nodes as machines with amounts."""
    table = read_table(path, _select_node_columns)
    with table.locate_errors():
        columns.require_counts("gpu", table.numbers("gpu"))
        models = tuple(each.strip() for each in table.columns["model"].to_pylist())
        return Machines.build(
            np.floor(table.numbers("cpu_milli")), np.floor(table.numbers("memory_mib")), table.numbers("gpu"), models
        )


FORMAT = Format(
    "alibaba",
    "Alibaba GPU trace 2023: a list of pods, with its list of nodes",
    MAPPING,
    sniff,
    _read,
    COMPANION,
    is_node_list,
    _read_jobs,
)
