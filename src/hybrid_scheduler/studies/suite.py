"""A suite runs every policy on every instance of a directory and makes a scoreboard of it."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from functools import lru_cache
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__, registry
from hybrid_scheduler.bounds.area import area_bound
from hybrid_scheduler.bounds.job_turnaround import job_turnaround_bound
from hybrid_scheduler.bounds.makespan import lower_bound, whole_task_bound
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.job_metrics import measure_jobs
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.metrics import measure
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.files import sha256
from hybrid_scheduler.processes import run_jobs
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.compare import (
    MAX_CERTIFIED_TASKS,
    SEARCH_STEPS,
    WHOLE,
    Progress,
    certify_turnaround,
)
from hybrid_scheduler.studies.jobs import Case, JobStudy, schedule_window
from hybrid_scheduler.studies.pretraining import pretrain_on_workloads
from hybrid_scheduler.studies.results import (
    MANIFEST,
    corrupt_file,
    read_infinity,
    read_manifest,
    require_intact,
    require_same_inputs,
    spell_infinity,
    write_manifest,
)
from hybrid_scheduler.studies.scoreboard import (
    InstanceRow,
    Score,
    Scoreboard,
    scores_to_csv,
    write_csv,
    write_markdown,
)
from hybrid_scheduler.workloads.conversion import CLUSTER_SUFFIX, find_cluster_file
from hybrid_scheduler.workloads.formats import reader, unpack
from hybrid_scheduler.workloads.formats.reader import Format, Imported
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.job_presets import JOB_PRESETS
from hybrid_scheduler.workloads.source import Source, describe_assumptions

NAMES, VALUES = ("instance", "name", "file"), ("best_makespan", "best_known", "optimum")
"""Columns that mark a table of best known values."""
REFERENCES = "reference values"
TRAINING_INSTANCES = 4
"""Most other instances that a learner is trained on before it meets one."""
KIND = "scoreboard"
WALL = "seconds"
"""The column of wall times, which no second run has in common with the first."""
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
    wide: bool = False  # jobs of a shared cluster

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
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)  # names in each table of best known values

    def add_file(self, path: Path, top: Path, form: Format, companions: Iterable[Path] = ()) -> None:
        """Add a file of a known format."""
        name = str(path.relative_to(top))
        self.instances.append(Instance(name, form.name, (path, *companions), str(path.parent)))

    def keep_wide(self) -> None:
        """Read all as jobs of shared clusters; files that say nothing of width or machines are left out."""
        kept = []
        for each in self.instances:
            try:
                _read_wide(wide := replace(each, wide=True))
                kept.append(wide)
            except InputError as error:
                if not each.folder:
                    raise
                self.ignored[each.name] = str(error).replace(f"{each.folder}/", "")
        self.instances = kept

    def add_directory(self, top: Path) -> None:
        """Add all files of a directory and those below it."""
        folders: dict[Path, list[tuple[Path, Format]]] = {}
        for path in sorted(each for each in top.rglob("*") if each.is_file()):
            relative = path.relative_to(top)
            if any(part.startswith(".") for part in relative.parts):
                continue
            try:
                known = (each for each in reader.load_formats() if _is_companion(path, each))
                form = reader.sniff(path) or next(known, None)
            except SchedulerError as error:
                self.ignored[str(relative)] = str(error).replace(str(path), str(relative))
                continue
            if form is not None:
                folders.setdefault(path.parent, []).append((path, form))
            elif path.name.endswith(CLUSTER_SUFFIX):
                self.ignored[str(relative)] = "machines of the tasks beside it"
            elif values := _read_best_known(path):
                self.best_known |= values
                self.references[str(relative)] = tuple(values)
            else:
                self.ignored[str(relative)] = "of no known format"
        for files in folders.values():
            companions = [(path, form) for path, form in files if _is_companion(path, form)]
            for path, form in files:
                if (path, form) in companions:
                    self.ignored[str(path.relative_to(top))] = f"read with the {form.name} files beside it"
                else:
                    self.add_file(path, top, form, [each for each, other in companions if other.name == form.name])


def find_instances(places: Sequence[str], best: dict[str, float], *, wide: bool = False) -> InstanceSet:
    """Return the instances in directories, files and workloads by name; `best` adds best known values.

    `wide` reads files as jobs of shared clusters; presets of such jobs always are.
    """
    found = InstanceSet()
    for place in places:
        if place in JOB_PRESETS:
            found.instances.append(Instance(place, "generated", (), source=place, wide=True))
            continue
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
    if wide:
        found.keep_wide()
    found.instances = _shorten_names(found.instances)
    names = sorted(each.name for each in found.instances)
    for name in best:
        if name not in names:
            raise InputError(f"--best names '{name}', which is no instance: there are {', '.join(names[:8])} …")
    for table, listed in found.references.items():
        found.ignored[table] = _match_references(table, listed, names)
    found.best_known |= best
    found.instances = [
        replace(each, best_known=found.best_known.get(each.name, math.nan)) for each in found.instances
    ]
    return found


def _match_references(table: str, listed: Sequence[str], names: Sequence[str]) -> str:
    """Say which names of a table of best known values are no instance; a table of which none is one is refused."""
    strange = [name for name in listed if name not in names]
    if len(strange) == len(listed):
        raise InputError(
            f"{table} gives best known values of {_list_few(strange)}, and the instances are called "
            f"{_list_few(names)}: give it their names, or leave it out"
        )
    return f"{REFERENCES}; no instance is called {_list_few(strange)}" if strange else REFERENCES


def _list_few(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _is_companion(path: Path, form: Format) -> bool:
    """Whether a file belongs to the files of a format."""
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
    policies: tuple[str, ...]  # schedulers, or for wide jobs orders such as `f1+easy`
    cluster: Cluster | None = None  # instead of the instances' own
    seeds: tuple[int, ...] = (0,)
    processes: int = 1
    time_limit: float = 120.0  # seconds of one cell

    def __post_init__(self) -> None:
        wide = {each.wide for each in self.instances}
        if wide == {True, False}:
            raise InputError("some instances are wide jobs and others tasks of one device: give each a suite")
        if wide == {True} and self.cluster:
            raise InputError("jobs of a shared cluster come with their own machines: leave --cluster out")
        for spec in self.policies:  # fails here, before any work, if it is unknown
            _ = JobStudy.single(["cluster_batch"], spec) if True in wide else registry.schedulers.create(spec)
        if not self.policies or not self.seeds:
            raise InputError("a suite needs at least one policy and one seed: name some")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `from_dict` makes the same suite of."""
        instances = [
            asdict(each) | {"paths": [str(path.resolve()) for path in each.paths]} for each in self.instances
        ]
        cluster = spell_infinity(self.cluster.to_dict()) if self.cluster else None
        chosen = {"policies": self.policies, "seeds": self.seeds, "time_limit": self.time_limit}
        return {"instances": instances, "cluster": cluster, **chosen}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], processes: int = 1) -> Suite:
        """Return the suite that plain data describes."""
        instances = tuple(_parse_instance(each) for each in data["instances"])
        cluster = Cluster.from_dict(read_infinity(data["cluster"])) if data["cluster"] else None
        policies, seeds = tuple(data["policies"]), tuple(data["seeds"])
        return cls(instances, policies, cluster, seeds, processes, data["time_limit"])

    @property
    def files(self) -> list[Path]:
        """The files that the instances are read from: their own, and clusters beside them."""
        beside = [find_cluster_file(each.paths[0]) for each in self.instances if each.paths]
        return [*(path for each in self.instances for path in each.paths), *filter(None, beside)]


