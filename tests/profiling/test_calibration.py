"""Physics fitted to a profile: the law that made the times comes out again, and what was not measured is labelled."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.profiling.calibration import calibrate, cluster_of, held_out
from hybrid_scheduler.profiling.profile import MEASURED, REFERENCE
from profiles import cpu_only, with_gpu


def test_every_kernel_has_its_own_law() -> None:
    laws = calibrate(cpu_only()).cpu_laws
    assert laws["matmul"].exponent == pytest.approx(3.0)
    assert laws["copy"].exponent == pytest.approx(2.0)
    assert laws["matmul"].scale == pytest.approx(1e-9)


def test_without_a_gpu_the_reference_model_stands_in_and_says_so() -> None:
    fitted = calibrate(cpu_only())
    assert fitted.sources == {"duration": MEASURED, "speedup": REFERENCE, "bandwidth": REFERENCE}
    assert (fitted.speedup.speed, fitted.speedup.slope) == (DEFAULT_GPU.speed, DEFAULT_GPU.speedup_slope)
    assert fitted.bandwidth == DEFAULT_GPU.bandwidth


def test_speedup_and_bandwidth_of_a_measured_gpu_come_out_again() -> None:
    fitted = calibrate(with_gpu(speed=0.5, slope=20.0))
    assert set(fitted.sources.values()) == {MEASURED}
    for intensity in (0.0, 0.5, 1.0):
        found = fitted.speedup.speed * (1 + fitted.speedup.slope * intensity)
        assert found == pytest.approx(0.5 * (1 + 20 * intensity), rel=0.03)
    assert (fitted.bandwidth, fitted.latency) == (8000.0, 1e-5)


def test_a_calibration_is_plain_data() -> None:
    document = json.loads(json.dumps(calibrate(with_gpu()).to_dict()))
    assert document["duration"]["error"] >= 0
    assert set(document["gpu_laws"]) == {"matmul", "copy"}


def test_the_cluster_of_a_profile_has_its_figures() -> None:
    cluster = cluster_of(with_gpu())
    cpu, gpu = cluster.classes
    assert cluster.shape == {"cpu": 1, "gpu": 2}
    assert (gpu.bandwidth, gpu.memory) == (8000.0, 6000.0)
    assert cpu.watts == DEFAULT_CPU.watts
    assert cluster_of(with_gpu(), gpus=5).shape["gpu"] == 5
    assert cluster_of(cpu_only()).shape == {"cpu": 1, "gpu": 4}


def test_metered_joules_become_watts() -> None:
    profile = cpu_only()
    metered = tuple(replace(each, cpu=replace(each.cpu, joules=90 * each.cpu.seconds)) for each in profile.points)
    assert cluster_of(replace(profile, points=metered)).classes[0].watts == pytest.approx(90)


def test_the_physics_with_these_figures_give_the_measured_times_back() -> None:
    profile = with_gpu()
    times = class_times(profile.tasks, cluster_of(profile))
    for row, point in enumerate(profile.points):
        assert point.gpu
        transfer = point.megabytes / 8000.0
        assert times[row] == pytest.approx([point.cpu.seconds, point.gpu.seconds + transfer], rel=0.03)


def test_sizes_left_out_are_predicted_where_the_law_holds() -> None:
    tried = held_out(with_gpu())
    assert len(tried) == 2 * 2 * 4
    assert {each.position for each in tried} == {"inside", "outside"}
    assert max(each.error for each in tried if each.side == "cpu") < 1e-6


def test_two_sizes_are_too_few_to_leave_one_out() -> None:
    profile = cpu_only()
    few = tuple(each for each in profile.points if each.size < 600)
    assert held_out(replace(profile, points=few)) == []
