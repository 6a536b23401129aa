"""The RL agent: learns an obvious answer, learns alike twice, is blind to the order of devices, keeps its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.dqn import ReplayBuffer, Transitions, init_weights
from hybrid_scheduler.learning.model_files import manifest_path
from hybrid_scheduler.learning.q_network import DQN
from hybrid_scheduler.schedulers.explain import explain
from hybrid_scheduler.schedulers.rl_agent import FEATURES, QUEUE_SLOPE, RLAgent, add_costs, score
from instances import TWO_NODES, workload


def run(agent: RLAgent, tasks: Tasks, cluster: Cluster | None = None) -> Placements:
    return Lane(agent, VirtualMultiGPU(cluster=cluster or Cluster.default())).run(tasks)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of an agent that has watched `price` for a while."""
    agent = RLAgent(gamma=0.0, seed=4)
    for preset in ("mixed", "long_tail"):
        agent.pretrain(workload(preset, 1500, seed=70, load=2.0), Cluster.default())
    path = tmp_path_factory.mktemp("agent") / "agent.pth"
    agent.save_model(path)
    return path


def obvious(count: int) -> tuple[Tasks, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Small tasks are about ten times faster on the CPU, large ones on the GPU."""
    generator = np.random.default_rng(0)
    small = generator.random(count) < 0.5
    luck = generator.uniform(0.5, 1.5, count)
    tasks = Tasks.build(
        np.where(small, 200.0, 4000.0),
        generator.random(count),
        np.full(count, 50.0),
        arrival_time=np.cumsum(generator.exponential(2.0, count)),
        measured={"cpu": luck * np.where(small, 0.05, 0.5), "gpu": np.where(small, 0.5, 0.05)},
    )
    return tasks, small


@pytest.mark.parametrize(
    ("reward", "gamma"), [("price", 0.0), ("price", 0.9), ("turnaround", 0.9), ("execution", 0.0)]
)
def test_it_learns_an_obvious_answer_from_scratch(reward: str, gamma: float) -> None:
    tasks, small = obvious(2000)
    placements = run(RLAgent(reward=reward, gamma=gamma, epsilon_decay=0.995, energy_weight=0.0), tasks)
    learnt = slice(1600, None)
    right = placements.gpu_fraction[learnt] == (~small[learnt])
    assert right.mean() > 0.95


def test_pretrained_it_beats_eft_under_load(trained: Path) -> None:
    for preset, load in (("mixed", 2.0), ("long_tail", 3.6)):
        tasks = workload(preset, 2000, seed=9, load=load)
        ours = run(registry.schedulers.create(f"rl_agent:model={trained}:gamma=0.0"), tasks).makespan
        eft = VirtualMultiGPU().run(tasks, registry.schedulers.create("eft")).makespan
        assert ours < eft
        assert ours / lower_bound(tasks, Cluster.default()).makespan < 1.08


def test_shortest_first_by_learnt_times_cuts_turnaround_and_keeps_the_makespan(trained: Path) -> None:
    tasks = workload("mixed", 1000, seed=5, load=2.0)
    fifo, ordered = (
        run(RLAgent(gamma=0.0, model=str(trained), order=order), tasks) for order in ("fifo", "shortest")
    )
    check_schedule(ordered)
    assert ordered.turnaround.mean() < 0.5 * fifo.turnaround.mean()
    assert ordered.makespan < 1.03 * fifo.makespan


@pytest.mark.parametrize("order", ["shortest", "fifo"])
def test_more_energy_weight_means_less_energy_and_more_time(trained: Path, order: str) -> None:
    tasks = workload("mixed", 600, load=0.7)
    agents = [
        RLAgent(gamma=0.0, model=str(trained), order=order, energy_weight=weight, epsilon_min=0.0, online=False)
        for weight in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    runs = [run(agent, tasks) for agent in agents]
    assert (np.diff([placed.energy.sum() for placed in runs]) < 0).all()
    assert (np.diff([placed.turnaround.mean() for placed in runs]) > 0).all()


def test_it_learns_alike_twice_and_by_another_seed_otherwise() -> None:
    tasks = workload("mixed", 700, load=1.5)
    one, same, other = (run(RLAgent(seed=seed), tasks).finish for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_it_decides_alike_after_saving_and_loading(trained: Path, tmp_path: Path) -> None:
    tasks = workload("mixed", 300, seed=5)
    agent = RLAgent(model=str(trained), online=False)
    agent.save_model(tmp_path / "copy.pth")
    loaded = RLAgent(model=str(tmp_path / "copy.pth"), online=False)
    assert np.array_equal(run(agent, tasks).finish, run(loaded, tasks).finish)


def test_files_that_are_not_its_own_are_refused(trained: Path, tmp_path: Path) -> None:
    copy = tmp_path / "agent.pth"
    copy.write_bytes(trained.read_bytes()[:-9])
    manifest_path(copy).write_text(manifest_path(trained).read_text())
    with pytest.raises(InputError, match="SHA-256 differs"):
        RLAgent(model=str(copy))
    with pytest.raises(InputError, match="does not exist"):
        RLAgent(model=str(tmp_path / "none.pth"))


def test_the_order_of_devices_does_not_matter(trained: Path) -> None:
    cpu = DeviceClass("cpu", kind="cpu", watts=30.0)
    fast, slow = DeviceClass("fast", watts=120.0, speed=2.0), DeviceClass("slow", watts=60.0)
    tasks = workload("mixed", 200, seed=6)
    chosen = []
    for classes in ((cpu, fast, slow), (cpu, slow, fast)):
        cluster = Cluster(classes, (Node({"cpu": 1, "fast": 2, "slow": 2}),))
        placements = run(RLAgent(model=str(trained), online=False, epsilon_min=0.0, fallback=False), tasks, cluster)
        names = [each.device_class.name for each in cluster.devices]
        chosen.append([names[placements.decision(row).device] for row in range(len(tasks))])
    assert chosen[0] == chosen[1]


def test_the_compiled_network_says_what_torch_says() -> None:
    weights = init_weights(len(FEATURES), seed=3)
    agent = RLAgent(seed=3)
    states = np.random.default_rng(0).normal(size=(50, 2, len(FEATURES))).astype(np.float32)
    q = DQN(weights)(torch.from_numpy(states), torch.ones(50, 2, dtype=torch.bool)).numpy()
    ours = np.array([[score(agent, seen) for seen in pair] for pair in states])
    assert np.allclose(ours[:, 0] - ours[:, 1], q[:, 0] - q[:, 1], atol=1e-5)


def test_replay_pairs_every_decision_with_the_one_after_it() -> None:
    replay = ReplayBuffer(capacity=10)
    for start in (0, 7, 14):
        numbers = np.arange(start, start + 7)
        state = np.repeat(numbers, 2).reshape(7, 2, 1).astype(np.float32)
        replay.add(Transitions(state, np.ones((7, 2), bool), numbers, numbers.astype(np.float32)))
    now, after = replay.sample(np.random.default_rng(0), 500)
    assert np.array_equal(after.action, now.action + 1)
    assert now.action.min() >= 11
    assert now.action.max() == 19


def test_it_schedules_several_nodes_and_classes_and_small_memories() -> None:
    placements = run(RLAgent(), workload("mixed", 200), TWO_NODES)
    check_schedule(placements)


@pytest.mark.parametrize(
    "options", [{"reward": "love"}, {"gamma": 2.0}, {"epsilon": -1.0}, {"energy_weight": 3.0}, {"order": "l"}]
)
def test_impossible_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        RLAgent(**options)  # type: ignore[arg-type]  # wrong on purpose


def test_it_tells_how_learning_goes() -> None:
    agent = RLAgent()
    run(agent, workload("mixed", 600))
    assert agent.insight.steps > 0
    assert agent.insight.epsilon < 1.0


def test_without_queues_in_its_state_it_cannot_tell_a_busy_device_from_a_free_one() -> None:
    tasks = workload("mixed", 300, load=2.0)
    blind, seeing = RLAgent(state="task", online=False, epsilon=0.0), RLAgent(online=False, epsilon=0.0)
    for agent in (blind, seeing):
        run(agent, tasks)
    assert not blind.state[..., 6:].any()
    assert seeing.state[..., 6:].any()


def test_its_explanation_tells_what_every_candidate_promises() -> None:
    agent, machine = RLAgent(epsilon=0.0), VirtualMultiGPU()
    tasks = workload("mixed", 3)
    agent.prepare(tasks, np.full((3, 2), np.nan), machine.view)
    task = TaskView(0, float(tasks.size[0]), 0.5, 100.0, 0.0, 1.0, 0.0, np.full(2, np.nan))
    told = explain(agent, task, machine.view)
    scores = {each.device: each.score for each in told.candidates if each.score is not None}
    assert set(scores) == {0, 1}  # the CPU and the least loaded GPU
    assert max(scores, key=lambda device: scores[device]) == told.device


def test_a_failed_class_keeps_its_place_in_what_is_learnt() -> None:
    agent, machine = RLAgent(), VirtualMultiGPU(2)
    lane = Lane(agent, machine)
    lane.run(workload("mixed", 100))
    for device in (1, 2):
        machine.fail(device)
    placements = lane.run(workload("mixed", 100, seed=3))
    assert (placements.gpu_fraction == 0).all()


def test_advantages_are_corrected_by_waits_and_by_what_learnt_durations_cost() -> None:
    agent = RLAgent(model="none")
    agent.classes, agent.time_scale = 2, 2.0
    agent._allocate(1)
    agent.possible[:], agent.wait[:] = True, [0.0, 10.0]
    assert add_costs(agent, 0, 0, 1.0, False) == pytest.approx(1.0 + QUEUE_SLOPE * 2.5)
    assert add_costs(agent, 0, 1, 1.0, False) == pytest.approx(1.0 - QUEUE_SLOPE * 2.5)
    agent.prices, agent.seconds = np.array([0.5, 2.0]), np.array([[8.0, 1.0]])
    assert add_costs(agent, 0, 0, 1.0, True) == pytest.approx(0.5 * (1.0 + QUEUE_SLOPE * 2.5 - 2.0))
    assert add_costs(agent, 0, 1, 1.0, True) == pytest.approx(0.5 * (1.0 - QUEUE_SLOPE * 2.5 - 1.0))


def test_prices_come_with_the_updates_of_the_trainer_and_pretraining_goes_without_them() -> None:
    tasks = workload("mixed", 200, load=2.0)
    agent = RLAgent(model="none")
    agent.pretrain(tasks, Cluster.default())
    assert agent.adds_costs
    assert len(agent.prices) == 2
    assert (agent.prices > 0).all()
