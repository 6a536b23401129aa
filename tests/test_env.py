"""The environment: Gymnasium's rules, the simulator's clocks, and rewards that point the right way."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core import Cluster, Placements, Task
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.env import (
    ENV_ID,
    PICK_ID,
    PickingEnv,
    PickingEpisode,
    SchedulingEnv,
    observe,
    policy_from,
    register,
)
from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.workloads import WorkloadGenerator
from instances import TWO_NODES, workload
from ordered_policies import ShortestWaiting

SMALL = Cluster.default(gpus=2, memory=250.0)


def devices_of(placements: Placements) -> list[int]:
    return [placements.decision(row).device for row in range(len(placements))]


def played(
    env: SchedulingEnv, actions: list[int], seed: int = 3, **options: Any
) -> tuple[list[float], dict[str, Any]]:
    env.reset(seed=seed, options=options)
    rewards = []
    for number, action in enumerate(actions, start=1):
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        assert terminated == (number == len(actions))
        assert not truncated
    return rewards, info


def assert_same_placements(one: Placements, other: Placements) -> None:
    for column in ("gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "finish", "status"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


@pytest.mark.parametrize("options", [{}, {"cluster": TWO_NODES, "reward": "turnaround"}, {"reward": "execution"}])
def test_gymnasium_finds_nothing_wrong(options: dict[str, Any]) -> None:
    register()  # a second time does no harm
    check_env(gymnasium.make(ENV_ID, num_tasks=20, **options).unwrapped)


def test_the_same_seed_is_the_same_episode() -> None:
    actions = np.random.default_rng(0).integers(0, 5, 50).tolist()
    one, other = SchedulingEnv(num_tasks=50), SchedulingEnv(num_tasks=50)
    assert played(one, actions)[0] == played(other, actions)[0]
    assert_same_placements(one.placements, other.placements)
    np.testing.assert_array_equal(one.reset()[0], other.reset()[0])  # and so are those that follow
    assert one.reset()[1]["seed"] != one.reset()[1]["seed"]


def test_a_seed_draws_the_generators_workload() -> None:
    env = SchedulingEnv("pareto", 30, load=1.1, cluster=SMALL)
    played(env, [0] * 30, seed=8)
    tasks = WorkloadGenerator(8).generate_preset("pareto", 30, load=1.1, cluster=SMALL)
    np.testing.assert_array_equal(env.placements.tasks.size, tasks.size)
    np.testing.assert_array_equal(env.placements.tasks.arrival_time, tasks.arrival_time)


@pytest.mark.parametrize("cluster", [Cluster.default(), SMALL, TWO_NODES])
def test_the_actions_of_eft_give_the_schedule_of_eft(cluster: Cluster) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 120, load=1.3, cluster=cluster)
    expected = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create("eft"))
    env = SchedulingEnv(num_tasks=120, load=1.3, cluster=cluster)
    _, info = played(env, devices_of(expected))
    assert_same_placements(env.placements, expected)
    bound = lower_bound(tasks, cluster).makespan
    assert info["makespan"] == expected.makespan
    assert info["bound"] == bound
    assert info["makespan_over_bound"] == expected.makespan / bound >= 1.0


def test_the_mask_shows_where_a_task_fits_and_others_spill() -> None:
    env = SchedulingEnv(num_tasks=40, cluster=SMALL)
    _, info = env.reset(seed=2)
    tasks = WorkloadGenerator(2).generate_preset("mixed", 40, cluster=SMALL)
    for memory in tasks.memory_required:
        fits = int(memory <= 250.0)
        assert info["action_mask"].tolist() == [1, fits, fits]
        info = env.step(1)[-1]
    assert env.placements.spilled.any()
    np.testing.assert_array_equal(env.placements.spilled, tasks.memory_required > 250.0)
    check_schedule(env.placements)


def test_tasks_that_fit_nowhere_are_passed_over() -> None:
    needs = [9000.0, 100.0, 9000.0, 9000.0, 200.0, 9000.0]
    tasks = [Task(number, 1000.0, 0.5, memory) for number, memory in enumerate(needs)]
    env = SchedulingEnv(cluster=TWO_NODES)
    _, info = played(env, [0, 1], tasks=tasks)
    assert env.placements.rejected.tolist() == [True, False, True, True, False, True]
    assert info["makespan"] == env.placements.makespan > 0
    with pytest.raises(InputError, match="nothing to decide"):
        env.reset(options={"tasks": tasks[2:4]})


def test_it_can_be_vectorised() -> None:
    envs = gymnasium.make_vec(ENV_ID, num_envs=3, num_tasks=5)
    observations, info = envs.reset(seed=1)
    assert observations.shape == (3, 13)
    assert info["action_mask"].shape == (3, 5)
    for _ in range(5):
        observations, rewards, terminated, _, info = envs.step(np.array([0, 1, 2]))
        assert (rewards < 0).all()
    assert terminated.all()
    assert (info["makespan_over_bound"] >= 1.0).all()
    envs.close()


def test_the_price_prefers_the_device_that_the_bound_prefers() -> None:
    heavy, light = Task(0, 4000.0, 1.0, 10.0), Task(1, 4000.0, 0.0, 500.0)
    crowd = [Task(2 + k, 4000.0, k / 100, 200.0) for k in range(101)]
    env = SchedulingEnv()

    def reward(task: Task, device: int) -> float:
        env.reset(options={"tasks": [task, *crowd]})
        return env.step(device)[1]

    assert reward(heavy, 1) > reward(heavy, 0)
    assert reward(light, 0) > reward(light, 1)


def test_plain_rewards_are_seconds_of_typical_tasks() -> None:
    for name in ("turnaround", "execution"):
        env = SchedulingEnv(num_tasks=60, load=2.0, reward=name)
        rewards, _ = played(env, [0] * 60)
        seconds = getattr(env.placements, name) / env.placements.times.min(axis=1).mean()
        np.testing.assert_allclose(rewards, -np.minimum(seconds, 50.0))
        assert (min(rewards) == -50.0) == (name == "turnaround")


def test_a_model_races_as_a_scheduler_and_sees_what_it_saw() -> None:
    env = SchedulingEnv(num_tasks=80, load=1.3)
    seen, _ = env.reset(seed=6)
    saw: list[Any] = []

    def predict(observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        saw.append(observation)
        return np.argmin(observation[3::2]), None

    tasks = WorkloadGenerator(6).generate_preset("mixed", 80, load=1.3)
    policy = policy_from(predict, "shortest queue")
    placements = VirtualMultiGPU(backlog="exact").run(tasks, policy)  # as an environment shows it
    check_schedule(placements)
    assert (policy.name, policy.clairvoyant) == ("shortest queue", False)
    for observation, device in zip(saw, devices_of(placements), strict=True):
        np.testing.assert_array_equal(observation, seen)
        seen = env.step(device)[0]
    assert_same_placements(env.placements, placements)


@pytest.mark.parametrize("options", [{}, {"cluster": TWO_NODES, "window": 3}])
def test_gymnasium_finds_nothing_wrong_with_late_binding(options: dict[str, Any]) -> None:
    check_env(gymnasium.make(PICK_ID, num_tasks=20, **options).unwrapped)


def shortest(env: PickingEnv, info: dict[str, Any]) -> int:
    """Return the position of the shortest task that the device can run, as `ShortestWaiting` picks it."""
    episode = env._episode
    assert isinstance(episode, PickingEpisode)
    waiting, device, view = episode._ask()
    seconds = episode.times[waiting.row[: env.window], view.device_class[device]]
    allowed = info["action_mask"][:-1][: len(seconds)].astype(bool)
    return int(np.argmin(np.where(allowed, seconds, np.inf)))


@pytest.mark.parametrize("cluster", [Cluster.default(), SMALL, TWO_NODES])
def test_the_picks_of_a_policy_give_its_schedule_and_their_return_is_the_sum_of_turnarounds(cluster: Cluster) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 80, load=1.3, cluster=cluster)
    expected = VirtualMultiGPU(cluster=cluster).run(tasks, ShortestWaiting())
    env, total, over = PickingEnv(num_tasks=80, load=1.3, cluster=cluster, window=80), 0.0, False
    seen, info = env.reset(seed=3)
    while not over:
        assert env.observation_space.contains(seen)
        seen, reward, over, _, info = env.step(shortest(env, info))
        total += reward
    assert_same_placements(env.placements, expected)
    typical = expected.times[expected.ran].min(axis=1).mean()
    assert np.isclose(total, -expected.turnaround[expected.ran].sum() / typical)
    assert info["mean_turnaround"] / info["bound"] == info["turnaround_over_bound"] >= 1.0


def test_a_device_may_decline_while_others_run_and_only_then() -> None:
    env = PickingEnv(num_tasks=30, load=3.0, window=4)
    _, info = env.reset(seed=1)
    declined, over = 0, False
    assert info["action_mask"].tolist() == [1, 0, 0, 0, 0]
    with pytest.raises(InputError, match="or 4: none for now"):
        env.step(5)
    _, reward, over, _, info = env.step(4)  # not allowed: the oldest task is taken
    assert reward < 0.0
    while not over:
        allowed = np.flatnonzero(info["action_mask"])
        declined += allowed[-1] == 4
        _, reward, over, _, info = env.step(int(allowed[-1]))
        assert (reward == 0.0) == (allowed[-1] == 4)
    assert declined > 0
    check_schedule(env.placements)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    for wrong in ({"window": 0}, {"reward": "price"}):
        with pytest.raises(InputError):
            PickingEnv(**wrong)


def test_an_observation_has_the_documented_order() -> None:
    machine = VirtualMultiGPU(2)
    view: View = machine.view
    view.free[:] = 1.0, 3.0, 5.0
    task = TaskView(0, 2000.0, 0.25, 1000.0, 2.0, 1.0, 2.0, np.full(2, np.nan))
    expected = [0.2, 0.25, 0.2, 0.0, 0.0, np.log1p(10.0) / 5, 1.0, np.log1p(30.0) / 5, 1.0]
    np.testing.assert_allclose(observe(task, view), expected, rtol=1e-6)


def test_render_is_one_line() -> None:
    env = SchedulingEnv(num_tasks=2, render_mode="ansi")
    assert env.render() is None
    env.reset(seed=0)
    env.step(1)
    line = env.render()
    assert line is not None
    assert "1/2 tasks" in line
    assert "gpu3" in line
    assert "\n" not in line
    assert SchedulingEnv().render() is None


def test_what_cannot_be_done_is_said() -> None:
    for options in ({"reward": "fame"}, {"render_mode": "human"}, {"typical": 0.0}, {"preset": "cholesky"}):
        with pytest.raises(InputError):
            SchedulingEnv(**options)
    env = SchedulingEnv(num_tasks=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(InputError, match="no task has been placed"):
        _ = env.placements
    with pytest.raises(UnknownNameError, match="did you mean 'load'"):
        env.reset(options={"lode": 1.0})
    with pytest.raises(SchedulerError, match="order of arrival"):
        env.reset(options={"tasks": workload("layered", 20)})
    env.reset(seed=0)
    with pytest.raises(InputError, match="from 0 to 4"):
        env.step(5)
    env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
