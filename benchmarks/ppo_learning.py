"""Learning by masked PPO against that of Stable-Baselines3: late binding, the same network and the same figures.

Ours is the loop of `examples/train_ppo.py`. Alike: 64 episodes side by side, rollouts of 128 decisions, four epochs
in batches of 2048, one body of two layers of 64 tanh under both heads, Adam, one thread of torch. Ours takes its tanh
from NumPy, theirs from torch as it comes, and in another row from NumPy, too: what is left is the loop. Theirs learns
on our vectorised environment, and once on its own wrapper around the single one, which also finds a bound at the end
of every episode. It knows no masks: what is not allowed takes the oldest task that fits.
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
REPEATS = 8  # the best counts: on a busy machine three differ by a tenth
Tanh = Callable[[torch.Tensor], torch.Tensor]


class _Body(torch.nn.Module):
    """Two layers of 64."""

    def __init__(self, entries: int, tanh: Tanh) -> None:
        super().__init__()
        self.first, self.second, self.tanh = torch.nn.Linear(entries, 64), torch.nn.Linear(64, 64), tanh

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        """Return what both heads read."""
        return self.tanh(self.second(self.tanh(self.first(seen))))


class _Agent(torch.nn.Module):
    """The network that both sides train, as the example asks its own: one body under two heads."""

    def __init__(self, entries: int, actions: int, tanh: Tanh) -> None:
        super().__init__()
        self.body = _Body(entries, tanh)
        self.actor, self.critic = torch.nn.Linear(64, actions), torch.nn.Linear(64, 1)

    def score(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of all actions."""
        logits: torch.Tensor = self.actor(hidden)
        return logits

    def value(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the return that is expected."""
        expected: torch.Tensor = self.critic(hidden).squeeze(-1)
        return expected


class _Extractor(BaseFeaturesExtractor):
    """The layers that both heads share, as Stable-Baselines3 asks for them."""

    def __init__(self, space: Any, tanh: Tanh) -> None:
        super().__init__(space, 64)
        self.body = _Body(space.shape[0], tanh)

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
    shared, again = (adapt(PickingVectorEnv(places, copy=True, **WORK)) for _ in range(2))
    wrapped = DummyVecEnv([lambda: PickingEnv(**WORK)] * places)
    sides = (
        _learn(ours, places),
        _learn_theirs(ours, shared, steps, torch.tanh),
        _learn_theirs(ours, again, steps, ours["tanh"]),
        _learn_theirs(ours, wrapped, steps, torch.tanh),
    )
    own, same, faster, single = (steps / took for took in side_by_side(REPEATS, *sides, clock=time.process_time))
    return [
        Row("ppo_learning_vs_sb3", own, same, "steps/s", target=2.0),
        Row("ppo_learning_vs_sb3_numpy_tanh", own, faster, "steps/s", target=1.8),
        Row("ppo_learning_vs_sb3_wrapper", own, single, "steps/s", target=2.0),
    ]


def _learn(example: dict[str, Any], places: int) -> Callable[[], object]:
    env = PickingVectorEnv(places, **WORK)
    space: Any = env.single_action_space
    agent = _Agent(env.episodes.seen.shape[1], space.n, example["tanh"])
    flat = example["flatten"](agent)
    optimizer = torch.optim.Adam([flat], example["RATE"], fused=True)
    state = list(env.reset(seed=0))

    def learn() -> None:
        *state[:], rollout, _ = example["collect"](env, agent, *state)
        example["learn"](agent, flat, optimizer, rollout)

    return learn


def _learn_theirs(example: dict[str, Any], env: Any, steps: int, tanh: Tanh) -> Callable[[], object]:
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
            "net_arch": [], "features_extractor_class": _Extractor, "features_extractor_kwargs": {"tanh": tanh}
        },
        device="cpu",
        seed=0,
    )  # fmt: skip
    return lambda: rival.learn(steps, reset_num_timesteps=False)
