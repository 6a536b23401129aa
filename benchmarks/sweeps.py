"""A sweep on two processes against twice the speed of one: what start-up, contention and the last job cost."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.rows import Row, require
from hybrid_scheduler.studies.sweep import Grid, digest, run_on_processes, run_sweep

GRID = Grid(("eft", "oracle", "hybrid_ml"), ("mixed", "long_tail"), loads=(0.9, 1.5), tasks=1500)
FIRST = replace(GRID, loads=(1.5,), seeds=(0,))  # every policy once
REPEATS = 2
LIMIT = 600.0


def sweep_two_processes() -> list[Row]:
    """Measure comparisons a second, with the start of the processes; 1 would be all that two cores can give."""
    one, two = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _seconds(folder / "first", 2, FIRST)  # compiles and fills the caches
        for turn in range(REPEATS):
            two.append(_seconds(folder / f"two {turn}", 2))
            one.append(_seconds(folder / f"one {turn}", 1))
        require(digest(folder / "one 0") == digest(folder / "two 0"), "the sweeps give different tables")
    count = len(GRID.points())
    return [Row("sweep_two_processes", count / min(two), 2 * count / min(one), "points/s", target=0.8)]


def _seconds(folder: Path, processes: int, grid: Grid = GRID) -> float:
    begin = time.perf_counter()
    run_sweep(grid, folder, run_on_processes(processes, LIMIT))
    return time.perf_counter() - begin
