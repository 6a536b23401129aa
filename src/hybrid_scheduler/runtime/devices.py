"""A device spec says what a worker is: its name, class and kind, where torch runs, how many threads, how slow."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, KINDS, Cluster, DeviceClass, Node
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling.devices import GPU_TYPES, cores, find_gpu


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One device and how its worker runs.

    An emulated device is a CPU worker that sleeps after each task until it has taken `slowdown / (1 + slope · I)`
    times as long.
    """

    name: str
    device_class: str
    kind: str
    place: str = "cpu"  # torch's name of the device
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
        if self.slope < 0 or (self.emulated and self.slowdown < 1 + self.slope):
            raise InputError(
                f"device '{self.name}': slowdown {self.slowdown:g} with slope {self.slope:g} would be faster than "
                "this machine at intensity 1; make slowdown at least 1 + slope"
            )

    @property
    def emulated(self) -> bool:
        """Whether this is a CPU worker that only plays its class."""
        return self.slowdown > 0

    @property
    def label(self) -> str:
        """The name as a person should read it: nobody shall take an emulated device for a real one."""
        return f"{self.name} (emulated)" if self.emulated else self.name

    @property
    def signature(self) -> str:
        """What times measured on it depend on: equal for devices of one class only."""
        how = f"emulated:{self.slowdown:g}:{self.slope:g}" if self.emulated else self.place.partition(":")[0]
        return f"{self.device_class}={how}:threads={self.threads}"

    def stretch(self, intensity: float) -> float:
        """Return by how much an emulated device multiplies the time of a task."""
        return self.slowdown / (1.0 + self.slope * intensity) if self.emulated else 1.0


EMULATED = "cpu=emulated:slowdown=3,gpu=emulated:slowdown=6:slope=5"
"""Two classes on any machine: the second is twice as slow as the first at intensity 0, three times as fast at 1."""
ACCELERATORS = ("cuda", "xpu", "mps")
OPTIONS = ("threads", "slowdown", "slope", "node")


def devices_of(text: str) -> tuple[DeviceSpec, ...]:
    """Read devices such as `cpu,gpu=emulated:slowdown=2` or `cpu:threads=4,cuda:0`; also `auto` and `emulated`."""
    if text == "auto":
        return found_devices()
    words = [part.strip() for part in (EMULATED if text == "emulated" else text).split(",") if part.strip()]
    return checked([_spec_of(word) for word in words])


def checked(devices: Sequence[DeviceSpec]) -> tuple[DeviceSpec, ...]:
    """Return devices in the order of a cluster, with names that differ; refuse those that no policy can work with."""
    if not any(each.kind == "cpu" for each in devices):
        raise InputError("no CPU among the devices: add one, such as cpu, for tasks that no GPU takes")
    by_class: dict[str, DeviceSpec] = {}
    for each in devices:
        first = by_class.setdefault(each.device_class, each)
        if first.kind != each.kind or first.signature != each.signature:
            raise InputError(f"devices of class '{each.device_class}' differ: give each kind of device its own class")
    classes = list(by_class)
    ordered = sorted(devices, key=lambda each: (each.node, KINDS[each.kind], classes.index(each.device_class)))
    names = [device.name for device in cluster_of(ordered).devices]
    return tuple(replace(each, name=name) for each, name in zip(ordered, names, strict=True))


def cluster_of(devices: Sequence[DeviceSpec]) -> Cluster:
    """Return the cluster that policies see; watts and prices are the model's, for nothing here measures them."""
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


def _spec_of(word: str) -> DeviceSpec:
    name, equals, how = word.partition("=") if "=emulated" in word else (word, "", "")
    head, *options = (how if equals else name).split(":")
    place = head
    if head in ACCELERATORS and options and options[0].isdigit():
        place = f"{head}:{options.pop(0)}"
    known = ("cpu", *ACCELERATORS) if not equals else ("emulated",)
    if head not in known:
        raise unknown_name("device", word, [*known, "name=emulated"], "or auto, or emulated")
    figures = _figures(word, options)
    if equals:
        figures.setdefault("slowdown", 1.0 + figures.get("slope", 0.0))
        return _built(name, "cpu" if name.startswith("cpu") else "gpu", "cpu", figures)
    return _built(head if head == "cpu" else "gpu", "cpu" if head == "cpu" else "gpu", place, figures)


def _built(name: str, kind: str, place: str, figures: dict[str, float]) -> DeviceSpec:
    whole = {key: int(figures.pop(key)) for key in ("threads", "node") if key in figures}
    return DeviceSpec(name, name, kind, place, **whole, **figures)  # type: ignore[arg-type]  # names were checked


def _figures(word: str, options: Sequence[str]) -> dict[str, float]:
    figures = {}
    for option in options:
        key, _, text = option.partition("=")
        if key not in OPTIONS:
            raise unknown_name(f"option of device '{word}':", key, OPTIONS)
        if not re.fullmatch(r"\d+(\.\d+)?", text):
            raise InputError(f"device '{word}': {key} is '{text}', expected a number such as {key}=2")
        figures[key] = float(text)
    return figures


def found_devices() -> tuple[DeviceSpec, ...]:
    """Return one CPU worker and one worker for each accelerator; a core is left to each of the latter."""
    import torch

    gpus = [spec for kind in GPU_TYPES for spec in _accelerators(kind, torch)]
    cpu = DeviceSpec("cpu", "cpu", "cpu", threads=max(1, cores() - len(gpus)))
    return checked([cpu, *gpus])


def _accelerators(kind: str, torch: Any) -> list[DeviceSpec]:
    found, _ = find_gpu(kind, torch)
    if found is None:
        return []
    places = [found.place] if kind == "mps" else [f"{kind}:{number}" for number in range(found.count)]
    memory = found.memory_mb or float("inf")
    return [DeviceSpec(place, kind, "gpu", place=place, memory=memory) for place in places]
