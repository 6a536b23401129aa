"""The compiled loop against the same loop in plain Python."""

from __future__ import annotations

import numpy as np

from benchmarks.rows import Row, require, side_by_side
from benchmarks.workload import mixed, simulate

COUNT = 50_000


def interpreted_loop() -> list[Row]:
    """Measure tasks a second of `eft` on the same tasks at both speeds."""
    tasks = mixed(COUNT)
    same = np.array_equal(simulate(tasks).finish, simulate(tasks, interpreted=True).finish)
    require(same, "the compiled and the interpreted loop differ in some bit of the finish times")
    ours, theirs = side_by_side(5, lambda: simulate(tasks), lambda: simulate(tasks, interpreted=True))
    return [Row("interpreted_loop", COUNT / ours, COUNT / theirs, "tasks/s", target=10)]
