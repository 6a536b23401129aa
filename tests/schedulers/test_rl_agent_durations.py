"""The agent on tasks that say more than the bare three: taught, it sees learnt times and the place in a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.durations import DurationModel, DurationObservation
from hybrid_scheduler.learning.model_files import read_manifest
from hybrid_scheduler.schedulers import rl_agent
from hybrid_scheduler.schedulers.rl_agent import EXTENDED_FEATURES, FEATURES, GRAPH_FEATURES, ExtendedState, RLAgent
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import pretrain_on_presets, pretrain_on_workloads
from hybrid_scheduler.workloads import WorkloadGenerator

STAND = Cluster.from_dict({"nodes": [{"cpu": 6, "gpu": 2}], "classes": {"gpu": {"speedup_slope": 15.0}}})


def graph(count: int) -> Tasks:
    return WorkloadGenerator(0).generate_preset("cholesky", count, load=5.0, cluster=STAND)


def run(policy: Scheduler, tasks: Tasks) -> Placements:
    return Lane(policy, VirtualMultiGPU(cluster=STAND)).run(tasks)


@pytest.fixture(scope="module")
def agent() -> RLAgent:
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr(rl_agent, "PRETRAIN_DECISIONS", 2000)
        policy = pretrain_on_workloads("rl_agent", [graph(84), graph(56)], STAND)
    assert isinstance(policy, RLAgent)
    policy.learn_every = 0
    return policy


def test_taught_on_smaller_graphs_it_comes_close_to_earliest_finish_with_true_times(agent: RLAgent) -> None:
    tasks = graph(165)
    placements = run(agent, tasks)
    check_schedule(placements)
    eft, greedy = (run(registry.schedulers.create(name), tasks).makespan for name in ("eft", "greedy"))
    assert placements.makespan < 1.15 * eft
    assert placements.makespan < greedy


def test_it_decides_alike_after_saving_and_loading(agent: RLAgent, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent.pth")
    assert read_manifest(tmp_path / "agent.pth")["features"] == [*FEATURES, *EXTENDED_FEATURES]
    loaded = RLAgent(model=str(tmp_path / "agent.pth"), online=False)
    tasks = graph(84)
    again = Lane(loaded, VirtualMultiGPU(cluster=STAND)).run(tasks)
    assert again.finish[0] == run(agent, tasks).finish[0]
    assert loaded.state.shape[2] == len(FEATURES) + len(EXTENDED_FEATURES)
    assert np.allclose(loaded.expected, agent.expected)
    assert np.array_equal(loaded.w1, agent.w1)


def test_an_agent_that_was_not_taught_on_graphs_sees_what_it_always_saw() -> None:
    plain = RLAgent(model="none")
    check_schedule(run(plain, graph(20)))
    assert plain.state.shape[2] == len(FEATURES)


def test_it_sees_ranks_by_learnt_times_and_who_is_critical() -> None:
    edges = edges_from_ids(range(4), [(), (0,), (0,), (1, 2)])
    size = np.array([100.0, 400.0, 100.0, 100.0])
    measured = {"cpu": np.array([1.0, 6.0, 1.0, 1.0]), "gpu": np.array([2.0, 3.0, 2.0, 2.0])}
    tasks = Tasks.build(size, np.full(4, 0.5), np.ones(4), edges=edges, measured=measured)
    seen = DurationObservation.from_tasks(tasks, STAND)
    sight = ExtendedState(DurationModel.fit(seen.features, seen.times, STAND, seed=0), tasks)
    assert np.allclose(sight.expected, np.column_stack([measured["cpu"], measured["gpu"]]))
    place = dict(zip(GRAPH_FEATURES, sight.graph.T, strict=True))
    assert np.allclose(place["upward rank"], [1.0, 0.8, 0.4, 0.2])
    assert np.allclose(place["depth over chain"], [0.0, 0.5, 0.5, 1.0])
    assert np.allclose(sight.criticality, [1.0, 1.0, (3 / 5) ** 4, 1.0])


def test_the_agent_refuses_presets_of_graphs() -> None:
    with pytest.raises(InputError, match="cannot be pretrained on generated graphs"):
        pretrain_on_presets("rl_agent", ["cholesky"], 20, 1.0, 0, STAND)
