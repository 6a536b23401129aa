"""Clusters: nodes with devices, each of a class with its speed, memory, link, power and price."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.yaml_text import parse_yaml
from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.files import read_document

CPU, GPU = 0, 1
KINDS = {"cpu": CPU, "gpu": GPU}
MAX_NODES = 100_000
MAX_LISTED = 8  # classes that `describe` lists one by one


def _is_number(value: Any) -> bool:
    """Whether a value is a number that fits a float, other than NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isnan(value) is False if isinstance(value, float) else abs(value) <= sys.float_info.max


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """Devices of one type: the time, energy and cost of a task follow from these figures."""

    name: str
    kind: str = "gpu"
    speed: float = 1.0
    speedup_slope: float = 3.0  # speed-up of a GPU is 1 + slope · compute intensity
    memory: float = math.inf  # MB
    bandwidth: float = math.inf  # MB/s of the link to the host
    watts: float = 50.0
    idle_watts: float = 0.0
    dollars_per_second: float = 1e-4

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise InputError(f"device class '{self.name}': kind is {self.kind!r}, expected cpu or gpu")
        for name in ("speed", "memory", "bandwidth"):
            self._require(name, above_zero=True)
        for name in ("speedup_slope", "watts", "idle_watts", "dollars_per_second"):
            self._require(name, above_zero=False)

    def _require(self, name: str, above_zero: bool) -> None:
        value = getattr(self, name)
        most = math.inf if name in ("memory", "bandwidth") else sys.float_info.max
        if not _is_number(value) or not 0 <= value <= most or (above_zero and value == 0):
            expected = "a number above 0" if above_zero else "a number, 0 or more"
            raise InputError(f"device class '{self.name}': {name} is {value!r}, expected {expected}")


MAX_DEVICES = 100_000
DEFAULT_CPU = DeviceClass("cpu", kind="cpu", speedup_slope=0.0, watts=30.0, dollars_per_second=2e-5)
DEFAULT_GPU = DeviceClass("gpu", memory=8000.0, bandwidth=16000.0)


@dataclass(frozen=True, slots=True)
class Node:
    """A machine: its number of devices by class."""

    devices: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Device:
    """One device; indices run through the cluster node by node, CPUs before GPUs."""

    index: int
    name: str
    device_class: DeviceClass
    node: int


