"""Instances: the files of a directory that hold tasks, with their companions and the best values known."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hybrid_scheduler import __version__, registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.files import sha256
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import taught
from hybrid_scheduler.studies.results import (
    MANIFEST,
    SCHEMA,
    environment,
    read_manifest,
    require_intact,
    to_json,
)
from hybrid_scheduler.studies.scoreboard import Line, Score, Scoreboard, scored, write_csv, write_markdown
from hybrid_scheduler.workers import carried_out
from hybrid_scheduler.workloads.conversion import CLUSTER, machines_beside
from hybrid_scheduler.workloads.formats import reader, unpack
from hybrid_scheduler.workloads.formats.format import Format, Imported
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.source import Source

NAMES, VALUES = ("instance", "name", "file"), ("best_makespan", "best_known", "optimum")
"""Columns by which a table of best known values is told."""
REFERENCES = "reference values"


@dataclass(frozen=True)
class Instance:
    """Where an instance comes from; `tasks` and cluster are read when they are asked for."""

    name: str
    format: str
    paths: tuple[Path, ...]  # the file and its companions; none for a generated instance
    folder: str = ""
    best_known: float = math.nan
    source: str = ""  # of a generated instance, as it was named

    def read(self, cluster: Cluster | None) -> tuple[Imported, Cluster]:
        """Return what the files hold, and the cluster: the given one, the file's own, or the default."""
        if not self.paths:
            source = Source.of(self.source)
            machine = cluster or source.cluster() or Cluster.default()
            tasks = source.tasks(0, machine)
            return Imported(tasks, len(tasks), cluster=machine), machine
        found = reader.read_all(self.paths, self.format)
        beside = machines_beside(self.paths[0])
        own = Cluster.from_yaml(beside) if beside and not cluster else found.cluster
        return found, cluster or own or Cluster.default()


@dataclass(frozen=True)
class Found:
    """The instances of a suite, and why other files are none."""

    instances: tuple[Instance, ...]
    passed_over: dict[str, str] = field(default_factory=dict)


def found(places: Sequence[str], best: dict[str, float]) -> Found:
    """Return the instances in directories, files and workloads by name; `best` adds best known values."""
    instances: list[Instance] = []
    passed_over: dict[str, str] = {}
    known: dict[str, float] = {}
    for place in places:
        if Path(place).is_dir():
            _walk(Path(place), instances, passed_over, known)
        elif Path(place).is_file():
            instances.append(_instance(Path(place), Path(place).parent, reader.sniffed(place)))
        else:
            source = Source.of(place)  # fails here, before any work, if there is none of this name
            instances.append(Instance(source.title, "generated", (), source=place))
    if not instances:
        raise InputError(
            f"there is no instance in {', '.join(places)}: give a directory with files that hms import can read"
        )
    named = _told_apart(instances)
    return Found(tuple(_valued(named, {**known, **best}, best)), passed_over)


def _walk(top: Path, instances: list[Instance], passed_over: dict[str, str], known: dict[str, float]) -> None:
    by_folder: dict[Path, list[tuple[Path, Format]]] = {}
    for path in sorted(each for each in top.rglob("*") if each.is_file()):
        relative = path.relative_to(top)
        if any(part.startswith(".") for part in relative.parts):
            continue
        try:
            form = reader.told(path) or _accompanied(path)
        except SchedulerError as error:
            passed_over[str(relative)] = str(error).replace(str(path), str(relative))
            continue
        if form is not None:
            by_folder.setdefault(path.parent, []).append((path, form))
        elif path.name.endswith(CLUSTER):
            passed_over[str(relative)] = "machines of the tasks beside it"
        elif values := _references(path):
            known |= values
            passed_over[str(relative)] = REFERENCES
        else:
            passed_over[str(relative)] = "of no known format"
    for files in by_folder.values():
        companions = [(path, form) for path, form in files if _accompanies(path, form)]
        for path, form in companions:
            passed_over[str(path.relative_to(top))] = f"read with the {form.name} files beside it"
        for path, form in files:
            if (path, form) not in companions:
                beside = tuple(each for each, theirs in companions if theirs.name == form.name)
                instances.append(_instance(path, top, form, beside))


def _accompanied(path: Path) -> Format | None:
    """Return the format whose files this one goes with."""
    return next((each for each in reader.known() if _accompanies(path, each)), None)


def _accompanies(path: Path, form: Format) -> bool:
    return form.accompanies is not None and form.accompanies(unpack.head(path))


def _instance(path: Path, top: Path, form: Format, companions: tuple[Path, ...] = ()) -> Instance:
    return Instance(str(path.relative_to(top)), form.name, (path, *companions), str(path.parent))


def _told_apart(instances: list[Instance]) -> list[Instance]:
    """Call each by the last part of its path, or by more where that would mean two."""
    last = [Path(each.name).name for each in instances]
    short = [Path(name).stem if name.endswith((".json", ".csv", ".parquet")) else name for name in last]
    return [
        replace(each, name=_called(each, name, short.count(name) == 1))
        for each, name in zip(instances, short, strict=True)
    ]


def _called(each: Instance, short: str, alone: bool) -> str:
    if each.paths:
        return short if alone else each.name
    return each.name if alone else each.source


def _valued(instances: list[Instance], known: dict[str, float], demanded: dict[str, float]) -> Iterator[Instance]:
    names = {each.name for each in instances}
    for name in demanded:
        if name not in names:
            raise InputError(
                f"--best names '{name}', which is no instance: there are {', '.join(sorted(names)[:8])} …"
            )
    for each in instances:
        yield replace(each, best_known=known.get(each.name, math.nan))


