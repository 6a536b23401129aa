"""Devices in words, the cluster that policies see of them, and the kernels that tasks become."""

from __future__ import annotations

import math

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.kernels import KERNELS
from hybrid_scheduler.runtime.devices import DeviceSpec, cluster_of, devices_of, found_devices
from hybrid_scheduler.runtime.local_backend import cores_by_device
from hybrid_scheduler.runtime.user_tasks import (
    ORDER,
    kernel_of,
    kernel_work,
    nominal_intensity,
    part_edge,
    run_kernel,
    run_part,
)


def test_words_become_devices() -> None:
    cpu, first, second = devices_of("cpu:threads=4,cuda:0,cuda:1")
    assert (cpu.kind, cpu.threads, cpu.place) == ("cpu", 4, "cpu")
    assert [(each.name, each.kind, each.place) for each in (first, second)] == [
        ("gpu0", "gpu", "cuda:0"),
        ("gpu1", "gpu", "cuda:1"),
    ]


def test_emulated_devices_say_so_wherever_they_are_named() -> None:
    cpu, gpu = devices_of("emulated")
    assert (cpu.label, gpu.label) == ("cpu (emulated)", "gpu0 (emulated)")
    assert (cpu.place, gpu.place) == ("cpu", "cpu")
    assert "emulated" in gpu.signature
    assert gpu.stretch(0.0) / cpu.stretch(0.0) == 2.0
    assert cpu.stretch(1.0) / gpu.stretch(1.0) == 3.0


def test_the_cluster_has_the_same_devices_in_the_same_order() -> None:
    devices = devices_of("gpu=emulated,cpu,fast=emulated:slowdown=2,gpu=emulated")
    cluster = cluster_of(devices)
    assert [each.name for each in devices] == [each.name for each in cluster.devices]
    assert [each.kind for each in devices] == [each.device_class.kind for each in cluster.devices]
    assert cluster.describe() == "1 node: 1 cpu, 2 gpu, 1 fast"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("tpu", "known: cpu, cuda, mps, name=emulated, xpu"),
        ("cuda:0", "no CPU among the devices"),
        ("cpu:thread=2", "did you mean 'threads'"),
        ("cpu:threads=two", "expected a number"),
        ("cpu:threads=0", "expected a whole number above 0"),
        ("cpu,gpu=emulated:slowdown=1:slope=3", "at least 1 \\+ slope"),
        ("cpu,cpu:threads=2", "devices of class 'cpu' differ"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(words: str, says: str) -> None:
    with pytest.raises((InputError, LookupError), match=says):
        devices_of(words)


def test_this_machine_has_a_cpu() -> None:
    found = found_devices()
    assert found[0].kind == "cpu"
    assert not any(each.emulated for each in found)


def test_cores_are_dealt_in_turn() -> None:
    dealt = cores_by_device(devices_of("cpu,gpu=emulated,gpu=emulated"))
    assert all(len(each) <= 1 for each in dealt)


def test_every_kernel_has_an_equal_part_of_the_intensities() -> None:
    assert set(ORDER) == set(KERNELS)
    assert [kernel_of(nominal_intensity(name)) for name in ORDER] == list(ORDER)
    assert (kernel_of(0.0), kernel_of(1.0)) == ("copy", "matmul")


def test_kernels_stand_in_the_order_of_their_intensity() -> None:
    rates = [KERNELS[name].operations(512) / KERNELS[name].traffic(512) for name in ORDER]
    assert rates == sorted(rates)


@pytest.mark.parametrize("kernel", ORDER)
def test_two_shares_have_the_operations_of_the_whole(kernel: str) -> None:
    count = KERNELS[kernel].operations if kernel != "copy" else KERNELS[kernel].traffic
    parts = sum(count(part_edge(kernel, 1000, share)) for share in (0.3, 0.7))
    assert parts == pytest.approx(count(1000), rel=0.06)  # N log N is not quite a square


def test_kernels_run_here_too() -> None:
    assert run_kernel("matmul", 16) == 16
    assert run_part(0.0, 0.125, "matmul", 16) == 8
    assert kernel_work("fft").can_split
    with pytest.raises(LookupError, match="known: convolution"):
        kernel_work("sleep")


def test_a_spec_is_checked_when_it_is_built() -> None:
    with pytest.raises(InputError, match="expected cpu or gpu"):
        DeviceSpec("tpu", "tpu", "tpu")
    assert math.isinf(DeviceSpec("cpu", "cpu", "cpu").memory)
