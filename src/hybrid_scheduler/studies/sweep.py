"""A sweep runs a comparison at every point of a grid, workloads × loads × clusters × seeds, and writes one table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from hybrid_scheduler import __version__
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import limit_cores
from hybrid_scheduler.core.simulator import MODES
from hybrid_scheduler.core.yaml_text import parse_yaml
from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.files import atomic_write, read_document, sha256
from hybrid_scheduler.processes import JobOutcome, run_jobs
from hybrid_scheduler.studies.compare import Comparison, Progress, compare
from hybrid_scheduler.studies.pretraining import find_missing_models, find_or_train_model
from hybrid_scheduler.studies.results import describe_environment, to_json
from hybrid_scheduler.workloads.source import Source

RunJobs = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[JobOutcome]]
"""Runs a function on many jobs, in processes of this machine or on a Ray cluster, and yields their outcomes."""
PARTS, RESULTS, TIMINGS, MANIFEST = "parts", "results.parquet", "timings.parquet", "manifest.json"
KEYS = ("workload", "load", "cluster", "seed", "scheduler")


@dataclass(frozen=True)
class Point:
    """One comparison of a sweep: all schedulers on the tasks of one seed."""

    workload: str
    load: float | None
    cluster: str  # its name in the grid
    seed: int
    comparison: Comparison

    @property
    def digest(self) -> str:
        """A hash of all that shapes the result of this point."""
        text = json.dumps(self.comparison.to_dict(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Grid:
    """What a sweep runs through; these are the keys of a grid file."""

    schedulers: tuple[str, ...]
    workloads: tuple[str, ...] = ("mixed",)
    loads: tuple[float | None, ...] = (None,)
    clusters: tuple[tuple[str, Cluster], ...] = (("default", Cluster.default()),)
    seeds: tuple[int, ...] = tuple(range(10))
    tasks: int | None = None
    mode: str = "queued"

    def points(self) -> list[Point]:
        """Return all comparisons, in the order of the grid."""
        points = []
        for workload, load, (name, cluster), seed in product(self.workloads, self.loads, self.clusters, self.seeds):
            source = Source.of(workload, self.tasks, load=load)
            comparison = Comparison(source, self.schedulers, cluster, self.mode, (seed,))
            points.append(Point(workload, load, name, seed, comparison))
        return points


def read_grid(path: str | Path) -> Grid:
    """Read a grid from a YAML file; paths of cluster files are relative to it."""
    try:
        data = parse_yaml(read_document(path))
    except FileNotFoundError:
        raise InputError(f"grid file {path} does not exist: check the path") from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        # PyYAML's constructors raise more than YAMLError: for impossible dates, numbers, truth values.
        mark = getattr(error, "problem_mark", None)
        raise InputError(
            f"grid file {path}{f' line {mark.line + 1}' if mark else ''} is no YAML: correct it"
        ) from None
    except OSError as error:
        raise InputError(f"grid file {path} cannot be read ({error.strerror}): check the path") from None
    try:
        return _parse_grid(data, Path(path).parent)
    except SchedulerError as error:
        raise InputError(f"grid file {path}: {error}") from None


def _parse_grid(data: Any, beside: Path) -> Grid:
    known = [each.name for each in fields(Grid)]
    if not isinstance(data, dict) or "schedulers" not in data:
        raise InputError(f"it holds a mapping with schedulers and, if wanted, {', '.join(known[1:])}")
    for key in data:
        if key not in known:
            raise unknown_name("key", str(key), known)
    mode = data.get("mode", "queued")
    if mode not in MODES:
        raise unknown_name("mode", str(mode), MODES)
    found = _parse_list("clusters", data.get("clusters", [{"gpus": 4}]))
    schedulers = _parse_names("schedulers", data["schedulers"])
    workloads = _parse_names("workloads", data.get("workloads", "mixed"))
    loads = _parse_list("loads", data.get("loads", [None]))
    for load in loads:
        if load is not None and (isinstance(load, bool) or not isinstance(load, int | float) or not load > 0):
            raise InputError(f"loads has {load!r}, expected a number above 0")
    loads = tuple(None if load is None else float(load) for load in loads)
    clusters = tuple(_parse_cluster(each, beside) for each in found)
    given, tasks = data.get("seeds", 10), data.get("tasks")
    seeds = list(range(given)) if isinstance(given, int) and not isinstance(given, bool) else given
    valid = isinstance(seeds, list) and seeds and all(isinstance(each, int) and each >= 0 for each in seeds)
    if not valid or len(set(seeds)) < len(seeds):
        raise InputError(f"seeds is {given!r}, expected how many, or a list of different whole numbers")
    if tasks is not None and (isinstance(tasks, bool) or not isinstance(tasks, int) or tasks < 1):
        raise InputError(f"tasks is {tasks!r}, expected a whole number above 0")
    return Grid(schedulers, workloads, loads, clusters, tuple(seeds), tasks, mode)


def _parse_list(key: str, value: Any) -> Sequence[Any]:
    found = value if isinstance(value, list) else [value]
    if not found:
        raise InputError(f"{key} is empty: name at least one")
    if any(found.count(each) > 1 for each in found):
        raise InputError(f"{key} names something twice: name each once")
    return found


def _parse_names(key: str, value: Any) -> tuple[str, ...]:
    names = _parse_list(key, value)
    for each in names:
        if not isinstance(each, str):
            raise InputError(f"{key} has {each!r}, expected a name")
    return tuple(names)


def _parse_cluster(value: Any, beside: Path) -> tuple[str, Cluster]:
    if isinstance(value, str):
        return value, Cluster.from_yaml(beside / value)
    if not isinstance(value, dict) or set(value) - {"gpus", "memory"} or not isinstance(value.get("gpus"), int):
        raise InputError(f"clusters has {value!r}, expected {{gpus: 4}} or the name of a cluster file")
    memory = value.get("memory", 8000.0)
    if isinstance(memory, bool) or not isinstance(memory, int | float) or value["gpus"] < 0:
        raise InputError(f"clusters has {value!r}, expected gpus, 0 or more, and memory in MB above 0")
    name = f"{value['gpus']} gpus" + (f" of {memory:g} MB" if "memory" in value else "")
    return name, Cluster.default(value["gpus"], float(memory))


@dataclass(frozen=True)
class SweepSummary:
    """A finished sweep: where its table is, and how many of its points were already there."""

    folder: Path
    points: int
    resumed: int


def run_on_processes(count: int, time_limit: float) -> RunJobs:
    """Return a runner of jobs in processes of this machine."""
    return lambda work, jobs: run_jobs(work, jobs, count, time_limit)


def run_sweep(grid: Grid, folder: str | Path, runner: RunJobs, progress: Progress | None = None) -> SweepSummary:
    """Run the points that are missing and write the tables, which depend on the grid alone."""
    place, points = Path(folder), grid.points()
    _claim(place, points)
    waiting = [point for point in points if not _part_path(place, point).exists()]
    for comparison in (point.comparison for point in waiting):
        # Learners are trained once, before each of many processes would do so.
        for spec in find_missing_models(comparison.schedulers, comparison.cluster, comparison.mode):
            find_or_train_model(spec, comparison.cluster, comparison.mode)
    resumed = len(points) - len(waiting)
    if progress:
        progress(resumed, len(points))
    for done, outcome in enumerate(runner(run_point, waiting), start=resumed + 1):
        point = waiting[outcome.number]
        if outcome.problem:
            where = f"{point.workload}, load {point.load or 'as it is'}, {point.cluster}, seed {point.seed}"
            raise InputError(f"{where}: {outcome.problem}; finished points are kept, run it again to continue")
        with atomic_write(_part_path(place, point)) as scratch:
            scratch.write_text(json.dumps(outcome.value), encoding="utf-8")
        if progress:
            progress(done, len(points))
    _write_tables(place, points)
    return SweepSummary(place, len(points), resumed)


def run_point(point: Point) -> dict[str, Any]:
    """Run one comparison on one core; a module-level function, so that other processes can import it."""
    limit_cores(1)
    outcome = compare(point.comparison).outcomes[0]
    return {
        "bound": outcome.bound.makespan,
        "measures": outcome.measures,
        "decision_seconds": outcome.decision_seconds,
    }


def _claim(place: Path, points: Sequence[Point]) -> None:
    """Mark the folder as that of this sweep; refuse one that holds another sweep or something else."""
    manifest = place / MANIFEST
    wanted = {"kind": "sweep", "version": __version__, "points": [point.digest for point in points]}
    if manifest.exists():
        try:
            found = json.loads(manifest.read_text(encoding="utf-8"))
            same = {key: found[key] for key in wanted} == wanted
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{manifest} is damaged: remove {place} and start again") from None
        if not same:
            raise InputError(f"{place} holds another sweep (or one of another version): choose another folder")
    elif place.exists() and any(place.iterdir()):
        raise InputError(f"{place} exists and holds no sweep: choose another folder")
    else:
        with atomic_write(manifest) as scratch:
            scratch.write_text(to_json({**wanted, "environment": describe_environment()}), encoding="utf-8")


def _part_path(place: Path, point: Point) -> Path:
    return place / PARTS / f"{point.digest}.json"


def _write_tables(place: Path, points: Sequence[Point]) -> None:
    """Write measures, which are the same on every machine, and wall times, which are not, to separate tables."""
    import pyarrow as pa
    from pyarrow import parquet

    measures, timings = [], []
    for point in points:
        path = _part_path(place, point)
        try:
            part = json.loads(path.read_text(encoding="utf-8"))
            bound, figures, seconds = (part[key] for key in ("bound", "measures", "decision_seconds"))
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path} is damaged: remove it and run the sweep again") from None
        for spec, row in figures.items():
            keys = dict(zip(KEYS, (point.workload, point.load, point.cluster, point.seed, spec), strict=True))
            measures.append({**keys, "bound": bound, **row})
            timings.append({**keys, "decision_seconds": seconds[spec]})
    for name, rows in ((RESULTS, measures), (TIMINGS, timings)):
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        columns["load"] = pa.array(columns["load"], pa.float64())
        with atomic_write(place / name) as scratch:
            parquet.write_table(pa.table(columns), scratch)


def digest(folder: str | Path) -> str:
    """Return the SHA-256 of a sweep's table."""
    return sha256(Path(folder) / RESULTS)