def _parse_instance(data: Mapping[str, Any]) -> Instance:
    best = math.nan if data["best_known"] is None else data["best_known"]
    return Instance(**{**data, "paths": tuple(map(Path, data["paths"])), "best_known": best})


@dataclass(frozen=True)
class _Job:
    """One cell, or without a policy the row of an instance."""

    instance: Instance
    cluster: Cluster | None
    policy: str = ""
    seed: int = 0
    training: tuple[Instance, ...] = ()


class Journal:
    """The cells that have ended, a line each in a file, so that a suite that is killed does not begin anew.

    A cell is known by a digest of what it depends on. A line that was cut off is dropped; what failed is tried again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digests: dict[Path, str] = {}
        self._found: dict[str, InstanceRow | Score] = {}
        lines = path.read_bytes().rpartition(b"\n")[0] if path.is_file() else b""
        if lines:
            path.write_bytes(lines + b"\n")
        for entry in map(json.loads, lines.splitlines()):
            kind: type[InstanceRow | Score] = Score if "policy" in entry["cell"] else InstanceRow
            self._found[entry["key"]] = kind(**entry["cell"])

    def find(self, job: _Job) -> InstanceRow | Score | None:
        """Return the outcome of a cell, if it is known."""
        return self._found.get(self._key(job))

    def add(self, job: _Job, cell: InstanceRow | Score) -> None:
        """Keep the outcome of a cell."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": self._key(job), "cell": asdict(cell)}) + "\n")

    def _key(self, job: _Job) -> str:
        paths = [path for each in (job.instance, *job.training) for path in each.paths]
        own, ending, _ = job.policy.partition(".py")
        files = [self._digest(path) for path in [*paths, *([Path(own + ending)] if ending else [])]]
        instance = astuple(replace(job.instance, paths=()))
        cell = (__version__, instance, files, job.cluster and job.cluster.to_dict(), job.policy, job.seed)
        return hashlib.sha256(repr(cell).encode()).hexdigest()

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path] = sha256(path)
        return self._digests[path]


