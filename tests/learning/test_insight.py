"""How good predictions were: of the forest on tasks that it had not seen, and of seconds before they passed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.learning.forest import ForestModels, ForestTrainer, ShareObservation
from hybrid_scheduler.learning.insight import WINDOW, PredictionErrors, mae_and_r2
from hybrid_scheduler.learning.labels import label_queued
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from instances import workload

INF = float("inf")


def test_errors_are_the_textbook_ones() -> None:
    mae, r2 = mae_and_r2(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 5.0]))
    assert mae == pytest.approx(2 / 3)
    assert r2 == pytest.approx(1 - 2 / 8)
    assert mae_and_r2(np.array([2.0, 2.0]), np.array([1.0, 1.0]))[0] == 1.0
    assert np.isnan(mae_and_r2(np.array([2.0, 2.0]), np.array([1.0, 1.0]))[1])  # nothing to explain
    assert np.isnan(mae_and_r2(np.empty(0), np.empty(0))).all()


def test_only_the_last_tasks_and_what_can_run_count() -> None:
    guesses = PredictionErrors()
    assert np.isnan(guesses.mae_and_r2()).all()
    guesses.add(np.full((10, 2), 99.0), np.ones((10, 2)))
    for _ in range(WINDOW // 10):
        guesses.add(np.full((10, 2), 2.0), np.tile([1.0, INF], (10, 1)))
    assert guesses.count == WINDOW
    assert guesses.mae_and_r2()[0] == 1.0


def test_a_fit_notes_how_the_forest_before_did_on_tasks_it_had_not_seen() -> None:
    trainer = ForestTrainer(interval=20, window=60, n_estimators=5, max_depth=4, tolerance=0.0, seed=1)
    whole = ShareObservation.from_placements(VirtualMultiGPU().run(workload("mixed", 200), HybridML(online=False)))
    before = None
    for first in range(0, 200, 20):
        rows = slice(first, first + 20)
        models = trainer.train(ShareObservation(whole.rows[rows], whole.times[rows], whole.cluster, True))
        assert isinstance(models, ForestModels)
        assert models.last_fit is not None
        window = slice(max(0, first - 40), first + 20)
        assert models.last_fit.samples == len(whole.rows[window])
        if before is None:
            assert (models.last_fit.reason, models.last_fit.tested) == ("first", 0)
            assert np.isnan(models.last_fit.mae)
        else:
            best = label_queued(whole.times[window], whole.cluster)[-20:]
            mae, r2 = mae_and_r2(before.share.predict(whole.rows[rows]), best)
            assert (models.last_fit.mae, models.last_fit.tested) == (mae, 20)
            assert models.last_fit.r2 == r2 or (np.isnan(r2) and np.isnan(models.last_fit.r2))
            assert models.last_fit.reason in ("interval", "drift")
        before = models


def test_seconds_are_judged_by_what_was_predicted_before_they_passed() -> None:
    policy = HybridML(retrain_interval=20)
    lane, predicted, true = Lane(policy, VirtualMultiGPU()), [], []
    tasks = workload("mixed", 300)
    for first in range(0, 300, 5):
        placed = lane.machine.step(tasks.part(first, first + 5), policy)
        if policy.has_durations:
            predicted.append(policy.seconds.copy())
            true.append(placed.times)
        policy.learn(placed)
    assert policy.insight.seconds_tested == 5 * len(true)
    expected = mae_and_r2(np.concatenate(predicted).ravel(), np.concatenate(true).ravel())
    assert (policy.insight.seconds_mae, policy.insight.seconds_r2) == pytest.approx(expected)
    assert policy.insight.seconds_r2 > 0.5  # it has learnt something


def test_the_wall_time_of_a_fit_does_not_get_into_a_file(tmp_path: Path) -> None:
    policy = HybridML(retrain_interval=20)
    Lane(policy, VirtualMultiGPU()).run(workload("mixed", 100))
    assert policy.history.points
    policy.save(tmp_path / "forest.pkl")
    again = HybridML(model=str(tmp_path / "forest.pkl"))
    assert again._models is not None
    assert again._models.last_fit is None
    assert (again.insight.retrains, again.insight.version) == (policy.insight.retrains, 0)
