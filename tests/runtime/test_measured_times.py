"""Learnt times: robust to spikes and warm-up, follow sizes, notice change, try the unknown a few times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.measured_times import TRIALS, WINDOW, MeasuredTimes, load_times, save_times, times_path

CLASSES = ["cpu", "gpu"]


def observe_all(
    seconds: list[float], sizes: list[float] | None = None, kind: str = "f", name: str = "gpu"
) -> MeasuredTimes:
    times = MeasuredTimes()
    for size, second in zip(sizes or [100.0] * len(seconds), seconds, strict=True):
        times.observe(kind, name, f"{name}0", size, second)
    return times


def test_the_first_call_of_a_type_on_a_worker_is_warm_up() -> None:
    times = observe_all([5.0])
    assert times.predict("f", ["gpu"], 100.0)[0] == pytest.approx(5.0)  # better than nothing
    times.observe("f", "gpu", "gpu0", 100.0, 0.1)
    assert times.predict("f", ["gpu"], 100.0)[0] == pytest.approx(0.1)
    times.reset_warm_up("gpu0")  # a new worker
    times.observe("f", "gpu", "gpu0", 100.0, 5.0)
    assert times.predict("f", ["gpu"], 100.0)[0] == pytest.approx(0.1)


def test_a_single_spike_does_not_idle_a_gpu() -> None:
    times = observe_all([9.0] + [0.1] * 12)
    times.observe("f", "gpu", "gpu0", 100.0, 60.0)
    assert times.predict("f", ["gpu"], 100.0)[0] == pytest.approx(0.1, rel=1e-6)


def test_times_that_come_together_count_as_they_would_one_by_one() -> None:
    seconds = [5.0, *np.random.default_rng(5).lognormal(-2.0, 0.1, 40).tolist(), *[9.0] * 9]
    together = MeasuredTimes()
    together.observe_all([("f", "gpu", "gpu0", 100.0, each) for each in seconds])
    alone = observe_all(seconds)
    assert together.predict("f", ["gpu"], 100.0)[0] == pytest.approx(9.0)  # the change is noticed at the end
    assert together.histories["f", "gpu"].count == alone.histories["f", "gpu"].count
    assert together.histories["f", "gpu"].warm_up == alone.histories["f", "gpu"].warm_up


def test_noise_with_outliers_is_seen_through() -> None:
    draw = np.random.default_rng(3)
    samples = 0.2 * draw.lognormal(0.0, 0.05, 60)
    samples[::7] *= 20.0
    assert observe_all(samples.tolist()).predict("f", ["gpu"], 100.0)[0] == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 3.0])
def test_times_grow_with_sizes_as_they_were_seen_to(power: float) -> None:
    draw = np.random.default_rng(1)
    sizes = draw.uniform(100, 5000, 60)
    seconds = 1e-6 * sizes**power * draw.lognormal(0.0, 0.05, 60)
    times = observe_all(seconds.tolist(), sizes.tolist())
    for size in (200.0, 1000.0, 4000.0, 10_000.0):
        assert times.predict("f", ["gpu"], size)[0] == pytest.approx(1e-6 * size**power, rel=0.15)


def test_a_bend_in_the_curve_is_followed() -> None:
    sizes = np.random.default_rng(2).uniform(10, 5000, 60)
    times = observe_all((1e-3 + 1e-9 * sizes**2).tolist(), sizes.tolist())
    assert times.predict("f", ["gpu"], 3000.0)[0] == pytest.approx(1e-3 + 9e-3, rel=0.25)


@pytest.mark.parametrize(("large", "small"), [(4, 59), (9, 59), (40, 300), (3, 2000)])
def test_what_was_learnt_of_large_tasks_outlasts_many_small_ones(large: int, small: int) -> None:
    draw = np.random.default_rng(4)
    sizes = [1000.0] * large + [5.0] * small
    seconds = [2e-4 * size * noise for size, noise in zip(sizes, draw.lognormal(0.0, 0.05, len(sizes)), strict=True)]
    times = observe_all(seconds, sizes)
    assert times.predict("f", ["gpu"], 1000.0)[0] == pytest.approx(0.2, rel=0.25)
    assert times.predict("f", ["gpu"], 5.0)[0] == pytest.approx(1e-3, rel=0.25)
    assert len(times.histories["f", "gpu"].log_size) <= WINDOW


def test_a_change_that_small_tasks_prove_moves_large_ones_too() -> None:
    times = observe_all([0.2] * 9 + [1e-3] * 40, [1000.0] * 9 + [5.0] * 40)
    for _ in range(16):
        times.observe("f", "gpu", "gpu0", 5.0, 3e-3)
    assert times.predict("f", ["gpu"], 5.0)[0] == pytest.approx(3e-3, rel=0.1)
    assert times.predict("f", ["gpu"], 1000.0)[0] == pytest.approx(0.6, rel=0.25)


def test_a_lasting_change_makes_it_forget() -> None:
    times = observe_all([0.1] * WINDOW)
    for _ in range(12):
        times.observe("f", "gpu", "gpu0", 100.0, 0.3)
    assert times.predict("f", ["gpu"], 100.0)[0] == pytest.approx(0.3, rel=0.01)
    assert times.histories["f", "gpu"].changes == 1


def test_noise_is_no_change() -> None:
    samples = 0.1 * np.random.default_rng(5).lognormal(0.0, 0.3, 600)
    assert observe_all(samples.tolist()).histories["f", "gpu"].changes <= 1


def test_what_was_never_measured_is_guessed_from_other_types() -> None:
    times = MeasuredTimes()
    for kind in ("a", "b", "c"):
        for _ in range(4):
            times.observe(kind, "cpu", "cpu0", 100.0, 0.4)
            times.observe(kind, "gpu", "gpu0", 100.0, 0.1)
    for _ in range(4):
        times.observe("d", "cpu", "cpu0", 100.0, 0.8)
    assert times.predict("d", CLASSES, 100.0).tolist() == pytest.approx([0.8, 0.2])
    assert np.isfinite(times.predict("never", CLASSES, 1.0)).all()
    assert np.isfinite(MeasuredTimes().predict("never", CLASSES, 1.0)).all()


def test_unknown_pairs_are_tried_a_bounded_number_of_times() -> None:
    times = MeasuredTimes()
    tries = [times.find_trial("f", CLASSES) for _ in range(20)]
    assert [tries.count(column) for column in (0, 1, -1)] == [TRIALS, TRIALS, 20 - 2 * TRIALS]


def test_a_class_that_was_left_alone_for_long_is_tried_once_more() -> None:
    times = observe_all([0.1] * 10, name="cpu")
    for _ in range(TRIALS):
        times.observe("f", "gpu", "gpu0", 100.0, 3.0)
    for _ in range(2 * TRIALS):
        times.find_trial("f", CLASSES)
    wanted = []
    for _ in range(700):
        times.observe("f", "cpu", "cpu0", 100.0, 0.1)
        wanted.append(times.find_trial("f", CLASSES))
    assert wanted.count(1) == 2
    assert wanted.count(0) == 0


def test_times_are_kept_per_machine_and_come_back_the_same(tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    sizes = draw.uniform(100, 1000, 40)
    times = observe_all((sizes * 1e-4).tolist(), sizes.tolist())
    path = tmp_path / "kept" / "times.json"
    save_times(times, path)
    again = load_times(path)
    assert again.predict("f", ["gpu"], 321.0) == pytest.approx(times.predict("f", ["gpu"], 321.0), rel=1e-6)
    assert [each.name for each in path.parent.iterdir()] == ["times.json"]


def test_files_that_are_missing_or_of_another_machine_teach_nothing(tmp_path: Path) -> None:
    assert load_times(tmp_path / "none.json").histories == {}
    path = tmp_path / "times.json"
    save_times(observe_all([0.1, 0.1]), path)
    path.write_text(path.read_text().replace('"cores":', '"cores": 1000, "c":'))
    assert load_times(path).histories == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "damaged or no JSON"),
        ("[]", "holds no measured times"),
        ('{"kind": "measured_times", "schema": 99}', "holds no measured times"),
    ],
)
def test_files_that_are_no_times_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        load_times(path)


def test_a_track_with_something_else_than_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "times.json"
    save_times(observe_all([0.1, 0.1]), path)
    path.write_text(
        path.read_text().replace('"seen"', '"unseen"').replace('"log_seconds": [', '"log_seconds": ["x",')
    )
    with pytest.raises(InputError, match="not what it should be"):
        load_times(path)


def test_the_file_of_a_machine_is_named_after_it() -> None:
    assert times_path() == times_path()
    assert times_path().suffix == ".json"


def test_two_measurements_together_hold_all_observations() -> None:
    first, second = observe_all([0.01] * 4), observe_all([0.03] * 5)
    both = first.merge(second)
    assert sorted(np.exp(both.histories["f", "gpu"].log_seconds)) == pytest.approx([0.01] * 3 + [0.03] * 4)
    assert len(first.histories["f", "gpu"].log_seconds) == 3, "the first one was changed"
    assert both.predict("f", ["gpu"], 100.0) == pytest.approx([0.03])


def test_the_level_of_a_class_counts_the_slow_moments_that_medians_leave_out() -> None:
    times = observe_all([0.01] * 9 + [0.02] * 3)
    assert times.predict("f", ["gpu"], 100.0) == pytest.approx([0.01])
    assert times.bias("gpu") == pytest.approx((8 * 0.01 + 3 * 0.02) / (11 * 0.01))
    assert times.bias("cpu") == 1.0
