"""A sweep on two processes against what two cores give here: how much is lost to starting and sharing.

Two cores of a rented machine are not twice one: two loops that share nothing say how much they are, at the same time.
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

GRID = Grid(("eft", "oracle", "hybrid_ml"), ("mixed", "long_tail"), loads=(0.9, 1.5), seeds=(0, 1, 2), tasks=1500)
FIRST = replace(GRID, loads=(1.5,), seeds=(0,))  # every policy once
LIMIT = 600.0
STEPS = 3_000_000  # of a busy loop, some tenths of a second
FREE = 0.6  # of two cores that must be ours


def sweep_two_processes() -> list[Row]:
    """Measure comparisons a second, with the start of the processes; 1 would be all that two cores can give."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _seconds(folder / "first", 2, FIRST)  # compiles and fills the caches
        free = [_two_cores()]
        two, alone = _seconds(folder / "two", 2), _seconds(folder / "one", 1)
        free.append(_two_cores())
        require(digest(folder / "one") == digest(folder / "two"), "the sweeps give different tables")
    require(
        min(free) >= FREE,
        f"two loops got {min(free):.0%} of two cores: try again when nothing else runs on this machine",
    )
    count, cores = len(GRID.points()), 2 * mean(free)
    return [Row("sweep_two_processes", count / two, cores * count / alone, "points/s", target=0.8)]


def _seconds(folder: Path, processes: int, grid: Grid = GRID) -> float:
    begin = time.perf_counter()
    run_sweep(grid, folder, on_processes(processes, LIMIT))
    return time.perf_counter() - begin


def _two_cores() -> float:
    """Return how much of two cores two loops get that share nothing; on a busy machine no sweep can be measured."""
    alone = [outcome.value for outcome in carried_out(_busy, [STEPS] * 3, 1, LIMIT)]
    both = [outcome.value for outcome in carried_out(_busy, [STEPS] * 6, 2, LIMIT)]
    return float(min(alone) * len(both) / sum(both))


def _busy(steps: int) -> float:
    begin = time.perf_counter()
    total = 0
    for number in range(steps):
        total += number * number % 7
    return time.perf_counter() - begin