@dataclass(frozen=True)
class Cluster:
    """Nodes with devices, validated when built."""

    classes: tuple[DeviceClass, ...]
    nodes: tuple[Node, ...]
    network: float = 1250.0  # MB/s between nodes

    def __post_init__(self) -> None:
        names = [each.name for each in self.classes]
        if len(set(names)) < len(names):
            raise InputError(f"device class names must differ, got {', '.join(names)}: rename one")
        if not any(count != 0 for node in self.nodes for count in node.devices.values()):
            raise InputError("the cluster has no device: give at least one node such as {cpu: 1, gpu: 4}")
        for number, node in enumerate(self.nodes):
            self._check_node(number, node)
        if (devices := sum(count for node in self.nodes for count in node.devices.values())) > MAX_DEVICES:
            raise InputError(f"the cluster has {devices:,} devices, at most {MAX_DEVICES:,} are possible: take fewer")
        if not self.network > 0:
            raise InputError(f"network is {self.network!r}, expected MB/s above 0")

    def _check_node(self, number: int, node: Node) -> None:
        kinds = {each.name: each.kind for each in self.classes}
        for name, count in node.devices.items():
            _check_class_name(number, name, kinds)
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                raise InputError(f"node {number}: count of '{name}' is {count!r}, expected a whole number, 0 or more")
        if not any(kinds[name] == "cpu" and count for name, count in node.devices.items()):
            raise InputError(
                f"node {number} has no CPU: a node needs one for the share of a task that its GPUs do not take"
            )

    @classmethod
    def default(cls, gpus: int = 4, memory: float = 8000.0) -> Cluster:
        """Return one node with one CPU and `gpus` identical GPUs."""
        return cls((DEFAULT_CPU, replace(DEFAULT_GPU, memory=memory)), (Node({"cpu": 1, "gpu": gpus}),))

    @classmethod
    def from_dict(cls, data: Any) -> Cluster:
        """Build a cluster from plain data, as a YAML file holds it."""
        if not isinstance(data, dict):
            raise InputError("a cluster file holds a mapping with 'nodes' and, if wanted, 'classes' and 'network'")
        for key in data:
            if key not in ("classes", "nodes", "network"):
                raise unknown_name("key in the cluster file:", str(key), ("classes", "nodes", "network"))
        nodes, classes = data.get("nodes") or [], data.get("classes") or {}
        if not isinstance(nodes, list) or not isinstance(classes, dict):
            raise InputError("in the cluster file 'nodes' is a list and 'classes' a mapping of names")
        builtin = {"cpu": DEFAULT_CPU, "gpu": DEFAULT_GPU}
        listed = {str(name): _class_from_dict(str(name), each, builtin.get(name)) for name, each in classes.items()}
        all_nodes = tuple(node for number, entry in enumerate(nodes) for node in _nodes_from_entry(number, entry))
        for number, node in enumerate(all_nodes):
            for name in node.devices:
                _check_class_name(number, name, {**builtin, **listed})
        used = {name for node in all_nodes for name in node.devices}
        # Built-in classes come first unless listed too, so that `to_dict` and back keeps the order.
        kept = [each for name, each in builtin.items() if name in used and name not in listed]
        network = data.get("network", 1250.0)
        if not _is_number(network):
            raise InputError(f"network is {network!r}, expected MB/s above 0")
        return cls((*kept, *listed.values()) or (DEFAULT_CPU,), all_nodes, float(network))

    @classmethod
    def from_yaml(cls, path: str | Path) -> Cluster:
        """Read a cluster file."""
        try:
            data = parse_yaml(read_document(path))
        except FileNotFoundError:
            raise InputError(f"cluster file {path} does not exist: check the path given with --cluster") from None
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            # PyYAML's constructors also raise these, for impossible dates, numbers and truth values.
            where = getattr(error, "problem_mark", None)
            line = f" line {where.line + 1}" if where else ""
            raise InputError(f"cluster file {path}{line} is not valid YAML: correct it") from None
        except OSError as error:
            raise InputError(f"cluster file {path} cannot be read ({error.strerror}): check the path") from None
        try:
            return cls.from_dict(data)
        except SchedulerError as error:
            raise type(error)(f"cluster file {path}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` builds the same cluster."""
        classes = {each.name: {k: v for k, v in asdict(each).items() if k != "name"} for each in self.classes}
        return {
            "classes": classes,
            "nodes": [{"devices": dict(node.devices)} for node in self.nodes],
            "network": self.network,
        }

    def to_yaml(self) -> str:
        """Return the text of a cluster file from which `from_yaml` builds the same cluster."""
        text: str = yaml.safe_dump(self.to_dict(), sort_keys=False)
        return text

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """All devices in index order."""
        found: list[Device] = []
        by_kind = sorted(self.classes, key=lambda each: KINDS[each.kind])
        for number, node in enumerate(self.nodes):
            prefix = f"node{number}/" if len(self.nodes) > 1 else ""
            for each in by_kind:
                count = node.devices.get(each.name, 0)
                for position in range(count):
                    suffix = "" if each.kind == "cpu" and count == 1 else str(position)
                    found.append(Device(len(found), f"{prefix}{each.name}{suffix}", each, number))
        return tuple(found)

    @cached_property
    def class_index(self) -> Ints:
        """Class index of every device."""
        numbers = {each.name: number for number, each in enumerate(self.classes)}
        return np.array([numbers[device.device_class.name] for device in self.devices], np.int64)

    @cached_property
    def counts(self) -> Ints:
        """Number of devices of every class."""
        return np.bincount(self.class_index, minlength=len(self.classes)).astype(np.int64)

    @property
    def shape(self) -> dict[str, int]:
        """Number of devices by class name."""
        return {each.name: int(count) for each, count in zip(self.classes, self.counts, strict=True)}

    @cached_property
    def is_gpu(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each device is a GPU."""
        return np.array([device.device_class.kind == "gpu" for device in self.devices])

    @property
    def gpus(self) -> Ints:
        """Indices of the GPUs."""
        return np.flatnonzero(self.is_gpu)

    def per_class(self, name: str) -> Floats:
        """Return one figure of the device classes as a new column over classes."""
        return np.array([getattr(each, name) for each in self.classes], np.float64)

    def per_device(self, name: str) -> Floats:
        """Return one figure of the device classes as a new column over devices."""
        return self.per_class(name)[self.class_index]

    def describe(self) -> str:
        """Return one line such as '1 node: 1 cpu, 4 gpu'."""
        parts = [f"{n} {each.name}" for n, each in zip(self.counts, self.classes, strict=True) if n]
        if len(parts) > MAX_LISTED:
            cpus = sum(each.kind == "cpu" for each, n in zip(self.classes, self.counts, strict=True) if n)
            gpus = len(self.gpus)
            parts = [f"{len(self.devices) - gpus} CPUs of {cpus} classes", f"{gpus} GPUs of {len(parts) - cpus}"]
        return f"{len(self.nodes)} node{'s' if len(self.nodes) > 1 else ''}: {', '.join(parts)}"


def _check_class_name(number: int, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise unknown_name(f"device class in node {number}:", name, known, "list it under 'classes'")


def _class_from_dict(name: str, options: Any, base: DeviceClass | None) -> DeviceClass:
    if not isinstance(options, dict):
        raise InputError(f"device class '{name}' is a mapping of figures, such as {{speed: 2.0}}")
    known = [each.name for each in fields(DeviceClass) if each.name != "name"]
    for key in options:
        if key not in known:
            raise unknown_name(f"figure of device class '{name}':", str(key), known)
    if base is None:
        base = DEFAULT_CPU if options.get("kind") == "cpu" else DEFAULT_GPU
    return replace(base, **{**options, "name": name})


def _nodes_from_entry(number: int, entry: Any) -> list[Node]:
    if not isinstance(entry, dict):
        raise InputError(f"node {number} is {entry!r}, expected counts such as {{cpu: 1, gpu: 4}}")
    devices = entry.get("devices", {key: value for key, value in entry.items() if key != "count"})
    copies = entry.get("count", 1)
    if "devices" in entry:
        for key in entry:
            if key not in ("devices", "count"):
                raise unknown_name(f"key of node {number} beside devices:", str(key), ("devices", "count"))
    if not isinstance(devices, dict):
        raise InputError(f"node {number}: devices are {devices!r}, expected counts such as {{cpu: 1, gpu: 4}}")
    if not isinstance(copies, int) or isinstance(copies, bool) or not 0 < copies <= MAX_NODES:
        raise InputError(f"node {number}: count is {copies!r}, expected a whole number above 0, at most {MAX_NODES}")
    return [Node({str(name): count for name, count in devices.items()}) for _ in range(copies)]
