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


class Tanh(torch.autograd.Function):
    """NumPy's tanh, by which autograd goes back."""

    @staticmethod
    def forward(context: Any, values: Tensor) -> Tensor:
        """Return tanh, and keep it."""
        found = tanh(values.detach())
        context.save_for_backward(found)
        return found

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> Tensor:
        """Return the gradient by the values: the one given times 1 - tanh²."""
        found: Tensor = torch.ops.aten.tanh_backward(slopes[0], *context.saved_tensors)
        return found


def tanh(values: Tensor) -> Tensor:
    """Return NumPy's tanh: torch's takes several times as long."""
    if not values.requires_grad:
        return torch.from_numpy(np.tanh(values.numpy()))
    found: Tensor = Tanh.apply(values)  # type: ignore[no-untyped-call]  # torch's
    return found


class Agent(nn.Module):
    """Scores the tasks that wait, each by the same network whatever its position, and estimates the return."""

    def __init__(self, entries: int, actions: int) -> None:
        super().__init__()
        self.devices = entries - TASK_ENTRIES * (actions - 1)  # entries that describe the devices, before the tasks
        self.inner = nn.Linear(TASK_ENTRIES + self.devices, 64)
        self.actor, self.between, self.critic = nn.Linear(64, 1), nn.Linear(64, 64), nn.Linear(64, 1)

    def body(self, seen: Tensor) -> Tensor:
        """Return what both heads read: a row for every position."""
        tasks = seen[:, self.devices :].reshape(len(seen), -1, TASK_ENTRIES)
        devices = seen[:, None, : self.devices].expand(-1, tasks.shape[1], -1)
        return tanh(self.inner(torch.cat([tasks, devices], 2)))

    def score(self, hidden: Tensor) -> Tensor:
        """Return the logits of all actions; the last takes none."""
        return nn.functional.pad(self.actor(hidden).squeeze(-1), (0, 1))

    def value(self, hidden: Tensor) -> Tensor:
        """Return the return that is expected."""
        expected: Tensor = self.critic(tanh(self.between(hidden.mean(-2)))).squeeze(-1)
        return expected


def flatten(agent: nn.Module) -> nn.Parameter:
    """Make all parameters, and their gradients, parts of one: clipping and Adam take a call for all of them."""
    flat = nn.Parameter(nn.utils.parameters_to_vector(agent.parameters()).detach())
    flat.grad = torch.zeros_like(flat)
    nn.utils.vector_to_parameters(flat, agent.parameters())
    sizes = [each.numel() for each in agent.parameters()]
    for each, gradient in zip(agent.parameters(), torch.split(flat.grad, sizes), strict=True):
        each.grad = gradient.view_as(each)
    return flat


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
    flat = flatten(agent)
    optimizer = torch.optim.Adam([flat], RATE, fused=True)
    seen, info = env.reset(seed=0)
    for update in range(max(1, options.steps // (PLACES * STEPS))):
        seen, info, rollout, returns = collect(env, agent, seen, info)
        learn(agent, flat, optimizer, rollout)
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
    luck = -torch.rand(played["mask"].shape).log_().neg_().log_()  # the best logit plus this: a draw (Gumbel 1954)
    hidden, scores = [], []
    with torch.inference_mode():
        for step in range(STEPS):
            played["seen"][step], played["mask"][step] = seen, info["action_mask"]  # copies: a step overwrites them
            mask = played["mask"][step]
            mask[:, -1] &= ~mask[:, :-1].any(1)  # a device that can work does
            hidden.append(agent.body(torch.from_numpy(seen)))
            scores.append(agent.score(hidden[-1]))
            played["action"][step] = np.where(mask, (scores[-1] + luck[step]).numpy(), -np.inf).argmax(1)
            seen, played["reward"][step], played["end"][step], _, info = env.step(played["action"][step])
            if "final_info" in info:
                returns += info["final_info"]["return"][info["_final_info"]].tolist()
        rollout = {name: torch.from_numpy(column).flatten(0, 1) for name, column in played.items()}
        value, after = agent.value(torch.stack(hidden)), agent.value(agent.body(torch.from_numpy(seen)))
        rollout["chance"] = take(normalise(torch.cat(scores), rollout["mask"]), rollout["action"])
        rollout["value"] = value.flatten()
        rollout["advantage"] = advantages(played["reward"], played["end"], value.numpy(), after.numpy())
    return seen, info, rollout, returns


def normalise(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the logarithms of the chances by action and row: along short rows torch takes five times as long."""
    return torch.where(mask, logits, NEVER).T.contiguous().log_softmax(0)


def take(chances: Tensor, action: Tensor) -> Tensor:
    """Return the entry of every row's action."""
    return chances.gather(0, action[None])[0]


def advantages(reward: Any, end: Any, value: Any, after: Any) -> Tensor:
    """Return generalised advantages (Schulman et al. 2016); nothing follows the end of an episode."""
    goes_on = np.float32(GAMMA) * ~end
    found = np.float32(UNIT) * reward + goes_on * np.concatenate([value[1:], after[None]]) - value
    for step in range(STEPS - 2, -1, -1):
        found[step] += np.float32(LAMBDA) * goes_on[step] * found[step + 1]
    return torch.from_numpy(found).flatten()


def learn(agent: Agent, flat: nn.Parameter, optimizer: torch.optim.Optimizer, rollout: dict[str, Tensor]) -> None:
    """Improve the clipped objective of PPO over a few epochs."""
    columns = [rollout[name] for name in ("seen", "mask", "action", "chance", "value", "advantage")]
    flat_slope: Any = flat.grad
    for _ in range(EPOCHS):
        order = torch.randperm(len(columns[0]))
        shuffled = (column.index_select(0, order).view(-1, BATCH, *column.shape[1:]) for column in columns)
        seens, masks, actions, chances, values, gains = shuffled
        goals = values + gains
        deviation, mean = torch.std_mean(gains, 1, keepdim=True)
        gains = (gains - mean) / (deviation + 1e-8)
        for seen, mask, action, chance, gain, goal in zip(seens, masks, actions, chances, gains, goals, strict=True):
            hidden = agent.body(seen)
            logits, value = agent.score(hidden), agent.value(hidden)
            with torch.no_grad():
                slopes = slope(logits, mask, action, chance, gain), (value - goal) / BATCH
            flat_slope.zero_()
            torch.autograd.backward((logits, value), slopes)
            flat_slope *= (0.5 / (flat_slope.norm() + 1e-6)).clamp(max=1)
            optimizer.step()


def slope(logits: Tensor, mask: Tensor, action: Tensor, chance: Tensor, gain: Tensor) -> Tensor:
    """Return the gradient, by the logits, of the loss: minus the clipped objective and some of the entropy.

    In closed form it takes half the calls of a loss that autograd goes back through.
    """
    chances = normalise(logits, mask)
    ratio = (take(chances, action) - chance).exp()
    push = ratio * gain
    push.masked_fill_(ratio.clamp(1 - CLIP, 1 + CLIP) * gain < push, 0)  # clipped: nothing is gained beyond
    weights = chances.exp()
    found = weights * (ENTROPY * (chances - (weights * chances).sum(0)) + push)
    return found.scatter_add_(0, action[None], -push[None]).T / len(action)


if __name__ == "__main__":
    main()
