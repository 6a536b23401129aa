"""Fields of JSON objects, checked: what is not what it should be is named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, Cluster, Node
from hybrid_scheduler.core.tasks import Edges, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.workloads.formats.documents import edge_of, json_document, named
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped

MOST = 1e300
"""What a number must stay below."""


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"{what} is no JSON object: this is another kind of file, or a damaged one")
    return value


def mappings(holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of JSON objects; empty if it is missing."""
    values = holder.get(key, [])
    if not isinstance(values, list):
        raise InputError(f"'{key}' is no list: this is another kind of file, or a damaged one")
    what = f"an entry of '{key}'"
    return [each if isinstance(each, dict) else mapping(each, what) for each in values]


def name(holder: dict[str, Any], key: str) -> str:
    """Return a name that fits on a line."""
    value = holder.get(key)
    if not isinstance(value, str) or not value.isprintable() or not value:
        raise InputError(f"'{key}' is {value!r:.40}, expected a name")
    return value


def names(holder: dict[str, Any], key: str) -> list[str]:
    """Return a list of names; empty if it is missing."""
    values = holder.get(key, [])
    if not isinstance(values, list) or not _is_text(values):
        raise InputError(f"'{key}' is no list of names: correct it")
    return values


def _is_text(values: list[Any]) -> bool:
    """Whether all are words that fit on a line; looked at together, as there are many such lists."""
    try:
        return "".join(values).isprintable()
    except TypeError:
        return False


def number(holder: dict[str, Any], key: str, default: float | None = None) -> float:
    """Return a number, 0 or more; the default if it is missing."""
    value = holder.get(key, default)
    if type(value) is float and 0 <= value < MOST:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MOST:
        who = holder.get("id") or holder.get("name") or "an entry"
        raise InputError(f"{who!r:.80}: {key} is {value!r:.40}, expected a number, 0 or more")
    return float(value)


BYTES = 1e6
"""Bytes of a megabyte."""
SHORTEST = 1e-6
"""Seconds of a task whose run time is given as 0: too short to be measured."""
UNKNOWN_INTENSITY = 0.5
CORES = 1
"""Cores of a machine whose number of cores is not given."""
MOST_CORES = 100_000
FEW = 8
"""Parents among which one is found faster in a list than in a set that has to be made first."""

MAPPING = (
    Mapped(
        "execution.tasks[].runtimeInSeconds", "time_cpu, duration_estimate", MEASURED, "seconds; 0 counts as 1 µs"
    ),
    Mapped("", "time_gpu", ASSUMED, "`inf`: nobody measured these tasks on a GPU, so they cannot run there"),
    Mapped("specification.tasks[].parents, children", "dependencies", MEASURED, "either end of an edge will do"),
    Mapped(
        "specification.files[].sizeInBytes",
        "megabytes of dependencies",
        MEASURED,
        "the files that the parent writes and the child reads, together; 0 if there is none",
    ),
    Mapped("inputFiles", "feature_input_mb", MEASURED, "MB of all files that the task reads"),
    Mapped("inputFiles", "size", ASSUMED, "edge of a square matrix of 4-byte numbers with these bytes, at least 1"),
    Mapped("execution.tasks[].memoryInBytes", "memory_required", MEASURED, "MB; assumed 0 where the file has none"),
    Mapped(
        "execution.tasks[].avgCPU",
        "compute_intensity",
        ASSUMED,
        "per cent of the time in which the CPU was busy, at most 100; 0.5 where the file has none",
    ),
    Mapped("", "arrival_time", ASSUMED, "0: the whole workflow is there at the start"),
    Mapped("execution.machines[]", "cluster: nodes", MEASURED, "as many nodes; links between them are assumed"),
    Mapped("execution.machines[].cpu.coreCount", "cluster: cpu devices of a node", MEASURED, "1 where it is missing"),
    Mapped("execution.machines[].cpu.speedInMHz", "", IGNORED, "the clock of a moment, lower on idle machines"),
    Mapped("execution.machines[].memoryInBytes", "", IGNORED, "memory that all cores share"),
    Mapped("execution.tasks[].coreCount, machines", "", IGNORED, "a task takes one core"),
    Mapped("any other", "", IGNORED),
)


