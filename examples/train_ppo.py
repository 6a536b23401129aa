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
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 1e-3


class Agent(nn.Module):
    """Scores the positions and estimates the return."""

    def __init__(self, entries: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(entries, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, actions), nn.Linear(64, 1)

    def forward(self, seen: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithms of the chances of all actions, those allowed, and the value."""
        hidden = self.body(seen)
        return self.actor(hidden).masked_fill(~mask, -1e9).log_softmax(1), self.critic(hidden)[:, 0]


def main() -> None:
    """Read the options, train, print the mean return of the episodes that ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500_000, help="decisions to learn from")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env: Any = gymnasium.make_vec(
        hybrid_scheduler.env.PICK_VECTOR_ID, num_envs=PLACES, num_tasks=100, load=1.2, window=8
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
    rollout = {name: torch.zeros(shape) for name in ("chance", "value", "reward")}
    rollout |= {"action": torch.zeros(shape, dtype=torch.int64), "end": torch.zeros(shape, dtype=torch.bool)}
    rollout["seen"] = torch.zeros((*shape, seen.shape[1]))
    rollout["mask"] = torch.zeros((*shape, info["action_mask"].shape[1]), dtype=torch.bool)
    with torch.no_grad():
        for step in range(STEPS):
            now, mask = rollout["seen"][step], rollout["mask"][step]  # copies: steps overwrite what was seen
            now[:], mask[:] = torch.from_numpy(seen), torch.from_numpy(info["action_mask"])
            chances, rollout["value"][step] = agent(now, mask)
            action = draw(chances)
            rollout["action"][step], rollout["chance"][step] = action, take(chances, action)
            seen, reward, ended, _, info = env.step(action.numpy())
            rollout["reward"][step], rollout["end"][step] = torch.from_numpy(reward), torch.from_numpy(ended)
            if "final_info" in info:
                returns += info["final_info"]["return"][info["_final_info"]].tolist()
        after = agent(torch.from_numpy(seen), torch.from_numpy(info["action_mask"]).bool())[1]
        rollout["advantage"] = advantages(rollout, after)
    return seen, info, {name: column.flatten(0, 1) for name, column in rollout.items()}, returns


def draw(chances: Tensor) -> Tensor:
    """Return an action for every row, drawn by the logarithms of the chances (Gumbel 1954)."""
    return (chances - torch.empty_like(chances).exponential_().log()).argmax(1)


def take(chances: Tensor, action: Tensor) -> Tensor:
    """Return the entry of every row's action."""
    return chances.gather(1, action[:, None])[:, 0]


def advantages(rollout: dict[str, Tensor], after: Tensor) -> Tensor:
    """Return generalised advantages (Schulman et al. 2016); nothing follows the end of an episode."""
    found, gain = torch.zeros_like(rollout["value"]), torch.zeros_like(after)
    for step in range(STEPS - 1, -1, -1):
        goes_on = (~rollout["end"][step]).float()
        following = rollout["value"][step + 1] if step + 1 < STEPS else after
        error = rollout["reward"][step] + GAMMA * following * goes_on - rollout["value"][step]
        gain = error + GAMMA * LAMBDA * goes_on * gain
        found[step] = gain
    return found


def learn(agent: Agent, optimizer: torch.optim.Optimizer, rollout: dict[str, Tensor]) -> None:
    """Improve the clipped objective of PPO over a few epochs."""
    goal = rollout["advantage"] + rollout["value"]
    for _ in range(EPOCHS):
        for rows in torch.split(torch.randperm(len(goal)), BATCH):
            chances, value = agent(rollout["seen"][rows], rollout["mask"][rows])
            ratio = (take(chances, rollout["action"][rows]) - rollout["chance"][rows]).exp()
            gain = rollout["advantage"][rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
            scale = goal.std() + 1e-8
            worth = (((value - goal[rows]) / scale) ** 2).mean()
            disorder = -(chances.exp() * chances).sum(1).mean()
            loss = -clipped.mean() + 0.5 * worth - ENTROPY * disorder
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


if __name__ == "__main__":
    main()
