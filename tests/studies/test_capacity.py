"""Capacity: the highest load at which the backlog does not grow."""

from __future__ import annotations

import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.studies.capacity import find_capacity, measure_backlog, measure_backlog_growth
from hybrid_scheduler.workloads.generator import saturation_rate, scale_to_rate
from hybrid_scheduler.workloads.source import Source
from instances import workload


def test_offered_load_one_is_what_the_cluster_can_do_at_best() -> None:
    tasks, cluster = workload("mixed", 4000), Cluster.default()
    best = saturation_rate(tasks, cluster)
    below, above = scale_to_rate(tasks, 0.9 * best), scale_to_rate(tasks, 1.2 * best)
    assert measure_backlog_growth(below, registry.schedulers.create("price"), cluster) < 0.005
    for name in registry.schedulers.featured:
        assert measure_backlog_growth(above, registry.schedulers.create(name), cluster) > 0.1, name


def test_capacity_ranks_policies_and_none_exceeds_the_optimum() -> None:
    source, cluster = Source.of("mixed", 4000), Cluster.default()
    found = {name: find_capacity(source, name, cluster, (0, 1)) for name in ("round_robin", "greedy", "eft", "price")}
    assert found["greedy"].load.mean < found["round_robin"].load.mean < found["eft"].load.mean <= 1.0
    assert found["round_robin"].load.mean == pytest.approx(0.25, abs=0.04)
    assert found["eft"].load.mean > 0.85


def test_a_task_that_is_overtaken_to_the_end_does_not_hide_that_queues_grow() -> None:
    tasks, cluster = workload("mixed", 2000), Cluster.default()
    above = scale_to_rate(tasks, 1.5 * saturation_rate(tasks, cluster))
    placements = VirtualMultiGPU(cluster=cluster).run(above, registry.schedulers.create("spt"))
    early, late = (measure_backlog(placements, float(above.arrival_time[row])) for row in (1000, 1999))
    assert late > 1.5 * early
    assert early < placements.finish[:1000].max() - above.arrival_time[1000]  # by when the last of them ends
