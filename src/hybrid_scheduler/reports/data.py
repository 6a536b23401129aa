"""The data behind figures and reports: a kept run, one of its seeds task by task, forests fitted on its workload."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.bounds.makespan import available_times
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import rejections
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.labels import label_isolated, label_queued
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.runtime.lane import DEVICES_FILE, PLACEMENT_COLUMNS, PLACEMENTS_FILE
from hybrid_scheduler.studies import results
from hybrid_scheduler.studies.compare import Comparison, Result, run_lanes
from hybrid_scheduler.studies.experiments import ExperimentResult
from hybrid_scheduler.studies.jobs import FILLING, JobResult, Window, is_jobs, load_jobs
from hybrid_scheduler.studies.pretraining import SEED

MAX_REPLAY_TASKS = 4000
"""Tasks of a replay: later tasks cannot change the placement of these, and a learner takes milliseconds for each."""
FOREST_ROWS, FOREST_SEEDS, MIN_FOREST_ROWS = 2000, 5, 20
SCORE = "makespan_over_bound"  # NaN where no task ran


@dataclass(frozen=True)
class Replay:
    """The tasks of one seed and what every scheduler did with them."""

    seed: int
    tasks: Tasks
    placements: dict[str, Placements]
    whole: bool  # all tasks of the seed, not only the first ones
    same: bool  # whole, and every makespan is bit-identical to the kept one
    measured: bool = False  # the tasks really ran and their placements were kept

    @property
    def origin(self) -> str:
        """`measured` or `simulated`."""
        return "measured" if self.measured else "simulated"

    @property
    def ranking(self) -> list[str]:
        """Schedulers, shortest makespan first."""
        return sorted(self.placements, key=lambda spec: self.placements[spec].makespan)


def replay(result: Result, seed: int | None = None) -> Replay:
    """Run one seed of a comparison again, the first one by default; runs keep measures, not placements."""
    comparison = result.comparison
    number = comparison.seeds[0] if seed is None else seed
    tasks = comparison.source.tasks(number, comparison.cluster)
    whole = tasks.has_edges or len(tasks) <= MAX_REPLAY_TASKS
    tasks = tasks if whole else tasks.part(0, MAX_REPLAY_TASKS)
    raced = run_lanes(tasks, comparison.schedulers, comparison.cluster, comparison.mode, number, comparison.backlog)
    placements = {spec: each[0] for spec, each in raced.items()}
    kept = next((each.measures for each in result.outcomes if each.seed == number), None)
    same = kept is not None and all(each.makespan == kept[spec]["makespan"] for spec, each in placements.items())
    return Replay(number, tasks, placements, whole, whole and same)


def ensure_replay(found: Result | Replay) -> Replay:
    """Return a replay, running one if a comparison was given."""
    return found if isinstance(found, Replay) else replay(found)


def _load_measured_replay(result: Result, directory: Path) -> Replay:
    """Return the measured placements of the first seed."""
    seed, path = result.comparison.seeds[0], directory / PLACEMENTS_FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != PLACEMENT_COLUMNS:
                raise InputError(f"{path} has other columns than hms run writes: run it again")
            table = list(reader)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): run it again with --out") from None
    tasks = result.comparison.source.tasks(seed, result.comparison.cluster)
    placements = {}
    for spec in result.comparison.schedulers:
        rows = [row for row in table if row["seed"] == str(seed) and row["scheduler"] == spec]
        if [row["task_id"] for row in rows] != [str(each) for each in tasks.task_id.tolist()]:
            raise InputError(f"{path} has other tasks of {spec} than this run: take the whole folder")
        columns = {name: np.array([float(row[name]) for row in rows]) for name in PLACEMENT_COLUMNS[2:]}
        placements[spec] = _build_placements(columns, tasks, result)
    arrived = next(iter(placements.values())).tasks
    return Replay(seed, arrived, placements, whole=True, same=True, measured=True)


def _build_placements(columns: dict[str, Floats], tasks: Tasks, result: Result) -> Placements:
    cluster = result.comparison.cluster
    gpu, cpu = columns["gpu"].astype(np.int32), columns["cpu"].astype(np.int32)
    share = columns["gpu_fraction"]
    times = np.full((len(tasks), len(cluster.classes)), np.nan)
    for device, part, seconds in ((gpu, share, "gpu_seconds"), (cpu, 1.0 - share, "cpu_seconds")):
        rows = np.flatnonzero(device >= 0)
        times[rows, cluster.class_index[device[rows]]] = columns[seconds][rows] / part[rows]
    return Placements(
        tasks=tasks.with_arrival_times(columns["arrival"]),
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


@dataclass(frozen=True)
class ForestAccuracy:
    """Predicted and best GPU shares of unseen tasks of one seed, and the importance of each feature."""

    seed: int
    training_tasks: int
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


Forests = tuple[ForestAccuracy, ...]


def can_fit_forests(result: Result) -> bool:
    """Whether there are GPUs to predict shares for, and enough tasks to train and to test on."""
    comparison = result.comparison
    if not comparison.cluster.is_gpu.any():
        return False
    tasks = comparison.source.tasks(comparison.seeds[0], comparison.cluster)
    runs = rejections(tasks, available_times(tasks, comparison.cluster), comparison.cluster) == RAN
    return int(runs.sum()) >= 2 * MIN_FOREST_ROWS


def evaluate_forests(result: Result) -> Forests:
    """Fit a forest on other tasks of the same workload and test it on the comparison's own, for a few seeds."""
    return tuple(_evaluate_forest(result.comparison, seed) for seed in result.comparison.seeds[:FOREST_SEEDS])


