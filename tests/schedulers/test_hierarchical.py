"""Two levels: groups of nodes as devices, then devices of a group; old information; any pair of policies."""

from __future__ import annotations

import numpy as np
import pytest

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Node
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.schedulers.learner import is_learner
from hybrid_scheduler.workloads import WorkloadGenerator

NODES = Cluster((DEFAULT_CPU, DEFAULT_GPU), (Node({"cpu": 1, "gpu": 2}),) * 12)
TASKS = WorkloadGenerator(3).generate_preset("mixed", 600, load=0.95, cluster=NODES)


def run(spec: str, tasks: Tasks = TASKS, *, interpreted: bool = False) -> Placements:
    return VirtualMultiGPU(cluster=NODES).run(
        tasks, registry.schedulers.create(spec, seed=1), interpreted=interpreted
    )


@pytest.mark.parametrize("nodes", [1, 4, 12])
def test_the_earliest_finish_of_groups_is_that_of_all_devices(nodes: int) -> None:
    """What a group reports is its earliest device, so nothing is lost on the way while reports are fresh."""
    parts = TASKS.part(0, 60)
    specs = ("eft", f"hierarchical:global=eft:local=eft:nodes={nodes}")
    flat, levels = (run(spec, parts, interpreted=True) for spec in specs)
    np.testing.assert_allclose(np.sort(levels.turnaround), np.sort(flat.turnaround), rtol=0.2)
    assert levels.turnaround.mean() <= flat.turnaround.mean() * 1.02


def test_two_levels_cost_little_turnaround() -> None:
    flat, levels = run("least_increase"), run("hierarchical")
    check_schedule(levels)
    assert levels.turnaround.mean() <= flat.turnaround.mean() * 1.05


def test_old_information_costs_turnaround() -> None:
    fresh, stale = run("hierarchical"), run("hierarchical:refresh=2")
    check_schedule(stale)
    assert stale.turnaround.mean() > fresh.turnaround.mean()


@pytest.mark.parametrize("pair", [("eft", "spt"), ("jsq", "eft"), ("greedy", "least_increase"), ("price", "greedy")])
def test_any_pair_of_policies_will_do(pair: tuple[str, str]) -> None:
    spec = "hierarchical:global={}:local={}".format(*pair)
    check_schedule(run(spec, TASKS.part(0, 150), interpreted=True))
    policy = registry.schedulers.create(spec)
    assert hasattr(type(policy), "key") == hasattr(registry.schedulers.load(pair[1]), "key")


@pytest.mark.parametrize("pair", [("eft", "spt"), ("price", "greedy")], ids=["with ordered queues", "without"])
def test_a_pair_runs_compiled_to_the_same_bits(pair: tuple[str, str]) -> None:
    spec = "hierarchical:global={}:local={}".format(*pair)
    tasks = TASKS.part(0, 150)
    np.testing.assert_array_equal(run(spec, tasks).finish, run(spec, tasks, interpreted=True).finish)


def test_levels_that_learn_are_taught() -> None:
    policy = registry.schedulers.create("hierarchical:global=least_increase:local=hybrid_ml", seed=1)
    assert is_learner(policy)
    assert not is_learner(registry.schedulers.create("hierarchical"))
    check_schedule(Lane(policy, VirtualMultiGPU(cluster=NODES)).run(TASKS.part(0, 200)))
    assert policy._levels[1].is_trained


@pytest.mark.parametrize("options", ["local=gcmu", "global=min_min", "local=hierarchical", "nodes=-1", "refresh=-1"])
def test_what_cannot_serve_is_named(options: str) -> None:
    with pytest.raises(InputError, match="hierarchical: "):
        registry.schedulers.create(f"hierarchical:{options}")
