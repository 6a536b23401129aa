"""A suite runs every policy on every instance of a directory and makes a scoreboard of it."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from hybrid_scheduler import __version__, registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.files import sha256
from hybrid_scheduler.processes import run_jobs
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.compare import Progress
from hybrid_scheduler.studies.pretraining import pretrain_on_workloads
from hybrid_scheduler.studies.results import (
    MANIFEST,
    SCHEMA,
    describe_environment,
    read_manifest,
    require_intact,
    to_json,
)
from hybrid_scheduler.studies.scoreboard import (
    InstanceRow,
    Score,
    Scoreboard,
    score_policy,
    write_csv,
    write_markdown,
)
from hybrid_scheduler.workloads.conversion import CLUSTER_SUFFIX, find_cluster_file
from hybrid_scheduler.workloads.formats import reader, unpack
from hybrid_scheduler.workloads.formats.reader import Format, Imported
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.source import Source

NAMES, VALUES = ("instance", "name", "file"), ("best_makespan", "best_known", "optimum")
"""Columns that mark a table of best known values."""
REFERENCES = "reference values"
TRAINING_INSTANCES = 4
"""Most other instances that a learner is trained on before it meets one."""
KIND = "scoreboard"
MARKDOWN, CSV, PNG = "scoreboard.md", "scoreboard.csv", "scoreboard.png"
_CACHE: dict[str, tuple[Imported, Cluster]] = {}  # the instances that this process read last


# --- instances -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instance:
    """Where an instance comes from; its tasks and its cluster are read on demand."""

    name: str
    format: str
    paths: tuple[Path, ...]  # the file and its companions; none for a generated instance
    folder: str = ""
    best_known: float = math.nan
    source: str = ""  # of a generated instance, as the user named it

    def read(self, cluster: Cluster | None) -> tuple[Imported, Cluster]:
        """Return what the files hold, and the cluster: the given one, the file's own, or the default."""
        if not self.paths:
            source = Source.of(self.source)
            machine = cluster or source.cluster() or Cluster.default()
            tasks = source.tasks(0, machine)
            return Imported(tasks, len(tasks), cluster=machine), machine
        imported = reader.read_all(self.paths, self.format)
        cluster_file = find_cluster_file(self.paths[0])
        own = Cluster.from_yaml(cluster_file) if cluster_file and not cluster else imported.cluster
        return imported, cluster or own or Cluster.default()


@dataclass
class InstanceSet:
    """The instances of a suite, best known values by name, and why other files are no instances."""

    instances: list[Instance] = field(default_factory=list)
    best_known: dict[str, float] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)

    def add_file(self, path: Path, top: Path, form: Format, companions: Iterable[Path] = ()) -> None:
        """Add a file of a known format."""
        name = str(path.relative_to(top))
        self.instances.append(Instance(name, form.name, (path, *companions), str(path.parent)))

    def add_directory(self, top: Path) -> None:
        """Add all files of a directory and those below it."""
        folders: dict[Path, list[tuple[Path, Format]]] = {}
        for path in sorted(each for each in top.rglob("*") if each.is_file()):
            relative = path.relative_to(top)
            if any(part.startswith(".") for part in relative.parts):
                continue
            try:
                form = reader.sniff(path) or _companion_format(path)
            except SchedulerError as error:
                self.ignored[str(relative)] = str(error).replace(str(path), str(relative))
                continue
            if form is not None:
                folders.setdefault(path.parent, []).append((path, form))
            elif path.name.endswith(CLUSTER_SUFFIX):
                self.ignored[str(relative)] = "machines of the tasks beside it"
            elif values := _read_best_known(path):
                self.best_known |= values
                self.ignored[str(relative)] = REFERENCES
            else:
                self.ignored[str(relative)] = "of no known format"
        for files in folders.values():
            self._add_folder(files, top)

    def _add_folder(self, files: list[tuple[Path, Format]], top: Path) -> None:
        companions = [(path, form) for path, form in files if _is_companion(path, form)]
        for path, form in companions:
            self.ignored[str(path.relative_to(top))] = f"read with the {form.name} files beside it"
        for path, form in files:
            if (path, form) not in companions:
                self.add_file(path, top, form, [each for each, other in companions if other.name == form.name])


