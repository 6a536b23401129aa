"""How long a task waits for its decision in a live loop, while the forest is retrained beside it."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows import Row, require
from hybrid_scheduler import Cluster, WorkloadGenerator
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from hybrid_scheduler.schedulers.scheduler import Scheduler

TASKS, GAP = 4000, 0.005  # seconds between two tasks
ALLOWED = 1e-3


def live_decisions() -> list[Row]:
    """Measure the 99th percentile of a decision, task by task, in milliseconds."""
    forest, agent = HybridML(background=-1, tolerance=0.0), RLAgent(background=-1)
    rows = []
    for policy in (forest, agent):
        seconds = _live(policy)
        policy.close()
        p99 = float(np.quantile(seconds[TASKS // 10 :], 0.99))  # the first ones compile
        rows.append(Row(f"live_p99_{policy.name}", 1e3 * p99, 1e3 * ALLOWED, "ms", target=1.0, at_most=True))
    retrains = forest.insight.retrains
    require(retrains >= TASKS // 100, f"the forest was retrained {retrains} times only: nothing ran beside")
    return rows


def _live(policy: Scheduler) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    cluster = Cluster.default()
    tasks = WorkloadGenerator(3).generate_preset("mixed", TASKS, load=0.9, cluster=cluster)
    machine, seconds = VirtualMultiGPU(cluster=cluster), np.zeros(TASKS)
    due = time.perf_counter()
    for number in range(TASKS):
        due += GAP
        time.sleep(max(0.0, due - time.perf_counter()))
        task = tasks.part(number, number + 1)
        begin = time.perf_counter()
        placements = machine.step(task, policy)
        seconds[number] = time.perf_counter() - begin
        policy.learn(placements)  # handed over after the decision, before the next task
    return seconds