def run_suite(suite: Suite, progress: Progress | None = None, journal: Journal | None = None) -> Scoreboard:
    """Run all cells in processes; the order in which they end does not matter to the scoreboard."""
    jobs = list[_Job]()
    for instance in suite.instances:
        # A learner may be trained on other instances of the same format, those of the same folder first.
        others = [each for each in suite.instances if each.format == instance.format and each != instance]
        others.sort(key=lambda each: each.folder != instance.folder)
        training = tuple(others[:TRAINING_INSTANCES])
        jobs.append(_Job(instance, suite.cluster))
        jobs += [_Job(instance, suite.cluster, *cell, training) for cell in product(suite.policies, suite.seeds)]
    results: list[InstanceRow | Score | None] = [journal.find(job) if journal else None for job in jobs]
    open_jobs = [number for number, result in enumerate(results) if result is None]
    outcomes = run_jobs(_run_job, [jobs[number] for number in open_jobs], suite.processes, suite.time_limit)
    for done, outcome in enumerate(outcomes, start=len(jobs) - len(open_jobs) + 1):
        number = open_jobs[outcome.number]
        job = jobs[number]
        if outcome.problem and not job.policy:
            raise InputError(f"instance {job.instance.name} cannot be used: {outcome.problem}")
        failed = Score(job.instance.name, job.policy, job.seed, problem=outcome.problem)
        results[number] = failed if outcome.problem else outcome.value
        if journal and not outcome.problem:
            journal.add(job, outcome.value)
        if progress:
            progress(done, len(jobs))
    rows = tuple(each for each in results if isinstance(each, InstanceRow))
    bounds = {row.instance: row.turnaround_bound for row in rows}
    scores = (each for each in results if isinstance(each, Score))
    return Scoreboard(rows, suite.policies, tuple(_relate_turnaround(each, bounds[each.instance]) for each in scores))


def _relate_turnaround(score: Score, bound: float) -> Score:
    """Divide a turnaround by its bound, which only the row of the instance knows, unless tasks were split."""
    covered = bound > 0 and score.split == 0
    return replace(score, turnaround_over_bound=score.mean_turnaround / bound if covered else math.nan)


def _run_job(job: _Job) -> InstanceRow | Score:
    if job.instance.wide:
        return _run_wide(job)
    imported, cluster = _read(job.instance, job.cluster)
    tasks, instance = imported.tasks, job.instance
    if not job.policy:
        bound, skipped = lower_bound(tasks, cluster).makespan, dict(imported.skipped)
        size = len(tasks), len(tasks.edges.parents), imported.rows
        turnaround = whole = math.nan
        if len(tasks) <= MAX_CERTIFIED_TASKS:
            turnaround = certify_turnaround(tasks, cluster, split=False, steps=SEARCH_STEPS)[WHOLE].mean
            whole = max(bound, whole_task_bound(tasks, cluster).makespan)
        bounds = bound, instance.best_known, turnaround, whole
        machine = "; ".join((cluster.describe(), *describe_assumptions(tasks, cluster)))
        return InstanceRow(instance.name, instance.format, *size, skipped, machine, *bounds)
    lane = Lane(_prepare_scheduler(job, cluster), VirtualMultiGPU(cluster=cluster))
    times, begin = class_times(tasks, cluster), time.perf_counter()
    placements = lane.run(tasks, times)
    seconds, figures = time.perf_counter() - begin, measure(placements)
    own: dict[str, Any] = {each.name: figures[each.name] for each in fields(Score) if each.name in figures}
    return Score(instance.name, job.policy, job.seed, seconds=seconds, **own)


