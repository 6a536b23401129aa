"""Training jobs of Gavel (Narayanan et al., OSDI 2020; github.com/stanford-futuredata/gavel).

A trace has a line a job, fields with tabs between them, in one of three layouts; it needs the table of throughputs
(JSON) beside it, which says how many steps a second a type of job does on each type of GPU.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import tables, unpack
from hybrid_scheduler.workloads.formats.columns import Mask, encode_strings, mean_finite, repeat_rows
from hybrid_scheduler.workloads.formats.reader import (
    ASSUMED,
    IGNORED,
    MEASURED,
    Format,
    Imported,
    ImportedJobs,
    Mapped,
)

COMMON = ("num_steps_arg", "needs_data_dir", "total_steps")
LATE = ("scale_factor", "priority_weight", "SLO", "arrival_time")
LAYOUTS = {
    7: ("job_type", "command", *COMMON, "arrival_time", "scale_factor"),
    9: ("job_type", "command", *COMMON, *LATE),
    10: ("job_type", "command", "working_directory", *COMMON, *LATE),
}
"""Columns of a trace by their number: three generations of Gavel."""
MINIMUM = {"total_steps": 1.0, "scale_factor": 1.0, "arrival_time": 0.0}
"""Columns of numbers, and the smallest that each may hold."""
TYPES = {"job_type": tables.TEXT, **dict.fromkeys(MINIMUM, tables.NUMBER)}
MAXIMUM = 1e15
SERVER = 4  # GPUs of a node, for jobs of shared clusters
GPUS = 36  # GPUs of each type: those of the cluster that Gavel's authors simulate
UNCONSOLIDATED = "_unconsolidated"  # how the types end under which jobs on several servers are listed
ALONE = "null"
NO_JOBS = ": there are no jobs: give a line for each"
UNKNOWN = "of a job type without a throughput on any GPU, at its number of GPUs"
COMPANION = "Gavel's table of throughputs (JSON)"
_JOB = re.compile(r"\('(.*)', (\d{1,9})\)")
_BATCH = re.compile(r"\(batch size (\d{1,15})\)")

MAPPING = (
    Mapped("total_steps, throughputs", "time_<type of GPU>", MEASURED, "steps / (steps a second alone on such GPUs)"),
    Mapped("throughputs of 0, missing", "time_<type of GPU>", MEASURED, "`inf`: the job does not run on that GPU"),
    Mapped("", "time_cpu", ASSUMED, "`inf`: these jobs need a GPU"),
    Mapped("arrival_time", "arrival_time", MEASURED, "seconds"),
    Mapped(
        "scale_factor", "tasks", ASSUMED, "a job of g GPUs becomes g tasks at its throughput on g; no gang scheduling"
    ),
    Mapped("scale_factor", "feature_scale", MEASURED, "GPUs of the job"),
    Mapped("total_steps", "size", ASSUMED, "the number of steps"),
    Mapped("job_type", "feature_batch_size", MEASURED, "as in its name; empty if it has none"),
    Mapped("job_type", "feature_model", MEASURED, "number of the model (name without batch size), sorted"),
    Mapped("", "duration_estimate", ASSUMED, "mean over the GPUs that run the job"),
    Mapped("", "compute_intensity, memory_required", ASSUMED, "0.5 and 0: not in the files"),
    Mapped("throughputs beside another job", "", IGNORED, "devices take one task at a time"),
    Mapped("throughputs of <type>_unconsolidated", "", IGNORED, "jobs on several servers"),
    Mapped("", "cluster", ASSUMED, "36 GPUs of each type, as in the paper; a node for each type"),
    Mapped("command, working_directory, num_steps_arg, needs_data_dir, priority_weight, SLO", "", IGNORED),
)
JobType = tuple[str, int]  # the type of a job, and on how many GPUs it runs
Rates = dict[str, dict[JobType, float]]  # steps a second by type of GPU


def sniff(head: bytes) -> bool:
    """Whether the first line is a job of a trace, or this is the table of throughputs."""
    cells = head.split(b"\n", 1)[0].rstrip(b"\r").split(b"\t")
    if len(cells) not in LAYOUTS:
        return is_rate_table(head)
    job = dict(zip(LAYOUTS[len(cells)], cells, strict=True))
    return all(re.fullmatch(rb"[0-9]+(\.[0-9]+)?", job[name].strip()) for name in ("total_steps", "scale_factor"))


def is_rate_table(head: bytes) -> bool:
    """Whether the first bytes are those of a table of throughputs."""
    return head.removeprefix(unpack.BYTE_ORDER_MARK).lstrip().startswith(b"{") and b'"null"' in head


def _read_trace(
    path: Path, companions: Sequence[Path]
) -> tuple[Path, Rates, tables.Block, list[JobType], Ints, Ints]:
    """Return trace, throughputs, columns, the types of jobs, the type of each, and the rows that are kept."""
    rate_tables = [each for each in (path, *companions) if is_rate_table(unpack.read_head(each))]
    traces = [each for each in (path, *companions) if each not in rate_tables]
    if len(rate_tables) != 1 or len(traces) != 1:
        raise InputError(
            f"{path}: there are {len(traces)} traces and {len(rate_tables)} tables of throughputs: give one of each"
        )
    return _select_jobs(traces[0], rate_tables[0])


def _select_jobs(trace: Path, table: Path) -> tuple[Path, Rates, tables.Block, list[JobType], Ints, Ints]:
    rates, jobs = _read_rates(table), _read_jobs(trace)
    kinds, scale = encode_strings(jobs["job_type"]), jobs["scale_factor"]
    known = {job for by_job in rates.values() for job, rate in by_job.items() if rate > 0}
    counts, place = np.unique(scale, return_inverse=True)
    # A number for each pair, in the order of pairs: sorting rows would take ten times as long.
    pairs, which = np.unique(kinds.codes * len(counts) + place, return_inverse=True)
    types = [(kinds.names[pair // len(counts)], int(counts[pair % len(counts)])) for pair in pairs.tolist()]
    kept = np.flatnonzero(np.array([each in known for each in types])[which])
    if not len(kept):
        raise InputError(f"{trace}: no job has a throughput in {table.name}: give its own table")
    return trace, rates, jobs, types, which, kept


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    trace, rates, jobs, types, which, kept = _read_trace(path, companions)
    scale = jobs["scale_factor"]
    skipped = +Counter({UNKNOWN: len(scale) - len(kept)})
    with tables.prefix_errors(trace):
        rows = repeat_rows(kept, scale[kept])
    tasks = _build_tasks(types, which[rows], jobs["total_steps"][rows], jobs["arrival_time"][rows], rates)
    gpus = tuple(replace(DEFAULT_GPU, name=name) for name in rates)
    cluster = Cluster((DEFAULT_CPU, *gpus), tuple(Node({"cpu": 1, name: GPUS}) for name in rates))
    return Imported(tasks, len(scale), skipped, cluster)


def _build_tasks(types: list[JobType], which: Ints, steps: Floats, arrival: Floats, rates: Rates) -> Tasks:
    speed = np.array([[by_job.get(each, 0.0) for by_job in rates.values()] for each in types])[which]
    times = np.divide(steps[:, None], speed, out=np.full(speed.shape, math.inf), where=speed > 0)
    used = np.flatnonzero(np.bincount(which)).tolist()
    batch = [_BATCH.search(kind) for kind, _ in types]
    models = [_BATCH.sub("", kind).strip() for kind, _ in types]
    numbers = {name: number for number, name in enumerate(sorted({models[each] for each in used}))}
    return Tasks.build(
        size=steps,
        compute_intensity=np.full(len(steps), 0.5),
        memory_required=np.zeros(len(steps)),
        arrival_time=arrival,
        duration_estimate=mean_finite(times),
        measured={"cpu": np.full(len(steps), math.inf), **dict(zip(rates, times.T, strict=True))},
        features={
            "batch_size": np.array([float(found[1]) if found else math.nan for found in batch])[which],
            "model": np.array([float(numbers.get(name, 0)) for name in models])[which],
            "scale": np.array([float(count) for _, count in types])[which],
        },
    )


def _read_jobs(path: Path) -> tables.Block:
    try:
        with tables.prefix_errors(path):
            columns = tables.join_blocks(path, _read_fast(path), NO_JOBS)
        valid = all(_in_range(name, columns[name]).all() for name in MINIMUM)
    except tables.NotPlainError:
        valid = False
    return columns if valid else _read_slowly(path)


def _in_range(name: str, column: Floats) -> Mask:
    return (column >= MINIMUM[name]) & (column < MAXIMUM)


def _read_fast(path: Path) -> Iterator[tables.Block]:
    convert = None
    with unpack.open_unpacked(path) as file:
        for block in tables.split_lines(file):
            tables.require_text(block)
            if convert is None:
                block = block.removeprefix(unpack.BYTE_ORDER_MARK).lstrip(b"\r\n")
                first = block.partition(b"\n")[0]
                if not first.decode().strip():
                    raise tables.NotPlainError
                layout = LAYOUTS.get(first.count(b"\t") + 1, LAYOUTS[10])
                convert = tables.make_converter(list(layout), TYPES, "\t", empty_lines=True)
            yield convert(block)


def _read_slowly(path: Path) -> tables.Block:
    """Read line by line, and find the first line that is no job."""
    text = unpack.read_text(path, unpack.CELLS)
    lines = {number: line.split("\t") for number, line in enumerate(text.split("\n"), 1) if line.strip()}
    if not lines:
        raise InputError(f"{path}{NO_JOBS}")
    tables.require_row_limit(path, len(lines))
    layout = LAYOUTS.get(len(next(iter(lines.values()))), LAYOUTS[10])
    for number, cells in lines.items():
        if len(cells) != len(layout):
            raise InputError(
                f"{path} line {number}: there are {len(cells)} fields, expected {len(layout)}: correct it"
            )
    columns = dict(zip(layout, zip(*lines.values(), strict=True), strict=True))
    found: tables.Block = {"job_type": columns["job_type"]}
    for name, least in MINIMUM.items():
        found[name] = np.array([tables.parse_number(cell) for cell in columns[name]])
        valid = _in_range(name, found[name])
        if not valid.all():
            row = int(np.argmin(valid))
            wrong = f"{name} is '{tables.shorten(columns[name][row])}', expected a number from {least:g} on"
            raise InputError(f"{path} line {list(lines)[row]}: {wrong}")
    return found


def _read_rates(path: Path) -> Rates:
    """Return throughputs of jobs that run alone on their GPUs."""
    data = unpack.read_json(path)
    if not isinstance(data, dict) or not all(isinstance(each, dict) for each in data.values()):
        raise InputError(f"{path}: expected throughputs by type of GPU and job: this is another kind of file")
    found = {
        kind: _select_alone(path, kind, jobs) for kind, jobs in data.items() if not kind.endswith(UNCONSOLIDATED)
    }
    if not found or not all(kind.isidentifier() and kind != "cpu" for kind in found):
        raise InputError(
            f"{path}: the types of GPU are {', '.join(map(tables.shorten, found))}: expected names such as v100"
        )
    return found


def _select_alone(path: Path, kind: str, jobs: dict[str, Any]) -> dict[JobType, float]:
    found = {}
    for name, beside in jobs.items():
        matched = _JOB.fullmatch(name)
        job, scale = (matched[1], matched[2]) if matched else (name, "1")
        rate = beside.get(ALONE) if isinstance(beside, dict) else None
        if rate is None:  # measured beside other jobs only
            continue
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not (rate == 0 or 1e-9 < rate < MAXIMUM):
            raise InputError(
                f"{path}: {kind}, {tables.shorten(name)}: the throughput is {rate!r:.40}, expected steps a second"
            )
        found[job, int(scale)] = float(rate)
    return found


def _read_wide(path: Path, companions: Sequence[Path]) -> ImportedJobs:
    """Read jobs as gangs of as many GPUs as their scale factor says, with their speeds against the fastest type."""
    trace, rates, jobs, types, which, kept = _read_trace(path, companions)
    speed = np.array([[by_job.get(each, 0.0) for by_job in rates.values()] for each in types])
    names, fastest = list(rates), speed.max(axis=1, keepdims=True)
    accepts = [
        {name: float(rate) for name, rate in zip(names, each, strict=True) if rate > 0}
        for each in np.divide(speed, fastest, out=np.zeros_like(speed), where=fastest > 0)
    ]
    with tables.prefix_errors(trace):
        wide = Jobs.build(
            seconds=jobs["total_steps"][kept] / fastest[which[kept], 0],
            arrival=jobs["arrival_time"][kept],
            gpus=jobs["scale_factor"][kept],
            accepts=[accepts[each] for each in which[kept].tolist()],
            span=np.ones(len(kept), bool),
        )
    servers = GPUS // SERVER
    machines = Machines.build(
        [WHOLE] * servers * len(names),
        gpus=[SERVER] * servers * len(names),
        model=tuple(name for name in names for _ in range(servers)),
    )
    count = len(jobs["scale_factor"])
    return ImportedJobs(wide, count, +Counter({UNKNOWN: count - len(kept)}), machines)


FORMAT = Format(
    "gavel",
    "training jobs of Gavel with its throughputs",
    MAPPING,
    sniff,
    _read,
    COMPANION,
    is_rate_table,
    _read_wide,
)
