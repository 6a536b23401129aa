"""Learning by masked PPO against that of Stable-Baselines3: late binding, the same network and the same figures.

Ours is the loop of `examples/train_ppo.py`, by which `attention_agent` is trained, too. Alike: 64 episodes side by
side, rollouts of 128 decisions, four epochs in batches of 2048, one body of two layers of 64 tanh under both heads,
Adam, one thread of torch. Theirs learns once on our vectorised environment and once on its own wrapper around the
single one, which also finds a bound at the end of every episode. It knows no masks: what is not allowed takes the
oldest task that fits.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stable_baselines3
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv

from benchmarks.rows import Row, side_by_side
from hybrid_scheduler.env import PickingEnv, PickingVectorEnv

EXAMPLES = Path(__file__).parents[1] / "examples"
WORK: dict[str, Any] = {"num_tasks": 100, "load": 1.2, "window": 8}
REPEATS = 3


class _Agent(torch.nn.Module):
    """The network that both sides train, as the example asks its own: one body under two heads."""

    def __init__(self, entries: int, actions: int) -> None:
        super().__init__()
        layers = torch.nn.Linear(entries, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh()
        self.body = torch.nn.Sequential(*layers)
        self.actor, self.critic = torch.nn.Linear(64, actions), torch.nn.Linear(64, 1)

    def score(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits of all actions, those allowed."""
        return torch.where(mask, self.actor(hidden), -50.0)

    def value(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the return that is expected."""
        expected: torch.Tensor = self.critic(hidden)[..., 0]
        return expected


class _Body(BaseFeaturesExtractor):
    """The layers that both heads share."""

    def __init__(self, space: Any, body: torch.nn.Module) -> None:
        super().__init__(space, 64)
        self.body = body

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        """Return what the heads read."""
        hidden: torch.Tensor = self.body(seen)
        return hidden


def ppo_learning() -> list[Row]:
    """Measure decisions a second while learning from them, by CPU time."""
    torch.set_num_threads(1)
    ours = runpy.run_path(str(EXAMPLES / "train_ppo.py"))
    adapt = runpy.run_path(str(EXAMPLES / "train_sb3.py"))["adapt"]
    places, steps = ours["PLACES"], ours["PLACES"] * ours["STEPS"]
    shared = adapt(PickingVectorEnv(places, copy=True, **WORK))
    wrapped = DummyVecEnv([lambda: PickingEnv(**WORK)] * places)
    sides = _learn(ours, places), _learn_theirs(ours, shared, steps), _learn_theirs(ours, wrapped, steps)
    own, same, single = (steps / took for took in side_by_side(REPEATS, *sides, clock=time.process_time))
    return [
        Row("ppo_learning_vs_sb3", own, same, "steps/s", target=2.0),
        Row("ppo_learning_vs_sb3_wrapper", own, single, "steps/s", target=2.0),
    ]


def _learn(example: dict[str, Any], places: int) -> Callable[[], object]:
    env = PickingVectorEnv(places, **WORK)
    space: Any = env.single_action_space
    agent = _Agent(env.episodes.seen.shape[1], space.n)
    optimizer = torch.optim.Adam(agent.parameters(), example["RATE"], fused=True)
    state = list(env.reset(seed=0))

    def learn() -> None:
        *state[:], rollout, _ = example["collect"](env, agent, *state)
        example["learn"](agent, optimizer, rollout)

    return learn


def _learn_theirs(example: dict[str, Any], env: Any, steps: int) -> Callable[[], object]:
    body = _Agent(env.observation_space.shape[0], env.action_space.n).body
    rival = stable_baselines3.PPO(
        "MlpPolicy",
        env,
        n_steps=example["STEPS"],
        batch_size=example["BATCH"],
        n_epochs=example["EPOCHS"],
        gamma=example["GAMMA"],
        gae_lambda=example["LAMBDA"],
        clip_range=example["CLIP"],
        ent_coef=example["ENTROPY"],
        learning_rate=example["RATE"],
        policy_kwargs={
            "net_arch": [], "features_extractor_class": _Body, "features_extractor_kwargs": {"body": body}
        },
        device="cpu",
        seed=0,
    )  # fmt: skip
    return lambda: rival.learn(steps, reset_num_timesteps=False)
