"""Known laws are found again, also if some times are nonsense."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.calibration import line, power_law, relative_errors, shared_power_law, speedup_law

SIZES = [128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0]


@given(st.floats(1e-12, 1e-3), st.floats(0.2, 3.5))
def test_a_power_law_is_found_again(scale: float, exponent: float) -> None:
    law = power_law(SIZES, [scale * x**exponent for x in SIZES])
    assert law.exponent == pytest.approx(exponent, rel=1e-6)
    assert law.scale == pytest.approx(scale, rel=1e-5)
    assert law.worst < 1e-6


@given(st.integers(0, 6), st.floats(3, 1000))
def test_one_stray_time_does_not_bend_the_law(which: int, factor: float) -> None:
    times = [1e-9 * x**3 for x in SIZES]
    times[which] *= factor
    law = power_law(SIZES, times)
    assert law.exponent == pytest.approx(3.0, abs=0.05)
    assert law(1024.0) == pytest.approx(1e-9 * 1024**3, rel=0.1)
    assert law.worst > 1.5  # and the stray one is told by the largest error


def test_noise_of_a_few_percent_moves_the_law_by_a_few_percent() -> None:
    noise = np.random.default_rng(0).normal(1.0, 0.03, len(SIZES))
    law = power_law(SIZES, [1e-9 * x**2 * n for x, n in zip(SIZES, noise, strict=True)])
    assert law.exponent == pytest.approx(2.0, abs=0.05)
    assert law.error < 0.06


def test_a_single_size_gives_a_law_through_it() -> None:
    law = power_law([512.0], [0.25])
    assert law(512.0) == pytest.approx(0.25)


def test_a_shared_law_has_the_slope_within_groups_and_the_level_of_all() -> None:
    x = np.array([1.0, 10.0, 100.0])
    law = shared_power_law([(x, 2.0 * x**2), (x, 8.0 * x**2)])
    assert law.exponent == pytest.approx(2.0)
    assert law.scale == pytest.approx(4.0)  # the middle of 2 and 8, as factors
    assert law.error == pytest.approx(1.0)


@pytest.mark.parametrize(("speed", "slope"), [(1.0, 3.0), (0.3, 25.0), (4.0, 0.0), (1.5, 0.7)])
def test_a_speedup_law_is_found_again(speed: float, slope: float) -> None:
    intensity = np.linspace(0, 1, 9)
    law = speedup_law(list(intensity), list(speed * (1 + slope * intensity)), slope=99.0)
    assert law.slope_fitted
    predicted = law.speed * (1 + law.slope * intensity)
    assert relative_errors(predicted, speed * (1 + slope * intensity)).max() < 0.03


def test_a_stray_speedup_is_ignored() -> None:
    intensity = np.linspace(0, 1, 9)
    speedups = 1 + 3 * intensity
    speedups[4] *= 50
    law = speedup_law(list(intensity), list(speedups), slope=99.0)
    assert [law.speed, law.slope] == pytest.approx([1.0, 3.0], rel=0.05)


def test_intensities_that_are_alike_fit_no_slope() -> None:
    law = speedup_law([0.9, 0.92, 0.95], [8.0, 8.1, 8.2], slope=3.0)
    assert (law.slope, law.slope_fitted) == (3.0, False)
    assert law.speed * (1 + 3 * 0.92) == pytest.approx(8.1, rel=0.05)


@given(st.floats(0, 1e-3), st.floats(1e2, 1e6))
def test_latency_and_bandwidth_are_found_again(latency: float, bandwidth: float) -> None:
    megabytes = [0.25, 1.0, 4.0, 16.0]
    start, slope, error = line(megabytes, [latency + mb / bandwidth for mb in megabytes])
    assert 1 / slope == pytest.approx(bandwidth, rel=1e-3)
    assert start == pytest.approx(latency, rel=1e-3, abs=1e-9)
    assert error < 1e-3


def test_times_that_fall_with_the_amount_still_give_a_bandwidth() -> None:
    start, slope, _ = line([1.0, 2.0], [2.0, 1.0])
    assert start == 0
    assert slope > 0


def test_an_error_is_the_same_up_and_down() -> None:
    assert relative_errors(np.array([2.0, 0.5]), np.array([1.0, 1.0])) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [float("nan")]])
def test_a_fit_refuses_what_has_no_logarithm(bad: list[float]) -> None:
    with pytest.raises(InputError, match="above 0"):
        power_law(bad, bad)
