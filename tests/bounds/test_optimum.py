"""The exact optimum agrees with brute force and is refused for anything but a batch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound, whole_task_bound
from hybrid_scheduler.bounds.optimum import optimum
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.errors import InputError
from instances import machines, workload


@given(seed=st.integers(0, 10_000), count=st.integers(1, 6), number=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_bound_exact_optimum_and_brute_force_agree(seed: int, count: int, number: int) -> None:
    times = np.random.default_rng(seed).uniform(0.5, 9.0, (count, number))
    tasks, cluster = machines(times)
    brute = min(
        max(sum(times[i, m] for i in range(count) if assigned[i] == m) for m in range(number))
        for assigned in itertools.product(range(number), repeat=count)
    )
    found = optimum(tasks, cluster, gap=1e-9)
    assert found.proved
    assert np.isclose(found.makespan, brute, rtol=1e-9)
    whole = whole_task_bound(tasks, cluster)
    assert lower_bound(tasks, cluster).makespan <= whole.makespan * (1 + 1e-9)
    assert whole.makespan <= brute * (1 + 1e-9)
    assert verify_bound(whole, tasks, cluster)


def test_the_exact_optimum_solves_120_tasks_on_five_devices() -> None:
    tasks = workload("mixed", 120).with_arrival_times(np.zeros(120))
    found = optimum(tasks, Cluster.default(), gap=1e-3)
    assert found.proved
    assert lower_bound(tasks, Cluster.default()).makespan <= found.makespan
    assert found.gap < 2e-3
    loads = np.bincount(found.device, class_times(tasks, Cluster.default())[range(120), np.minimum(found.device, 1)])
    assert np.isclose(loads.max(), found.makespan)


def test_the_exact_optimum_is_for_batches_only() -> None:
    with pytest.raises(InputError, match="for a batch"):
        optimum(workload("mixed", 10), Cluster.default())
