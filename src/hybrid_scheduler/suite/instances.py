"""Instances: the files of a directory that hold tasks, with their companions and the best values known."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.workload.formats import opening, reader
from hybrid_scheduler.workload.formats.format import Format, Imported
from hybrid_scheduler.workload.importing import CLUSTER, machines_beside
from hybrid_scheduler.workload.source import Source

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
    return form.accompanies is not None and form.accompanies(opening.head(path))


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
