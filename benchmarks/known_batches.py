"""`search` on batches whose best makespan is on record: `python -m benchmarks.known_batches DIR [COPIES]`.

The search draws by task number, so one order of the tasks is one sample of its luck. Every instance is therefore also
solved with its tasks in other orders, and the worst of them stands in the table.
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import numpy as np

from hybrid_scheduler.bounds.local_search import find_start_prices, finish_times, search_assignment
from hybrid_scheduler.core.tasks import Floats


def instances(folder: Path) -> dict[str, tuple[Floats, float]]:
    """Return the times and the best known makespan of Braun's files and of the OpenCL kernels."""
    with (folder / "braun_etc" / "rcmax_reference.csv").open(encoding="utf-8") as file:
        best = {row["instance"]: float(row["best_makespan"]) for row in csv.DictReader(file)}
    found = {
        path.name: (np.loadtxt(path).reshape(512, 16), best[path.name])
        for path in sorted((folder / "braun_etc").glob("u_*"))
    }
    with (folder / "opencl_cpu_gpu_cgo17" / "opencl_cpu_gpu_times.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = [name for name in rows[0] if name.startswith("runtime")]
    return found | {"cgo17": (np.array([[float(row[name]) for name in columns] for row in rows]), best["cgo17"])}


def solve(seconds: Floats) -> tuple[float, float, float]:
    """Return the makespan, the seconds on the clock and the seconds of the processor, prices included."""
    kind, start = np.arange(seconds.shape[1]), np.zeros(seconds.shape[1])
    wall, used = time.perf_counter(), time.process_time()
    device = search_assignment(seconds, kind, start, find_start_prices(seconds, kind, start))
    wall, used = time.perf_counter() - wall, time.process_time() - used
    return float(finish_times(device, seconds, kind, start).max()), wall, used


def main(folder: str, copies: int = 5) -> None:
    """Print one line for each instance."""
    solve(np.ones((20, 3)))  # compiles
    head = f"{'instance':12} {'makespan':>13} {'over best':>10} {'clock':>7} {'cpu':>7}"
    print(f"{head}   {copies} other orders: mean, worst")
    for name, (seconds, best) in instances(Path(folder)).items():
        makespan, wall, used = solve(seconds)
        orders = [np.random.default_rng(seed).permutation(len(seconds)) for seed in range(copies)]
        over = np.array([solve(np.ascontiguousarray(seconds[order]))[0] / best - 1.0 for order in orders])
        print(
            f"{name:12} {makespan:13.2f} {makespan / best - 1.0:+10.3%} {wall:5.2f} s {used:5.2f} s   "
            f"{over.mean():+.3%} {over.max():+.3%}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
