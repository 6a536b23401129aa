"""Learning of `rl_agent` against the DQN of Stable-Baselines3, on the same tasks and the same cluster.

Alike: two layers of 256 ReLUs, batches of 128, one gradient step per decision, Adam, a target network renewed every
100 steps, ε = 0.05, γ = 0.9, priced rewards, one thread of torch. Every side steps through the same long workload and
goes on in each round where it stopped, so no side pays for new episodes.

Different: our network scores each candidate (here two classes of devices) with shared weights and is a dueling double
DQN: a gradient step multiplies 2.5 times as much as theirs, a plain DQN that reads all devices at once and clips its
gradient. As shipped, we decide a few tasks in compiled code and then take their gradient steps together. The second
row is without that: our agent steps through the very same Gymnasium environment and learns after every step.

`dqn_gradient` compares our gradient steps with the same steps by autograd, on the same replay buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch

from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler import WorkloadGenerator
from hybrid_scheduler.core import Tasks
from hybrid_scheduler.core.compiler import compile_loop
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.env import ENV_ID
from hybrid_scheduler.learning.dqn import DQNTrainer, ReplayBuffer, Transitions, init_weights
from hybrid_scheduler.learning.q_network import DQN
from hybrid_scheduler.schedulers.rl_agent import RLAgent

STEPS, REPEATS = 400, 5
BATCH, TARGET_UPDATE, REPLAY, EPSILON = 128, 100, 50_000, 0.05
ALIKE: dict[str, Any] = {"gamma": 0.9, "learning_rate": 5e-4, "seed": 1}


def dqn_learning() -> list[Row]:
    """Measure decisions per second while learning from each: ours as shipped, ours in Gymnasium, theirs."""
    torch.set_num_threads(1)
    tasks = WorkloadGenerator(1).generate_preset("mixed", STEPS * (REPEATS + 2))
    shipped, stepping, rival = _agent(), _agent(), _rival(tasks)
    sides = _shipped(shipped, tasks), _in_gymnasium(stepping, tasks), _theirs(rival)
    ours, stepped, theirs = (STEPS / seconds for seconds in side_by_side(REPEATS, *sides))
    for agent in (shipped, stepping):
        taken = agent.insight.steps
        require(taken >= rival._n_updates, f"we took {taken} gradient steps, they {rival._n_updates}")
    return [
        Row("dqn_learning", ours, theirs, "steps/s", target=1.5),
        Row("dqn_learning_in_gymnasium", stepped, theirs, "steps/s", target=1.5),
    ]


def dqn_gradient() -> list[Row]:
    """Measure gradient steps per second: the gradient written out, and the same network by autograd."""
    generator = np.random.default_rng(0)
    state = generator.normal(size=(4000, 2, 9)).astype(np.float32)
    reward = generator.normal(size=4000).astype(np.float32)
    replay = ReplayBuffer(4000)
    replay.add(Transitions(state, np.ones((4000, 2), np.bool_), generator.integers(0, 2, 4000), reward))
    trainer = DQNTrainer(init_weights(9, 1), ALIKE["gamma"], ALIKE["learning_rate"], BATCH, TARGET_UPDATE)
    network, target = DQN(trainer.weights).requires_grad_(True), DQN(trainer.weights)
    optimizer = torch.optim.Adam(network.parameters(), ALIKE["learning_rate"], fused=True)
    steps = 200

    def by_autograd() -> None:
        now, after = replay.sample(np.random.default_rng(2), steps * BATCH)
        columns = [torch.from_numpy(part).split(BATCH) for part in (*now, after.state, after.possible)]  # type: ignore[no-untyped-call]  # torch's
        for state, possible, action, reward, next_state, next_possible in zip(*columns, strict=True):
            with torch.no_grad():
                choice = network(next_state, next_possible).argmax(1, keepdim=True)
                goal = reward + ALIKE["gamma"] * target(next_state, next_possible).gather(1, choice)[:, 0]
            q = network(state, possible).gather(1, action[:, None])[:, 0]
            optimizer.zero_grad()
            torch.nn.functional.smooth_l1_loss(q, goal).backward()  # type: ignore[no-untyped-call]  # torch's
            optimizer.step()

    ours, autograd = side_by_side(
        REPEATS, lambda: trainer.train(replay, np.random.default_rng(2), steps, 0.0), by_autograd
    )
    return [Row("dqn_gradient", steps / ours, steps / autograd, "steps/s", target=1.3)]


def _agent() -> RLAgent:
    return RLAgent(
        batch=BATCH,
        replay=REPLAY,
        steps_per_task=1.0,
        target_update=TARGET_UPDATE,
        epsilon=EPSILON,
        epsilon_min=EPSILON,
        **ALIKE,
    )


def _shipped(agent: RLAgent, tasks: Tasks) -> Callable[[], object]:
    lane, parts = Lane(agent, VirtualMultiGPU()), iter(range(0, len(tasks), STEPS))

    def run() -> object:
        first = next(parts)
        return lane.run(tasks.part(first, first + STEPS))

    return run


def _in_gymnasium(agent: RLAgent, tasks: Tasks) -> Callable[[], object]:
    env, one = _environment(tasks), tasks.part(0, 1)
    env.reset()
    episode: Any = env.unwrapped._episode  # type: ignore[attr-defined]  # our environment's

    def run() -> None:
        for _ in range(STEPS):
            agent.prepare(one, episode.times, episode.view)
            ask, self = compile_loop(_ask, {"decide": RLAgent.choose}, agent)
            _, device = ask(self, episode.task._replace(row=0), episode.view)
            env.step(device)
            agent.learn(episode._parts[-1])

    return run


def _ask(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Ask for one decision; `decide` is bound by `compile_loop`."""
    return decide(policy, task, view)  # type: ignore[name-defined,no-any-return]  # noqa: F821  # bound when the loop is


def _theirs(rival: stable_baselines3.DQN) -> Callable[[], object]:
    return lambda: rival.learn(STEPS, reset_num_timesteps=False)


def _rival(tasks: Tasks) -> stable_baselines3.DQN:
    return stable_baselines3.DQN(
        "MlpPolicy",
        _environment(tasks),
        policy_kwargs={"net_arch": [256, 256]},
        batch_size=BATCH,
        buffer_size=REPLAY,
        learning_starts=2 * BATCH,  # as ours
        train_freq=1,
        gradient_steps=1,
        target_update_interval=TARGET_UPDATE,
        exploration_initial_eps=EPSILON,
        exploration_final_eps=EPSILON,
        device="cpu",
        **ALIKE,
    )


def _environment(tasks: Tasks) -> gymnasium.Env[Any, Any]:
    return _SameTasks(gymnasium.make(ENV_ID), tasks)


class _SameTasks(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The environment with these tasks in every episode."""

    def __init__(self, env: gymnasium.Env[Any, Any], tasks: Tasks) -> None:
        super().__init__(env)
        self._tasks = tasks

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return super().reset(seed=seed, options={**(options or {}), "tasks": self._tasks})
