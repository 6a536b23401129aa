"""A twin can be asked without a trace, and costs no copy of what was learnt."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from instances import workload

NAMES = [each.name for each in registry.schedulers]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_twin_does_leaves_its_policy_as_it_was(name: str) -> None:
    policy = registry.schedulers.create("rl_agent:model=none" if name == "rl_agent" else name)
    Lane(policy, VirtualMultiGPU()).run(workload("mixed", 100))
    before = pickle.dumps(policy)
    twin = policy.twin()
    VirtualMultiGPU().run(workload("mixed", 50, seed=2), twin)
    assert pickle.dumps(policy) == before


@pytest.mark.parametrize("name", ["hybrid_ml", "rl_agent:model=none", "random", "round_robin"])
def test_a_twin_decides_as_its_policy_would(name: str) -> None:
    policy = registry.schedulers.create(name)
    Lane(policy, VirtualMultiGPU()).run(workload("mixed", 101))
    tasks = workload("mixed", 50, seed=2)
    twins = VirtualMultiGPU().run(tasks, policy.twin())
    own = VirtualMultiGPU().run(tasks, policy)
    assert np.array_equal(twins.finish, own.finish)


def test_large_memories_are_shared() -> None:
    agent = RLAgent(model="none")
    twin = agent.twin()
    assert twin._lessons is agent._lessons
    assert twin._generator is not agent._generator
