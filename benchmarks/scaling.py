"""Whether ten million tasks take as long each as a hundred thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.rows import BenchmarkError, Row, side_by_side
from benchmarks.workload import mixed, simulate

MANY, FEW = 10_000_000, 100_000


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


if __name__ == "__main__":
    print(json.dumps(measure_here()))
