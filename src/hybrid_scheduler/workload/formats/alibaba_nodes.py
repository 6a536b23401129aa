"""The list of nodes of Alibaba's GPU trace: every kind of node gives a class of CPUs and one of GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.cluster import MOST_NODES, Cluster, DeviceClass, Node
from hybrid_scheduler.workload.formats.careful import NUMBER, TEXT
from hybrid_scheduler.workload.formats.own import names_in, shown
from hybrid_scheduler.workload.formats.sieve import require, require_counts
from hybrid_scheduler.workload.formats.table import Table, read_table

NEEDED = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
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
    return set(NEEDED) <= names_in(head)


def read_nodes(path: Path) -> Nodes:
    """Read a list of nodes; an error names the file and the line."""
    table = read_table(path, _kinds)
    with table.explained():
        return _nodes(table)


def _kinds(header: list[str]) -> dict[str, str]:
    for name in NEEDED:
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
