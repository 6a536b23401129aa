"""Measures, intervals and paired differences."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Tasks
from hybrid_scheduler.core.metrics import (
    MEASURES,
    bootstrap,
    bootstrap_paired,
    device_utilisation,
    idle_energy,
    load_balance,
    measure,
    sign_test,
    win_counts,
)
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.schedulers.scheduler import from_function
from hybrid_scheduler.studies.compare import Comparison, compare
from hybrid_scheduler.workloads.source import Source
from instances import TWO_NODES, workload


def test_measures_of_a_schedule_worked_out_by_hand() -> None:
    tasks = Tasks.build([10_000.0, 10_000.0], [0.5, 0.5], [0.0, 0.0], arrival_time=[0.0, 0.1])
    placements = VirtualMultiGPU(2).run(tasks, from_function(lambda task, view: (1.0, 1)))
    figures = measure(placements, bound=0.4, turnaround_bound=0.44)
    expected = {
        "makespan": 0.8,
        "makespan_over_bound": 2.0,
        "total_time": 0.8,
        "mean_execution": 0.4,
        "mean_waiting": 0.15,
        "mean_turnaround": 0.55,
        "turnaround_over_bound": 1.25,
        "p50_turnaround": 0.55,
        "mean_slowdown": (1.0 + 0.7 / 0.4) / 2,
        "throughput": 2.5,
        "utilisation": 1 / 3,
        "load_balance": 0.5,
        "energy": 40.0,
        "energy_delay": 32.0,
        "cost": 8e-5,
        "rejected": 0.0,
        "spilled": 0.0,
        "split": 0.0,
    }
    for name, value in expected.items():
        assert np.isclose(figures[name], value), name
    assert np.allclose(device_utilisation(placements), [0, 1, 0])


def test_idle_devices_draw_their_idle_power_until_the_end() -> None:
    placements = VirtualMultiGPU(cluster=TWO_NODES).run(workload("mixed", 40), registry.schedulers.create("eft"))
    idle = placements.makespan - placements.busy
    assert np.allclose(idle_energy(placements), idle * TWO_NODES.per_device("idle_watts"))
    assert measure(placements)["energy"] > placements.energy.sum()


def test_load_balance_of_unused_gpus_is_even() -> None:
    placements = VirtualMultiGPU().run(workload("mixed", 5), from_function(lambda task, view: (0.0, 0)))
    assert load_balance(placements) == 1.0


def test_every_measure_of_a_comparison_has_a_unit_and_a_meaning() -> None:
    result = compare(Comparison(Source.of("mixed", 50), ("eft", "greedy"), seeds=(0, 1)))
    assert set(result.outcomes[0].measures["eft"]) == set(MEASURES)


def test_a_bootstrap_interval_holds_the_mean_and_shrinks_with_more_seeds() -> None:
    generator = np.random.default_rng(0)
    few, many = bootstrap(generator.normal(5, 1, 10).tolist()), bootstrap(generator.normal(5, 1, 1000).tolist())
    assert few.low < few.mean < few.high
    assert many.high - many.low < few.high - few.low
    assert many.low < 5 < many.high


def test_a_bootstrap_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    intervals = [bootstrap(generator.normal(0, 1, 30).tolist(), resamples=400) for _ in range(300)]
    covered = np.mean([each.low <= 0 <= each.high for each in intervals])
    assert 0.88 <= covered <= 0.98


def test_one_value_is_its_own_interval() -> None:
    assert bootstrap([3.0]).low == bootstrap([3.0]).high == 3.0


def test_paired_differences_cancel_what_seeds_share() -> None:
    luck = np.random.default_rng(2).normal(0, 10, 12)
    difference = bootstrap_paired((luck + 1.0).tolist(), luck.tolist())
    assert np.allclose([difference.low, difference.high], 1.0)
    assert difference.excludes_zero()


def test_wins_count_seeds_with_the_smaller_value() -> None:
    assert win_counts({"a": [1, 2, 3], "b": [2, 2, 2]}) == {"a": {"b": 1}, "b": {"a": 1}}


def test_the_sign_test_is_the_binomial() -> None:
    assert sign_test([1.0] * 10, [2.0] * 10) == pytest.approx(2 / 1024)
    assert sign_test([1.0, 3.0], [2.0, 2.0]) == 1.0
    assert sign_test([1.0], [1.0]) == 1.0


def test_the_threshold_of_slowdown_can_be_chosen() -> None:
    tasks = Tasks.build([1.0, 1.0], [0.5, 0.5], [0.0, 0.0], measured={"cpu": [2.0, 2.0], "gpu": [np.inf, np.inf]})
    placed = VirtualMultiGPU(num_gpus=1).run(tasks, registry.schedulers.create("eft"))
    assert measure(placed)["mean_slowdown"] == pytest.approx(1.5)  # the second one waits as long as it runs
    assert measure(placed, slowdown_floor=10.0)["mean_slowdown"] == 1.0
