"""Devices that tasks run on: their specifications, how to write them as text, and the cluster that policies see."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, KINDS, Cluster, DeviceClass, Node
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling.devices import GPU_TYPES, find_gpu, load_average, load_torch, usable_cores

EMULATED = "cpu=emulated:slowdown=3,gpu=emulated:slowdown=6:slope=5"
"""Two classes on any machine: the second is twice as slow as the first at intensity 0, three times as fast at 1."""
ACCELERATORS = ("cuda", "xpu", "mps")
OPTIONS = ("threads", "slowdown", "slope", "node", "pin")
CONVERTERS: dict[str, Callable[[float], Any]] = {"threads": int, "node": int, "pin": bool}  # the others are numbers
MAX_DEVICES = 1024
BUSY_LOAD = 0.25  # of the cores, taken by others, from which a measurement says so
ACCELERATOR_FILES = ("nvidiactl", "kfd", "dxg", "dri/renderD*", "accel/*")  # in /dev, if Linux knows an accelerator


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
    pin: bool = False  # to cores of its own, as far as there are enough

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
    """Parse devices such as `cpu*4,gpu=emulated:slowdown=2` or `cpu:threads=4,cuda:0`; also `auto` and `emulated`."""
    if text == "auto":
        return find_devices()
    words = [part.strip() for part in (EMULATED if text == "emulated" else text).split(",") if part.strip()]
    devices = list[DeviceSpec]()
    for word in words:
        name, star, count = word.rpartition("*")
        if star and not (count.isdecimal() and 0 < int(count) <= MAX_DEVICES):
            raise InputError(f"device '{word}': '{count}' is no whole number from 1 to {MAX_DEVICES}, as in cpu*32")
        devices += [_parse_device(name if star else word)] * (int(count) if star else 1)
    return normalise_devices(devices)


def describe_devices(devices: Sequence[DeviceSpec]) -> str:
    """Return devices in words, such as `cpu*32, gpu0 (emulated)`."""
    words = list[str]()
    for name in dict.fromkeys(each.device_class for each in devices):
        own = [each for each in devices if each.device_class == name]
        words.append(own[0].label if len(own) == 1 else own[0].label.replace(own[0].name, f"{name}*{len(own)}"))
    return ", ".join(words)


def normalise_devices(devices: Sequence[DeviceSpec]) -> tuple[DeviceSpec, ...]:
    """Return devices in the order of a cluster, with unique names; refuse those that no policy can work with."""
    if len(devices) > MAX_DEVICES:
        raise InputError(f"{len(devices):,} devices, expected {MAX_DEVICES:,} at most")
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


def describe_load() -> str:
    """Return how busy this machine is with other work, and what that means for what is measured next."""
    load, cores = load_average(), usable_cores()
    if load is None:
        return f"load unknown, {cores} cores"
    busy = ": busy, times are too long and vary" if load > BUSY_LOAD * cores else ""
    return f"load {load:g} on {cores} cores before the run{busy}"


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
    """Return every accelerator of this machine, and a CPU with one thread for each core that they leave."""
    gpus = list(_find_accelerators()) if may_have_accelerator() else []
    cpu = DeviceSpec("cpu", "cpu", "cpu")
    return normalise_devices([cpu] * max(1, min(usable_cores(), MAX_DEVICES) - len(gpus)) + gpus)


def _find_accelerators() -> Iterator[DeviceSpec]:
    torch = load_torch()
    for kind in GPU_TYPES:
        found, _ = find_gpu(kind, torch)
        if found is not None:
            names = [found.place] if kind == "mps" else [f"{kind}:{number}" for number in range(found.count)]
            memory = found.memory_mb or math.inf
            yield from (DeviceSpec(name, kind, "gpu", torch_device=name, memory=memory) for name in names)


def may_have_accelerator(folder: Path = Path("/dev")) -> bool:
    """Whether it is worth asking torch, which takes seconds to load."""
    return sys.platform != "linux" or any(True for name in ACCELERATOR_FILES for _ in folder.glob(name))


def require_devices(devices: Sequence[DeviceSpec]) -> None:
    """Raise an error if an accelerator is not in this machine."""
    wanted = [each.torch_device for each in devices if each.torch_device != "cpu"]
    here = [each.torch_device for each in _find_accelerators()] if wanted else []
    missing = sorted({each for each in wanted if each not in here and f"{each}:0" not in here})
    if missing:
        found = ", ".join(here) or "no accelerator"
        raise InputError(
            f"no device {', '.join(missing)} here: torch finds {found}; name others, or auto, or emulated for two "
            "classes on any machine"
        )


def _parse_device(word: str) -> DeviceSpec:
    name, equals, rest = word.partition("=") if "=emulated" in word else (word, "", "")
    head, *options = (rest if equals else name).split(":")
    torch_device = head
    if head in ACCELERATORS and options and options[0].isdigit():
        torch_device = f"{head}:{options.pop(0)}"
    known = ("cpu", *ACCELERATORS) if not equals else ("emulated",)
    if head.rstrip("0123456789") == "gpu":
        kinds = ", ".join(ACCELERATORS)
        raise InputError(f"device '{word}' says no kind: {kinds} or auto, or a CPU in its place as {head}=emulated")
    if head not in known:
        raise unknown_name("device", word, [*known, "name=emulated"], "or auto, or emulated")
    values: dict[str, Any] = {}
    for option in options:
        key, _, text = option.partition("=")
        if key not in OPTIONS:
            raise unknown_name(f"option of device '{word}':", key, OPTIONS)
        if not re.fullmatch(r"\d+(\.\d+)?", text):
            raise InputError(f"device '{word}': {key} is '{text}', expected a number such as {key}=2")
        values[key] = CONVERTERS.get(key, float)(float(text))
    if equals:
        values.setdefault("slowdown", 1.0 + values.get("slope", 0.0))
        return DeviceSpec(name, name, "cpu" if name.startswith("cpu") else "gpu", "cpu", **values)
    kind = "cpu" if head == "cpu" else "gpu"
    return DeviceSpec(kind, kind, kind, torch_device, **values)