def find_instances(places: Sequence[str], best: dict[str, float]) -> InstanceSet:
    """Return the instances in directories, files and workloads by name; `best` adds best known values."""
    found = InstanceSet()
    for place in places:
        if Path(place).is_dir():
            found.add_directory(Path(place))
        elif Path(place).is_file():
            found.add_file(Path(place), Path(place).parent, reader.detect_format(place))
        else:
            source = Source.of(place)  # fails here, before any work, if there is none of this name
            found.instances.append(Instance(source.title, "generated", (), source=place))
    if not found.instances:
        raise InputError(
            f"there is no instance in {', '.join(places)}: give a directory with files that hms import can read"
        )
    found.instances = _shorten_names(found.instances)
    names = sorted(each.name for each in found.instances)
    for name in best:
        if name not in names:
            raise InputError(f"--best names '{name}', which is no instance: there are {', '.join(names[:8])} …")
    found.best_known |= best
    found.instances = [
        replace(each, best_known=found.best_known.get(each.name, math.nan)) for each in found.instances
    ]
    return found


def _companion_format(path: Path) -> Format | None:
    """Return the format whose files this one belongs to."""
    return next((each for each in reader.load_formats() if _is_companion(path, each)), None)


def _is_companion(path: Path, form: Format) -> bool:
    return form.accompanies is not None and form.accompanies(unpack.read_head(path))


def _shorten_names(instances: list[Instance]) -> list[Instance]:
    """Name each by the last part of its path where that is unique, else by the whole path or workload."""
    last = [Path(each.name).name for each in instances]
    short = [Path(name).stem if name.endswith((".json", ".csv", ".parquet")) else name for name in last]
    return [
        replace(each, name=name if each.paths else each.name)
        if short.count(name) == 1
        else replace(each, name=each.name if each.paths else each.source)
        for each, name in zip(instances, short, strict=True)
    ]


def _read_best_known(path: Path) -> dict[str, float]:
    """Return the best known values of a table that has such columns; nothing if it is another file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            name = next((each for each in NAMES if each in (rows.fieldnames or ())), "")
            value = next((each for each in VALUES if each in (rows.fieldnames or ())), "")
            return {row[name]: float(row[value]) for row in rows} if name and value else {}
    except (UnicodeDecodeError, csv.Error, ValueError, TypeError):
        return {}  # some other file, which is then listed as of no known format


# --- running -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suite:
    """What to run."""

    instances: tuple[Instance, ...]
    policies: tuple[str, ...]
    cluster: Cluster | None = None  # instead of the instances' own
    seeds: tuple[int, ...] = (0,)
    processes: int = 1
    time_limit: float = 120.0  # seconds of one cell

    def __post_init__(self) -> None:
        for spec in self.policies:
            registry.schedulers.create(spec)  # fails here, before any work, if it is unknown
        if not self.policies or not self.seeds:
            raise InputError("a suite needs at least one policy and one seed: name some")


@dataclass(frozen=True)
class _Job:
    """One cell, or without a policy the row of an instance."""

    instance: Instance
    cluster: Cluster | None
    policy: str = ""
    seed: int = 0
    training: tuple[Instance, ...] = ()


def run_suite(suite: Suite, progress: Progress | None = None) -> Scoreboard:
    """Run all cells in processes; the order in which they end does not matter to the scoreboard."""
    jobs = list(_list_jobs(suite))
    results: list[InstanceRow | Score | None] = [None] * len(jobs)
    for done, outcome in enumerate(run_jobs(_run_job, jobs, suite.processes, suite.time_limit), start=1):
        job = jobs[outcome.number]
        if outcome.problem and not job.policy:
            raise InputError(f"instance {job.instance.name} cannot be used: {outcome.problem}")
        failed = Score(job.instance.name, job.policy, job.seed, problem=outcome.problem)
        results[outcome.number] = failed if outcome.problem else outcome.value
        if progress:
            progress(done, len(jobs))
    rows = tuple(each for each in results if isinstance(each, InstanceRow))
    return Scoreboard(rows, suite.policies, tuple(each for each in results if isinstance(each, Score)))


def _list_jobs(suite: Suite) -> Iterator[_Job]:
    for instance in suite.instances:
        yield _Job(instance, suite.cluster)
        training = _choose_training(instance, suite.instances)
        for policy, seed in product(suite.policies, suite.seeds):
            yield _Job(instance, suite.cluster, policy, seed, training)


def _choose_training(instance: Instance, instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return other instances that a learner may be trained on for this one: same format, same folder first."""
    others = [each for each in instances if each.format == instance.format and each != instance]
    return tuple(sorted(others, key=lambda each: each.folder != instance.folder)[:TRAINING_INSTANCES])


