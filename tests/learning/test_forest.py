"""Predictors and the compiled forest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid_scheduler.core import Cluster, Node, Tasks
from hybrid_scheduler.core.cluster import DEFAULT_CPU
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.learning.compiled_forest import compile_forest
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.forest import ForestTrainer, ShareObservation
from hybrid_scheduler.learning.labels import label_isolated, label_queued
from hybrid_scheduler.learning.predictors import OfflineTrainer, Predictor, RandomForestPredictor, XGBoostPredictor
from hybrid_scheduler.workloads import WorkloadGenerator
from instances import workload


def data(count: int = 600) -> tuple[pd.DataFrame, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": generator.uniform(0, 10, count), "b": generator.normal(0, 1, count), "c": np.ones(count)}
    )
    return frame, (np.sin(frame["a"]) + 0.1 * frame["b"]).to_numpy()


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_compiled_forest_equals_scikit_learn_on_ten_thousand_rows(outputs: int) -> None:
    from sklearn.ensemble import RandomForestRegressor

    generator = np.random.default_rng(1)
    rows = generator.normal(0, 3, (800, 5))
    target = np.column_stack([np.sin(rows[:, 0] * (k + 1)) + rows[:, 1] ** 2 for k in range(outputs)])
    forest = RandomForestRegressor(40, max_depth=15, random_state=0).fit(rows, target.squeeze())
    asked = generator.normal(0, 4, (10_000, 5))
    assert np.allclose(compile_forest(forest).predict(asked), forest.predict(asked), rtol=1e-12, atol=1e-12)


def test_a_forest_of_single_leaves_predicts_the_mean() -> None:
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(3, random_state=0).fit(np.zeros((4, 2)), np.full(4, 7.0))
    assert compile_forest(forest).predict(np.ones((2, 2))).tolist() == [7.0, 7.0]


@pytest.mark.parametrize("kind", [RandomForestPredictor, XGBoostPredictor])
def test_fit_returns_the_quality_that_the_guide_names(kind: type[Predictor]) -> None:
    frame, target = data()
    results = kind(n_estimators=60).fit(frame, target, test_size=0.25)  # type: ignore[call-arg]
    assert {"train_r2", "test_r2", "cv_r2", "mae"} <= set(results)
    assert results["train_r2"] > results["test_r2"] > 0.9
    assert results["cv_r2"] > 0.9


@pytest.mark.parametrize("kind", [RandomForestPredictor, XGBoostPredictor])
def test_importances_name_the_features_and_add_up(kind: type[Predictor]) -> None:
    frame, target = data()
    model = kind()
    model.fit(frame, target, cv=0)
    importance = model.feature_importance()
    assert next(iter(importance)) == "a"
    assert importance["c"] == 0.0
    assert sum(importance.values()) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("kind", [RandomForestPredictor, XGBoostPredictor])
def test_a_model_trains_alike_twice_and_predicts_alike_after_saving(kind: type[Predictor], tmp_path: Path) -> None:
    frame, target = data()
    one, other = kind(), kind()
    one.fit(frame, target, cv=0)
    other.fit(frame, target, cv=0)
    assert np.array_equal(one.predict(frame), other.predict(frame))
    one.save(tmp_path / "model.pkl")
    assert np.array_equal(kind.load(tmp_path / "model.pkl").predict(frame), one.predict(frame))


def test_predictors_keep_scikit_learns_conventions() -> None:
    model = RandomForestPredictor(n_estimators=7)
    assert model.get_params() == {"n_estimators": 7, "max_depth": 15, "random_state": 0, "n_jobs": 1}
    assert model.set_params(max_depth=3).get_params()["max_depth"] == 3
    with pytest.raises(InputError, match="no parameter 'depth'"):
        model.set_params(depth=3)


def test_contributions_add_up_to_the_prediction() -> None:
    frame, target = data()
    model = RandomForestPredictor(n_estimators=30)
    model.fit(frame, target, cv=0)
    row = frame.to_numpy()[17]
    moved = model.contributions(row)
    base = np.mean([tree.tree_.value[0, 0, 0] for tree in model.model_.estimators_])
    assert base + sum(moved.values()) == pytest.approx(model.predict(row[None, :])[0])


@pytest.mark.parametrize(
    ("rows", "target", "options", "words"),
    [
        (np.ones((10, 2)), np.ones(9), {}, "must be as many"),
        (np.ones((3, 2)), np.ones(3), {}, "too few"),
        (np.ones((10, 2)), np.full(10, np.nan), {}, "finite"),
        (np.ones((10, 2)), np.ones(10), {"test_size": 2.0}, "test_size"),
        (np.ones(10), np.ones(10), {}, "rows and columns"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    target: np.ndarray[tuple[int], np.dtype[np.float64]],
    options: dict[str, float],
    words: str,
) -> None:
    with pytest.raises(InputError, match=words):
        RandomForestPredictor().fit(rows, target, **options)  # type: ignore[arg-type]  # wrong on purpose


def test_an_unfitted_model_says_so() -> None:
    model = RandomForestPredictor()
    with pytest.raises(SchedulerError, match="call fit or load first"):
        model.predict(np.ones((1, 2)))
    with pytest.raises(SchedulerError, match="call fit first"):
        model.feature_importance()
    with pytest.raises(SchedulerError, match="call fit first"):
        model.save("never_written.pkl")


def test_another_number_of_features_is_refused() -> None:
    frame, target = data()
    model = RandomForestPredictor(n_estimators=5)
    model.fit(frame, target, cv=0)
    with pytest.raises(InputError, match="2 features given, this model was fitted on a, b, c"):
        model.predict(np.ones((1, 2)))


def test_features_are_the_five_of_the_model() -> None:
    tasks = Tasks.build([99.0], [0.5], [49.0])
    assert task_features(tasks).tolist() == [[99.0, 0.5, 49.0, 0.49, 0.01]]
    assert len(FEATURES) == 5


def test_isolated_labels_are_the_oracles_shares() -> None:
    from hybrid_scheduler import registry
    from hybrid_scheduler.core.simulator import VirtualMultiGPU

    tasks = workload("mixed", 400)
    oracle = VirtualMultiGPU(mode="isolated").run(tasks, registry.schedulers.create("oracle"))
    labels = label_isolated(class_times(tasks, Cluster.default()), Cluster.default())
    assert np.allclose(labels, oracle.gpu_fraction)


def test_queued_labels_cut_the_tasks_once() -> None:
    times = class_times(workload("mixed", 400), Cluster.default())
    labels = label_queued(times, Cluster.default())
    ratio = times[:, 0] / times[:, 1]
    assert ratio[labels == 1].min() >= ratio[labels == 0].max()


def test_tasks_without_a_choice_are_labelled_without_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.array([[np.inf, 2.0], [3.0, np.inf], [np.inf, 4.0]])
    forced = [1.0, 0.0, 1.0]
    monkeypatch.setattr("hybrid_scheduler.learning.labels.find_prices", None)  # a linear programme for many classes
    assert label_queued(times, Cluster.default()).tolist() == forced
    names = [f"m{number}" for number in range(16)]
    cpus = Cluster(tuple(replace(DEFAULT_CPU, name=name) for name in names), (Node(dict.fromkeys(names, 1)),))
    assert label_queued(np.ones((5, 16)), cpus).tolist() == [0.0] * 5


def test_the_trainer_beats_the_accuracy_of_the_guide() -> None:
    generator = WorkloadGenerator(seed=42)
    generator.generate_workload(num_tasks=2000)
    results = OfflineTrainer(model_type="random_forest", n_estimators=100, max_depth=15).run_full_pipeline(generator)
    assert results["test_r2"] >= 0.95
    assert results["mae"] <= 0.03
    assert set(results["feature_importances"]) == set(FEATURES)


def test_an_unknown_model_type_is_refused() -> None:
    with pytest.raises(SchedulerError, match="did you mean 'random_forest'"):
        OfflineTrainer(model_type="random_florist")


def test_shares_of_a_window_are_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = ForestTrainer(50, 1000, 5, 5, 0.1, 0)
    tasks = WorkloadGenerator(1).generate_preset("mixed", 600, cluster=Cluster.default())
    times = class_times(tasks, Cluster.default())
    predicted = 0
    predict = RandomForestPredictor.predict

    def count(model: RandomForestPredictor, rows: Any) -> Any:
        nonlocal predicted
        predicted += len(rows)
        return predict(model, rows)

    monkeypatch.setattr(RandomForestPredictor, "predict", count)
    rows = task_features(tasks)
    for first in range(0, 600, 10):
        part = slice(first, first + 10)
        trainer.train(ShareObservation(rows[part], times[part], Cluster.default(), queued=True))
    assert trainer.models is not None
    assert 0 < predicted <= 600
    labels = label_queued(times, Cluster.default())
    since = trainer._since_fit
    error = trainer._share_error(trainer.models, rows, labels, since)
    assert error == np.abs(predict(trainer.models.share, rows[-since:]) - labels[-since:]).mean()


def test_noise_is_not_taken_for_drift_and_a_real_drift_is_noticed() -> None:
    generator, cluster = np.random.default_rng(2), Cluster.default()
    trainer = ForestTrainer(interval=50, window=1000, n_estimators=3, max_depth=4, tolerance=0.02, seed=1)

    def learn(cpu_wins: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        rows = generator.uniform(size=(5, len(FEATURES)))
        times = np.where(cpu_wins[:, None], [0.1, 1.0], [1.0, 0.1])
        trainer.train(ShareObservation(rows, times, cluster, True))

    for _ in range(120):
        learn(generator.random(5) < 0.5)
    assert trainer.retrains <= 20  # after every other check if errors of noise count as drift

    trainer = replace(trainer, models=None, retrains=0, _rows=None, _times=None, _usual_error=0.0)
    for _ in range(30):
        learn(np.zeros(5, np.bool_))
    before = trainer.retrains
    learn(np.ones(5, np.bool_))
    assert trainer.retrains == before + 1
