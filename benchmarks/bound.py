"""The lower bound against the policies that it judges."""

from __future__ import annotations

from benchmarks.rows import Row, require, side_by_side
from benchmarks.workload import cluster, mixed, simulate
from hybrid_scheduler import lower_bound

COUNT = 1_000_000
POLICIES = ("round_robin", "random", "greedy", "oracle", "eft", "price")


def bound_vs_race() -> list[Row]:
    """Measure seconds of the bound against six policies, one after the other."""
    tasks = mixed(COUNT)
    floor = lower_bound(tasks, cluster).makespan
    require(all(simulate(tasks, name).makespan >= floor for name in POLICIES), "a policy ends before the lower bound")

    def race() -> None:
        for name in POLICIES:
            simulate(tasks, name)

    ours, theirs = side_by_side(5, lambda: lower_bound(tasks, cluster), race)
    return [Row("bound_vs_race", ours, theirs, "s", target=1.0, at_most=True)]
