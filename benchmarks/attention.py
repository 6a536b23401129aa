"""One decision of `attention_agent`: 32 tasks that wait, sixteen devices, against the 50 µs that it may take."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler import Cluster, WorkloadGenerator
from hybrid_scheduler.core.compiler import compile_loop
from hybrid_scheduler.core.late_binding import Waiting
from hybrid_scheduler.core.view import View, build_view
from hybrid_scheduler.schedulers.attention_agent import AttentionAgent

TASKS, GPUS, ALLOWED = 32, 15, 50.0
DECISIONS = 2000


def attention_decision() -> list[Row]:
    """Measure µs per question, with one device idle and all others busy."""
    cluster = Cluster.default(gpus=GPUS)
    tasks = WorkloadGenerator(1).generate_preset("mixed", TASKS, cluster=cluster)
    view, agent = build_view(cluster), AttentionAgent()
    view.running_end[1:] = 1000.0 + np.linspace(0.1, 1.0, GPUS)
    agent.prepare(tasks, np.full((1, 2), np.nan), view)
    running = np.arange(len(view.free)) - 1  # the first device is idle
    columns = tasks.size, tasks.compute_intensity, tasks.memory_required, tasks.arrival_time
    waiting = Waiting(np.arange(TASKS), TASKS, 1000.0, running, *columns, np.full((1, 2), np.nan))
    ask, state = compile_loop(_ask, {"select": AttentionAgent.pick}, agent)
    require(-1 <= ask(state, waiting, 0, view, 1) < TASKS, "no answer to the question")
    (seconds,) = side_by_side(20, lambda: ask(state, waiting, 0, view, DECISIONS), clock=time.process_time)
    return [Row("attention_decision", seconds / DECISIONS * 1e6, ALLOWED, "µs", target=1.0, at_most=True)]


def _ask(policy: Any, waiting: Waiting, device: int, view: View, times: int) -> int:
    """Ask the same question many times; `select` is bound by `compile_loop`."""
    answer = -1
    for _ in range(times):
        answer = select(policy, waiting, device, view)  # type: ignore[name-defined]  # noqa: F821  # bound when the loop is
    return answer
