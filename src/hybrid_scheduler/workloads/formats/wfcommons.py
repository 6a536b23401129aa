"""Workflows of WfCommons (WfFormat 1.2 to 1.6, JSON; github.com/wfcommons/WfFormat) as they were executed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, Cluster, Node
from hybrid_scheduler.core.tasks import Edges, Tasks
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.profiling.profile import UNKNOWN_INTENSITY
from hybrid_scheduler.workloads.formats.columns import matrix_edge
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.unpack import BYTE_ORDER_MARK, read_json

BYTES_PER_MEGABYTE = 1e6
MEGABYTES_PER_GIGABYTE = 1e3
SHORTEST = 1e-6  # seconds of a task whose run time is given as 0: too short to be measured
CORES = 1  # cores of a machine whose number of cores is not given
MAX_CORES = 100_000
MAXIMUM = 1e300  # what a number must stay below

MAPPING = (
    Mapped("execution.tasks[].runtimeInSeconds", "time_cpu, duration_estimate", MEASURED, "0 s counts as 1 µs"),
    Mapped("", "time_gpu", ASSUMED, "`inf`: not measured on a GPU, so they cannot run there"),
    Mapped("specification.tasks[].parents, children", "dependencies", MEASURED, "stated by either end of an edge"),
    Mapped("specification.files[].sizeInBytes", "MB on edges", MEASURED, "files written by parent, read by child"),
    Mapped("inputFiles", "feature_input_mb", MEASURED, "MB of all files that the task reads"),
    Mapped("inputFiles", "size", ASSUMED, "edge of a square matrix of 4-byte numbers with these bytes, at least 1"),
    Mapped("execution.tasks[].memoryInBytes", "memory_required", MEASURED, "MB; assumed 0 where the file has none"),
    Mapped("execution.tasks[].avgCPU", "compute_intensity", ASSUMED, "per cent, at most 100; 0.5 if missing"),
    Mapped("", "arrival_time", ASSUMED, "0: the whole workflow arrives at the start"),
    Mapped("execution.machines[]", "cluster: nodes", MEASURED, "as many nodes; links between them are assumed"),
    Mapped("execution.machines[].cpu.coreCount", "cluster: cpu devices of a node", MEASURED, "1 where it is missing"),
    Mapped("execution.machines[].cpu.speedInMHz", "", IGNORED, "the current clock rate, lower on idle machines"),
    Mapped(
        "execution.machines[].memoryInBytes", "cluster: memory of cpu", MEASURED, "a task must fit that of a node"
    ),
    Mapped("execution.machines[].memoryInBytes", "classes cpu_<n>gb", MEASURED, "if nodes differ by a GB or more"),
    Mapped("execution.tasks[].coreCount, machines", "", IGNORED, "a task takes one core"),
    Mapped("any other", "", IGNORED),
)


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of a JSON object with a workflow."""
    start = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    return start.startswith(b"{") and (b'"schemaVersion"' in head or b'"workflow"' in head)


@dataclass(slots=True)
class _Job:
    """A task of the workflow, whatever the version of the file."""

    name: str
    parents: dict[str, None]  # an ordered set
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Workflow:
    jobs: list[_Job]
    sizes: dict[str, float]
    machines: list[dict[str, Any]]


