"""A composition takes times, arrivals and memory from different files, and says of every column whence it came.

Nobody has measured such tasks together: rows of times and of memory are drawn with replacement, each from its own
stream of random numbers, arrivals follow each other as in their file. Without a file of times they are by formula,
and said to be.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import EXPECTED, FEATURE, MEASURED, Floats, Ints, Tasks, no_edges
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import sha256, written_whole
from hybrid_scheduler.workloads.formats import csv, reader
from hybrid_scheduler.workloads.formats.format import Imported
from hybrid_scheduler.workloads.generator import WorkloadGenerator, paced

TIMES, ARRIVALS, MEMORY = range(3)
"""Every column has its own stream of random numbers."""
STREAM = 0xC0
DRAWN, FORMULA, SAME = "drawn", "by formula", "the same rows"
OURS = ("csv", "parquet")
"""Formats whose columns are whatever their writer put there."""
MEMORY_COLUMN = "memory_required"


@dataclass(frozen=True)
class Part:
    """Where columns of a composition come from."""

    columns: tuple[str, ...]
    file: str  # empty: from none
    sha256: str
    column: str  # what the file calls it, and on what ground it is taken for this
    rows: int
    taken: str

    def without(self, column: str) -> Part:
        """Return the same part without a column that comes from elsewhere."""
        return replace(self, columns=tuple(name for name in self.columns if name != column))

    def describe(self) -> str:
        """Return one line for people."""
        names = [name for name in self.columns if not name.startswith(FEATURE)]
        if others := len(self.columns) - len(names):
            names.append(f"{others} features")
        origin = f"{Path(self.file).name} ({self.column}; SHA-256 {self.sha256[:12]}…), " if self.file else ""
        return f"{', '.join(names)}: {origin}{self.taken}"


@dataclass(frozen=True)
class Composition:
    """Composed tasks, where their columns come from, and the machines of the file of times if it names some."""

    tasks: Tasks
    parts: tuple[Part, ...]
    seed: int
    pace: str
    cluster: Cluster | None

    def to_dict(self) -> dict[str, Any]:
        """Return what is kept beside the tasks."""
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
    """Compose tasks; a rate or a load stretches the arrivals, neither leaves those of a file as they are."""
    if count < 1 or seed < 0:
        raise InputError(f"{count} tasks of seed {seed} were asked for: expected at least 1, and 0 or more")
    if times is None and arrivals is None and memory is None:
        raise InputError("there is nothing to compose: give --times, --arrivals or --memory, or use hms generate")
    tasks, parts, machines = _measured(times, count, seed) if times else _by_formula(count, seed)
    if memory:
        column, part = _memory(memory, count, seed)
        tasks, parts = (
            replace(tasks, memory_required=column),
            [*(each.without(MEMORY_COLUMN) for each in parts), part],
        )
    column, part = _arrivals(arrivals, count) if arrivals else _poisson(count, seed)
    tasks = tasks.arriving_at(column)  # checks all columns anew
    on = cluster or machines or Cluster.default()
    pace = _pace(rate, load, arrivals is not None, on)
    if pace:
        tasks = paced(tasks, on, rate=rate, load=load)
    kept = tuple(each for each in (*parts, part) if each.columns)
    return Composition(tasks, kept, seed, pace or "as in the file", machines)


def _measured(path: str | Path, count: int, seed: int) -> tuple[Tasks, list[Part], Cluster | None]:
    found = _read(path)
    if not found.tasks.measured:
        raise InputError(
            f"{path} holds no measured times: give a file that does, or leave out --times for the formula"
        )
    rows = drawn_rows(seed, TIMES, len(found.tasks), count)
    tasks = drawn(found.tasks, rows)
    clocked = [f"{MEASURED}{name}" for name in tasks.measured]
    beside = [f"{EXPECTED}{name}" for name in tasks.expected] + [f"{FEATURE}{name}" for name in tasks.features]
    parts = [
        _part(clocked, path, "time_<class>", found, "rows drawn with replacement"),
        *(_part([name], path, name, found, SAME) for name in ("size", "compute_intensity", "duration_estimate")),
        _part([MEMORY_COLUMN], path, MEMORY_COLUMN, found, SAME),
    ]
    if beside:
        parts.insert(1, replace(parts[0], columns=tuple(beside), column="as given there", taken=SAME))
    return tasks, parts, found.cluster


def _by_formula(count: int, seed: int) -> tuple[Tasks, list[Part], None]:
    tasks = WorkloadGenerator(seed).generate_preset("mixed", count, rate=1.0)
    times = Part(("time_<class>", "duration_estimate"), "", "", FORMULA, count, "by formula, not measured")
    columns = ("size", "compute_intensity", MEMORY_COLUMN)
    return tasks, [times, Part(columns, "", "", DRAWN, count, "drawn as in the preset 'mixed'")], None


def _memory(path: str | Path, count: int, seed: int) -> tuple[Floats, Part]:
    found = _read(path)
    if not found.tasks.memory_required.any():
        raise InputError(
            f"{path} holds no memory, all its tasks need 0 MB: leave out --memory, or give a file that does "
            "(pods do once hms import has read them with their list of nodes)"
        )
    rows = drawn_rows(seed, MEMORY, len(found.tasks), count)
    part = _part([MEMORY_COLUMN], path, MEMORY_COLUMN, found, "rows drawn with replacement")
    return found.tasks.memory_required[rows], part


def _arrivals(path: str | Path, count: int) -> tuple[Floats, Part]:
    found = _read(path)
    arrival = np.sort(found.tasks.arrival_time)
    arrival = arrival - arrival[0]
    if len(arrival) < 2 or not arrival[-1] > 0:
        raise InputError(
            f"{path} holds no arrivals, all its tasks come at once: leave out --arrivals for Poisson ones"
        )
    rounds, place = np.divmod(np.arange(count), len(arrival))
    span = arrival[-1] * len(arrival) / (len(arrival) - 1)  # a mean gap lies between two rounds
    taken = f"in order, {rounds[-1] + 1} times over" if rounds[-1] else f"the first {count} in order"
    return arrival[place] + rounds * span, _part(("arrival_time",), path, "arrival_time", found, taken)


def _poisson(count: int, seed: int) -> tuple[Floats, Part]:
    gaps = np.random.default_rng([seed, STREAM, ARRIVALS]).exponential(1.0, count)
    return np.cumsum(gaps), Part(("arrival_time",), "", "", DRAWN, count, "drawn: a Poisson stream")


def _pace(rate: float | None, load: float | None, as_they_are: bool, cluster: Cluster) -> str:
    if rate is not None:
        return f"stretched to {rate:g} tasks/s"
    if load is None and as_they_are:
        return ""
    return f"stretched to load {0.9 if load is None else load:g} on {cluster.describe()}"


def drawn_rows(seed: int, column: int, among: int, count: int) -> Ints:
    """Draw rows with replacement from a column's own stream of random numbers."""
    return np.random.default_rng([seed, STREAM, column]).integers(0, among, count)


