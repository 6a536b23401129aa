"""Alibaba's spot GPU trace of 2026: jobs with a GPU model (github.com/alibaba/clusterdata), and its list of nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, MAX_NODES, Cluster, Node
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import columns
from hybrid_scheduler.workloads.formats.columns import RowFilter, StringColumn
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.tables import NUMBER, TEXT, Table, read_table

NUMBERS = ("cpu_request", "gpu_request", "worker_num", "submit_time", "duration")
NAMES = ("gpu_model", "organization", "job_type")
NODE_COLUMNS = ("node_name", "gpu_model", "gpu_capacity_num", "cpu_num")
COMPANION = f"a list of nodes ({', '.join(NODE_COLUMNS)})"
GPUS = 8  # of each model, without a list of nodes
MAX_MODELS = 200

MAPPING = (
    Mapped("submit_time", "arrival_time", MEASURED, "seconds, counted from the first job that is kept"),
    Mapped(
        "duration, gpu_model", "time_<gpu model>", MEASURED, "`inf` on other models; all of them if none is named"
    ),
    Mapped("gpu_request, worker_num", "tasks", ASSUMED, "a task for each GPU of each worker; no gang scheduling"),
    Mapped("gpu_request", "time_<gpu model>", ASSUMED, "a share of a GPU: duration · share"),
    Mapped("organization, job_type", "feature_user, feature_type", MEASURED, "their numbers in alphabetical order"),
    Mapped("gpu_request, worker_num, cpu_request", "feature_…", MEASURED, "known before the job runs"),
    Mapped("", "size", ASSUMED, "GPUs of the job: independent of the duration"),
    Mapped("", "compute_intensity, memory_required", ASSUMED, "1 and 0: not in the file"),
    Mapped("", "time_cpu", ASSUMED, "`inf`: these jobs need a GPU"),
    Mapped("nodes: gpu_model, gpu_capacity_num", "cluster", MEASURED, "a class a model; a node has one CPU"),
    Mapped("", "cluster", ASSUMED, "without nodes: one node with 8 GPUs of each model"),
    Mapped("job_name; nodes: node_name, cpu_num", "", IGNORED),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names the columns of jobs."""
    return {*NUMBERS[1:], "gpu_model"} <= columns.parse_header(head)


def is_node_list(head: bytes) -> bool:
    """Whether the first line names the columns of a list of nodes."""
    return set(NODE_COLUMNS[1:]) <= columns.parse_header(head)


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    if len(companions) > 1:
        raise InputError(f"{companions[1]}: jobs take one list of nodes: give one")
    table = read_table(path, _select_columns)
    with table.locate_errors():
        models = columns.encode_strings(table.columns["gpu_model"], strip=True)
        known = {name: _name_class(name) for name in models.names if name}
        jobs = _filter_jobs(table)
        cluster = _read_nodes(companions[0], known) if companions else _assume_nodes(known)
        tasks = _build_tasks(table, jobs.rows, models, [each.name for each in cluster.classes if each.kind == "gpu"])
    return Imported(tasks, table.rows, jobs.skipped, cluster)


def _select_columns(header: list[str]) -> dict[str, str]:
    columns.require_columns(header, (*NUMBERS, *NAMES), "jobs need")
    return dict.fromkeys(NUMBERS, NUMBER) | dict.fromkeys(NAMES, TEXT)


def _name_class(model: str) -> str:
    name = re.sub(r"\W+", "_", model.lower())
    return name if name.isidentifier() and name != "cpu" else f"gpu_{name}"


