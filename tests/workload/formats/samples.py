"""A small file of every format, made here: what the conformance tests read, pack, cut off and garble.

A sample writes its files into a folder and returns their paths, the main file first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybrid_scheduler.model import Tasks
from hybrid_scheduler.model.tasks import edges_from_ids
from hybrid_scheduler.workload.formats import csv, parquet
from workload.formats import instances

Sample = Callable[[Path], list[Path]]


def own_tasks() -> Tasks:
    """Return tasks with every kind of column."""
    return Tasks.build(
        size=[100.0, 250.5, 1e3],
        compute_intensity=[0.1, 0.5, 1.0],
        memory_required=[10.0, 20.0, 0.1 + 0.2],
        arrival_time=[0.0, 1.5, 2.0],
        task_id=[7, 8, 9],
        edges=edges_from_ids([7, 8, 9], [[], [7], [7, 8]], [[], [0.5], [0.25, 3.0]]),
        measured={"cpu": [0.1, 0.2, float("inf")], "gpu": [float("nan"), 0.1, 0.3]},
        expected={"cpu": [0.2, 0.2, 0.2]},
        features={"bytes": [1.0, float("nan"), 3.0]},
    )


def csv_file(folder: Path) -> list[Path]:
    """Write our own tasks as text."""
    csv.write(own_tasks(), folder / "tasks.csv")
    return [folder / "tasks.csv"]


def parquet_file(folder: Path) -> list[Path]:
    """Write the same as Parquet."""
    parquet.write(own_tasks(), folder / "tasks.parquet")
    return [folder / "tasks.parquet"]


SAMPLES: dict[str, Sample] = {
    "csv": csv_file,
    "parquet": parquet_file,
    "wfcommons": instances.wfcommons_file,
    "etc": instances.etc_file,
    "kernels": instances.kernels_file,
    "starpu": instances.starpu_file,
    "gavel": instances.gavel_file,
}
"""By name of the format; a test fails if a format of the registry has none."""
