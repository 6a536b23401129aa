"""Peak memory of a simulation, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.rows import BenchmarkError, Row, require
from benchmarks.workload import LOAD, SEED, cluster, mixed, simulate
from hybrid_scheduler import Placements, WorkloadGenerator
from hybrid_scheduler.workloads.generator import saturation_rate

COUNT = 10_000_000
STATUS = Path("/proc/self/status")


def memory_per_task() -> list[Row]:
    """Compare the peak, tasks included, with the bytes of the columns of tasks, times and placements."""
    if not STATUS.exists():
        raise BenchmarkError(f"reads the peak memory from {STATUS}, which only Linux has: run it there")
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"the measuring process failed: {done.stderr.strip()[-300:]}")
    peak, columns = json.loads(done.stdout)
    return [Row("memory_per_task", peak / COUNT, columns / COUNT, "B/task", target=1.5, at_most=True)]


def measure_here() -> tuple[int, int]:
    """Return the bytes by which this process grew at its peak, and the bytes of the columns."""
    sample = mixed(100_000)
    simulate(sample)
    before = _resident("VmRSS")
    # A rate, not a load: finding the load of all these tasks would need more memory than simulating them.
    rate = LOAD * saturation_rate(sample, cluster)
    tasks = WorkloadGenerator(SEED).generate_preset("mixed", COUNT, rate=rate, cluster=cluster)
    drawn = _resident("VmHWM")
    placements = simulate(tasks)
    peak = _resident("VmHWM")
    require(peak > drawn, "drawing the tasks needed more memory than simulating them")
    return peak - before, _column_bytes(placements)


def _resident(field: str) -> int:
    # Not getrusage: its peak starts at that of the process that started this one.
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _column_bytes(placements: Placements) -> int:
    """Add up the columns, each once: `ready` may be the same as `arrival_time`."""
    owners = (
        (placements.tasks, "size compute_intensity memory_required arrival_time task_id duration_estimate"),
        (placements, "times gpu_fraction gpu cpu gpu_start cpu_start ready finish status"),
    )
    columns = [getattr(owner, name) for owner, names in owners for name in names.split()]
    return sum({id(column): int(column.nbytes) for column in columns}.values())


if __name__ == "__main__":
    print(json.dumps(measure_here()))
