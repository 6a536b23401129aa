"""The certificate of turnaround: nobody is below it, and it is checked by code that did not find it."""

from __future__ import annotations

from dataclasses import replace
from inspect import unwrap
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.turnaround import (
    certified_front,
    serve_shortest_first,
    turnaround_bound,
    verify_turnaround_bound,
)
from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.compiler import jit
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import UnknownNameError
from instances import TWO_NODES, instances, machines, workload

quick = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def smallest_mean(tasks: Tasks, seconds: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """Return the least mean turnaround of whole tasks, one device per column, by trying every schedule."""
    count, devices = seconds.shape
    best = np.inf
    for order in permutations(range(count)):
        for places in product(range(devices), repeat=count):
            free, total = [0.0] * devices, 0.0
            for row in order:
                start = max(free[places[row]], tasks.arrival_time[row])
                free[places[row]] = start + seconds[row, places[row]]
                total += free[places[row]] - tasks.arrival_time[row]
            best = min(best, total)
    return best / count


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_schedule_of_a_small_instance_is_below_it(data: st.DataObject) -> None:
    count, devices = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 2))
    number = st.floats(0.05, 4.0)
    seconds = np.array([[data.draw(number) for _ in range(devices)] for _ in range(count)])
    tasks, cluster = machines(seconds)
    tasks = tasks.with_arrival_times(sorted(data.draw(st.floats(0.0, 5.0)) for _ in range(count)))
    bound = turnaround_bound(tasks, cluster, iterations=40)
    assert bound.mean <= smallest_mean(tasks, seconds) * (1 + 1e-9)
    assert verify_turnaround_bound(bound, tasks, cluster)


@quick
@given(instance=instances(), name=st.sampled_from(["eft", "oracle", "greedy", "least_increase", "spt", "min_min"]))
def test_no_policy_is_below_the_bound_that_covers_it(instance: tuple[Tasks, Cluster], name: str) -> None:
    tasks, cluster = instance
    scheduler = registry.schedulers.create(name)
    placements = VirtualMultiGPU(cluster=cluster).run(tasks, scheduler)
    whole = set(np.unique(placements.gpu_fraction[placements.ran])) <= {0.0, 1.0}
    bound = turnaround_bound(tasks, cluster, whole=whole, iterations=30)
    assert verify_turnaround_bound(bound, tasks, cluster)
    if placements.ran.any():
        assert bound.mean <= placements.turnaround[placements.ran].mean() * (1 + 1e-9)


@pytest.mark.parametrize(("load", "most"), [(0.5, 1.06), (2.0, 1.05)])
def test_a_good_policy_is_provably_near_the_best(load: float, most: float) -> None:
    tasks, cluster = workload("mixed", 1000, seed=11, load=load), Cluster.default()
    mean = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create("least_increase")).turnaround.mean()
    assert 1.0 <= mean / turnaround_bound(tasks, cluster).mean <= most


@pytest.mark.parametrize("whole", [True, False])
def test_the_verifier_refuses_what_its_certificate_does_not_show(whole: bool) -> None:
    tasks, cluster = workload("mixed", 200, load=0.9), Cluster.default()
    bound = turnaround_bound(tasks, cluster, whole=whole, iterations=60)
    assert verify_turnaround_bound(bound, tasks, cluster)
    assert not verify_turnaround_bound(replace(bound, mean=bound.mean * 1.001), tasks, cluster)
    assert not verify_turnaround_bound(replace(bound, prices=bound.prices - 1.0), tasks, cluster)
    assert not verify_turnaround_bound(bound, tasks.part(0, 100), cluster)


@pytest.mark.parametrize("load", [0.5, 0.9])
def test_the_value_is_that_of_its_prices_although_most_starts_are_passed_over(load: float) -> None:
    tasks, cluster = workload("mixed", 700, load=load), Cluster.default()
    bound = turnaround_bound(tasks, cluster, iterations=20)
    assert bound.kind == "prices"
    assert verify_turnaround_bound(bound, tasks, cluster)
    assert not verify_turnaround_bound(replace(bound, mean=bound.mean * (1 + 1e-7)), tasks, cluster)


def test_tasks_that_wait_for_hours_are_bounded_as_if_on_one_machine() -> None:
    tasks, cluster = workload("mixed", 8000, load=50.0), Cluster.default()
    bound = turnaround_bound(tasks, cluster)
    assert bound.kind == "srpt"
    assert bound.mean == turnaround_bound(tasks, cluster, whole=False).mean
    least = class_times(tasks, cluster).min(axis=1).mean()
    assert bound.mean > 100 * least  # what prices could add is within a hundredth of it


@quick
@given(energy=st.floats(0.0, 1.0), cost=st.floats(0.0, 1000.0))
def test_any_mix_of_turnaround_energy_and_cost_is_bounded(energy: float, cost: float) -> None:
    tasks, cluster = workload("mixed", 80, load=1.2), Cluster.default()
    bound = turnaround_bound(tasks, cluster, energy=energy, cost=cost, iterations=30)
    assert verify_turnaround_bound(bound, tasks, cluster)
    for name in ("eft", "least_increase", "price"):
        placed = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create(name))
        mix = placed.turnaround + energy * placed.energy + cost * placed.cost
        assert bound.mean <= mix.mean() * (1 + 1e-9)


@quick
@given(instance=instances(), measure=st.sampled_from(["energy", "cost"]))
def test_no_policy_lies_below_the_certified_front(instance: tuple[Tasks, Cluster], measure: str) -> None:
    tasks, cluster = instance
    front = certified_front(tasks, cluster, measure, points=5, iterations=10)
    assert (np.diff(front[:, 0]) < 0).all()
    assert (np.diff(front[:, 1]) > 0).all()
    for name in ("greedy", "price", "oracle", "least_increase"):
        placed = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create(name))
        if placed.ran.any():
            amount = getattr(placed, measure)[placed.ran].mean() * (1 + 1e-9)
            assert amount >= front[0, 1]
            least = np.interp(amount, front[:, 1], front[:, 0])
            assert placed.turnaround[placed.ran].mean() >= least * (1 - 1e-9)


def test_a_front_has_the_turnaround_of_its_bound_and_the_fewest_joules() -> None:
    tasks, cluster = workload("cpu_friendly", 100, load=0.9), Cluster.default()
    front = certified_front(tasks, cluster, whole=True, points=6, iterations=30)
    assert len(front) >= 4
    assert np.isclose(front[-1, 0], turnaround_bound(tasks, cluster, iterations=30).mean)
    joules = class_times(tasks, cluster) * cluster.per_class("watts")
    assert np.isclose(front[0, 1], joules.min(axis=1).mean())
    with pytest.raises(UnknownNameError, match=r"energy.*cost|cost.*energy"):
        certified_front(tasks, cluster, "joules")


def test_without_a_task_that_runs_there_is_nothing_to_bound() -> None:
    tasks = Tasks.build(np.ones(2), np.ones(2), np.full(2, 1e9))
    bound = turnaround_bound(tasks, TWO_NODES)
    assert bound.mean == 0.0
    assert verify_turnaround_bound(bound, tasks, TWO_NODES)


def test_plain_python_and_machine_code_serve_to_the_same_bits() -> None:
    plain = unwrap(serve_shortest_first)
    tasks = workload("long_tail", 150)
    works = class_times(tasks, Cluster.default()).min(axis=1)
    assert repr(plain(tasks.arrival_time, works)) == repr(jit(plain)(tasks.arrival_time, works))
