"""Models of the default cluster come with the package, and can be made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.learner import Learner
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from hybrid_scheduler.studies import pretraining
from hybrid_scheduler.workloads import WorkloadGenerator


def load(spec: str) -> Learner:
    policy: Learner = registry.schedulers.create(spec)
    policy.load(pretraining.SHIPPED / f"{spec}.model")
    return policy


def test_no_cluster_costs_the_training_of_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    specs = (*pretraining.SHIPPED_SPECS, "rl_agent:order=fifo")
    assert pretraining.find_missing_models(specs, Cluster.default(), warm_start=True) == []
    assert pretraining.find_missing_models(specs, Cluster.default(2), warm_start=True) == ["hybrid_ml"]
    assert pretraining.find_missing_models(("rl_agent:gamma=0.5",), Cluster.default()) == ["rl_agent:gamma=0.5"]


def test_on_another_cluster_the_agent_keeps_its_network_and_forgets_durations() -> None:
    here, there = (pretraining.load_or_train("rl_agent", Cluster.default(gpus)) for gpus in (4, 2))
    assert isinstance(here, RLAgent)
    assert isinstance(there, RLAgent)
    np.testing.assert_array_equal(here.w1, there.w1)
    assert here._order_model is not None
    assert there._order_model is None


def test_the_shipped_forest_is_what_training_makes_now() -> None:
    """If this fails, the training has changed: `make models` writes the files again."""
    shipped, made = load("hybrid_ml"), pretraining.train_model("hybrid_ml", Cluster.default())
    assert isinstance(shipped, HybridML)
    assert isinstance(made, HybridML)
    rows = task_features(WorkloadGenerator(5).generate_preset("mixed", 300, load=0.9))
    for each in (shipped.share_model, made.share_model):
        assert each is not None
        assert each.feature_names_ == FEATURES
    assert shipped.share_model is not None
    assert made.share_model is not None
    assert np.abs(shipped.share_model.predict(rows) - made.share_model.predict(rows)).mean() < 0.01


def test_the_shipped_agent_knows_what_its_training_teaches() -> None:
    """Not trained again here, which takes long: on new tasks it is near the bound, as training leaves it."""
    from hybrid_scheduler.bounds.makespan import lower_bound
    from hybrid_scheduler.core.lane import Lane
    from hybrid_scheduler.core.simulator import VirtualMultiGPU

    agent = load("rl_agent")
    assert isinstance(agent, RLAgent)
    tasks = WorkloadGenerator(5).generate_preset("mixed", 600, load=2.0, cluster=Cluster.default())
    placed = Lane(agent, VirtualMultiGPU()).run(tasks)
    assert placed.makespan / lower_bound(tasks, Cluster.default()).makespan < 1.15
