"""Times are medians of repeated calls after a warm-up; outliers do not count."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.timing import Sampling, Timing, measure, summary


class Bench:
    """A clock that only moves when the call runs, by the seconds it is told."""

    name = "fake meter"

    def __init__(self, seconds: Callable[[int], float], watts: float = 0.0) -> None:
        self.now, self.calls, self.waits = 0.0, 0, 0
        self.seconds, self.watts = seconds, watts

    def run(self) -> None:
        self.now += self.seconds(self.calls)
        self.calls += 1

    def settle(self) -> None:
        self.waits += 1

    def clock(self) -> float:
        return self.now

    def joules(self) -> float | None:
        return self.watts * self.now

    def measured(self, sampling: Sampling, metered: bool = False) -> Timing:
        return measure(self.run, self.settle, sampling, self if metered else None, self.clock, self.clock)


def test_slow_first_calls_do_not_count() -> None:
    found = Bench(lambda call: 1.0 if call < 2 else 0.01).measured(Sampling(warmups=2, most=5))
    assert found.seconds == pytest.approx(0.01)
    assert found.discarded == 0


def test_a_stray_call_is_discarded() -> None:
    found = Bench(lambda call: 5.0 if call == 6 else 0.01 + 1e-4 * (call % 3)).measured(Sampling(most=9, budget=60))
    assert found.seconds == pytest.approx(0.0101, rel=0.02)
    assert (found.discarded, found.repeats) == (1, 8)


def test_short_calls_are_timed_several_at_once() -> None:
    bench = Bench(lambda _: 1e-6)
    found = bench.measured(Sampling(warmups=1, least=3, most=3, shortest=1e-3))
    assert found.seconds == pytest.approx(1e-6)
    assert bench.calls == pytest.approx(1 + 3 * 1000, abs=3)
    assert bench.waits == 4  # the device is waited for once a sample, not once a call


def test_the_budget_ends_repeats_but_never_below_the_least() -> None:
    slow = Bench(lambda _: 1.0).measured(Sampling(least=3, most=50, budget=0.5))
    assert slow.repeats + slow.discarded == 3
    some = Bench(lambda _: 0.1).measured(Sampling(least=3, most=50, budget=1.0))
    assert 10 <= some.repeats + some.discarded <= 12


def test_joules_are_those_of_one_call() -> None:
    found = Bench(lambda _: 0.1, watts=40.0).measured(Sampling(), metered=True)
    assert found.joules == pytest.approx(4.0)


def test_a_stretch_too_short_for_the_meter_has_no_joules() -> None:
    found = Bench(lambda _: 1e-3, watts=40.0).measured(Sampling(least=3, most=3), metered=True)
    assert found.joules is None


@given(st.lists(st.floats(0.9, 1.1), min_size=5, max_size=30), st.floats(100, 1e6))
def test_the_median_stays_within_the_good_samples(good: list[float], stray: float) -> None:
    found = summary([*good, stray])
    assert min(good) <= found.seconds <= max(good)
    assert found.discarded >= 1
    assert found.repeats + found.discarded == len(good) + 1


def test_samples_that_are_alike_are_all_kept() -> None:
    found = summary([1.0, 1.0, 1.0, 1.001, 0.999])
    assert (found.repeats, found.discarded) == (5, 0)
    assert found.spread < 0.01


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_is_above_zero(seconds: float) -> None:
    with pytest.raises(InputError, match="seconds"):
        Timing(seconds, 0.0, 1)
