"""Many episodes in one call: Gymnasium's rules, the single environment's observations, the simulator's times."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.late_binding import Waiting
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.env import (
    ENV_ID,
    PICK_ID,
    PICK_VECTOR_ID,
    VECTOR_ID,
    PickingEnv,
    PickingVectorEnv,
    SchedulingEnv,
    SchedulingVectorEnv,
)
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from instances import TWO_NODES

SMALL = Cluster.default(gpus=2, memory=250.0)  # not every task fits a GPU
NAMES = [(VECTOR_ID, ENV_ID), (PICK_VECTOR_ID, PICK_ID)]


def draw(seed: int, cluster: Cluster, count: int = 40) -> Tasks:
    return WorkloadGenerator(seed).generate_preset("mixed", count, load=1.2, cluster=cluster)


MIXED_CLUSTERS = [(draw(1, SMALL), SMALL), (draw(2, TWO_NODES, 25), TWO_NODES)]


class Replay(Scheduler):
    """Repeats actions, whether a task fits or not."""

    clairvoyant = False

    def __init__(self, actions: list[int]) -> None:
        self._actions = actions

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        return float(view.kind[self._actions[task.row]]), self._actions[task.row]


class ReplayPicks(Scheduler):
    """Repeats answers to the questions of devices that can run one of the oldest `window` tasks."""

    clairvoyant = False

    def __init__(self, answers: list[int], window: int) -> None:
        self._answers, self._window = iter(answers), window

    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        fits = waiting.memory_required[waiting.row[: self._window]] <= view.memory[device]
        if not fits.any():
            return -1
        answer = next(self._answers)
        can_wait = bool((waiting.running >= 0).any())
        allowed = (answer == self._window and can_wait) or (answer < len(fits) and bool(fits[answer]))
        if not allowed:
            return int(np.argmax(fits))
        return -1 if answer == self._window else answer


def follow_first(env: SchedulingVectorEnv, seed: int) -> tuple[int, list[int], list[float], Floats]:
    """Play at random until the first place ends; return its workload, actions, rewards and finishes."""
    env.reset(seed=seed)
    workload = int(env.episodes.episode[0])
    generator, actions, rewards = np.random.default_rng(seed), [], []
    while True:
        taken = generator.integers(0, env.single_action_space.n, env.num_envs)  # type: ignore[attr-defined]  # of a Discrete space
        _, reward, ended, _, _ = env.step(taken)
        actions.append(int(taken[0]))
        rewards.append(float(reward[0]))
        if ended[0]:
            return workload, actions, rewards, env.episodes.finish[0].copy()


@pytest.mark.parametrize(("name", "alone"), NAMES)
def test_it_is_a_vector_environment_of_gymnasium(name: str, alone: str) -> None:
    single = gymnasium.make(alone, num_tasks=20)
    env = gymnasium.make_vec(name, num_envs=3, num_tasks=20, pool=2)
    assert env.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
    assert env.single_observation_space == single.observation_space
    assert env.single_action_space == single.action_space
    recorded = RecordEpisodeStatistics(env)
    observation, info = recorded.reset(seed=1)
    for _ in range(60):
        assert env.observation_space.contains(observation)
        mask = info["action_mask"]
        actions = np.array([env.single_action_space.sample(each) for each in mask])
        observation, reward, ended, truncated, info = recorded.step(actions)
        assert reward.shape == ended.shape == truncated.shape == (3,)
        if ended.any():
            break
    assert not truncated.any()
    np.testing.assert_array_equal(info["_final_info"], ended)
    np.testing.assert_allclose(info["episode"]["r"][ended], info["final_info"]["return"][ended])
    assert not info["final_obs"][ended].any()
    assert observation[ended].any(), "the next episode has begun"


@pytest.mark.parametrize("kind", [SchedulingVectorEnv, PickingVectorEnv])
def test_the_same_seed_is_the_same_play(kind: type[SchedulingVectorEnv]) -> None:
    one, other = kind(4, workloads=MIXED_CLUSTERS), kind(4, workloads=MIXED_CLUSTERS)
    first = follow_first(one, seed=5)
    assert first[:3] == follow_first(other, seed=5)[:3]
    assert first[:3] == follow_first(one, seed=5)[:3], "also after other episodes"
    begun = {tuple(np.asarray(one.reset()[0]).ravel()) for _ in range(8)}
    assert len(begun) > 1, "without a seed the sequence goes on"


def typical(env: Any) -> Any:
    """Return the typical seconds of every workload of an environment."""
    return env.episodes.typical


@pytest.mark.parametrize("workload", MIXED_CLUSTERS)
def test_dispatch_gives_the_simulators_times(workload: tuple[Tasks, Cluster]) -> None:
    tasks, cluster = workload
    env = SchedulingVectorEnv(3, workloads=[workload])
    for seed in range(3):
        _, actions, rewards, finish = follow_first(env, seed)
        placements = VirtualMultiGPU(cluster=cluster).run(tasks, Replay(actions))
        np.testing.assert_array_equal(finish, placements.finish)
        np.testing.assert_allclose(rewards, -np.minimum(placements.turnaround / typical(env)[0], 50.0))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_late_binding_gives_the_simulators_times(seed: int) -> None:
    env = PickingVectorEnv(3, workloads=MIXED_CLUSTERS, window=6)
    number, actions, rewards, finish = follow_first(env, seed)
    tasks, cluster = MIXED_CLUSTERS[number]
    placements = VirtualMultiGPU(cluster=cluster).run(tasks, ReplayPicks(actions, 6))
    np.testing.assert_array_equal(finish[: len(tasks)], placements.finish)
    np.testing.assert_allclose(-sum(rewards) * typical(env)[number], placements.turnaround.sum())


@pytest.mark.parametrize(("kind", "single"), [(SchedulingVectorEnv, SchedulingEnv), (PickingVectorEnv, PickingEnv)])
def test_it_sees_what_the_single_environment_sees(
    kind: type[SchedulingVectorEnv], single: type[SchedulingEnv]
) -> None:
    tasks = draw(7, SMALL)
    many, one = kind(1, workloads=[(tasks, SMALL)]), single(cluster=SMALL, reward="turnaround")
    (seen,), told = many.reset(seed=0)
    alone, info = one.reset(options={"tasks": tasks})
    generator, ended = np.random.default_rng(3), False
    while not ended:
        np.testing.assert_allclose(seen, alone, rtol=1e-6)
        np.testing.assert_array_equal(told["action_mask"][0], info["action_mask"])
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        (seen,), (reward,), _, _, told = many.step(np.array([action]))
        alone, expected, ended, _, info = one.step(action)
        assert reward == pytest.approx(expected)
    assert told["_final_obs"][0]


def test_energy_and_cost_count_by_their_weights() -> None:
    def play(**weights: Any) -> list[float]:
        return follow_first(SchedulingVectorEnv(1, workloads=MIXED_CLUSTERS[:1], **weights), seed=1)[2]

    plain, both = play(), play(turnaround=0.0, energy=0.001, cost=2.0)
    tasks, cluster = MIXED_CLUSTERS[0]
    env = SchedulingVectorEnv(1, workloads=MIXED_CLUSTERS[:1])
    _, actions, _, _ = follow_first(env, seed=1)
    placements = VirtualMultiGPU(cluster=cluster).run(tasks, Replay(actions))
    charged = (0.001 * placements.energy + 2.0 * placements.cost) / typical(env)[0]
    np.testing.assert_allclose(both, -charged)
    together = play(turnaround=1.0, energy=0.001, cost=2.0)
    np.testing.assert_allclose(together, -np.minimum(-np.array(plain) + charged, 50.0))


def test_waiting_that_is_charged_while_it_lasts_gives_the_same_returns() -> None:
    played = []
    for accrues in (False, True):
        env = PickingVectorEnv(8, num_tasks=20, load=1.2, window=4, accrues=accrues)
        _, info = env.reset(seed=3)
        rewards, returns = [], list[float]()
        for step in range(120):
            put_off = info["action_mask"].shape[1] - 1  # what the mask forbids takes the oldest that fits
            _, reward, _, _, info = env.step(np.full(8, put_off if step % 3 == 0 else step % 4))
            rewards.append(reward.copy())
            if "final_info" in info:
                returns += info["final_info"]["return"][info["_final_info"]].tolist()
        played.append((np.array(rewards), returns))
    (late, returns), (accrued, same) = played
    assert same == pytest.approx(returns, rel=1e-9)
    put_off = late == 0.0
    assert put_off.sum() > 20  # that costs nothing at the time …
    assert (accrued[put_off] < 0.0).mean() > 0.5  # … or at once, unless another idle device is asked at the same time
    assert accrued[put_off].max() < 1e-9


def test_observations_are_shared_unless_copies_are_asked_for() -> None:
    shared, copied = (SchedulingVectorEnv(2, workloads=MIXED_CLUSTERS, copy=copy) for copy in (False, True))
    for env, same in ((shared, True), (copied, False)):
        before, _ = env.reset(seed=1)
        after, *_ = env.step(np.zeros(2, np.int64))
        assert (before is after) == same


def test_padded_devices_are_masked() -> None:
    env = SchedulingVectorEnv(16, workloads=MIXED_CLUSTERS)
    _, info = env.reset(seed=0)
    small = env.episodes.episode == 0
    assert small.any()
    assert not small.all()
    assert not info["action_mask"][small, 3:].any()
    assert info["action_mask"][~small, 3:].any()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"preset": "cholesky"}, "has dependencies"),
        ({"pool": 0}, "pool is 0"),
        ({"num_envs": 0}, "number of episodes is 0"),
        ({"energy": -1.0}, "weight of energy is -1"),
        ({"workloads": []}, "no workload"),
    ],
)
def test_bad_settings_are_named(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        SchedulingVectorEnv(**{"num_tasks": 5, **options})


def test_bad_actions_and_options_are_named() -> None:
    env = SchedulingVectorEnv(2, workloads=MIXED_CLUSTERS)
    for actions in ([0], [0, 99], [-1, 0]):
        with pytest.raises(InputError, match="expected 2 numbers from 0"):
            env.step(np.array(actions))
    with pytest.raises(UnknownNameError, match="preset"):
        env.reset(options={"preset": "mixed"})


@pytest.mark.parametrize(
    ("name", "arguments", "printed"),
    [
        ("train_ppo", ["--steps", "8192"], "8,192 decisions: mean return"),
        ("train_sb3", ["--algorithm", "ppo", "--steps", "2048"], "mean"),
    ],
)
def test_the_examples_train(
    name: str, arguments: list[str], printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parents[1] / "examples" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    runpy.run_path(str(path), run_name="__main__")
    assert printed in capsys.readouterr().out
