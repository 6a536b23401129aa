"""Whether ten million tasks take as long each as a hundred thousand, and 5,000 devices not much longer than 5."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.rows import BenchmarkError, Row, side_by_side
from benchmarks.workload import LOAD, SEED, mixed, simulate
from hybrid_scheduler import Cluster, VirtualMultiGPU, WorkloadGenerator, registry
from hybrid_scheduler.core.physics import class_times

MANY, FEW = 10_000_000, 100_000
GROWING, TASKS = ("eft", "greedy", "price", "oracle", "spt"), 100_000


def linear_time() -> list[Row]:
    """Measure ns per task of one long run against as many tasks in short runs, in a process of its own."""
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"the measuring process failed: {done.stderr.strip()[-300:]}")
    long, short = json.loads(done.stdout)
    return [Row("linear_time", long / MANY * 1e9, short / MANY * 1e9, "ns/task", target=1.2, at_most=True)]


def measure_here() -> list[float]:
    """Return the seconds of one long run and of the short runs, with the allocator as every user has it."""
    few, many = mixed(FEW), mixed(MANY)

    def short_runs() -> None:
        for _ in range(MANY // FEW):
            simulate(few)

    return side_by_side(3, lambda: simulate(many), short_runs, recycle=False)


def growth_in_devices() -> list[Row]:
    """Measure ns per task with 5,000 devices against 5, for policies that ask the index of the devices."""
    rows = []
    for name in GROWING:
        sides = [_prepare_run(name, devices) for devices in (5000, 5)]
        large, small = side_by_side(100, *sides, clock=time.thread_time)  # runs of unequal length: waits would count
        per_task = 1e9 / TASKS
        rows.append(Row(f"growth_{name}", large * per_task, small * per_task, "ns/task", target=3.0, at_most=True))
    return rows


def _prepare_run(name: str, devices: int) -> Callable[[], object]:
    cluster = Cluster.default(gpus=devices - 1)
    tasks = WorkloadGenerator(SEED).generate_preset("mixed", TASKS, load=LOAD, cluster=cluster)
    times, machine = class_times(tasks, cluster), VirtualMultiGPU(cluster=cluster)

    def run() -> object:
        machine.reset()
        return machine.step(tasks, registry.schedulers.create(name, seed=SEED), times=times)

    return run


if __name__ == "__main__":
    print(json.dumps(measure_here()))
