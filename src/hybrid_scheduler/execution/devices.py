"""Devices in words, such as `cpu:threads=4,cuda:0` or `gpu=emulated`, and the cluster that policies see of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.execution.device_spec import DeviceSpec
from hybrid_scheduler.model.cluster import DEFAULT_CPU, DEFAULT_GPU, KINDS, Cluster, DeviceClass, Node

EMULATED = "cpu=emulated:slowdown=3,gpu=emulated:slowdown=6:slope=5"
"""Two classes on any machine: the second is twice as slow as the first at intensity 0, three times as fast at 1."""
ACCELERATORS = ("cuda", "xpu", "mps")
OPTIONS = ("threads", "slowdown", "slope", "node")


def devices_of(text: str) -> tuple[DeviceSpec, ...]:
    """Read devices such as `cpu,gpu=emulated:slowdown=2` or `cpu:threads=4,cuda:0`; also `auto` and `emulated`."""
    if text == "auto":
        from hybrid_scheduler.execution.finding import found_devices

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