def _read(path: Path, _: Sequence[Path]) -> Imported:
    data = read_json(path)
    try:
        given = _require_object(_require_object(data, "the file").get("workflow"), "'workflow'")
        workflow = _parse_current(given) if "specification" in given else _parse_older(given)
        cluster = _build_cluster(workflow.machines)
        tasks = _build_tasks(workflow, [each.name for each in cluster.classes] if cluster else ["cpu"])
        return Imported(tasks, len(tasks), cluster=cluster)
    except RowError as error:
        raise InputError(f"{path}: task '{workflow.jobs[error.row].name[:80]}': {error.reason}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _parse_current(workflow: dict[str, Any]) -> _Workflow:
    """Parse version 1.5 or later, which keeps the specification and its execution apart."""
    plan, execution = _require_object(workflow["specification"], "'specification'"), workflow.get("execution")
    if execution is None:
        raise InputError("there is no 'execution': this workflow has never been run, so no time is known")
    execution = _require_object(execution, "'execution'")
    runs = {_get_name(each, "id"): each for each in _get_objects(execution, "tasks")}
    entries = _get_objects(plan, "tasks")
    jobs = [
        _Job(
            _get_name(each, "id"),
            dict.fromkeys(_get_names(each, "parents")),
            _get_names(each, "inputFiles"),
            _get_names(each, "outputFiles"),
        )
        for each in entries
    ]
    for job in jobs:
        if job.name not in runs:
            raise InputError(f"task '{job.name[:80]}' is not among the executed ones: no time is known of it")
        job.run = runs[job.name]
    _add_children(jobs, entries)
    sizes = {_get_name(each, "id"): _get_number(each, "sizeInBytes") for each in _get_objects(plan, "files")}
    return _Workflow(jobs, sizes, _get_objects(execution, "machines"))


def _parse_older(workflow: dict[str, Any]) -> _Workflow:
    """Parse version 1.4 or earlier, whose tasks hold their files; up to 1.3 names have no units."""
    sizes: dict[str, float] = {}
    jobs, entries = [], _get_objects(workflow, "tasks" if "tasks" in workflow else "jobs")
    for each in entries:
        job = _Job(_get_name(each, "name"), dict.fromkeys(_get_names(each, "parents")), run=dict(each))
        for file in _get_objects(each, "files"):
            name = _get_name(file, "name")
            (job.inputs if str(file.get("link")).lower() == "input" else job.outputs).append(name)
            sizes[name] = _get_number(file, "sizeInBytes" if "sizeInBytes" in file else "size")
        if "runtimeInSeconds" not in each and "runtime" in each:
            job.run["runtimeInSeconds"] = each["runtime"]
        if "memoryInBytes" not in each and "memory" in each:
            job.run["memoryInBytes"] = 1000 * _get_number(each, "memory")  # kilobytes until 1.3
        jobs.append(job)
    _add_children(jobs, entries)
    return _Workflow(jobs, sizes, _get_objects(workflow, "machines"))


def _add_children(jobs: list[_Job], entries: list[dict[str, Any]]) -> None:
    """Add the edges that only the parent's entry states."""
    by_name: dict[str, _Job] = {}
    for job in jobs:
        if by_name.setdefault(job.name, job) is not job:
            raise InputError(f"task '{job.name[:80]}': its id appears twice: ids must be unique")
    for job, entry in zip(jobs, entries, strict=True):
        for name in _get_names(entry, "children"):
            child = by_name.get(name)
            if child is None:
                raise InputError(f"task '{job.name[:80]}' has the child '{name[:80]}', which does not exist: add it")
            child.parents[job.name] = None


def _build_tasks(workflow: _Workflow, classes: Sequence[str]) -> Tasks:
    if not workflow.jobs:
        raise InputError("there are no tasks: the workflow is empty")
    runs = [job.run for job in workflow.jobs]
    seconds = np.array([_get_number(run, "runtimeInSeconds") for run in runs])
    seconds = np.where(seconds == 0, SHORTEST, seconds)
    try:
        read = np.array([sum(map(workflow.sizes.__getitem__, job.inputs)) for job in workflow.jobs])
    except KeyError as error:
        name = str(error.args[0])[:80]
        raise InputError(f"file '{name}' is read or written by a task but not listed: its size is unknown") from None
    busy = [_get_number(run, "avgCPU", 100 * UNKNOWN_INTENSITY) / 100 for run in runs]
    return Tasks.build(
        size=matrix_edge(read),
        compute_intensity=np.clip(busy, 0.0, 1.0),
        memory_required=[_get_number(run, "memoryInBytes", 0.0) / BYTES_PER_MEGABYTE for run in runs],
        duration_estimate=seconds,
        edges=_build_edges(workflow),
        measured={**dict.fromkeys(classes, seconds), "gpu": np.full(len(seconds), math.inf)},
        features={"input_mb": read / BYTES_PER_MEGABYTE},
    )


def _build_edges(workflow: _Workflow) -> Edges:
    rows = {job.name: row for row, job in enumerate(workflow.jobs)}
    writers: dict[str, list[int]] = {}
    for row, job in enumerate(workflow.jobs):
        for file in dict.fromkeys(job.outputs):
            writers.setdefault(file, []).append(row)
    start, parents, sizes = [0], list[int](), list[float]()
    for row, job in enumerate(workflow.jobs):
        received: dict[int, float] = {}  # bytes from each parent
        for name in job.parents:
            if name not in rows:
                raise RowError(row, f"its parent '{name[:80]}' does not exist: add it or remove the dependency")
            received[rows[name]] = 0.0
        for file in sorted(set(job.inputs)):
            for writer in writers.get(file, ()):
                if writer in received:
                    received[writer] += workflow.sizes[file]
        parents += received
        sizes += received.values()
        start.append(len(parents))
    megabytes = np.array(sizes, np.float64) / BYTES_PER_MEGABYTE
    return Edges(np.array(start, np.int64), np.array(parents, np.int64), megabytes)


def _build_cluster(machines: list[dict[str, Any]]) -> Cluster | None:
    """Build one node for each machine, one device for each core; none if the file names no machine."""
    processors = [_require_object(each.get("cpu", {}), "'cpu'") for each in machines]
    cores = [_get_number(each, "coreCount", _get_number(each, "count", CORES)) for each in processors]
    if not all(1 <= count == int(count) for count in cores) or sum(cores) > MAX_CORES:
        raise InputError(f"the machines have {sum(cores):g} cores, expected at least 1 each, {MAX_CORES:,} in all")
    memory = [_get_memory(each) for each in machines]
    names = [f"cpu_{each / MEGABYTES_PER_GIGABYTE:.0f}gb" for each in memory]
    if len(set(names)) == 1:
        names = ["cpu"] * len(names)
    largest = {name: max(size for size, other in zip(memory, names, strict=True) if other == name) for name in names}
    classes = tuple(replace(DEFAULT_CPU, name=name, memory=size) for name, size in largest.items())
    nodes = tuple(Node({name: int(count)}) for name, count in zip(names, cores, strict=True))
    return Cluster(classes, nodes) if nodes else None


def _get_memory(machine: dict[str, Any]) -> float:
    """Return the MB of a machine; infinite where they are not given. Up to version 1.3 they are kilobytes."""
    kilobytes = _get_number(machine, "memory", 0.0)
    return _get_number(machine, "memoryInBytes", 1000 * kilobytes) / BYTES_PER_MEGABYTE or math.inf


def _require_object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{what} is no JSON object: this is another kind of file, or a damaged one")
    return value


def _get_objects(holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of JSON objects; empty if it is missing."""
    values = holder.get(key, [])
    if not isinstance(values, list):
        raise InputError(f"'{key}' is no list: this is another kind of file, or a damaged one")
    what = f"an entry of '{key}'"
    return [each if isinstance(each, dict) else _require_object(each, what) for each in values]


def _get_name(holder: dict[str, Any], key: str) -> str:
    value = holder.get(key)
    if not isinstance(value, str) or not value.isprintable() or not value:
        raise InputError(f"'{key}' is {value!r:.40}, expected a name")
    return value


def _get_names(holder: dict[str, Any], key: str) -> list[str]:
    """Return a list of names; empty if it is missing."""
    values: list[str] = holder.get(key, [])
    try:
        valid = isinstance(values, list) and "".join(values).isprintable()  # joined, as there are many such lists
    except TypeError:
        valid = False
    if not valid:
        raise InputError(f"'{key}' is no list of names: correct it")
    return values


def _get_number(holder: dict[str, Any], key: str, default: float | None = None) -> float:
    """Return a number, 0 or more; the default if it is missing."""
    value = holder.get(key, default)
    if type(value) is float and 0 <= value < MAXIMUM:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAXIMUM:
        owner = holder.get("id") or holder.get("name") or "an entry"
        raise InputError(f"{owner!r:.80}: {key} is {value!r:.40}, expected a number, 0 or more")
    return float(value)


FORMAT = Format("wfcommons", "workflows of WfCommons (WfFormat, JSON)", MAPPING, sniff, _read)
