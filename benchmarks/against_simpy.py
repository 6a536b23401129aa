"""`eft` against the same system modelled in SimPy."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np
import simpy

from benchmarks.rows import Row, require, side_by_side
from benchmarks.workload import cluster, mixed, simulate
from hybrid_scheduler import Task

SIMPY_COUNT = 20_000


def eft_vs_simpy() -> list[Row]:
    """Measure tasks a second, SimPy's on fewer tasks: its time per task does not depend on their number."""
    tasks = mixed()
    few = tasks.part(0, SIMPY_COUNT)
    rows = list(few)
    same = np.allclose(simpy_eft(rows), simulate(tasks).finish[:SIMPY_COUNT], rtol=1e-9, atol=0.0)
    require(same, "SimPy and the simulator give different finish times")
    ours, theirs = side_by_side(7, lambda: simulate(tasks), lambda: simpy_eft(rows))
    return [Row("eft_vs_simpy", len(tasks) / ours, len(few) / theirs, "tasks/s", target=500)]


def simpy_eft(rows: list[Task]) -> list[float]:
    """Simulate devices as resources and tasks as processes, by the same formulas; return the finish times."""
    env = simpy.Environment()
    devices = [simpy.Resource(env, capacity=1) for _ in cluster.devices]
    gpu = cluster.devices[-1].device_class
    free = [0.0] * len(devices)
    finish, start, device_of = [0.0] * len(rows), [0.0] * len(rows), [0] * len(rows)

    def choose(row: Task) -> tuple[int, float]:
        on_cpu = row.duration_estimate or math.inf
        on_gpu = on_cpu / (1.0 + gpu.speedup_slope * row.compute_intensity) + row.memory_required / gpu.bandwidth
        if row.memory_required > gpu.memory:
            on_gpu = math.inf
        best, seconds, earliest = 0, on_cpu, max(env.now, free[0]) + on_cpu
        for device in range(1, len(free)):
            end = max(env.now, free[device]) + on_gpu
            if end < earliest:
                best, seconds, earliest = device, on_gpu, end
        free[best] = earliest
        return best, seconds

    def task(number: int) -> Generator[simpy.Event, Any, None]:
        device, seconds = choose(rows[number])
        with devices[device].request() as turn:
            yield turn
            start[number], device_of[number] = env.now, device
            yield env.timeout(seconds)
        finish[number] = env.now

    # Tasks that are born on arrival run nearly twice as fast in SimPy as tasks that all wait from time 0 on.
    def source() -> Generator[simpy.Event, Any, None]:
        for number, row in enumerate(rows):
            yield env.timeout(row.arrival_time - env.now)
            env.process(task(number))

    env.process(source())
    env.run()
    return finish