def _run_job(job: _Job) -> InstanceRow | Score:
    imported, cluster = _read(job.instance, job.cluster)
    if job.policy:
        scheduler = _prepare_scheduler(job, cluster)
        return score_policy(job.instance.name, job.policy, job.seed, scheduler, imported.tasks, cluster)
    return InstanceRow(
        job.instance.name,
        job.instance.format,
        len(imported.tasks),
        len(imported.tasks.edges.parents),
        imported.rows,
        dict(imported.skipped),
        cluster.describe(),
        lower_bound(imported.tasks, cluster).makespan,
        job.instance.best_known,
    )


def _read(instance: Instance, cluster: Cluster | None) -> tuple[Imported, Cluster]:
    """Read an instance once for all its cells; the cluster of a suite never changes."""
    if instance.name not in _CACHE:
        if len(_CACHE) > TRAINING_INSTANCES:
            del _CACHE[next(iter(_CACHE))]
        _CACHE[instance.name] = instance.read(cluster)
    return _CACHE[instance.name]


def _prepare_scheduler(job: _Job, cluster: Cluster) -> Scheduler:
    """Return a policy whose loop is compiled; a learner is trained on other instances."""
    scheduler: Scheduler = registry.schedulers.create(job.policy, seed=job.seed)
    if scheduler.learn_every:
        others = [_read(each, job.cluster)[0].tasks for each in job.training]
        classes = {each.name for each in cluster.classes}
        usable = [each for each in others if not each.measured or classes & set(each.measured)]
        return pretrain_on_workloads(job.policy, usable, cluster, job.seed)
    warm = WorkloadGenerator(0).generate_preset("mixed", 2)
    Lane(registry.schedulers.create(job.policy, seed=0), VirtualMultiGPU(num_gpus=1)).run(warm)
    return scheduler


# --- files ---------------------------------------------------------------------------------------------------


def save_scoreboard(board: Scoreboard, folder: Path, command: Sequence[str], ignored: Mapping[str, str]) -> None:
    """Write the tables and the manifest into a folder that is being created."""
    write_csv(board, folder / CSV)
    write_markdown(board, folder / MARKDOWN, command, ignored)
    manifest = {
        "schema": SCHEMA,
        "kind": KIND,
        "version": __version__,
        "command": list(command),
        "sha256": {CSV: sha256(folder / CSV)},
        "environment": describe_environment(),
    }
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def is_scoreboard(directory: str | Path) -> bool:
    """Whether the manifest of a folder calls it a scoreboard."""
    return bool(read_manifest(directory).get("kind") == KIND)


def load_scoreboard(directory: str | Path) -> list[dict[str, str]]:
    """Return the rows of a kept scoreboard, one for every instance, policy and seed."""
    if not is_scoreboard(directory):
        raise InputError(f"{directory} holds no scoreboard: give the folder of hms bench-suite --out")
    table = Path(directory) / CSV
    require_intact(table, read_manifest(directory))
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
