"""What a folder of `hms run --out` keeps of every task: what was measured cannot be made again, so it is read."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.execution.running import COLUMNS, DEVICES, PLACEMENTS
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.race import Result
from hybrid_scheduler.reports.replay import Replay

Columns = dict[str, Floats]


def kept_replay(result: Result, directory: str | Path) -> Replay:
    """Return the measured placements of the first seed."""
    seed = result.comparison.seeds[0]
    table = _table(Path(directory) / PLACEMENTS)
    tasks = result.comparison.source.tasks(seed, result.comparison.cluster)
    placements = {}
    for spec in result.comparison.schedulers:
        rows = [row for row in table if row["seed"] == str(seed) and row["scheduler"] == spec]
        if [row["task_id"] for row in rows] != [str(each) for each in tasks.task_id.tolist()]:
            raise InputError(
                f"{directory}/{PLACEMENTS} has other tasks of {spec} than this run: take the whole folder"
            )
        numbers = COLUMNS[2:]
        columns = {name: np.array([float(row[name]) for row in rows]) for name in numbers}
        placements[spec] = _placements(columns, tasks, result)
    arrived = next(iter(placements.values())).tasks
    return Replay(seed, arrived, placements, whole=True, same=True, measured=True)


def kept_devices(directory: str | Path) -> list[str]:
    """Return the names of the devices as people should read them, emulated ones called so."""
    try:
        return (Path(directory) / DEVICES).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{directory}/{DEVICES} cannot be read ({error.strerror}): run it again") from None


def _table(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise InputError(f"{path} has other columns than hms run writes: run it again")
            return list(reader)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): run it again with --out") from None


def _placements(columns: Columns, tasks: Tasks, result: Result) -> Placements:
    cluster = result.comparison.cluster
    gpu, cpu = columns["gpu"].astype(np.int32), columns["cpu"].astype(np.int32)
    share = columns["gpu_fraction"]
    times = np.full((len(tasks), len(cluster.classes)), np.nan)
    for device, part, seconds in ((gpu, share, "gpu_seconds"), (cpu, 1.0 - share, "cpu_seconds")):
        rows = np.flatnonzero(device >= 0)
        times[rows, cluster.class_index[device[rows]]] = columns[seconds][rows] / part[rows]
    return Placements(
        tasks=tasks.arriving_at(columns["arrival"]),
        cluster=cluster,
        times=times,
        gpu_fraction=share,
        gpu=gpu,
        cpu=cpu,
        gpu_start=columns["gpu_start"],
        cpu_start=columns["cpu_start"],
        ready=columns["ready"],
        finish=columns["finish"],
        status=columns["status"].astype(np.uint8),
        measured=True,
    )