@dataclass(slots=True)
class _Job:
    """A task of the workflow, whatever the version of the file."""

    name: str
    parents: list[str]
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    _known: set[str] | None = None

    def add_parent(self, name: str) -> None:
        """Add a parent, unless it is one already."""
        if len(self.parents) < FEW:
            if name not in self.parents:
                self.parents.append(name)
            return
        if self._known is None:
            self._known = set(self.parents)
        if name not in self._known:
            self._known.add(name)
            self.parents.append(name)


@dataclass
class _Workflow:
    jobs: list[_Job]
    sizes: dict[str, float]
    machines: list[Any]


def _read(path: Path, _: Sequence[Path]) -> Imported:
    data = json_document(path)
    try:
        found = _workflow(mapping(data, "the file"))
        tasks = _tasks(found)
        return Imported(tasks, len(tasks), cluster=_cluster(found.machines))
    except RowError as error:
        raise named(error, path, f"task '{found.jobs[error.row].name[:80]}'") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _workflow(data: dict[str, Any]) -> _Workflow:
    workflow = mapping(data.get("workflow"), "'workflow'")
    jobs = "specification" if "specification" in workflow else "tasks" if "tasks" in workflow else "jobs"
    found = _current(workflow) if jobs == "specification" else _older(workflow, jobs)
    if not found.jobs:
        raise InputError("there are no tasks: the workflow is empty")
    return found


def _current(workflow: dict[str, Any]) -> _Workflow:
    """Versions from 1.5 on: what is to be done and how it went are apart."""
    plan, history = mapping(workflow["specification"], "'specification'"), workflow.get("execution")
    if history is None:
        raise InputError("there is no 'execution': this workflow has never been run, so no time is known")
    history = mapping(history, "'execution'")
    runs = {name(each, "id"): each for each in mappings(history, "tasks")}
    entries = mappings(plan, "tasks")
    jobs = [
        _Job(
            name(each, "id"),
            names(each, "parents"),
            names(each, "inputFiles"),
            names(each, "outputFiles"),
        )
        for each in entries
    ]
    for job in jobs:
        if job.name not in runs:
            raise InputError(f"task '{job.name[:80]}' is not among the executed ones: no time is known of it")
        job.run = runs[job.name]
    _add_children(jobs, entries)
    sizes = {name(each, "id"): number(each, "sizeInBytes") for each in mappings(plan, "files")}
    return _Workflow(jobs, sizes, mappings(history, "machines"))


def _older(workflow: dict[str, Any], key: str) -> _Workflow:
    """Versions up to 1.4: tasks name each other and hold their files; up to 1.3 without units in the names."""
    sizes: dict[str, float] = {}
    jobs, entries = [], mappings(workflow, key)
    for each in entries:
        job = _Job(name(each, "name"), names(each, "parents"), run=dict(each))
        for file in mappings(each, "files"):
            label = name(file, "name")
            (job.inputs if str(file.get("link")).lower() == "input" else job.outputs).append(label)
            sizes[label] = number(file, "sizeInBytes" if "sizeInBytes" in file else "size")
        if "runtimeInSeconds" not in each and "runtime" in each:
            job.run["runtimeInSeconds"] = each["runtime"]
        if "memoryInBytes" not in each and "memory" in each:
            job.run["memoryInBytes"] = 1000 * number(each, "memory")  # kilobytes until 1.3
        jobs.append(job)
    _add_children(jobs, entries)
    return _Workflow(jobs, sizes, mappings(workflow, "machines"))


