"""`HardwareProfiler` on this CPU, and with the CPU in the place of a GPU: the same code, only slower."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.profiling import devices
from hybrid_scheduler.profiling.devices import Device
from hybrid_scheduler.profiling.kernels import KERNELS, Kernel, normalise_intensity
from hybrid_scheduler.profiling.profile import MEASURED, REFERENCE, TO_DEVICE, TO_HOST
from hybrid_scheduler.profiling.profile_file import load_profile
from hybrid_scheduler.profiling.profiler import HardwareProfiler
from hybrid_scheduler.profiling.timing import Sampling

HASTY = Sampling(warmups=1, least=1, most=1, budget=0.0, shortest=0.0)
SIZES = [16, 32, 64]


def stand_in(kind: str, settle: Callable[[], None] = lambda: None) -> Device:
    """Return a GPU that is the CPU in truth."""
    return Device(kind, f"fake {kind}", "cpu", 2, 4000.0, settle)


def hasty(device_type: str = "auto", **options: object) -> HardwareProfiler:
    return HardwareProfiler(device_type, sampling=HASTY, **options)  # type: ignore[arg-type]  # options of several types


def test_the_snippet_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profiler = hasty("mps")
    profile = profiler.profile_range(sizes=[16, 32])
    profiler.save_profile("data/profiles/hardware_profile.json")
    assert f"CPU/GPU Ratio: {profile['cpu_gpu_ratio']:.2f}"
    assert f"GPU should handle: {profile['gpu_fraction']:.1%} of work"
    assert load_profile("data/profiles/hardware_profile.json") == profile


def test_every_kernel_is_measured_at_every_size_on_the_cpu() -> None:
    profile = hasty("cpu").profile_range(SIZES)
    assert [(each.kernel, each.size) for each in profile.points] == [(k, s) for s in SIZES for k in KERNELS]
    assert profile.cpu.source == MEASURED
    assert profile.gpu.source == REFERENCE
    assert profile.gpu.reason == "only the CPU was asked for"
    assert profile.links == ()
    assert 0 < profile.gpu_fraction < 1


@pytest.mark.parametrize("kind", ["cuda", "mps", "xpu"])
def test_a_gpu_is_measured_by_the_same_kernels_and_waited_for(kind: str) -> None:
    waits: list[int] = []
    profile = hasty(gpu=stand_in(kind, lambda: waits.append(1))).profile_range(SIZES)
    assert profile.gpu_measured
    assert (profile.gpu.type, profile.gpu.count, profile.gpu.memory_mb) == (kind, 2, 4000.0)
    assert all(each.gpu for each in profile.points)
    assert len(waits) >= 2 * len(profile.points)
    assert {each.direction for each in profile.links} == {TO_DEVICE, TO_HOST}
    assert len(profile.transfers) == 2 * len(SIZES)


def test_a_kernel_that_the_gpu_lacks_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(size: int, place: str) -> Callable[[], object]:
        if place == "cpu:0":
            raise NotImplementedError("no sparse\nhere")
        return lambda: size

    lacking = Kernel("sparse", "", refuse, KERNELS["sparse"].on_numpy, lambda n: 2.0 * n, lambda n: 8.0 * n)
    monkeypatch.setitem(KERNELS, "sparse", lacking)
    gpu = Device("mps", "fake", "cpu:0")
    profile = hasty(gpu=gpu, kernels=["matmul", "sparse"]).profile_range([16])
    matmul, sparse = profile.points
    assert matmul.gpu
    assert (sparse.gpu, sparse.gpu_reason) == (None, "NotImplementedError: no sparse here")


def test_progress_is_told_kernel_by_kernel() -> None:
    told: list[tuple[int, int, str]] = []
    hasty("cpu", kernels=["copy", "sort"], progress=lambda *step: told.append(step)).profile_range([16, 32])
    assert [done for done, _, _ in told] == [0, 1, 2, 3, 4]
    assert told[0] == (0, 4, "copy 16")


def test_threads_are_set_for_the_kernels_only() -> None:
    before = torch.get_num_threads()
    profile = hasty("cpu", kernels=["copy"], threads=1).profile_range([16])
    assert torch.get_num_threads() == before
    assert (profile.cpu.threads, profile.cpu.clock) == (1, "CPU time")
    assert profile.cpu.count == profile.machine.cores


@pytest.mark.parametrize("sizes", [[0], [-5], [10**9], [True], [1.5], [16, 16]])
def test_sizes_that_make_no_sense_are_refused(sizes: list[int]) -> None:
    with pytest.raises(InputError, match="size"):
        hasty("cpu").profile_range(sizes)


def test_sizes_beyond_the_memory_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "memory_mb", lambda: 100.0)
    with pytest.raises(InputError, match="this machine has 100 MB: choose smaller sizes"):
        hasty("cpu").profile_range([2048])


def test_other_mistakes_are_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'matmul'"):
        hasty("cpu", kernels=["matmult"])
    with pytest.raises(UnknownNameError, match="unknown device type"):
        hasty("gpu")
    with pytest.raises(InputError, match="threads is 0"):
        hasty("cpu", threads=0)
    with pytest.raises(InputError, match="call profile_range first"):
        hasty("cpu").save_profile("x.json")
    with pytest.raises(UnknownNameError, match="did you mean 'cpu_gpu_ratio'"):
        _ = hasty("cpu", kernels=["copy"]).profile_range([16])["cpu_gpu_ration"]


def test_intensity_rises_with_operations_per_byte() -> None:
    found = {name: normalise_intensity(each.operations(1024), each.traffic(1024)) for name, each in KERNELS.items()}
    assert found["copy"] == 0
    assert found["copy"] < found["elementwise"] < found["fft"] < found["matmul"] < 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_compute_what_they_say(kernel: str) -> None:
    result = KERNELS[kernel].build(16, "cpu")()
    first = result[0] if kernel == "sort" else result  # type: ignore[index]  # sort returns values and indices
    assert isinstance(first, torch.Tensor)
    assert bool(torch.isfinite(first.abs()).all())
    if kernel == "sort":
        assert bool((first[1:] >= first[:-1]).all())
