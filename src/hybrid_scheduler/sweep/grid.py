"""A grid names what a sweep goes through: workloads × loads × clusters × seeds, each with all schedulers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.race import Comparison
from hybrid_scheduler.simulator import MODES
from hybrid_scheduler.workload.source import Source


@dataclass(frozen=True)
class Point:
    """One comparison of a sweep: all schedulers on the tasks of one seed."""

    workload: str
    load: float | None
    cluster: str  # as the grid calls it
    seed: int
    comparison: Comparison

    @property
    def digest(self) -> str:
        """Name the point by all that shapes its result."""
        text = json.dumps(self.comparison.to_dict(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Grid:
    """What to go through; a file of a grid has these keys."""

    schedulers: tuple[str, ...]
    workloads: tuple[str, ...] = ("mixed",)
    loads: tuple[float | None, ...] = (None,)
    clusters: tuple[tuple[str, Cluster], ...] = (("default", Cluster.default()),)
    seeds: tuple[int, ...] = tuple(range(10))
    tasks: int | None = None
    mode: str = "queued"

    def points(self) -> list[Point]:
        """Return all comparisons, in the order of the grid."""
        return list(self._points())

    def _points(self) -> Iterator[Point]:
        for workload, load, (name, cluster), seed in product(self.workloads, self.loads, self.clusters, self.seeds):
            source = Source.of(workload, self.tasks, load=load)
            yield Point(workload, load, name, seed, Comparison(source, self.schedulers, cluster, self.mode, (seed,)))


def read_grid(path: str | Path) -> Grid:
    """Read a grid from a YAML file; cluster files are looked for beside it."""
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"grid file {path} does not exist: check the path") from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        # PyYAML's constructors let more than YAMLError through: impossible dates, numbers, truth values.
        mark = getattr(error, "problem_mark", None)
        raise InputError(
            f"grid file {path}{f' line {mark.line + 1}' if mark else ''} is no YAML: correct it"
        ) from None
    except OSError as error:
        raise InputError(f"grid file {path} cannot be read ({error.strerror}): check the path") from None
    try:
        return _grid(data, Path(path).parent)
    except SchedulerError as error:
        raise InputError(f"grid file {path}: {error}") from None


def _grid(data: Any, beside: Path) -> Grid:
    known = [each.name for each in fields(Grid)]
    if not isinstance(data, dict) or "schedulers" not in data:
        raise InputError(f"it holds a mapping with schedulers and, if wanted, {', '.join(known[1:])}")
    for key in data:
        if key not in known:
            raise unknown_name("key", str(key), known)
    mode = data.get("mode", "queued")
    if mode not in MODES:
        raise unknown_name("mode", str(mode), MODES)
    clusters = _many("clusters", data.get("clusters", [{"gpus": 4}]))
    return Grid(
        tuple(_word("schedulers", each) for each in _many("schedulers", data["schedulers"])),
        tuple(_word("workloads", each) for each in _many("workloads", data.get("workloads", "mixed"))),
        tuple(_load(each) for each in _many("loads", data.get("loads", [None]))),
        tuple(_cluster(each, beside) for each in clusters),
        _seeds(data.get("seeds", 10)),
        _tasks(data.get("tasks")),
        mode,
    )


def _many(key: str, value: Any) -> Sequence[Any]:
    found = value if isinstance(value, list) else [value]
    if not found:
        raise InputError(f"{key} is empty: name at least one")
    if any(found.count(each) > 1 for each in found):
        raise InputError(f"{key} names something twice: name each once")
    return found


def _word(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{key} has {value!r}, expected a name")
    return value


def _load(value: Any) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
        raise InputError(f"loads has {value!r}, expected a number above 0")
    return None if value is None else float(value)


def _tasks(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InputError(f"tasks is {value!r}, expected a whole number above 0")
    return value


def _seeds(value: Any) -> tuple[int, ...]:
    several = list(range(value)) if isinstance(value, int) and not isinstance(value, bool) else value
    good = isinstance(several, list) and several and all(isinstance(each, int) and each >= 0 for each in several)
    if not good or len(set(several)) < len(several):
        raise InputError(f"seeds is {value!r}, expected how many, or a list of different whole numbers")
    return tuple(several)


def _cluster(value: Any, beside: Path) -> tuple[str, Cluster]:
    if isinstance(value, str):
        return value, Cluster.from_yaml(beside / value)
    if not isinstance(value, dict) or set(value) - {"gpus", "memory"} or not isinstance(value.get("gpus"), int):
        raise InputError(f"clusters has {value!r}, expected {{gpus: 4}} or the name of a cluster file")
    memory = value.get("memory", 8000.0)
    if isinstance(memory, bool) or not isinstance(memory, int | float) or value["gpus"] < 0:
        raise InputError(f"clusters has {value!r}, expected gpus, 0 or more, and memory in MB above 0")
    name = f"{value['gpus']} gpus" + (f" of {memory:g} MB" if "memory" in value else "")
    return name, Cluster.default(value["gpus"], float(memory))
