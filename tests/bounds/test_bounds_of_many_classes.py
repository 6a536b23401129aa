"""On a cluster of many classes, tasks that are alike are priced together, and the bound is as good."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.bounds import makespan
from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound
from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.cluster import DEFAULT_CPU, DeviceClass, Node
from hybrid_scheduler.learning.durations import _best_use


def _instance() -> tuple[Tasks, Cluster]:
    """Tasks of a few kinds on one CPU and eleven classes of GPUs: where they run differs, how long by a factor."""
    random = np.random.default_rng(3)
    classes = (DEFAULT_CPU, *(DeviceClass(f"g{number}") for number in range(11)))
    cluster = Cluster(classes, tuple(Node({"cpu": 1, each.name: 2}) for each in classes[1:]))
    kinds = np.where(random.random((6, 12)) < 0.6, random.uniform(1.0, 4.0, (6, 12)), np.inf)
    kinds[:, 0] = 20.0
    times = kinds[random.integers(0, 6, 300)] * random.exponential(10.0, (300, 1))
    measured = {each.name: times[:, place] for place, each in enumerate(classes)}
    ones = np.ones(300)
    return Tasks.build(ones, ones, ones, arrival_time=random.uniform(0, 50, 300), measured=measured), cluster


def test_pricing_kinds_of_tasks_proves_as_much_as_pricing_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, cluster = _instance()
    together = lower_bound(tasks, cluster)
    monkeypatch.setattr(makespan, "FEW_CLASSES", 12)
    apart = lower_bound(tasks, cluster)
    assert together.makespan == pytest.approx(apart.makespan, rel=1e-7)
    assert verify_bound(together, tasks, cluster)
    assert verify_bound(apart, tasks, cluster)


def test_tasks_that_differ_by_a_factor_become_one() -> None:
    times = np.array([[1.0, 2.0, np.inf], [3.0, 6.0, np.inf], [1.0, 1.0, 1.0], [0.1, 0.2, np.inf]])
    merged = makespan._merged(times)
    assert sorted(merged.tolist()) == [[1.0, 1.0, 1.0], [4.1, 8.2, np.inf]]


def test_a_class_without_a_price_is_no_place_for_tasks_that_cannot_run_there() -> None:
    classes = (DEFAULT_CPU, DeviceClass("gpu"), DeviceClass("idle"))
    cluster = Cluster(classes, (Node({"cpu": 1, "gpu": 1, "idle": 9}),))
    times = np.array([[10.0, 5.0, np.inf], [12.0, 6.0, np.inf]])
    share, seconds = _best_use(times, cluster)
    assert share[2] == 0.0
    assert seconds == pytest.approx(11.0 / 3)  # two thirds of the work on the GPU
