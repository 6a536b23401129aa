"""Devices that tasks run on: their specifications, how to write them as text, and the cluster that policies see."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, KINDS, Cluster, DeviceClass, Node
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling.devices import GPU_TYPES, find_gpu, usable_cores

EMULATED = "cpu=emulated:slowdown=3,gpu=emulated:slowdown=6:slope=5"
"""Two classes on any machine: the second is twice as slow as the first at intensity 0, three times as fast at 1."""
ACCELERATORS = ("cuda", "xpu", "mps")
OPTIONS = ("threads", "slowdown", "slope", "node")


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One device and how its worker runs.

    An emulated device is a CPU worker that sleeps after each task until it has taken `slowdown / (1 + slope · I)`
    times as long, where I is the intensity of the task.
    """

    name: str
    device_class: str
    kind: str
    torch_device: str = "cpu"
    threads: int = 1
    slowdown: float = 0.0  # above 0: emulated
    slope: float = 0.0
    memory: float = math.inf  # MB
    node: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("cpu", "gpu"):
            raise InputError(f"device '{self.name}': kind is '{self.kind}', expected cpu or gpu")
        if self.threads < 1:
            raise InputError(f"device '{self.name}': threads is {self.threads}, expected a whole number above 0")
        if self.slope < 0 or (self.is_emulated and self.slowdown < 1 + self.slope):
            raise InputError(
                f"device '{self.name}': slowdown {self.slowdown:g} with slope {self.slope:g} would be faster than "
                "this machine at intensity 1; make slowdown at least 1 + slope"
            )

    @property
    def is_emulated(self) -> bool:
        """Whether a CPU worker emulates its class."""
        return self.slowdown > 0

    @property
    def label(self) -> str:
        """The name for people: an emulated device must not be taken for a real one."""
        return f"{self.name} (emulated)" if self.is_emulated else self.name

    @property
    def signature(self) -> str:
        """What times measured on it depend on: equal for devices of one class only."""
        how = (
            f"emulated:{self.slowdown:g}:{self.slope:g}" if self.is_emulated else self.torch_device.partition(":")[0]
        )
        return f"{self.device_class}={how}:threads={self.threads}"


def parse_devices(text: str) -> tuple[DeviceSpec, ...]:
    """Parse devices such as `cpu,gpu=emulated:slowdown=2` or `cpu:threads=4,cuda:0`; also `auto` and `emulated`."""
    if text == "auto":
        return find_devices()
    words = [part.strip() for part in (EMULATED if text == "emulated" else text).split(",") if part.strip()]
    return normalise_devices([_parse_device(word) for word in words])


def normalise_devices(devices: Sequence[DeviceSpec]) -> tuple[DeviceSpec, ...]:
    """Return devices in the order of a cluster, with unique names; refuse those that no policy can work with."""
    if not any(each.kind == "cpu" for each in devices):
        raise InputError("no CPU among the devices: add one, such as cpu, for tasks that no GPU takes")
    by_class: dict[str, DeviceSpec] = {}
    for each in devices:
        first = by_class.setdefault(each.device_class, each)
        if first.kind != each.kind or first.signature != each.signature:
            raise InputError(f"devices of class '{each.device_class}' differ: give each kind of device its own class")
    classes = list(by_class)
    ordered = sorted(devices, key=lambda each: (each.node, KINDS[each.kind], classes.index(each.device_class)))
    names = [device.name for device in build_cluster(ordered).devices]
    return tuple(replace(each, name=name) for each, name in zip(ordered, names, strict=True))


def build_cluster(devices: Sequence[DeviceSpec]) -> Cluster:
    """Return the cluster that policies see; watts and prices are the model's, because they are not measured."""
    classes = {}
    for each in devices:
        base = DEFAULT_CPU if each.kind == "cpu" else DEFAULT_GPU
        classes[each.device_class] = DeviceClass(
            each.device_class,
            kind=each.kind,
            memory=each.memory,
            watts=base.watts,
            dollars_per_second=base.dollars_per_second,
        )
    nodes = [
        Node({name: sum(d.device_class == name and d.node == node for d in devices) for name in classes})
        for node in sorted({each.node for each in devices})
    ]
    return Cluster(tuple(classes.values()), tuple(nodes))


def class_signatures(devices: Sequence[DeviceSpec], cluster: Cluster) -> list[str]:
    """Return the signature of each device class, in the order of the cluster."""
    by_class = {each.device_class: each.signature for each in devices}
    return [by_class[each.name] for each in cluster.classes]


def find_devices() -> tuple[DeviceSpec, ...]:
    """Return one CPU and every accelerator of this machine; each accelerator leaves the CPU one core less."""
    import torch

    gpus = [spec for kind in GPU_TYPES for spec in _find_accelerators(kind, torch)]
    cpu = DeviceSpec("cpu", "cpu", "cpu", threads=max(1, usable_cores() - len(gpus)))
    return normalise_devices([cpu, *gpus])


def _find_accelerators(kind: str, torch: Any) -> list[DeviceSpec]:
    found, _ = find_gpu(kind, torch)
    if found is None:
        return []
    names = [found.place] if kind == "mps" else [f"{kind}:{number}" for number in range(found.count)]
    memory = found.memory_mb or float("inf")
    return [DeviceSpec(name, kind, "gpu", torch_device=name, memory=memory) for name in names]


def _parse_device(word: str) -> DeviceSpec:
    name, equals, rest = word.partition("=") if "=emulated" in word else (word, "", "")
    head, *options = (rest if equals else name).split(":")
    torch_device = head
    if head in ACCELERATORS and options and options[0].isdigit():
        torch_device = f"{head}:{options.pop(0)}"
    known = ("cpu", *ACCELERATORS) if not equals else ("emulated",)
    if head not in known:
        raise unknown_name("device", word, [*known, "name=emulated"], "or auto, or emulated")
    values = _parse_options(word, options)
    if equals:
        values.setdefault("slowdown", 1.0 + values.get("slope", 0.0))
        return _create_spec(name, "cpu" if name.startswith("cpu") else "gpu", "cpu", values)
    kind = "cpu" if head == "cpu" else "gpu"
    return _create_spec(kind, kind, torch_device, values)


def _parse_options(word: str, options: Sequence[str]) -> dict[str, float]:
    values = {}
    for option in options:
        key, _, text = option.partition("=")
        if key not in OPTIONS:
            raise unknown_name(f"option of device '{word}':", key, OPTIONS)
        if not re.fullmatch(r"\d+(\.\d+)?", text):
            raise InputError(f"device '{word}': {key} is '{text}', expected a number such as {key}=2")
        values[key] = float(text)
    return values


def _create_spec(name: str, kind: str, torch_device: str, values: dict[str, float]) -> DeviceSpec:
    whole = {key: int(values.pop(key)) for key in ("threads", "node") if key in values}
    return DeviceSpec(name, name, kind, torch_device, **whole, **values)  # type: ignore[arg-type]  # names were checked