def _evaluate_forest(comparison: Comparison, seed: int) -> ForestAccuracy:
    source, cluster = comparison.source, comparison.cluster
    rows, labels = _label_tasks(source.tasks(seed, cluster), cluster, comparison.mode)
    if source.is_file:  # a file has no other tasks: train on one half, test on the other
        order = np.random.default_rng(seed).permutation(len(rows))
        train, test = order[: len(rows) // 2], order[len(rows) // 2 :]
        train_rows, train_labels, rows, labels = rows[train], labels[train], rows[test], labels[test]
    else:
        others = source.tasks(SEED + seed, cluster)
        train_rows, train_labels = _label_tasks(others, cluster, comparison.mode)
    if min(len(train_rows), len(rows)) < MIN_FOREST_ROWS:
        needed = 2 * MIN_FOREST_ROWS
        raise InputError(f"{source.name} has seeds with too few tasks to judge a forest: give {needed} or more")
    train_rows, train_labels = train_rows[:FOREST_ROWS], train_labels[:FOREST_ROWS]
    forest = RandomForestPredictor(random_state=seed).fit_all(train_rows, train_labels, FEATURES)
    predicted = forest.predict(rows[:FOREST_ROWS])
    return ForestAccuracy(seed, len(train_rows), predicted, labels[:FOREST_ROWS], forest.feature_importance())


def _label_tasks(tasks: Tasks, cluster: Cluster, mode: str) -> tuple[Floats, Floats]:
    times = available_times(tasks, cluster)
    runs = rejections(tasks, times, cluster) == RAN
    compute_labels = label_queued if mode == "queued" else label_isolated
    return task_features(tasks)[runs], compute_labels(times[runs], cluster)


def ensure_forests(found: Result | Forests) -> Forests:
    """Return forests, fitting them if a comparison was given."""
    return evaluate_forests(found) if isinstance(found, Result) else found


@dataclass(frozen=True)
class RunData:
    """A comparison; its replay and its forests are computed once, when the first figure needs them."""

    result: Result
    manifest: dict[str, Any]
    directory: Path = Path()

    @cached_property
    def replay(self) -> Replay:
        """One seed, simulated again; of a measured run, as it was measured."""
        return _load_measured_replay(self.result, self.directory) if self.measured else replay(self.result)

    @property
    def measured(self) -> bool:
        """Whether the tasks really ran."""
        return self.result.comparison.measured

    @cached_property
    def devices(self) -> list[str]:
        """Labels of the devices of a measured run; emulated ones are labelled so."""
        try:
            return (self.directory / DEVICES_FILE).read_text(encoding="utf-8").splitlines()
        except OSError as error:
            path = f"{self.directory}/{DEVICES_FILE}"
            raise InputError(f"{path} cannot be read ({error.strerror}): run it again") from None

    @cached_property
    def forests(self) -> Forests:
        """Forests fitted on the comparison's workload."""
        return evaluate_forests(self.result)


@dataclass(frozen=True)
class ExperimentData:
    """An experiment."""

    experiment: ExperimentResult
    manifest: dict[str, Any]


@dataclass(frozen=True)
class JobsData:
    """Wide jobs on a shared cluster; the first window is run again when a figure needs it."""

    result: JobResult
    manifest: dict[str, Any]

    @cached_property
    def window(self) -> Window:
        """The schedules of the first window."""
        return self.result.study.first_window()


ReportData = RunData | ExperimentData | JobsData


def load_report_data(directory: str | Path) -> ReportData:
    """Read a folder of `hms compare`, `run`, `experiment`, `capacity` or `jobs`, each with `--out`."""
    if is_jobs(directory):
        return JobsData(*load_jobs(directory))
    if is_jobs(directory, FILLING):
        raise InputError(f"{directory} keeps a filling, in which nobody waits: read its table {results.MEASURES}")
    if results.is_experiment(directory):
        return ExperimentData(*results.load_experiment(directory))
    result = results.load_result(directory)
    if not all(math.isfinite(value) for spec in result.comparison.schedulers for value in result.values(spec, SCORE)):
        raise InputError(f"{directory} has a seed in which no task ran: there is nothing to draw or report")
    return RunData(result, results.load_manifest(directory), Path(directory))
