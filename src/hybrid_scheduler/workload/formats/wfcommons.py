"""Workflows of WfCommons (WfFormat 1.2 to 1.6, JSON): graphs of measured tasks and the files they hand on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.model.cluster import DEFAULT_CPU, Cluster, Node
from hybrid_scheduler.model.tasks import Edges, Tasks
from hybrid_scheduler.workload.formats import fields
from hybrid_scheduler.workload.formats.documents import edge_of, json_document, named
from hybrid_scheduler.workload.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped

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
        found = _workflow(fields.mapping(data, "the file"))
        tasks = _tasks(found)
        return Imported(tasks, len(tasks), cluster=_cluster(found.machines))
    except RowError as error:
        raise named(error, path, f"task '{found.jobs[error.row].name[:80]}'") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _workflow(data: dict[str, Any]) -> _Workflow:
    workflow = fields.mapping(data.get("workflow"), "'workflow'")
    jobs = "specification" if "specification" in workflow else "tasks" if "tasks" in workflow else "jobs"
    found = _current(workflow) if jobs == "specification" else _older(workflow, jobs)
    if not found.jobs:
        raise InputError("there are no tasks: the workflow is empty")
    return found


def _current(workflow: dict[str, Any]) -> _Workflow:
    """Versions from 1.5 on: what is to be done and how it went are apart."""
    plan, history = fields.mapping(workflow["specification"], "'specification'"), workflow.get("execution")
    if history is None:
        raise InputError("there is no 'execution': this workflow has never been run, so no time is known")
    history = fields.mapping(history, "'execution'")
    runs = {fields.name(each, "id"): each for each in fields.mappings(history, "tasks")}
    entries = fields.mappings(plan, "tasks")
    jobs = [
        _Job(
            fields.name(each, "id"),
            fields.names(each, "parents"),
            fields.names(each, "inputFiles"),
            fields.names(each, "outputFiles"),
        )
        for each in entries
    ]
    for job in jobs:
        if job.name not in runs:
            raise InputError(f"task '{job.name[:80]}' is not among the executed ones: no time is known of it")
        job.run = runs[job.name]
    _add_children(jobs, entries)
    sizes = {fields.name(each, "id"): fields.number(each, "sizeInBytes") for each in fields.mappings(plan, "files")}
    return _Workflow(jobs, sizes, fields.mappings(history, "machines"))


def _older(workflow: dict[str, Any], key: str) -> _Workflow:
    """Versions up to 1.4: tasks name each other and hold their files; up to 1.3 without units in the names."""
    sizes: dict[str, float] = {}
    jobs, entries = [], fields.mappings(workflow, key)
    for each in entries:
        job = _Job(fields.name(each, "name"), fields.names(each, "parents"), run=dict(each))
        for file in fields.mappings(each, "files"):
            name = fields.name(file, "name")
            (job.inputs if str(file.get("link")).lower() == "input" else job.outputs).append(name)
            sizes[name] = fields.number(file, "sizeInBytes" if "sizeInBytes" in file else "size")
        if "runtimeInSeconds" not in each and "runtime" in each:
            job.run["runtimeInSeconds"] = each["runtime"]
        if "memoryInBytes" not in each and "memory" in each:
            job.run["memoryInBytes"] = 1000 * fields.number(each, "memory")  # kilobytes until 1.3
        jobs.append(job)
    _add_children(jobs, entries)
    return _Workflow(jobs, sizes, fields.mappings(workflow, "machines"))


def _add_children(jobs: list[_Job], entries: list[dict[str, Any]]) -> None:
    """Let edges that only the parent tells be known to the child too."""
    by_name: dict[str, _Job] = {}
    for job in jobs:
        if by_name.setdefault(job.name, job) is not job:
            raise InputError(f"task '{job.name[:80]}': its id appears twice: ids must be unique")
    for job, entry in zip(jobs, entries, strict=True):
        for name in fields.names(entry, "children"):
            child = by_name.get(name)
            if child is None:
                raise InputError(f"task '{job.name[:80]}' has the child '{name[:80]}', which does not exist: add it")
            child.add_parent(job.name)


def _tasks(found: _Workflow) -> Tasks:
    runs = [job.run for job in found.jobs]
    seconds = np.array([fields.number(run, "runtimeInSeconds") for run in runs])
    seconds = np.where(seconds == 0, SHORTEST, seconds)
    read = np.array([_size(found.sizes, job.inputs) for job in found.jobs])
    busy = [fields.number(run, "avgCPU", 100 * UNKNOWN_INTENSITY) / 100 for run in runs]
    return Tasks.build(
        size=edge_of(read),
        compute_intensity=np.clip(busy, 0.0, 1.0),
        memory_required=[fields.number(run, "memoryInBytes", 0.0) / BYTES for run in runs],
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
    cores = [
        fields.number(fields.mapping(each.get("cpu", {}), "'cpu'"), "coreCount", _older_count(each))
        for each in machines
    ]
    if not all(1 <= count == int(count) for count in cores) or sum(cores) > MOST_CORES:
        raise InputError(f"the machines have {sum(cores):g} cores, expected at least 1 each, {MOST_CORES:,} in all")
    return Cluster((DEFAULT_CPU,), tuple(Node({"cpu": int(count)}) for count in cores)) if cores else None


def _older_count(machine: dict[str, Any]) -> float:
    return fields.number(fields.mapping(machine.get("cpu", {}), "'cpu'"), "count", CORES)


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a JSON object with a workflow."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and (b'"schemaVersion"' in head or b'"workflow"' in head)


FORMAT = Format("wfcommons", "workflows of WfCommons (WfFormat, JSON)", MAPPING, sniff, _read)
