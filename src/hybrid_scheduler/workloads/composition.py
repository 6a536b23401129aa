"""Compositions: tasks whose times, arrivals and memory come from different files, with the origin of every column.

Such tasks were never measured together. Rows of times and of memory are drawn with replacement, each with its own
random stream; arrivals keep the order of their file. Without a file of times, they follow the formula.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import EXPECTED, FEATURE, MEASURED, Floats, Ints, Tasks, no_edges
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write, sha256
from hybrid_scheduler.workloads.conversion import cluster_path
from hybrid_scheduler.workloads.formats import csv, reader
from hybrid_scheduler.workloads.formats.reader import Imported
from hybrid_scheduler.workloads.generator import DEFAULT_LOAD, WorkloadGenerator, scale_arrivals

TIMES, ARRIVALS, MEMORY = range(3)  # every column has its own random stream
STREAM = 0xC0
SUFFIXES = (".parquet", ".csv")
OWN_FORMATS = ("csv", "parquet")  # formats whose columns are whatever their writer put there
MEMORY_COLUMN = "memory_required"
SAME_ROWS, DRAWN_ROWS = "the same rows", "rows drawn with replacement"


@dataclass(frozen=True)
class Part:
    """The origin of some columns of a composition."""

    columns: tuple[str, ...]
    file: str  # empty: from none
    sha256: str
    column: str  # its name in the file, and whether it was measured
    rows: int
    taken: str

    def describe(self) -> str:
        """Return a one-line description."""
        names = [name for name in self.columns if not name.startswith(FEATURE)]
        if others := len(self.columns) - len(names):
            names.append(f"{others} features")
        origin = f"{Path(self.file).name} ({self.column}; SHA-256 {self.sha256[:12]}…), " if self.file else ""
        return f"{', '.join(names)}: {origin}{self.taken}"


@dataclass(frozen=True)
class Composition:
    """Composed tasks, the origin of their columns, and the machines of the file of times if it names some."""

    tasks: Tasks
    parts: tuple[Part, ...]
    seed: int
    pace: str
    cluster: Cluster | None

    def to_dict(self) -> dict[str, Any]:
        """Return the document that is kept beside the tasks."""
        return {
            "composed": "columns of different origin: never measured together",
            "seed": self.seed,
            "tasks": len(self.tasks),
            "pace": self.pace,
            "parts": [asdict(part) for part in self.parts],
        }


def compose(
    count: int,
    seed: int = 0,
    *,
    times: str | Path | None = None,
    arrivals: str | Path | None = None,
    memory: str | Path | None = None,
    cluster: Cluster | None = None,
    rate: float | None = None,
    load: float | None = None,
) -> Composition:
    """Compose tasks; arrivals are scaled to a rate or a load, those of a file only if one is given."""
    if count < 1 or seed < 0:
        raise InputError(f"{count} tasks of seed {seed} were asked for: expected at least 1, and 0 or more")
    if times is None and arrivals is None and memory is None:
        raise InputError("there is nothing to compose: give --times, --arrivals or --memory, or use hms generate")
    tasks, parts, machines = _draw_times(times, count, seed) if times else _generate(count, seed)
    if memory:
        column, part = _draw_memory(memory, count, seed)
        tasks = replace(tasks, memory_required=column)
        kept = [tuple(name for name in each.columns if name != MEMORY_COLUMN) for each in parts]
        parts = [*(replace(each, columns=names) for each, names in zip(parts, kept, strict=True)), part]
    if arrivals:
        column, part = _repeat_arrivals(arrivals, count)
    else:
        column = np.cumsum(np.random.default_rng([seed, STREAM, ARRIVALS]).exponential(1.0, count))
        part = Part(("arrival_time",), "", "", "drawn", count, "drawn: a Poisson stream")
    tasks = tasks.with_arrival_times(column)  # checks all columns again
    cluster = cluster or machines or Cluster.default()
    if arrivals is not None and rate is None and load is None:
        pace = "as in the file"
    else:
        at_load = f"load {DEFAULT_LOAD if load is None else load:g} on {cluster.describe()}"
        pace = f"stretched to {at_load if rate is None else f'{rate:g} tasks/s'}"
        tasks = scale_arrivals(tasks, cluster, rate=rate, load=load)
    return Composition(tasks, tuple(each for each in (*parts, part) if each.columns), seed, pace, machines)


def _draw_times(path: str | Path, count: int, seed: int) -> tuple[Tasks, list[Part], Cluster | None]:
    found = reader.read_all([path])
    if not found.tasks.measured:
        raise InputError(
            f"{path} holds no measured times: give a file that does, or leave out --times for the formula"
        )
    rows = np.random.default_rng([seed, STREAM, TIMES]).integers(0, len(found.tasks), count)
    tasks = select_rows(found.tasks, rows)
    times = [f"{MEASURED}{name}" for name in tasks.measured]
    others = [f"{EXPECTED}{name}" for name in tasks.expected] + [f"{FEATURE}{name}" for name in tasks.features]
    single = ("size", "compute_intensity", "duration_estimate", MEMORY_COLUMN)
    parts = [
        _describe_part(times, path, "time_<class>", found, DRAWN_ROWS),
        *(_describe_part([name], path, name, found, SAME_ROWS) for name in single),
    ]
    if others:
        parts.insert(1, replace(parts[0], columns=tuple(others), column="as given there", taken=SAME_ROWS))
    return tasks, parts, found.cluster


def _generate(count: int, seed: int) -> tuple[Tasks, list[Part], None]:
    tasks = WorkloadGenerator(seed).generate_preset("mixed", count, rate=1.0)
    times = Part(("time_<class>", "duration_estimate"), "", "", "by formula", count, "by formula, not measured")
    columns = ("size", "compute_intensity", MEMORY_COLUMN)
    return tasks, [times, Part(columns, "", "", "drawn", count, "drawn as in the preset 'mixed'")], None


def _draw_memory(path: str | Path, count: int, seed: int) -> tuple[Floats, Part]:
    found = reader.read_all([path])
    if not found.tasks.memory_required.any():
        raise InputError(
            f"{path} holds no memory, all its tasks need 0 MB: leave out --memory, or give a file that does "
            "(pods do once hms import has read them with their list of nodes)"
        )
    rows = np.random.default_rng([seed, STREAM, MEMORY]).integers(0, len(found.tasks), count)
    part = _describe_part([MEMORY_COLUMN], path, MEMORY_COLUMN, found, DRAWN_ROWS)
    return found.tasks.memory_required[rows], part


def _repeat_arrivals(path: str | Path, count: int) -> tuple[Floats, Part]:
    found = reader.read_all([path])
    arrival = np.sort(found.tasks.arrival_time)
    arrival = arrival - arrival[0]
    if len(arrival) < 2 or not arrival[-1] > 0:
        raise InputError(
            f"{path} holds no arrivals, all its tasks come at once: leave out --arrivals for Poisson ones"
        )
    rounds, place = np.divmod(np.arange(count), len(arrival))
    span = arrival[-1] * len(arrival) / (len(arrival) - 1)  # a mean gap lies between two rounds
    taken = f"in order, {rounds[-1] + 1} times over" if rounds[-1] else f"the first {count} in order"
    return arrival[place] + rounds * span, _describe_part(("arrival_time",), path, "arrival_time", found, taken)


def select_rows(tasks: Tasks, rows: Ints) -> Tasks:
    """Return some rows, with new ids and without dependencies."""
    independent = replace(tasks, edges=no_edges(len(tasks)))
    return replace(independent.select(rows), task_id=np.arange(len(rows)))


def _describe_part(columns: Sequence[str], path: str | Path, column: str, found: Imported, taken: str) -> Part:
    """Describe columns of a file: from what its format derives `column`, and whether that is a measurement."""
    form = reader.detect_format(path)
    lines = [each for each in form.mapping if column in each.becomes]
    best = next((each for each in lines if each.column), lines[0] if lines else None)
    origin = f"{best.column or 'nothing of the kind there'}, {best.ground}" if best else "unknown"
    origin = "as given there" if form.name in OWN_FORMATS else origin
    return Part(tuple(columns), str(path), sha256(path), origin, len(found.tasks), taken)


def sidecar_path(path: str | Path) -> Path:
    """Return the path of the document with the origin of a file's columns."""
    return Path(path).with_suffix(".composition.json")


