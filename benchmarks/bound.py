"""The lower bounds against the policies that they judge."""

from __future__ import annotations

from benchmarks.rows import Row, require, side_by_side
from benchmarks.workload import cluster, mixed, simulate
from hybrid_scheduler import Tasks, lower_bound, turnaround_bound

COUNT, FEW = 1_000_000, 2000
POLICIES = ("round_robin", "random", "greedy", "oracle", "eft", "price")


def bound_vs_race() -> list[Row]:
    """Measure seconds of the bound against six policies, one after the other."""
    tasks = mixed(COUNT)
    floor = lower_bound(tasks, cluster).makespan
    require(all(simulate(tasks, name).makespan >= floor for name in POLICIES), "a policy ends before the lower bound")
    ours, theirs = side_by_side(5, lambda: lower_bound(tasks, cluster), lambda: race(tasks))
    return [Row("bound_vs_race", ours, theirs, "s", target=1.0, at_most=True)]


def turnaround_bound_vs_race() -> list[Row]:
    """Measure the same for the certificate of turnaround, and its seconds for a usual workload."""
    tasks, few = mixed(COUNT), mixed(COUNT).part(0, FEW)
    floor = turnaround_bound(tasks, cluster, whole=False).mean
    means = [float(simulate(tasks, name).turnaround.mean()) for name in POLICIES]
    require(min(means) >= floor, "a policy has a lower mean turnaround than the bound")
    ours, theirs = side_by_side(1, lambda: turnaround_bound(tasks, cluster), lambda: race(tasks))
    (seconds,) = side_by_side(3, lambda: turnaround_bound(few, cluster))
    return [
        Row("turnaround_bound_vs_race", ours, theirs, "s", target=10.0, at_most=True),
        Row("turnaround_bound_2000", seconds, 5.0, "s", target=1.0, at_most=True),
    ]


def race(tasks: Tasks) -> None:
    """Simulate six policies, one after the other."""
    for name in POLICIES:
        simulate(tasks, name)
