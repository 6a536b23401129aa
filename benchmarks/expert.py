"""Learning where three types of task run best, against an expert who knows: from the first task on, and after 300."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from benchmarks.rows import Row
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.runtime.jobs import TaskFunction

DEVICES = "cpu,gpu=emulated:slowdown=1"
TYPES = {"convolve": (0.030, 0.008, 0.5), "sort": (0.006, 0.024, 0.25), "parse": (0.005, 0.015, 0.25)}
"""Seconds on the CPU and on the GPU, and the share of tasks; no assignment of whole types to devices but the expert's
is good, and moving single tasks gains 7 % at most."""
BATCH, REPEATS = 300, 3


def _create_task(name: str) -> TaskFunction:
    """Return a task that nothing is said of but its two implementations; every call has a length of its own."""
    on_cpu, on_gpu, _ = TYPES[name]
    function = TaskFunction(lambda length: time.sleep(length * on_cpu), name=name)
    function.on("gpu")(lambda length: time.sleep(length * on_gpu))
    return function


def _time_batch(submit: Callable[[TaskFunction, float], Future[Any]], seed: int) -> float:
    rng, functions = np.random.default_rng(seed), {name: _create_task(name) for name in TYPES}
    names = rng.choice(list(TYPES), BATCH, p=[share for *_, share in TYPES.values()])
    calls = [
        (functions[name], float(length)) for name, length in zip(names, rng.uniform(0.8, 1.2, BATCH), strict=True)
    ]
    begin = time.perf_counter()
    for future in [submit(*call) for call in calls]:
        future.result()
    return time.perf_counter() - begin


def expert_rule() -> list[Row]:
    """Run 300 tasks and 300 more: as the default policy learns, and where the expert sends each type."""
    best = {name: 0.0 if on_cpu < on_gpu else 1.0 for name, (on_cpu, on_gpu, _) in TYPES.items()}
    ours, theirs = np.full((2, REPEATS), np.inf), np.full((2, REPEATS), np.inf)
    for repeat in range(REPEATS):
        with HybridScheduler(devices=DEVICES) as learning, HybridScheduler(devices=DEVICES) as expert:
            for scheduler in (learning, expert):
                scheduler.warm(abs, -1)  # the workers are there

            def send(function: TaskFunction, length: float, to: HybridScheduler = expert) -> Future[Any]:
                return to.submit_with(function, [length], gpu_share=best[function.name])

            for batch in range(2):
                theirs[batch, repeat] = _time_batch(send, 2 * repeat + batch)
                ours[batch, repeat] = _time_batch(learning.submit, 2 * repeat + batch)
    (first, later), (first_expert, later_expert) = ours.sum(axis=1).tolist(), theirs.sum(axis=1).tolist()
    return [
        Row("expert_rule_from_the_first", first, first_expert, "s", 1.3, at_most=True),
        Row("expert_rule_after_300", later, later_expert, "s", 1.05, at_most=True),
    ]
