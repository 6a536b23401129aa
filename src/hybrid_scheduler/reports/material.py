"""One seed of a comparison, run again: measures are kept, placements are not, and a seed repeats to the last bit."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.bounds.makespan import present_times
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import rejections
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.labels import isolated_labels, queued_labels
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.runtime.lane import COLUMNS, DEVICES, PLACEMENTS
from hybrid_scheduler.studies import results
from hybrid_scheduler.studies.compare import Comparison, Result, race
from hybrid_scheduler.studies.experiments import Study
from hybrid_scheduler.studies.pretraining import LESSON_SEED

MOST_TASKS = 4000
"""Tasks of a replay: what comes later decides nothing about these, and a learner takes milliseconds for each."""


@dataclass(frozen=True)
class Replay:
    """The tasks of one seed and what every scheduler did with them."""

    seed: int
    tasks: Tasks
    placements: dict[str, Placements]
    whole: bool  # all tasks of the seed, not only the first ones
    same: bool  # whole, and every makespan is the kept one to the last bit
    measured: bool = False  # it really ran, and its placements were kept

    @property
    def how(self) -> str:
        """How it came about, in a word."""
        return "measured" if self.measured else "simulated"

    @property
    def ranking(self) -> list[str]:
        """Schedulers, shortest makespan first."""
        return sorted(self.placements, key=lambda spec: self.placements[spec].makespan)


def replay(result: Result, seed: int | None = None) -> Replay:
    """Run one seed of a comparison again, the first one by default."""
    comparison = result.comparison
    number = comparison.seeds[0] if seed is None else seed
    tasks = comparison.source.tasks(number, comparison.cluster)
    whole = tasks.has_edges or len(tasks) <= MOST_TASKS
    tasks = tasks if whole else tasks.part(0, MOST_TASKS)
    raced = race(tasks, comparison.schedulers, comparison.cluster, comparison.mode, number)
    placements = {spec: each[0] for spec, each in raced.items()}
    return Replay(number, tasks, placements, whole, whole and _same(result, number, placements))


def _same(result: Result, seed: int, placements: dict[str, Placements]) -> bool:
    kept = next((each for each in result.outcomes if each.seed == seed), None)
    return kept is not None and all(
        each.makespan == kept.measures[spec]["makespan"] for spec, each in placements.items()
    )


def replayed(found: Result | Replay) -> Replay:
    """Return a replay, running one if a comparison was given."""
    return found if isinstance(found, Replay) else replay(found)


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


MOST_ROWS, MOST_SEEDS, FEWEST = 2000, 5, 20


@dataclass(frozen=True)
class Checked:
    """Predicted and best shares of unseen tasks of one seed, and how much each feature counted."""

    seed: int
    learnt_from: int
    predicted: Floats
    actual: Floats
    importance: dict[str, float]

    @property
    def mae(self) -> float:
        """Mean absolute error of the share, 0 to 1."""
        return float(np.abs(self.predicted - self.actual).mean())

    @property
    def r2(self) -> float:
        """Share of the variance that is explained; NaN if all tasks have the same best share."""
        spread = float(((self.actual - self.actual.mean()) ** 2).sum())
        return 1.0 - float(((self.predicted - self.actual) ** 2).sum()) / spread if spread > 0 else float("nan")


Check = tuple[Checked, ...]


def can_check(result: Result) -> bool:
    """Whether there are GPUs to predict shares for, and tasks enough to learn and to be judged on."""
    comparison = result.comparison
    if not comparison.cluster.is_gpu.any():
        return False
    tasks = comparison.source.tasks(comparison.seeds[0], comparison.cluster)
    runs = rejections(tasks, present_times(tasks, comparison.cluster), comparison.cluster) == RAN
    return int(runs.sum()) >= 2 * FEWEST


def check_forest(result: Result) -> Check:
    """Fit a forest on other tasks of the same workload and judge it on the comparison's own, for a few seeds."""
    return tuple(_checked(result.comparison, seed) for seed in result.comparison.seeds[:MOST_SEEDS])


def _checked(comparison: Comparison, seed: int) -> Checked:
    source, cluster = comparison.source, comparison.cluster
    unseen = _labelled(source.tasks(seed, cluster), cluster, comparison.mode)
    if source.is_file:  # there are no other tasks: a half to learn from, a half to be judged on
        rows, labels = unseen
        order = np.random.default_rng(seed).permutation(len(rows))
        half = len(rows) // 2
        known, unseen = (rows[order[:half]], labels[order[:half]]), (rows[order[half:]], labels[order[half:]])
    else:
        known = _labelled(source.tasks(LESSON_SEED + seed, cluster), cluster, comparison.mode)
    if min(len(known[0]), len(unseen[0])) < FEWEST:
        raise InputError(f"{source.name} has seeds with too few tasks to judge a forest: give {2 * FEWEST} or more")
    rows, labels = known[0][:MOST_ROWS], known[1][:MOST_ROWS]
    forest = RandomForestPredictor(random_state=seed).fit_all(rows, labels, FEATURES)
    test, actual = unseen[0][:MOST_ROWS], unseen[1][:MOST_ROWS]
    return Checked(seed, len(rows), forest.predict(test), actual, forest.feature_importance())


def _labelled(tasks: Tasks, cluster: Cluster, mode: str) -> tuple[Floats, Floats]:
    times = present_times(tasks, cluster)
    runs = rejections(tasks, times, cluster) == RAN
    label = queued_labels if mode == "queued" else isolated_labels
    return task_features(tasks)[runs], label(times[runs], cluster)


def checked(found: Result | Check) -> Check:
    """Return a check, making one if a comparison was given."""
    return check_forest(found) if isinstance(found, Result) else found


SCORE = "makespan_over_bound"  # not a number where no task ran


@dataclass(frozen=True)
class RunMaterial:
    """A comparison; its replay and its forests are made when the first figure needs them, and once."""

    result: Result
    manifest: dict[str, Any]
    directory: Path = Path()

    @cached_property
    def replay(self) -> Replay:
        """One seed, run again; of a measured run, as it was kept."""
        return kept_replay(self.result, self.directory) if self.measured else replay(self.result)

    @property
    def measured(self) -> bool:
        """Whether the tasks really ran."""
        return self.result.comparison.measured

    @cached_property
    def devices(self) -> list[str]:
        """Names of the devices of a measured run."""
        return kept_devices(self.directory)

    @cached_property
    def forests(self) -> Check:
        """Forests fitted on the comparison's workload."""
        return check_forest(self.result)


@dataclass(frozen=True)
class StudyMaterial:
    """An experiment."""

    study: Study
    manifest: dict[str, Any]


Material = RunMaterial | StudyMaterial


def load_material(directory: str | Path) -> Material:
    """Read a folder of `hms compare --out`, `hms run --out`, `hms experiment --out` or `hms capacity --out`."""
    if results.is_study(directory):
        return StudyMaterial(*results.load(directory))
    result = results.load_result(directory)
    if not all(math.isfinite(value) for spec in result.comparison.schedulers for value in result.values(spec, SCORE)):
        raise InputError(f"{directory} has a seed in which no task ran: there is nothing to draw or report")
    return RunMaterial(result, results.load_manifest(directory), Path(directory))
