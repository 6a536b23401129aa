"""The bound of graphs: work between what must come before and what must come after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.graph import compute_heads_and_tails, find_best_window
from hybrid_scheduler.bounds.makespan import Bound, lower_bound, verify_bound
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Tasks
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.studies.results import _bound_document, _parse_bound
from instances import TWO_NODES, instances, workload

TWO_CPUS = Cluster((DeviceClass("cpu", kind="cpu"),), (Node({"cpu": 2}),))


def fork_join(width: int, arrival: float = 0.0) -> Tasks:
    """Return a task of 3 s, `width` tasks of 2 s after it, and one of 5 s after them."""
    parents = [[], *[[0]] * width, list(range(1, width + 1))]
    ones = np.ones(width + 2)
    return Tasks.build(
        ones,
        ones,
        ones,
        arrival_time=np.full(width + 2, arrival),
        edges=edges_from_ids(list(range(width + 2)), parents),
        measured={"cpu": [3.0, *[2.0] * width, 5.0]},
    )


def test_a_fork_and_join_is_bounded_by_head_work_and_tail() -> None:
    bound = lower_bound(fork_join(8, arrival=1.0), TWO_CPUS)
    # Chains alone prove 1 + 3 + 2 + 5, work alone 1 + 24 / 2; together they meet the best schedule.
    assert (bound.kind, bound.makespan, bound.since, bound.tail) == ("window", 1 + 3 + 16 / 2 + 5, 4.0, 5.0)
    assert verify_bound(bound, fork_join(8, arrival=1.0), TWO_CPUS)
    best = VirtualMultiGPU(cluster=TWO_CPUS).run(fork_join(8, arrival=1.0), registry.schedulers.create("heft"))
    assert best.makespan == bound.makespan


@given(seed=st.integers(0, 10_000), count=st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_the_sweep_finds_the_best_of_all_heads_and_tails(seed: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    heads, tails = generator.integers(0, 6, (2, count)).astype(float)
    work = generator.uniform(0.1, 2.0, count)
    values = [
        h + q + work[(heads >= h) & (tails >= q)].sum()
        for h in heads
        for q in tails
        if ((heads >= h) & (tails >= q)).any()
    ]
    found = find_best_window(heads, tails, work)
    assert np.isclose(found.seconds, max(values))
    inside = (heads >= found.head) & (tails >= found.tail)
    assert inside.any()
    assert np.isclose(found.head + work[inside].sum() + found.tail, found.seconds)


def test_heads_count_arrivals_and_the_longest_chain_before() -> None:
    tasks = Tasks.build(
        [1.0] * 4,
        [1.0] * 4,
        [1.0] * 4,
        [0.0, 9.0, 0.0, 0.0],
        edges=edges_from_ids([0, 1, 2, 3], [[], [0], [0], [1, 2]]),
    )
    heads, tails = compute_heads_and_tails(tasks, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, bool))
    assert heads.tolist() == [0.0, 9.0, 1.0, 11.0]
    assert tails.tolist() == [7.0, 4.0, 4.0, 0.0]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(instance=instances())
def test_no_policy_ends_before_the_bound_and_a_forged_one_is_found_out(instance: tuple[Tasks, Cluster]) -> None:
    tasks, cluster = instance
    assume(tasks.has_edges)
    bound = lower_bound(tasks, cluster)
    assert verify_bound(bound, tasks, cluster)
    for name in ("heft", "oracle", "search"):
        placed = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create(name))
        assert bound.makespan <= placed.makespan * (1 + 1e-9)
    if bound.makespan > 0:
        assert not verify_bound(replace(bound, makespan=1.01 * bound.makespan), tasks, cluster)


@pytest.mark.parametrize(
    "forge",
    [
        lambda bound: replace(bound, makespan=bound.makespan * 1.001),
        lambda bound: replace(bound, tail=bound.tail + 1.0),
        lambda bound: replace(bound, since=bound.since + 1.0),
        lambda bound: replace(bound, since=1e9, makespan=1e9),
        lambda bound: replace(bound, kind="work"),
        lambda bound: replace(bound, prices={name: 1.5 * price for name, price in bound.prices.items()}),
    ],
)
def test_a_tampered_window_is_refused(forge: object) -> None:
    assert callable(forge)
    bound = lower_bound(fork_join(8), TWO_CPUS)
    forged = forge(bound)
    assert isinstance(forged, Bound)
    assert not verify_bound(forged, fork_join(8), TWO_CPUS)


def test_a_stored_window_is_read_back_whole() -> None:
    bound = lower_bound(fork_join(8), TWO_CPUS)
    document = _bound_document(1, bound)
    assert _parse_bound(document) == bound
    del document["tail"]
    assert _parse_bound(document) == replace(bound, tail=0.0)


def test_graphs_of_the_presets_are_bounded_more_sharply_than_by_chain_or_work_alone() -> None:
    tasks = workload("cholesky", 816, load=None)
    bound = lower_bound(tasks, TWO_NODES)
    assert bound.kind == "window"
    assert verify_bound(bound, tasks, TWO_NODES)
    alone = lower_bound(replace(tasks, edges=edges_from_ids(tasks.task_id.tolist(), [[]] * len(tasks))), TWO_NODES)
    assert bound.makespan > 1.001 * alone.makespan
