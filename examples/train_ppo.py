"""Masked PPO on late binding in one file: rollouts, advantages, clipped updates, nothing hidden.

`HybridSchedulerPickVector-v0` asks what an idle device takes of the tasks that wait; a small network learns it.
"""

# ruff: noqa: T201  # an example that prints what it finds

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

import hybrid_scheduler.env  # registers the environments

PLACES, STEPS, EPOCHS, BATCH = 64, 128, 4, 2048
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 3e-3
TASK_ENTRIES = 6  # of an observation
UNIT = 0.05  # of the rewards: returns of the order of 1 are what a network starts near
NEVER = -50.0  # the logit of what is not allowed: e to the -1e9 takes forty times as long


class Agent(nn.Module):
    """Scores the tasks that wait, each by the same network whatever its position, and estimates the return."""

    def __init__(self, entries: int, actions: int) -> None:
        super().__init__()
        self.devices = entries - TASK_ENTRIES * (actions - 1)  # entries that describe the devices, before the tasks
        self.inner = nn.Linear(TASK_ENTRIES + self.devices, 64)
        self.actor, self.critic = nn.Linear(64, 1), nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def body(self, seen: Tensor) -> Tensor:
        """Return what both heads read: a row for every position."""
        tasks = seen[:, self.devices :].reshape(len(seen), -1, TASK_ENTRIES)
        devices = seen[:, None, : self.devices].expand(-1, tasks.shape[1], -1)
        return torch.tanh(self.inner(torch.cat([tasks, devices], 2)))

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the logits of all actions, those allowed; the last takes none."""
        logits = nn.functional.pad(self.actor(hidden)[..., 0], (0, 1))
        return torch.where(mask, logits, NEVER)

    def value(self, hidden: Tensor) -> Tensor:
        """Return the return that is expected."""
        expected: Tensor = self.critic(hidden.mean(-2))[..., 0]
        return expected


def main() -> None:
    """Read the options, train, print the mean return of the episodes that ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500_000, help="decisions to learn from")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env: Any = gymnasium.make_vec(
        hybrid_scheduler.env.PICK_VECTOR_ID, num_envs=PLACES, num_tasks=100, load=1.2, window=8, accrues=True
    )
    agent = Agent(env.single_observation_space.shape[0], env.single_action_space.n)
    optimizer = torch.optim.Adam(agent.parameters(), RATE, fused=True)
    seen, info = env.reset(seed=0)
    for update in range(max(1, options.steps // (PLACES * STEPS))):
        seen, info, rollout, returns = collect(env, agent, seen, info)
        learn(agent, optimizer, rollout)
        if returns:
            print(f"{(update + 1) * PLACES * STEPS:9,} decisions: mean return {np.mean(returns):8.1f}")


def collect(env: Any, agent: Agent, seen: Any, info: Any) -> tuple[Any, Any, dict[str, Tensor], list[float]]:
    """Play `STEPS` decisions at every place; return what was seen, done and gained, with advantages."""
    shape, returns = (STEPS, len(seen)), list[float]()
    played: dict[str, Any] = {
        "seen": np.empty((*shape, seen.shape[1]), np.float32),
        "mask": np.empty((*shape, info["action_mask"].shape[1]), np.bool_),
        "action": np.empty(shape, np.int64),
        "reward": np.empty(shape, np.float32),
        "end": np.empty(shape, np.bool_),
    }
    luck = -torch.empty(played["mask"].shape).exponential_().log()  # the best logit plus this: a draw (Gumbel 1954)
    hidden, scores = [], []
    with torch.inference_mode():
        for step in range(STEPS):
            played["seen"][step], played["mask"][step] = seen, info["action_mask"]  # copies: a step overwrites them
            mask = played["mask"][step]
            mask[:, -1] &= ~mask[:, :-1].any(1)  # a device that can work does
            hidden.append(agent.body(torch.from_numpy(seen)))
            scores.append(agent.score(hidden[-1], torch.from_numpy(mask)))
            played["action"][step] = (scores[-1] + luck[step]).argmax(1).numpy()
            seen, played["reward"][step], played["end"][step], _, info = env.step(played["action"][step])
            if "final_info" in info:
                returns += info["final_info"]["return"][info["_final_info"]].tolist()
        rollout = {name: torch.from_numpy(column).flatten(0, 1) for name, column in played.items()}
        value, after = agent.value(torch.stack(hidden)), agent.value(agent.body(torch.from_numpy(seen)))
        rollout["chance"] = take(normalise(torch.cat(scores)), rollout["action"])
        rollout["value"] = value.flatten()
        rollout["advantage"] = advantages(played["reward"], played["end"], value.numpy(), after.numpy())
    return seen, info, rollout, returns


def normalise(logits: Tensor) -> Tensor:
    """Return the logarithms of the chances; by columns, for torch takes five times as long along short rows."""
    return logits.T.contiguous().log_softmax(0).T


def take(chances: Tensor, action: Tensor) -> Tensor:
    """Return the entry of every row's action."""
    return chances.gather(1, action[:, None])[:, 0]


def advantages(reward: Any, end: Any, value: Any, after: Any) -> Tensor:
    """Return generalised advantages (Schulman et al. 2016); nothing follows the end of an episode."""
    goes_on = np.float32(GAMMA) * ~end
    found = np.float32(UNIT) * reward + goes_on * np.concatenate([value[1:], after[None]]) - value
    for step in range(STEPS - 2, -1, -1):
        found[step] += np.float32(LAMBDA) * goes_on[step] * found[step + 1]
    return torch.from_numpy(found).flatten()


def learn(agent: Agent, optimizer: torch.optim.Optimizer, rollout: dict[str, Tensor]) -> None:
    """Improve the clipped objective of PPO over a few epochs."""
    goal = rollout["advantage"] + rollout["value"]
    columns = (*(rollout[name] for name in ("seen", "mask", "action", "chance", "advantage")), goal)
    for _ in range(EPOCHS):
        order = torch.randperm(len(goal))
        for seen, mask, action, chance, gain, aim in zip(
            *(torch.split(column.index_select(0, order), BATCH) for column in columns), strict=True
        ):
            hidden = agent.body(seen)
            chances, value = normalise(agent.score(hidden, mask)), agent.value(hidden)
            ratio = (take(chances, action) - chance).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
            worth = ((value - aim) ** 2).mean()
            disorder = -(chances.exp() * chances).sum(1).mean()
            loss = -clipped.mean() + 0.5 * worth - ENTROPY * disorder
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


if __name__ == "__main__":
    main()
