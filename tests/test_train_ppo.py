"""What the PPO example works out by hand is what autograd finds."""

from __future__ import annotations

import copy
import runpy
from pathlib import Path
from typing import Any

import torch

from hybrid_scheduler.env import PickingVectorEnv

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "train_ppo.py"))


def test_an_update_of_the_ppo_example_is_that_of_autograd() -> None:
    torch.manual_seed(0)
    env: Any = PickingVectorEnv(EXAMPLE["PLACES"], num_tasks=20, load=1.2, window=8, accrues=True)
    agent = EXAMPLE["Agent"](env.single_observation_space.shape[0], env.single_action_space.n)
    *_, rollout, _ = EXAMPLE["collect"](env, agent, *env.reset(seed=0))
    noise = 0.3 * torch.randn(len(rollout["chance"]))  # else no ratio is far enough from 1 to be clipped
    rollout = {name: column.clone() for name, column in rollout.items()} | {"chance": rollout["chance"] + noise}
    plain = copy.deepcopy(agent)
    flat = EXAMPLE["flatten"](agent)
    order = torch.get_rng_state()
    EXAMPLE["learn"](agent, flat, torch.optim.Adam([flat], 1e-4), rollout)
    torch.set_rng_state(order)
    before = torch.nn.utils.parameters_to_vector(plain.parameters()).detach()
    _learn_by_autograd(plain, rollout)
    theirs = torch.nn.utils.parameters_to_vector(plain.parameters())
    assert (flat - theirs).norm() < 0.01 * (theirs - before).norm()


def _learn_by_autograd(agent: Any, rollout: dict[str, torch.Tensor]) -> None:
    """Learn from a rollout as the example does, from the loss as Schulman et al. (2017) write it."""
    optimizer = torch.optim.Adam(agent.parameters(), 1e-4)
    for _ in range(EXAMPLE["EPOCHS"]):
        for rows in torch.split(torch.randperm(len(rollout["chance"])), EXAMPLE["BATCH"]):
            batch = {name: column[rows] for name, column in rollout.items()}
            hidden = agent.body(batch["seen"])
            logits = agent.score(hidden).masked_fill(~batch["mask"], EXAMPLE["NEVER"])
            chances: Any = torch.distributions.Categorical(logits=logits)
            ratio = (chances.log_prob(batch["action"]) - batch["chance"]).exp()
            gain = batch["advantage"]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = ratio.clamp(1 - EXAMPLE["CLIP"], 1 + EXAMPLE["CLIP"])
            assert (clipped != ratio).any()
            worth = torch.nn.functional.mse_loss(agent.value(hidden), batch["advantage"] + batch["value"])
            objective = torch.minimum(ratio * gain, clipped * gain).mean()
            loss = 0.5 * worth - objective - EXAMPLE["ENTROPY"] * chances.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def test_the_closed_form_of_the_ppo_example_is_the_gradient() -> None:
    torch.manual_seed(0)
    logits = torch.randn(500, 9, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(500, 9) < 0.6
    mask[:, -1] = True
    action = mask.float().multinomial(1)[:, 0]
    gain, masked = torch.randn(500, dtype=torch.float64), logits.masked_fill(~mask, EXAMPLE["NEVER"])
    chances: Any = torch.distributions.Categorical(logits=masked)
    chance = (chances.log_prob(action) + 0.3 * torch.randn(500)).detach()
    ratio = (chances.log_prob(action) - chance).exp()
    clipped = torch.minimum(ratio * gain, ratio.clamp(1 - EXAMPLE["CLIP"], 1 + EXAMPLE["CLIP"]) * gain)
    (clipped.mean() + EXAMPLE["ENTROPY"] * chances.entropy().mean()).neg().backward()
    found = EXAMPLE["slope"](logits.detach(), mask, action, chance, gain)
    torch.testing.assert_close(found, logits.grad, rtol=1e-9, atol=1e-12)


def test_the_tanh_of_the_ppo_example_has_its_gradient() -> None:
    tanh = EXAMPLE["tanh"]
    values = torch.linspace(-4, 4, 30, dtype=torch.float64).view(5, 6).requires_grad_()
    torch.testing.assert_close(tanh(values), torch.tanh(values))
    assert torch.autograd.gradcheck(tanh, values)
