"""Policies decide on expected times where tasks carry them; the clocks follow the true ones."""

import numpy as np
import pytest

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, expected_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Task, Tasks
from hybrid_scheduler.errors import RowError
from hybrid_scheduler.registry import schedulers

CLUSTER = Cluster.default(gpus=1)


def tasks_with(expected: dict[str, list[float]], features: dict[str, list[float]] | None = None) -> Tasks:
    return Tasks.build(
        size=[1000, 1000],
        compute_intensity=[0.5, 0.5],
        memory_required=[10, 10],
        measured={"cpu": [1.0, 1.0], "gpu": [5.0, np.inf]},
        expected=expected,
        features=features,
    )


def test_a_sighted_policy_is_misled_by_wrong_expectations_and_pays_the_true_time() -> None:
    tasks = tasks_with({"cpu": [9.0, 9.0], "gpu": [2.0, np.nan]})
    placements = VirtualMultiGPU(cluster=CLUSTER).run(tasks, schedulers.create("eft"))
    assert placements.gpu_fraction.tolist() == [1.0, 0.0]
    assert placements.finish.tolist() == [5.0, 1.0]


def test_what_a_class_cannot_run_is_known_whatever_is_expected() -> None:
    tasks = tasks_with({"gpu": [np.inf, 0.1]})
    times = expected_times(tasks, CLUSTER, class_times(tasks, CLUSTER))
    assert times[:, 1].tolist() == [5.0, np.inf]


def test_expected_times_and_features_survive_rows_and_parts() -> None:
    tasks = tasks_with({"cpu": [9.0, np.nan]}, {"loads": [3.0, 4.0]})
    again = Tasks.of(list(tasks))
    assert np.array_equal(again.expected["cpu"], [9.0, np.nan], equal_nan=True)
    assert again.part(1, 2).features["loads"].tolist() == [4.0]
    assert again.in_order_of(np.array([1, 0])).features["loads"].tolist() == [4.0, 3.0]
    assert tasks[1] == Task(1, 1000.0, 0.5, 10.0, 0.0, (), tasks[1].duration_estimate,
                            {"cpu": 1.0, "gpu": np.inf}, {}, {"loads": 4.0})  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "features", "words"),
    [({"cpu": [1.0, -1.0]}, {}, "expected_cpu is -1"), ({}, {"loads": [1.0, np.inf]}, "feature_loads is inf")],
)
def test_columns_that_make_no_sense_are_named(
    expected: dict[str, list[float]], features: dict[str, list[float]], words: str
) -> None:
    with pytest.raises(RowError, match=words):
        tasks_with(expected, features)