def _run_wide(job: _Job) -> InstanceRow | Score:
    """Run one policy on the jobs of a shared cluster, or bound what any could reach."""
    instance = job.instance
    case = _read_wide(instance)
    if not job.policy:
        bound = area_bound(case.jobs, case.machines).end - float(case.jobs.arrival.min())
        size = len(case.jobs), 0, len(case.jobs)
        bounds = bound, instance.best_known, job_turnaround_bound(case.jobs, case.machines).mean
        return InstanceRow(instance.name, instance.format, *size, {}, case.machines.describe(), *bounds)
    study = JobStudy.single(["cluster_batch"], job.policy)
    list(schedule_window(study, replace(case, jobs=case.jobs.select(slice(0, 2)))))  # compiles the loop
    begin = time.perf_counter()
    [(_, schedule)] = schedule_window(study, case)
    seconds, figures = time.perf_counter() - begin, measure_jobs(schedule)
    names = ("makespan", "mean_turnaround", "rejected", "bounded_slowdown")
    own: dict[str, Any] = {name: figures[name] for name in names}
    return Score(instance.name, job.policy, job.seed, seconds=seconds, split=0.0, **own)


@lru_cache(maxsize=TRAINING_INSTANCES)
def _read_wide(instance: Instance) -> Case:
    files = [str(path) for path in instance.paths] or [instance.source]
    return JobStudy.single(files, "fcfs", instance.format if instance.paths else "").cases()[0]


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
        return pretrain_on_workloads(job.policy, others, cluster, job.seed)
    warm = WorkloadGenerator(0).generate_preset("mixed", 2)
    Lane(registry.schedulers.create(job.policy, seed=0), VirtualMultiGPU(num_gpus=1)).run(warm)
    return scheduler


# --- files ---------------------------------------------------------------------------------------------------


def save_scoreboard(
    board: Scoreboard, folder: Path, command: Sequence[str], ignored: Mapping[str, str], suite: Suite
) -> None:
    """Write the tables and the manifest into a folder that is being created."""
    write_csv(board, folder / CSV)
    write_markdown(board, folder / MARKDOWN, command, ignored)
    digests = {CSV: sha256(folder / CSV)} | {str(path.resolve()): sha256(path) for path in suite.files}
    own = {each.partition(".py")[0] + ".py" for each in suite.policies if ".py" in each}
    contents = {"suite": suite.to_dict(), "sha256": digests | {name: sha256(name) for name in sorted(own)}}
    write_manifest(folder, command, contents, KIND)


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


def repeat_scoreboard(
    directory: str | Path, progress: Progress | None = None, processes: int = 1
) -> tuple[Scoreboard, bool]:
    """Run a kept suite again; return what came out, and whether all but wall times is the same, bit for bit.

    Cells that had not ended, such as those over the time limit, are not compared.
    """
    kept, manifest = load_scoreboard(directory), read_manifest(directory)
    if "suite" not in manifest:
        raise InputError(f"{directory} was kept before suites could be repeated: run the command that it names")
    require_same_inputs(manifest)
    try:
        suite = Suite.from_dict(manifest["suite"], processes)
    except (KeyError, TypeError, AttributeError):
        raise corrupt_file(Path(directory) / MANIFEST) from None
    board = run_suite(suite, progress)
    again = csv.DictReader(StringIO(scores_to_csv(board)))
    return board, all(
        {**now, WALL: ""} == {**then, WALL: ""} for now, then in zip(again, kept, strict=True) if not then["problem"]
    )
