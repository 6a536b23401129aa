"""A sweep on two processes against twice one process: how much is lost to starting, sharing and waiting for the last.

Two cores of a rented machine are not always twice one: loops that share nothing say, in the same minutes, what they were.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean

from benchmarks.rows import Row, require
from hybrid_scheduler.sweep.grid import Grid
from hybrid_scheduler.sweep.sweep import digest, on_processes, run_sweep
from hybrid_scheduler.workers import carried_out

GRID = Grid(("eft", "oracle", "hybrid_ml"), ("mixed", "long_tail"), loads=(0.9, 1.5), tasks=1500)
FIRST = replace(GRID, loads=(1.5,), seeds=(0,))  # every policy once
REPEATS = 2
LIMIT = 600.0
STEPS = 3_000_000  # of a busy loop, some tenths of a second


def sweep_two_processes() -> list[Row]:
    """Measure comparisons a second, with the start of the processes; 1 would be all that two cores can give."""
    one, two, free = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _seconds(folder / "first", 2, FIRST)  # compiles and fills the caches
        for turn in range(REPEATS):
            free.append(_two_cores())
            two.append(_seconds(folder / f"two {turn}", 2))
            one.append(_seconds(folder / f"one {turn}", 1))
        require(digest(folder / "one 0") == digest(folder / "two 0"), "the sweeps give different tables")
    count = len(GRID.points())
    return [
        Row("sweep_two_processes", count / min(two), 2 * count / min(one), "points/s", target=0.8),
        Row("two_free_loops", 2 * mean(free), 2, "cores", target=0.8),
    ]


def _seconds(folder: Path, processes: int, grid: Grid = GRID) -> float:
    begin = time.perf_counter()
    run_sweep(grid, folder, on_processes(processes, LIMIT))
    return time.perf_counter() - begin


def _two_cores() -> float:
    """Return how much of two cores two loops get that share nothing."""
    alone = [outcome.value for outcome in carried_out(_busy, [STEPS] * 3, 1, LIMIT)]
    both = [outcome.value for outcome in carried_out(_busy, [STEPS] * 6, 2, LIMIT)]
    return float(min(alone) * len(both) / sum(both))


def _busy(steps: int) -> float:
    begin = time.perf_counter()
    total = 0
    for number in range(steps):
        total += number * number % 7
    return time.perf_counter() - begin