def _references(path: Path) -> dict[str, float]:
    """Return the best known values of a table that has such columns; nothing if it is another file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            name = next((each for each in NAMES if each in (rows.fieldnames or ())), "")
            value = next((each for each in VALUES if each in (rows.fieldnames or ())), "")
            return {row[name]: float(row[value]) for row in rows} if name and value else {}
    except (UnicodeDecodeError, csv.Error, ValueError, TypeError):
        return {}  # some other file, which is then listed as of no known format


Progress = Callable[[int, int], None]
LESSONS = 4
"""Most other instances that a learner is taught on before it meets one."""
_KEPT: dict[str, tuple[Imported, Cluster]] = {}  # of this process: the instances it read last


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
    """One cell, or without a policy the line of an instance."""

    instance: Instance
    cluster: Cluster | None
    policy: str = ""
    seed: int = 0
    lessons: tuple[Instance, ...] = field(default=())


def run_suite(suite: Suite, progress: Progress | None = None) -> Scoreboard:
    """Run all cells; the order in which they end does not matter to the scoreboard."""
    jobs = list(_jobs(suite))
    results: list[Line | Score | None] = [None] * len(jobs)
    for done, outcome in enumerate(carried_out(_done, jobs, suite.processes, suite.time_limit), start=1):
        job = jobs[outcome.number]
        if outcome.problem and not job.policy:
            raise InputError(f"instance {job.instance.name} cannot be used: {outcome.problem}")
        failed = Score(job.instance.name, job.policy, job.seed, problem=outcome.problem)
        results[outcome.number] = failed if outcome.problem else outcome.value
        if progress:
            progress(done, len(jobs))
    lines = [each for each in results if isinstance(each, Line)]
    scores = [each for each in results if isinstance(each, Score)]
    return Scoreboard(tuple(lines), suite.policies, tuple(scores))


def _jobs(suite: Suite) -> Iterator[_Job]:
    for instance in suite.instances:
        yield _Job(instance, suite.cluster)
        lessons = tuple(_relatives(instance, suite.instances))
        for policy in suite.policies:
            for seed in suite.seeds:
                yield _Job(instance, suite.cluster, policy, seed, lessons)


def _relatives(instance: Instance, everyone: Sequence[Instance]) -> list[Instance]:
    """Return other instances from which a learner may learn for this one: same format, same folder first."""
    others = [each for each in everyone if each.format == instance.format and each != instance]
    return sorted(others, key=lambda each: each.folder != instance.folder)[:LESSONS]


def _done(job: _Job) -> Line | Score:
    imported, cluster = _read(job.instance, job.cluster)
    if not job.policy:
        return _line(job.instance, imported, cluster)
    scheduler = _prepared(job, cluster)
    return scored(job.instance.name, job.policy, job.seed, scheduler, imported.tasks, cluster)


def _read(instance: Instance, cluster: Cluster | None) -> tuple[Imported, Cluster]:
    """Read an instance once for all its cells; the cluster of a suite never changes."""
    if instance.name not in _KEPT:
        if len(_KEPT) > LESSONS:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[instance.name] = instance.read(cluster)
    return _KEPT[instance.name]


def _prepared(job: _Job, cluster: Cluster) -> Scheduler:
    """Return a policy whose loop is compiled, and that has learnt from other instances if it learns."""
    scheduler: Scheduler = registry.schedulers.create(job.policy, seed=job.seed)
    if scheduler.learn_every:
        lessons = [_read(each, job.cluster)[0].tasks for each in job.lessons]
        classes = {each.name for each in cluster.classes}
        usable = [each for each in lessons if not each.measured or classes & set(each.measured)]
        return taught(job.policy, usable, cluster, job.seed)
    warm = WorkloadGenerator(0).generate_preset("mixed", 2)
    Lane(registry.schedulers.create(job.policy, seed=0), VirtualMultiGPU(num_gpus=1)).run(warm)
    return scheduler


def _line(instance: Instance, imported: Imported, cluster: Cluster) -> Line:
    tasks = imported.tasks
    return Line(
        instance.name,
        instance.format,
        len(tasks),
        len(tasks.edges.parents),
        imported.rows,
        dict(imported.skipped),
        cluster.describe(),
        lower_bound(tasks, cluster).makespan,
        instance.best_known,
    )


KIND = "scoreboard"
MARKDOWN, CSV, PNG = "scoreboard.md", "scoreboard.csv", "scoreboard.png"


def write(board: Scoreboard, folder: Path, command: Sequence[str], passed_over: Mapping[str, str]) -> None:
    """Write the tables and the manifest into a folder that is being made."""
    write_csv(board, folder / CSV)
    write_markdown(board, folder / MARKDOWN, command, passed_over)
    manifest = {
        "schema": SCHEMA,
        "kind": KIND,
        "version": __version__,
        "command": list(command),
        "sha256": {CSV: sha256(folder / CSV)},
        "environment": environment(),
    }
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def is_scoreboard(directory: str | Path) -> bool:
    """Whether a folder says of itself that it holds a scoreboard."""
    return bool(read_manifest(directory).get("kind") == KIND)


def read_rows(directory: str | Path) -> list[dict[str, str]]:
    """Return the lines of a kept scoreboard, one for every instance, policy and seed."""
    if not is_scoreboard(directory):
        raise InputError(f"{directory} holds no scoreboard: give the folder of hms bench-suite --out")
    table = Path(directory) / CSV
    require_intact(table, read_manifest(directory))
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
