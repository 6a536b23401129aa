"""A sweep on two processes against twice the speed of one: how much is lost to starting and sharing."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.rows import Row, require
from hybrid_scheduler.sweep.grid import Grid
from hybrid_scheduler.sweep.sweep import digest, on_processes, run_sweep

GRID = Grid(
    ("eft", "oracle", "hybrid_ml"), ("mixed", "long_tail"), loads=(0.9, 1.5), seeds=tuple(range(6)), tasks=1500
)
LIMIT = 600.0


def sweep_two_processes() -> list[Row]:
    """Measure comparisons a second, with the start of the processes; 1 would be twice the speed of one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _seconds(folder / "first", 1)  # compiles and fills the cache
        alone, two = _seconds(folder / "one", 1), _seconds(folder / "two", 2)
        require(digest(folder / "one") == digest(folder / "two"), "the sweeps give different tables")
    count = len(GRID.points())
    return [Row("sweep_two_processes", count / two, 2 * count / alone, "points/s", target=0.8)]


def _seconds(folder: Path, processes: int) -> float:
    begin = time.perf_counter()
    run_sweep(GRID, folder, on_processes(processes, LIMIT))
    return time.perf_counter() - begin
