"""Tasks a second of every policy that decides task by task, against `eft` in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from benchmarks.rows import Row, side_by_side
from benchmarks.workload import SEED, cluster, mixed
from hybrid_scheduler import Tasks, VirtualMultiGPU, registry
from hybrid_scheduler.core.simulator import BACKLOGS, ESTIMATED, EXACT

COUNT = 500_000
TARGETS = {"round_robin": 1.5, "random": 0.8, "greedy": 0.15, "price": 0.12, "oracle": 0.08, "spt": 0.15}
"""Least ratios to `eft`, which needs few instructions a task."""
EXACT_GREEDY = 0.5


def policies_vs_eft() -> list[Row]:
    """Measure policies as users run them, and greedy also with the exact backlogs of version 1.0."""
    tasks = mixed(COUNT)
    machines = {backlog: VirtualMultiGPU(cluster=cluster, backlog=backlog) for backlog in BACKLOGS}
    runs = [("eft", ESTIMATED), *((name, ESTIMATED) for name in TARGETS), ("greedy", EXACT)]
    sides: list[Callable[[], object]] = [partial(_run, tasks, machines[backlog], name) for name, backlog in runs]
    eft, *others = (COUNT / seconds for seconds in side_by_side(15, *sides, clock=time.thread_time))
    names = [*(f"policy_{name}" for name in TARGETS), "policy_greedy_exact"]
    targets = [*TARGETS.values(), EXACT_GREEDY]
    return [
        Row(name, speed, eft, "tasks/s", target=target)
        for name, speed, target in zip(names, others, targets, strict=True)
    ]


def _run(tasks: Tasks, machine: VirtualMultiGPU, name: str) -> object:
    return machine.run(replace(tasks), registry.schedulers.create(name, seed=SEED))