def _add_children(jobs: list[_Job], entries: list[dict[str, Any]]) -> None:
    """Let edges that only the parent tells be known to the child too."""
    by_name: dict[str, _Job] = {}
    for job in jobs:
        if by_name.setdefault(job.name, job) is not job:
            raise InputError(f"task '{job.name[:80]}': its id appears twice: ids must be unique")
    for job, entry in zip(jobs, entries, strict=True):
        for name in names(entry, "children"):
            child = by_name.get(name)
            if child is None:
                raise InputError(f"task '{job.name[:80]}' has the child '{name[:80]}', which does not exist: add it")
            child.add_parent(job.name)


def _tasks(found: _Workflow) -> Tasks:
    runs = [job.run for job in found.jobs]
    seconds = np.array([number(run, "runtimeInSeconds") for run in runs])
    seconds = np.where(seconds == 0, SHORTEST, seconds)
    read = np.array([_size(found.sizes, job.inputs) for job in found.jobs])
    busy = [number(run, "avgCPU", 100 * UNKNOWN_INTENSITY) / 100 for run in runs]
    return Tasks.build(
        size=edge_of(read),
        compute_intensity=np.clip(busy, 0.0, 1.0),
        memory_required=[number(run, "memoryInBytes", 0.0) / BYTES for run in runs],
        duration_estimate=seconds,
        edges=_edges(found),
        measured={"cpu": seconds, "gpu": np.full(len(seconds), math.inf)},
        features={"input_mb": read / BYTES},
    )


def _edges(found: _Workflow) -> Edges:
    rows = {job.name: row for row, job in enumerate(found.jobs)}
    writers: dict[str, list[int]] = {}
    for row, job in enumerate(found.jobs):
        for file in dict.fromkeys(job.outputs):
            writers.setdefault(file, []).append(row)
    start, parents, handed = [0], list[int](), list[float]()
    for row in range(len(found.jobs)):
        from_each = _handed(found, row, rows, writers)
        parents += from_each
        handed += from_each.values()
        start.append(len(parents))
    return Edges(np.array(start, np.int64), np.array(parents, np.int64), np.array(handed, np.float64) / BYTES)


def _handed(found: _Workflow, row: int, rows: dict[str, int], writers: dict[str, list[int]]) -> dict[int, float]:
    """Return the rows that a task waits for, and the bytes that each hands on to it."""
    from_each: dict[int, float] = {}
    for name in found.jobs[row].parents:
        if name not in rows:
            raise RowError(row, f"its parent '{name[:80]}' does not exist: add it or remove the dependency")
        from_each[rows[name]] = 0.0
    for file in sorted(set(found.jobs[row].inputs)):
        for writer in writers.get(file, ()):
            if writer in from_each:
                from_each[writer] += found.sizes[file]
    return from_each


def _size(sizes: dict[str, float], names: list[str]) -> float:
    try:
        return sum(map(sizes.__getitem__, names))
    except KeyError as error:
        name = str(error.args[0])
        raise InputError(
            f"file '{name[:80]}' is read or written by a task but not listed: its size is unknown"
        ) from None


def _cluster(machines: list[dict[str, Any]]) -> Cluster | None:
    """One node for each machine, one device for each core; none if the file names no machine."""
    cores = [number(mapping(each.get("cpu", {}), "'cpu'"), "coreCount", _older_count(each)) for each in machines]
    if not all(1 <= count == int(count) for count in cores) or sum(cores) > MOST_CORES:
        raise InputError(f"the machines have {sum(cores):g} cores, expected at least 1 each, {MOST_CORES:,} in all")
    return Cluster((DEFAULT_CPU,), tuple(Node({"cpu": int(count)}) for count in cores)) if cores else None


def _older_count(machine: dict[str, Any]) -> float:
    return number(mapping(machine.get("cpu", {}), "'cpu'"), "count", CORES)


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a JSON object with a workflow."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and (b'"schemaVersion"' in head or b'"workflow"' in head)


FORMAT = Format("wfcommons", "workflows of WfCommons (WfFormat, JSON)", MAPPING, sniff, _read)