def drawn(tasks: Tasks, rows: Ints) -> Tasks:
    """Return these rows, numbered anew and without the dependencies that they had."""
    alone = replace(tasks, edges=no_edges(len(tasks)))
    return replace(alone.in_order_of(rows), task_id=np.arange(len(rows)))


def _read(path: str | Path) -> Imported:
    found = reader.read_all([path])
    if not len(found.tasks):
        raise InputError(f"{path} holds no task: give a file with some")
    return found


def _part(columns: Sequence[str], path: str | Path, column: str, found: Imported, taken: str) -> Part:
    return Part(tuple(columns), str(path), sha256(path), _ground(path, column), len(found.tasks), taken)


def _ground(path: str | Path, column: str) -> str:
    """Say what the format makes this column of, and whether that is a measurement."""
    form = reader.sniffed(path)
    if form.name in OURS:
        return "as given there"
    lines = [each for each in form.mapping if column in each.becomes]
    best = next((each for each in lines if each.column), lines[0] if lines else None)
    return f"{best.column or 'nothing of the kind there'}, {best.ground}" if best else "unknown"


SUFFIXES = (".parquet", ".csv")


def beside(path: str | Path) -> Path:
    """Return where the composition of a file of tasks is kept."""
    return Path(path).with_suffix(".composition.json")


def machines(path: str | Path) -> Path:
    """Return where the machines of the measured times are kept, for `--cluster`."""
    return Path(path).with_suffix(".cluster.yaml")


def check(path: str | Path) -> None:
    """Refuse a name whose ending says nothing of the format; called before the work."""
    if Path(path).suffix not in SUFFIXES:
        raise InputError(f"{path} ends neither in .parquet nor in .csv: the ending says how to write it")


def write(composition: Composition, path: str | Path) -> None:
    """Write the tasks, and beside them where each column came from, and the machines if the times name some."""
    check(path)
    _write(composition.tasks, path)
    if composition.cluster:
        with written_whole(machines(path)) as scratch:
            scratch.write_text(composition.cluster.to_yaml(), encoding="utf-8")
    document = {"schema": 1, "file": Path(path).name, "sha256": sha256(path), **composition.to_dict()}
    with written_whole(beside(path)) as scratch:
        scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _write(tasks: Tasks, path: str | Path) -> None:
    if Path(path).suffix == ".csv":
        csv.write(tasks, path)
        return
    with written_whole(path) as scratch:
        csv.to_frame(tasks).to_parquet(scratch, index=False)


def composition_of(path: str | Path, digest: str) -> dict[str, Any] | None:
    """Return what is kept beside a file of tasks; none if nothing is, or if it was written for other bytes."""
    try:
        document = json.loads(beside(path).read_text(encoding="utf-8"))
        found: dict[str, Any] | None = document if document["sha256"] == digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # beside any file may lie one of this name that is not ours
    return found


def lines(document: dict[str, Any]) -> list[str]:
    """Return a composition in lines for people."""
    parts = [Part(**{**part, "columns": tuple(part["columns"])}) for part in document["parts"]]
    head = f"composed (seed {document['seed']}), {document['composed']}; arrivals {document['pace']}"
    return [head, *(f"  {part.describe()}" for part in parts)]
