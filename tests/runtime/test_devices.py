"""Devices as text, their specifications, and the cluster that policies see."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime import devices as runtime_devices
from hybrid_scheduler.runtime.devices import (
    DeviceSpec,
    build_cluster,
    describe_devices,
    find_devices,
    may_have_accelerator,
    parse_devices,
)
from hybrid_scheduler.runtime.worker import time_factor


def test_text_becomes_devices() -> None:
    cpu, first, second = parse_devices("cpu:threads=4,cuda:0,cuda:1")
    assert (cpu.kind, cpu.threads, cpu.torch_device) == ("cpu", 4, "cpu")
    assert [(each.name, each.kind, each.torch_device) for each in (first, second)] == [
        ("gpu0", "gpu", "cuda:0"),
        ("gpu1", "gpu", "cuda:1"),
    ]


def test_emulated_devices_are_labelled_as_such() -> None:
    cpu, gpu = parse_devices("emulated")
    assert (cpu.label, gpu.label) == ("cpu (emulated)", "gpu0 (emulated)")
    assert (cpu.torch_device, gpu.torch_device) == ("cpu", "cpu")
    assert "emulated" in gpu.signature
    factors = [[time_factor(each.slowdown, each.slope, intensity) for each in (cpu, gpu)] for intensity in (0.0, 1.0)]
    assert factors == [[3.0, 6.0], [3.0, 1.0]]


def test_the_cluster_has_the_same_devices_in_the_same_order() -> None:
    devices = parse_devices("gpu=emulated,cpu,fast=emulated:slowdown=2,gpu=emulated")
    cluster = build_cluster(devices)
    assert [each.name for each in devices] == [each.name for each in cluster.devices]
    assert [each.kind for each in devices] == [each.device_class.kind for each in cluster.devices]
    assert cluster.describe() == "1 node: 1 cpu, 2 gpu, 1 fast"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tpu", "known: cpu, cuda, mps, name=emulated, xpu"),
        ("cuda:0", "no CPU among the devices"),
        ("cpu:thread=2", "did you mean 'threads'"),
        ("cpu:threads=two", "expected a number"),
        ("cpu:threads=0", "expected a whole number above 0"),
        ("cpu,gpu=emulated:slowdown=1:slope=3", "at least 1 \\+ slope"),
        ("cpu,cpu:threads=2", "devices of class 'cpu' differ"),
        ("cpu*0", "'0' is no whole number from 1 to 1024"),
        ("cpu*many", "'many' is no whole number"),
        ("cpu*1000,cpu*1000", "2,000 devices, expected 1,024 at most"),
        ("cpu,gpu", "cuda, xpu, mps or auto, or a CPU in its place as gpu=emulated"),
        ("cpu,gpu1", "gpu1=emulated"),
    ],
)
def test_invalid_devices_are_refused_with_a_hint(text: str, message: str) -> None:
    with pytest.raises((InputError, LookupError), match=message):
        parse_devices(text)


def test_many_equal_devices_are_one_word() -> None:
    devices = parse_devices("cpu*32,gpu=emulated:slowdown=2*2,fast=emulated")
    assert [each.device_class for each in devices] == ["cpu"] * 32 + ["gpu"] * 2 + ["fast"]
    assert describe_devices(devices) == "cpu*32, gpu*2 (emulated), fast0 (emulated)"


def test_this_machine_has_a_cpu_with_one_thread_for_every_core_beside_its_accelerators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = find_devices()
    assert found[0].kind == "cpu"
    assert not any(each.is_emulated for each in found)
    gpus = [DeviceSpec(f"cuda:{number}", "cuda", "gpu", f"cuda:{number}") for number in range(2)]
    monkeypatch.setattr(runtime_devices, "_find_accelerators", lambda: iter(gpus))
    monkeypatch.setattr(runtime_devices, "may_have_accelerator", lambda: True)
    monkeypatch.setattr(runtime_devices, "usable_cores", lambda: 32)
    assert describe_devices(find_devices()) == "cpu*30, cuda*2"
    assert {(each.threads, each.pin) for each in find_devices()} == {(1, False)}


def test_torch_is_asked_for_accelerators_only_if_the_system_knows_one(tmp_path: Path) -> None:
    assert not may_have_accelerator(tmp_path)
    (tmp_path / "dri").mkdir()
    (tmp_path / "dri" / "renderD128").touch()
    assert may_have_accelerator(tmp_path)


def test_an_accelerator_that_is_not_here_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="no device cuda:7, cuda:9 here: torch finds") as raised:
        HybridScheduler("eft", devices="cpu,cuda:9,cuda:7")
    assert "\n" not in str(raised.value)


def test_a_spec_is_checked_when_it_is_built() -> None:
    with pytest.raises(InputError, match="expected cpu or gpu"):
        DeviceSpec("tpu", "tpu", "tpu")
    assert math.isinf(DeviceSpec("cpu", "cpu", "cpu").memory)
