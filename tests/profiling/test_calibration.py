"""Known laws are recovered despite outliers, and figures that were not measured are labelled."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.calibration import (
    build_cluster,
    calibrate,
    cross_validate,
    fit_line,
    fit_power_law,
    fit_shared_power_law,
    fit_speedup_law,
    relative_errors,
)
from hybrid_scheduler.profiling.profile import MEASURED, REFERENCE
from profiles import cpu_only, with_gpu

SIZES = [128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0]


@given(st.floats(1e-12, 1e-3), st.floats(0.2, 3.5))
def test_a_power_law_is_found_again(scale: float, exponent: float) -> None:
    law = fit_power_law(SIZES, [scale * x**exponent for x in SIZES])
    assert law.exponent == pytest.approx(exponent, rel=1e-6)
    assert law.scale == pytest.approx(scale, rel=1e-5)
    assert law.worst < 1e-6


@given(st.integers(0, 6), st.floats(3, 1000))
def test_one_stray_time_does_not_bend_the_law(which: int, factor: float) -> None:
    times = [1e-9 * x**3 for x in SIZES]
    times[which] *= factor
    law = fit_power_law(SIZES, times)
    assert law.exponent == pytest.approx(3.0, abs=0.05)
    assert law(1024.0) == pytest.approx(1e-9 * 1024**3, rel=0.1)
    assert law.worst > 1.5  # and the stray one is told by the largest error


def test_noise_of_a_few_percent_moves_the_law_by_a_few_percent() -> None:
    noise = np.random.default_rng(0).normal(1.0, 0.03, len(SIZES))
    law = fit_power_law(SIZES, [1e-9 * x**2 * n for x, n in zip(SIZES, noise, strict=True)])
    assert law.exponent == pytest.approx(2.0, abs=0.05)
    assert law.error < 0.06


def test_a_single_size_gives_a_law_through_it() -> None:
    law = fit_power_law([512.0], [0.25])
    assert law(512.0) == pytest.approx(0.25)


def test_a_shared_law_has_the_slope_within_groups_and_the_level_of_all() -> None:
    x = np.array([1.0, 10.0, 100.0])
    law = fit_shared_power_law([(x, 2.0 * x**2), (x, 8.0 * x**2)])
    assert law.exponent == pytest.approx(2.0)
    assert law.scale == pytest.approx(4.0)  # the middle of 2 and 8, as factors
    assert law.error == pytest.approx(1.0)


@pytest.mark.parametrize(("speed", "slope"), [(1.0, 3.0), (0.3, 25.0), (4.0, 0.0), (1.5, 0.7)])
def test_a_speedup_law_is_found_again(speed: float, slope: float) -> None:
    intensity = np.linspace(0, 1, 9)
    law = fit_speedup_law(list(intensity), list(speed * (1 + slope * intensity)), slope=99.0)
    assert law.slope_fitted
    predicted = law.speed * (1 + law.slope * intensity)
    assert relative_errors(predicted, speed * (1 + slope * intensity)).max() < 0.03


def test_a_stray_speedup_is_ignored() -> None:
    intensity = np.linspace(0, 1, 9)
    speedups = 1 + 3 * intensity
    speedups[4] *= 50
    law = fit_speedup_law(list(intensity), list(speedups), slope=99.0)
    assert [law.speed, law.slope] == pytest.approx([1.0, 3.0], rel=0.05)


def test_intensities_that_are_alike_fit_no_slope() -> None:
    law = fit_speedup_law([0.9, 0.92, 0.95], [8.0, 8.1, 8.2], slope=3.0)
    assert (law.slope, law.slope_fitted) == (3.0, False)
    assert law.speed * (1 + 3 * 0.92) == pytest.approx(8.1, rel=0.05)


@given(st.floats(0, 1e-3), st.floats(1e2, 1e6))
def test_latency_and_bandwidth_are_found_again(latency: float, bandwidth: float) -> None:
    megabytes = [0.25, 1.0, 4.0, 16.0]
    start, slope, error = fit_line(megabytes, [latency + mb / bandwidth for mb in megabytes])
    assert 1 / slope == pytest.approx(bandwidth, rel=1e-3)
    assert start == pytest.approx(latency, rel=1e-3, abs=1e-9)
    assert error < 1e-3


def test_times_that_fall_with_the_amount_still_give_a_bandwidth() -> None:
    start, slope, _ = fit_line([1.0, 2.0], [2.0, 1.0])
    assert start == 0
    assert slope > 0


def test_an_error_is_the_same_up_and_down() -> None:
    assert relative_errors(np.array([2.0, 0.5]), np.array([1.0, 1.0])) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [float("nan")]])
def test_a_fit_refuses_what_has_no_logarithm(bad: list[float]) -> None:
    with pytest.raises(InputError, match="above 0"):
        fit_power_law(bad, bad)


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
    cluster = build_cluster(with_gpu())
    cpu, gpu = cluster.classes
    assert cluster.shape == {"cpu": 1, "gpu": 2}
    assert (gpu.bandwidth, gpu.memory) == (8000.0, 6000.0)
    assert cpu.watts == DEFAULT_CPU.watts
    assert build_cluster(with_gpu(), gpus=5).shape["gpu"] == 5
    assert build_cluster(cpu_only()).shape == {"cpu": 1, "gpu": 4}


def test_metered_joules_become_watts() -> None:
    profile = cpu_only()
    metered = tuple(replace(each, cpu=replace(each.cpu, joules=90 * each.cpu.seconds)) for each in profile.points)
    assert build_cluster(replace(profile, points=metered)).classes[0].watts == pytest.approx(90)


def test_the_physics_with_these_figures_give_the_measured_times_back() -> None:
    profile = with_gpu()
    times = class_times(profile.tasks, build_cluster(profile))
    for row, point in enumerate(profile.points):
        assert point.gpu
        transfer = point.megabytes / 8000.0
        assert times[row] == pytest.approx([point.cpu.seconds, point.gpu.seconds + transfer], rel=0.03)


def test_sizes_left_out_are_predicted_where_the_law_holds() -> None:
    tried = cross_validate(with_gpu())
    assert len(tried) == 2 * 2 * 4
    assert {each.position for each in tried} == {"inside", "outside"}
    assert max(each.error for each in tried if each.side == "cpu") < 1e-6


def test_two_sizes_are_too_few_to_leave_one_out() -> None:
    profile = cpu_only()
    few = tuple(each for each in profile.points if each.size < 600)
    assert cross_validate(replace(profile, points=few)) == []
