"""A copied policy decides without changing the original, and shares its trained models."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.schedulers.explain import copy_policy
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from instances import workload

NAMES = [each.name for each in registry.schedulers]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_copy_does_leaves_its_policy_as_it_was(name: str) -> None:
    policy = registry.schedulers.create("rl_agent:model=none" if name == "rl_agent" else name)
    Lane(policy, VirtualMultiGPU()).run(workload("mixed", 100))
    before = pickle.dumps(policy)
    copy = copy_policy(policy)
    VirtualMultiGPU().run(workload("mixed", 50, seed=2), copy)
    assert pickle.dumps(policy) == before


@pytest.mark.parametrize("name", ["hybrid_ml", "rl_agent:model=none", "random", "round_robin"])
def test_a_copy_decides_as_its_policy_would(name: str) -> None:
    policy = registry.schedulers.create(name)
    Lane(policy, VirtualMultiGPU()).run(workload("mixed", 101))
    tasks = workload("mixed", 50, seed=2)
    copied = VirtualMultiGPU().run(tasks, copy_policy(policy))
    own = VirtualMultiGPU().run(tasks, policy)
    assert np.array_equal(copied.finish, own.finish)


def test_a_copy_shares_the_replay_buffer() -> None:
    agent = RLAgent(model="none")
    copy = copy_policy(agent)
    assert isinstance(copy, RLAgent)
    assert copy._trainer is agent._trainer
    assert copy._generator is not agent._generator
