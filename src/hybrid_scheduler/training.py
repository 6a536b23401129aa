"""Lessons for policies that learn: presets in turn, under load, before the real work begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.race import Lane
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.simulator import VirtualMultiGPU
from hybrid_scheduler.workload.generator import WorkloadGenerator


def trained(
    spec: str,
    presets: Sequence[str],
    num_tasks: int,
    load: float,
    seed: int,
    cluster: Cluster,
    progress: Callable[[int, int], None] | None = None,
) -> Scheduler:
    """Return a policy after lessons on every preset: the agent watches `price` first, all others just work."""
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if not policy.learn_every:
        raise InputError(f"scheduler '{spec}' does not learn: train hybrid_ml or rl_agent")
    for number, preset in enumerate(presets):
        if progress:
            progress(number, len(presets))
        tasks = WorkloadGenerator(seed + number).generate_preset(preset, num_tasks, load=load, cluster=cluster)
        if isinstance(policy, RLAgent):
            policy.pretrain(tasks, cluster)
        else:
            Lane(policy, VirtualMultiGPU(cluster=cluster)).run(tasks)
    if progress:
        progress(len(presets), len(presets))
    return policy
