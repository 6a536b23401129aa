"""What a task costs that goes through a policy: over a bare call, against Ray and a process pool, from the start."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import psutil

from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler import HybridScheduler

TASKS, CPU_TASKS, RAY_TASKS = 2000, 8000, 500  # CPU time is counted in hundredths of a second
ALLOWED = 90.0  # microseconds over a bare call
DEVICES = "cpu,cpu"
MILLISECOND_CALLS, COUNT = 10_000, 60_000  # adding so many numbers takes a millisecond
WIDE_WORKERS, WIDE_CALLS, WIDE_SECONDS = 32, 3200, 0.02
FIRST_RESULT_SECONDS, STARTS = 1.0, 5
FIRST_RESULT = """
import time
begin = time.perf_counter()
from hybrid_scheduler import HybridScheduler
with HybridScheduler() as scheduler:
    assert scheduler.submit(pow, 2, 10).result() == 1024
    print(time.perf_counter() - begin)
"""


def local_overhead() -> list[Row]:
    """Submit tasks that do nothing: over calling them here, and against the process pool of the standard library."""

    def bare(tasks: int = TASKS) -> None:
        for _ in range(tasks):
            math.sqrt(4.0)

    # Spawned, as our workers are: a fork of a process with threads may hang.
    with (
        HybridScheduler("eft", devices=DEVICES) as ours,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
    ):
        runs = partial(_submit_all, ours), bare, partial(_submit_all, pool)
        _submit_all(ours, 60_000)  # until the compiled loop is there
        wall = side_by_side(5, *runs, recycle=False)
        cpu = side_by_side(5, *(partial(each, CPU_TASKS) for each in runs), recycle=False, clock=_read_cpu_seconds)
    seconds, alone, pooled = (each / TASKS * 1e6 for each in wall)
    used, used_alone, used_pooled = (each / CPU_TASKS * 1e6 for each in cpu)
    return [
        Row("local_overhead", seconds - alone, ALLOWED, "µs/task", 1.0, at_most=True),
        Row("local_vs_pool", seconds, pooled, "µs/task", 2.0, at_most=True),
        # Also told beside other work, which makes everything wait.
        Row("local_overhead_cpu", used - used_alone, ALLOWED, "CPU µs/task", 1.0, at_most=True),
        Row("local_vs_pool_cpu", used, used_pooled, "CPU µs/task", 1.0, at_most=True),
    ]


def _read_cpu_seconds() -> float:
    """Return the CPU time of this process and its children so far, threads and workers included."""
    me = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in (me, *me.children(recursive=True)))


def _submit_all(executor: Executor, tasks: int = TASKS) -> None:
    for future in [executor.submit(math.sqrt, 4.0) for _ in range(tasks)]:
        future.result()


def first_result() -> list[Row]:
    """Import the package in a new interpreter, start workers on all cores and wait for one result."""
    seconds = []
    for _ in range(STARTS):
        run = subprocess.run([sys.executable, "-c", FIRST_RESULT], capture_output=True, text=True, check=True)
        seconds.append(float(run.stdout))
    return [Row("first_result", min(seconds), FIRST_RESULT_SECONDS, "s", 1.0, at_most=True)]


def add_numbers(count: int) -> int:
    return sum(range(count))


def millisecond_calls() -> list[Row]:
    """Compute 10,000 times for a millisecond on all cores: the default policy against the standard process pool."""

    def run(executor: Executor) -> None:
        futures = [executor.submit(add_numbers, COUNT) for _ in range(MILLISECOND_CALLS)]
        require({each.result() for each in futures} == {sum(range(COUNT))}, "a sum is wrong")

    with HybridScheduler() as ours, ProcessPoolExecutor(len(ours.devices), mp_context=get_context("spawn")) as pool:
        seconds, theirs = side_by_side(3, partial(run, ours), partial(run, pool), recycle=False)
    return [Row("millisecond_calls_vs_pool", seconds, theirs, "s", 1.0, at_most=True)]


def wide_machine() -> list[Row]:
    """Sleep 3,200 times for 20 ms on 32 workers: the default policy, `eft` and the standard process pool."""

    def run(executor: Executor) -> None:
        for future in [executor.submit(time.sleep, WIDE_SECONDS) for _ in range(WIDE_CALLS)]:
            future.result()

    devices = f"cpu*{WIDE_WORKERS}"
    with (
        HybridScheduler(devices=devices) as ours,
        HybridScheduler("eft", devices=devices) as eft,
        ProcessPoolExecutor(WIDE_WORKERS, mp_context=get_context("spawn")) as pool,
    ):
        sides = [WIDE_CALLS / each for each in side_by_side(3, *(partial(run, e) for e in (ours, eft, pool)))]
    ideal = WIDE_WORKERS / WIDE_SECONDS
    return [
        Row("wide_default_vs_eft", sides[0], sides[1], "tasks/s", 0.9),
        Row("wide_default_vs_pool", sides[0], sides[2], "tasks/s", 1.0),
        Row("wide_default_vs_ideal", sides[0], ideal, "tasks/s", 0.85),
    ]


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
    return [Row("ray_overhead", seconds / RAY_TASKS * 1e6, alone / RAY_TASKS * 1e6, "µs/task", 0.5, at_most=True)]


class _Bare:
    """An actor without anything around it."""

    def root(self, number: float) -> float:
        return math.sqrt(number)
