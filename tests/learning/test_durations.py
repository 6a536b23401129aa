"""Learnt times: right where they were seen, unsure where they were not, and never from a task that still runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Tasks
from hybrid_scheduler.core.cluster import DEFAULT_CPU
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.learning.durations import (
    DurationModel,
    DurationObservation,
    DurationTrainer,
    UnfinishedTasks,
    _optimal_shares,
)
from hybrid_scheduler.learning.features import FeatureTable

CLUSTER = Cluster.default(gpus=1)


def kernels(count: int, seed: int = 0, unknown: float = 0.0) -> Tasks:
    """Tasks whose times follow from two columns and from nothing else."""
    generator = np.random.default_rng(seed)
    work, moved = (10.0 ** generator.uniform(0, 4, count) for _ in range(2))
    times = {"cpu": 1e-3 * work, "gpu": 1e-4 * work + 1e-3 * moved}
    hidden = np.where(generator.random(count) < unknown, np.nan, moved)
    same = np.full(count, 500.0)
    return Tasks.build(
        same, np.full(count, 0.5), same, measured=times, features={"work": work, "moved": hidden, "constant": same}
    )


def fit(tasks: Tasks, seed: int = 0) -> DurationModel:
    seen = DurationObservation.from_tasks(tasks, CLUSTER)
    return DurationModel.fit(seen.features, seen.times, CLUSTER, seed)


def test_times_are_learnt_from_the_columns_that_tasks_carry() -> None:
    unseen = kernels(500, seed=1)
    moments = fit(kernels(1000)).predict(FeatureTable.from_tasks(unseen))
    true = np.column_stack([unseen.measured["cpu"], unseen.measured["gpu"]])
    assert np.median(np.abs(np.log(moments.mean / true))) < 0.15
    assert np.mean(moments.mean.argmin(axis=1) == true.argmin(axis=1)) > 0.9


def test_a_cluster_of_one_class_is_learnt_without_a_warning() -> None:
    tasks = kernels(50)
    only = Tasks.build(tasks.size, tasks.compute_intensity, tasks.size, measured={"cpu": tasks.measured["cpu"]},
                       features={"work": tasks.features["work"]})  # fmt: skip
    cluster = Cluster((CLUSTER.classes[0],), (Node({"cpu": 4}),))
    seen = DurationObservation.from_tasks(only, cluster)
    moments = DurationModel.fit(seen.features, seen.times, cluster, 0).predict(FeatureTable.from_tasks(only))
    assert np.allclose(moments.mean[:, 0], only.measured["cpu"])


def test_trees_that_disagree_expect_a_larger_square() -> None:
    moments = fit(kernels(300)).predict(FeatureTable.from_tasks(kernels(300)))
    assert np.allclose(moments.square, moments.mean**2)  # seen before: all trees agree
    unsure = fit(kernels(30)).predict(FeatureTable.from_tasks(kernels(300, seed=1)))
    assert np.mean(unsure.square / unsure.mean**2) > 1.2


def test_only_columns_that_tell_tasks_apart_are_demanded_and_importances_add_up() -> None:
    learnt = fit(kernels(200))
    assert "feature_work" in learnt.names
    assert not {"feature_constant", "size", "depth"} & set(learnt.names)
    assert np.isclose(sum(learnt.feature_importance().values()), 1.0)


def test_unknown_values_are_a_case_of_their_own() -> None:
    learnt = fit(kernels(1000, unknown=0.3))
    moments = learnt.predict(FeatureTable.from_tasks(kernels(400, seed=1, unknown=0.3)))
    assert np.isfinite(moments.mean).all()
    assert (moments.mean > 0).all()


def test_the_best_use_of_the_cluster_is_learnt_beside_the_times() -> None:
    same = np.full(100, 1.0)
    tasks = Tasks.build(
        same, np.full(100, 0.5), same, measured={"cpu": 4 * same, "gpu": same}, features={"n": np.arange(100.0)}
    )
    learnt = fit(tasks)
    assert np.isclose(learnt.work, 0.8)  # a CPU and a GPU together: 1/4 + 1 tasks a second
    assert learnt.typical == 1.0


def test_a_class_that_cannot_run_a_task_is_expected_to_take_long() -> None:
    size = np.array([1.0, 2.0] * 20)
    measured = {"cpu": np.ones(40), "gpu": np.where(size > 1, np.inf, 0.5)}
    tasks = Tasks.build(np.ones(40), np.ones(40), np.ones(40), measured=measured, features={"kind": size})
    moments = fit(tasks).predict(FeatureTable.from_tasks(tasks)).mean
    assert moments[0].tolist() == [1.0, 0.5]
    assert np.allclose(moments[1], [1.0, 10.0])


def test_the_same_seed_gives_the_same_trees() -> None:
    known = FeatureTable.from_tasks(kernels(50, seed=3))
    one, other, third = (fit(kernels(100), seed).predict(known).mean for seed in (4, 4, 5))
    assert np.array_equal(one, other)
    assert not np.array_equal(one, third)


def test_nothing_is_learnt_from_tasks_that_have_not_ended_and_waiting_ones_are_not_forgotten() -> None:
    tasks = kernels(40).with_arrival_times(np.zeros(40))
    placed = VirtualMultiGPU(cluster=CLUSTER).run(tasks, registry.schedulers.create("eft"))
    placed.finish[:] = np.r_[np.zeros(10), np.full(29, 7.0), np.nan]  # the last one still waits
    unfinished, trainer = UnfinishedTasks(), DurationTrainer(interval=10, seed=0)
    ended = unfinished.exchange(placed)
    assert ended is not None
    assert np.array_equal(ended.times, placed.times[:10])
    assert trainer.train(ended) is None  # the first fit takes twenty
    later = placed.part(0, 0)
    later = replace(later, tasks=kernels(1).with_arrival_times(np.array([8.0])), times=placed.times[:1],
                    finish=np.full(1, 99.0), status=placed.status[:1])  # fmt: skip
    placed.finish[39] = 7.5  # it has started since
    model = trainer.train(unfinished.exchange(later))
    assert model is not None
    assert np.isclose(model.typical, placed.times.min(axis=1).mean())


def test_a_model_that_still_fits_is_not_fitted_again() -> None:
    seen, other = (DurationObservation.from_tasks(kernels(400, seed), CLUSTER) for seed in (0, 1))
    trainer = DurationTrainer(interval=10, seed=0, tolerance=0.5)
    assert trainer.pretrain([seen]) is not None
    assert trainer.train(seen) is None
    slower = other._replace(times=20.0 * other.times)
    assert trainer.train(slower) is not None


def test_a_class_without_a_price_gets_no_share_of_tasks_that_cannot_run_there() -> None:
    classes = (DEFAULT_CPU, DeviceClass("gpu"), DeviceClass("idle"))
    cluster = Cluster(classes, (Node({"cpu": 1, "gpu": 1, "idle": 9}),))
    times = np.array([[10.0, 5.0, np.inf], [12.0, 6.0, np.inf]])
    share, seconds = _optimal_shares(times, cluster)
    assert share[2] == 0.0
    assert seconds == pytest.approx(11.0 / 3)  # two thirds of the work on the GPU
