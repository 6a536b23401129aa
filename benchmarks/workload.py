"""The workload and the system that most rows share."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from hybrid_scheduler import Cluster, Placements, Tasks, VirtualMultiGPU, WorkloadGenerator, registry

SEED = 1
LOAD = 0.9
COUNT = 2_000_000

cluster = Cluster.default()  # 1 CPU, 4 GPUs
_machine = VirtualMultiGPU(cluster=cluster)


@lru_cache(maxsize=1)  # rows that follow each other share their tasks; only one set stays in memory
def mixed(count: int = COUNT) -> Tasks:
    """Draw mixed tasks that arrive at load 0.9."""
    return WorkloadGenerator(SEED).generate_preset("mixed", count, load=LOAD, cluster=cluster)


def simulate(tasks: Tasks, scheduler: str = "eft", *, interpreted: bool = False) -> Placements:
    """Simulate tasks as if seen for the first time: the copy forgets what earlier runs found out about them."""
    policy = registry.schedulers.create(scheduler, seed=SEED)
    return _machine.run(replace(tasks), policy, interpreted=interpreted)