def _filter_jobs(table: Table) -> RowFilter:
    """Check jobs, and skip those that did no work."""
    for name in NUMBERS:
        column = table.numbers(name)
        columns.require_values(name, column, ~(column < 0) & ~np.isinf(column), "a number, 0 or more, or empty")
    workers = np.nan_to_num(table.numbers("worker_num"))
    columns.require_counts("worker_num", workers)
    jobs, gpus, seconds = RowFilter(table.rows), table.numbers("gpu_request"), table.numbers("duration")
    columns.require_values("gpu_request", gpus, ~(gpus > columns.MAX_DEVICES), f"at most {columns.MAX_DEVICES}")
    jobs.skip(np.isnan(table.numbers("submit_time")), "time of submission not known")
    jobs.skip(np.isnan(seconds), "duration not known")
    jobs.skip(seconds == 0, "ran for 0 s")
    jobs.skip(~(gpus > 0) | (workers == 0), "asks for no GPU")
    return jobs


def _build_tasks(table: Table, rows: Ints, models: StringColumn, classes: Sequence[str]) -> Tasks:
    requested = table.numbers("gpu_request")
    devices = np.ceil(requested[rows])
    rows = columns.repeat_rows(rows, devices * table.numbers("worker_num")[rows])
    gpus, workers = requested[rows], table.numbers("worker_num")[rows]
    seconds: Floats = table.numbers("duration")[rows] * (gpus / np.ceil(gpus))
    wanted = np.array([_name_class(name) if name else "" for name in models.names])[models.codes[rows]]
    times = {name: np.where((wanted == name) | (wanted == ""), seconds, np.inf) for name in classes}
    user, kind = (columns.encode_strings(table.columns[name]).codes[rows] for name in ("organization", "job_type"))
    return Tasks.build(
        size=gpus * workers,
        compute_intensity=np.ones(len(rows)),
        memory_required=np.zeros(len(rows)),
        arrival_time=columns.since_first(table.numbers("submit_time")[rows]),
        duration_estimate=seconds,
        measured={"cpu": np.full(len(rows), np.inf), **times},
        features={
            "gpus": gpus,
            "workers": workers,
            "cpus": table.numbers("cpu_request")[rows],
            "user": user,
            "type": kind,
        },
    )


def _read_nodes(path: Path, known: dict[str, str]) -> Cluster:
    """Read a list of nodes; models that only jobs name have a class without devices."""
    table = read_table(path, _select_node_columns)
    with table.locate_errors():
        counts = table.numbers("gpu_capacity_num")
        columns.require_counts("gpu_capacity_num", counts)
        if table.rows > MAX_NODES:
            raise InputError(
                f"there are {table.rows} nodes, at most {MAX_NODES} can be used: take a part of the list"
            )
        models = [each.strip() for each in table.columns["gpu_model"].to_pylist()]
        names = {**known, **{model: _name_class(model) for model in models if model}}
        pairs = zip(models, counts.tolist(), strict=True)
        nodes = [Counter({"cpu": 1, **({names[model]: int(count)} if model else {})}) for model, count in pairs]
        return _build_cluster(names, nodes)


def _assume_nodes(known: dict[str, str]) -> Cluster:
    return _build_cluster(known, [Counter({"cpu": 1, **dict.fromkeys(known.values(), GPUS)})])


def _build_cluster(names: dict[str, str], nodes: Sequence[Counter[str]]) -> Cluster:
    classes = sorted(set(names.values())) or ["gpu"]
    if len(classes) > MAX_MODELS:
        raise InputError(f"there are {len(classes)} models of GPUs, at most {MAX_MODELS} can be used: take fewer")
    gpus = tuple(replace(DEFAULT_GPU, name=name) for name in classes)
    return Cluster((DEFAULT_CPU, *gpus), tuple(Node(dict(+each)) for each in nodes))


def _select_node_columns(header: list[str]) -> dict[str, str]:
    columns.require_columns(header, NODE_COLUMNS[1:], "nodes need")
    return {"gpu_model": TEXT, "gpu_capacity_num": NUMBER}


FORMAT = Format(
    "spot",
    "Alibaba spot GPU trace 2026: jobs, with its list of nodes",
    MAPPING,
    sniff,
    _read,
    COMPANION,
    is_node_list,
)
