"""The formulas of the execution model, and the expected times that replace them for schedulers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.physics import (
    apply_expected_times,
    assume_formula,
    best_split_times,
    class_times,
    unmeasured_classes,
)
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.registry import schedulers
from instances import TWO_NODES

ONE_GPU = Cluster.default(gpus=1)


@given(size=st.floats(1, 1e5), intensity=st.floats(0, 1), memory=st.floats(0, 1e5))
def test_times_of_the_default_cluster_follow_the_formula(size: float, intensity: float, memory: float) -> None:
    times = class_times(Tasks.build([size], [intensity], [memory]), Cluster.default())
    base = 1e-6 * size**1.5 / (intensity + 0.5)
    assert np.isclose(times[0, 0], base, rtol=1e-12)
    assert np.isclose(times[0, 1], base / (1 + 3 * intensity) + memory / 16000, rtol=1e-12)


def test_speed_of_a_class_divides_the_computing_and_not_the_transfer() -> None:
    times = class_times(Tasks.build([10_000.0], [0.0], [800.0]), TWO_NODES)
    assert np.allclose(times[0], [2.0, 2.0 / 2.0 + 0.1, 2.0 / 0.7 + 0.05])


def test_a_given_duration_estimate_is_the_base_duration() -> None:
    times = class_times(Tasks.build([100.0], [1.0], [0.0], duration_estimate=[8.0]), Cluster.default())
    assert times.tolist() == [[8.0, 2.0]]


def test_the_fastest_split_ends_on_both_sides_together() -> None:
    tasks = Tasks.build([10_000.0], [0.5], [1600.0])
    times = class_times(tasks, Cluster.default())
    best = best_split_times(times, Cluster.default())[0]
    share = best / times[0, 1]
    assert np.isclose((1 - share) * times[0, 0], best)


def test_the_fastest_time_without_gpus_is_the_cpu_time() -> None:
    tasks = Tasks.build([10_000.0], [0.5], [1600.0])
    cluster = Cluster.default(gpus=0)
    assert best_split_times(class_times(tasks, cluster), cluster).tolist() == [1.0]


def tasks_with(expected: dict[str, list[float]]) -> Tasks:
    return Tasks.build(
        size=[1000, 1000],
        compute_intensity=[0.5, 0.5],
        memory_required=[10, 10],
        measured={"cpu": [1.0, 1.0], "gpu": [5.0, np.inf]},
        expected=expected,
    )


def test_a_clairvoyant_scheduler_is_misled_by_wrong_expectations_and_pays_the_actual_time() -> None:
    tasks = tasks_with({"cpu": [9.0, 9.0], "gpu": [2.0, np.nan]})
    placements = VirtualMultiGPU(cluster=ONE_GPU).run(tasks, schedulers.create("eft"))
    assert placements.gpu_fraction.tolist() == [1.0, 0.0]
    assert placements.finish.tolist() == [5.0, 1.0]


def test_what_a_class_cannot_run_is_known_whatever_is_expected() -> None:
    tasks = tasks_with({"gpu": [np.inf, 0.1]})
    times = apply_expected_times(tasks, ONE_GPU, class_times(tasks, ONE_GPU))
    assert times[:, 1].tolist() == [5.0, np.inf]


def test_a_class_without_measured_times_cannot_run_measured_tasks_unless_the_formula_is_asked_for() -> None:
    tasks = Tasks.build([1000.0], [0.5], [100.0], measured={"cpu": [2580.0]})
    cluster = Cluster.default(gpus=1)
    assert class_times(tasks, cluster).tolist() == [[2580.0, np.inf]]
    assert unmeasured_classes(tasks, cluster) == ["gpu"]
    assumed = class_times(assume_formula(tasks, cluster), cluster)
    formula = class_times(Tasks.build([1000.0], [0.5], [100.0]), cluster)
    assert assumed.tolist() == [[2580.0, formula[0, 1]]]


def test_an_empty_cell_of_a_measured_column_is_the_formula() -> None:
    tasks = Tasks.build(
        [1000.0, 1000.0], [0.5, 0.5], [0.0, 0.0], measured={"cpu": [1.0, np.nan], "gpu": [np.nan, 2.0]}
    )
    formula = class_times(Tasks.build([1000.0], [0.5], [0.0]), Cluster.default(gpus=1))[0]
    assert class_times(tasks, Cluster.default(gpus=1)).tolist() == [[1.0, formula[1]], [formula[0], 2.0]]
