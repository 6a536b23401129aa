"""Overhead of a task that runs through a policy: over a bare call, and against bare calls of Ray actors."""

from __future__ import annotations

import logging
import math
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks.rows import Row, side_by_side
from hybrid_scheduler import HybridScheduler

TASKS, RAY_TASKS = 2000, 500
ALLOWED = 300.0  # microseconds over a bare call
DEVICES = "cpu,cpu"


def local_overhead() -> list[Row]:
    """Submit tasks that do nothing: over calling them here, and against the process pool of the standard library."""

    def bare() -> None:
        for _ in range(TASKS):
            math.sqrt(4.0)

    # Spawned, as our workers are: a fork of a process with threads may hang.
    with (
        HybridScheduler("eft", devices=DEVICES) as ours,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
    ):
        _submit_all(ours, 200)
        seconds, alone, pooled = side_by_side(
            5, lambda: _submit_all(ours), bare, lambda: _submit_all(pool), recycle=False
        )
    each = (seconds - alone) / TASKS * 1e6
    return [
        Row("local_overhead", each, ALLOWED, "µs/task", 1.0, at_most=True),
        Row("local_vs_pool", seconds / TASKS * 1e6, pooled / TASKS * 1e6, "µs/task", 2.0, at_most=True),
    ]


def _submit_all(executor: Executor, tasks: int = TASKS) -> None:
    for future in [executor.submit(math.sqrt, 4.0) for _ in range(tasks)]:
        future.result()


def ray_overhead() -> list[Row]:
    """Submit tasks that do nothing through Ray, and call as many bare actors as often."""
    os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    import ray

    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        actors: list[Any] = [ray.remote(_Bare).options(num_cpus=1).remote() for _ in range(2)]

        def bare() -> Any:
            return ray.get([actors[number % 2].root.remote(4.0) for number in range(RAY_TASKS)])

        with HybridScheduler("eft", "ray", DEVICES) as ours:
            _submit_all(ours, 100)
            seconds, alone = side_by_side(5, lambda: _submit_all(ours, RAY_TASKS), bare, recycle=False)
    finally:
        ray.shutdown()
    return [Row("ray_overhead", seconds / RAY_TASKS * 1e6, alone / RAY_TASKS * 1e6, "µs/task", 1.3, at_most=True)]


class _Bare:
    """An actor without anything around it."""

    def root(self, number: float) -> float:
        return math.sqrt(number)