def require_suffix(path: str | Path) -> None:
    """Refuse a name whose suffix does not tell the format."""
    if Path(path).suffix not in SUFFIXES:
        raise InputError(f"{path} ends neither in .parquet nor in .csv: the ending says how to write it")


def write(composition: Composition, path: str | Path) -> None:
    """Write the tasks, beside them the origin of their columns, and the machines if the times name some."""
    require_suffix(path)
    if Path(path).suffix == ".csv":
        csv.write(composition.tasks, path)
    else:
        with atomic_write(path) as scratch:
            csv.to_frame(composition.tasks).to_parquet(scratch, index=False)
    if composition.cluster:
        with atomic_write(cluster_path(Path(path))) as scratch:
            scratch.write_text(composition.cluster.to_yaml(), encoding="utf-8")
    document = {"schema": 1, "file": Path(path).name, "sha256": sha256(path), **composition.to_dict()}
    with atomic_write(sidecar_path(path)) as scratch:
        scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_composition(path: str | Path, digest: str) -> dict[str, Any] | None:
    """Load the document beside a file of tasks; none if there is none, or if it is of other bytes."""
    with suppress(OSError, ValueError, KeyError, TypeError):  # a file of this name may be none of ours
        document: dict[str, Any] = json.loads(sidecar_path(path).read_text(encoding="utf-8"))
        return document if document["sha256"] == digest else None
    return None


def format_lines(document: dict[str, Any]) -> list[str]:
    """Return the document as lines of text."""
    parts = [Part(**{**part, "columns": tuple(part["columns"])}) for part in document["parts"]]
    head = f"composed (seed {document['seed']}), {document['composed']}; arrivals {document['pace']}"
    return [head, *(f"  {part.describe()}" for part in parts)]
