"""Times are medians of repeated calls without outliers; energy is read where the machine can be metered."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.timing import Sampling, Timing, find_cpu_meter, find_gpu_meter, summarise, time_call


class Bench:
    """A clock that advances only while the call runs, by the given seconds."""

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

    def measure(self, sampling: Sampling, metered: bool = False) -> Timing:
        return time_call(self.run, self.settle, sampling, self if metered else None, self.clock, self.clock)


def test_slow_first_calls_do_not_count() -> None:
    found = Bench(lambda call: 1.0 if call < 2 else 0.01).measure(Sampling(warmups=2, most=5))
    assert found.seconds == pytest.approx(0.01)
    assert found.discarded == 0


def test_a_stray_call_is_discarded() -> None:
    found = Bench(lambda call: 5.0 if call == 6 else 0.01 + 1e-4 * (call % 3)).measure(Sampling(most=9, budget=60))
    assert found.seconds == pytest.approx(0.0101, rel=0.02)
    assert (found.discarded, found.repeats) == (1, 8)


def test_short_calls_are_timed_several_at_once() -> None:
    bench = Bench(lambda _: 1e-6)
    found = bench.measure(Sampling(warmups=1, least=3, most=3, shortest=1e-3))
    assert found.seconds == pytest.approx(1e-6)
    assert bench.calls == pytest.approx(1 + 3 * 1000, abs=3)
    assert bench.waits == 4  # the device is waited for once a sample, not once a call


def test_the_budget_ends_repeats_but_never_below_the_least() -> None:
    slow = Bench(lambda _: 1.0).measure(Sampling(least=3, most=50, budget=0.5))
    assert slow.repeats + slow.discarded == 3
    some = Bench(lambda _: 0.1).measure(Sampling(least=3, most=50, budget=1.0))
    assert 10 <= some.repeats + some.discarded <= 12


def test_joules_are_those_of_one_call() -> None:
    found = Bench(lambda _: 0.1, watts=40.0).measure(Sampling(), metered=True)
    assert found.joules == pytest.approx(4.0)


def test_a_stretch_too_short_for_the_meter_has_no_joules() -> None:
    found = Bench(lambda _: 1e-3, watts=40.0).measure(Sampling(least=3, most=3), metered=True)
    assert found.joules is None


@given(st.lists(st.floats(0.9, 1.1), min_size=5, max_size=30), st.floats(100, 1e6))
def test_the_median_stays_within_the_good_samples(good: list[float], stray: float) -> None:
    found = summarise([*good, stray])
    assert min(good) <= found.seconds <= max(good)
    assert found.discarded >= 1
    assert found.repeats + found.discarded == len(good) + 1


def test_samples_that_are_alike_are_all_kept() -> None:
    found = summarise([1.0, 1.0, 1.0, 1.001, 0.999])
    assert (found.repeats, found.discarded) == (5, 0)
    assert found.spread < 0.01


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_is_above_zero(seconds: float) -> None:
    with pytest.raises(InputError, match="seconds"):
        Timing(seconds, 0.0, 1)


def package(folder: Path, number: int, microjoules: int, full: int = 1_000_000_000) -> Path:
    place = folder / f"intel-rapl:{number}"
    place.mkdir(exist_ok=True)
    (place / "energy_uj").write_text(f"{microjoules}\n", encoding="ascii")
    (place / "max_energy_range_uj").write_text(f"{full}\n", encoding="ascii")
    return place


def test_packages_add_up_and_counters_wrap(tmp_path: Path) -> None:
    package(tmp_path, 0, 999_000_000)
    package(tmp_path, 1, 5_000_000)
    (tmp_path / "intel-rapl:0:0").mkdir()  # a part of package 0, counted there already
    meter, reason = find_cpu_meter(tmp_path)
    assert meter
    assert reason == ""
    assert meter.joules() == 0
    package(tmp_path, 0, 2_000_000)  # over the top: 1 J to the end, 2 J after it
    package(tmp_path, 1, 9_000_000)
    assert meter.joules() == pytest.approx(3 + 4)


def test_a_counter_that_goes_away_gives_nothing(tmp_path: Path) -> None:
    place = package(tmp_path, 0, 1)
    meter, _ = find_cpu_meter(tmp_path)
    assert meter
    (place / "energy_uj").unlink()
    assert meter.joules() is None


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    assert find_cpu_meter(tmp_path)[1].startswith("no RAPL counters")


def test_a_torn_counter_says_so(tmp_path: Path) -> None:
    (package(tmp_path, 0, 1) / "energy_uj").write_text("many", encoding="ascii")
    assert find_cpu_meter(tmp_path) == (None, "the RAPL counters cannot be read (ValueError)")


class FakeNvml(ModuleType):
    """NVML with a GPU that has used 1500 mJ, or one that does not count."""

    class NVMLError(Exception):
        """NVML's own error."""

    def __init__(self, counts: bool) -> None:
        super().__init__("fake_nvml")
        self.counts = counts

    def nvmlInit(self) -> None:  # noqa: N802  # NVML's own names
        """Start."""

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802  # NVML's own names
        return index

    def nvmlDeviceGetTotalEnergyConsumption(self, _handle: int) -> int:  # noqa: N802  # NVML's own names
        if not self.counts:
            raise self.NVMLError
        return 1500


def test_nvml_counts_millijoules(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(counts=True)
    monkeypatch.setitem(sys.modules, "fake_nvml", nvml)
    meter, _ = find_gpu_meter("cuda", "fake_nvml")
    assert meter
    assert meter.joules() == 1.5
    nvml.counts = False
    assert meter.joules() is None


def test_a_gpu_that_does_not_count_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fake_nvml", FakeNvml(counts=False))
    assert find_gpu_meter("cuda", "fake_nvml") == (None, "NVML does not count this GPU's energy (NVMLError)")


def test_without_nvml_the_next_step_is_named() -> None:
    assert find_gpu_meter("cuda", "no_such_nvml") == (None, "NVML cannot be read: install nvidia-ml-py")


@pytest.mark.parametrize("kind", ["mps", "xpu"])
def test_other_gpus_have_no_counter(kind: str) -> None:
    assert find_gpu_meter(kind)[0] is None
