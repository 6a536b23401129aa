"""Training jobs of Gavel (Narayanan et al., OSDI 2020; github.com/stanford-futuredata/gavel).

A trace has a line a job, fields with tabs between them, in one of three layouts; it needs the table of throughputs
(JSON) beside it, which says how many steps a second a type of job does on each type of GPU.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import tables, unpack
from hybrid_scheduler.workloads.formats.columns import Mask, StringColumn, encode_strings
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped

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
GPUS = 36
"""GPUs of each type: those of the cluster that Gavel's authors simulate."""
UNCONSOLIDATED = "_unconsolidated"
"""How the types end under which jobs on several servers are listed."""
ALONE = "null"
NO_JOBS = ": there are no jobs: give a line for each"
SEVERAL = "needs several GPUs at once, and a task takes one device"
UNKNOWN = "of a job type without a throughput on any GPU"
COMPANION = "Gavel's table of throughputs (JSON)"
_JOB = re.compile(r"\('(.*)', (\d+)\)")
_BATCH = re.compile(r"\(batch size (\d{1,15})\)")

MAPPING = (
    Mapped("total_steps, throughputs", "time_<type of GPU>", MEASURED, "steps / (steps a second alone on that GPU)"),
    Mapped("throughputs of 0, missing", "time_<type of GPU>", MEASURED, "`inf`: the job does not run on that GPU"),
    Mapped("", "time_cpu", ASSUMED, "`inf`: these jobs need a GPU"),
    Mapped("arrival_time", "arrival_time", MEASURED, "seconds"),
    Mapped("scale_factor", "", IGNORED, "jobs of several GPUs are skipped"),
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
Rates = dict[str, dict[str, float]]
"""Steps a second by type of GPU and job type."""


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


@dataclass(frozen=True)
class Jobs:
    """The used columns of a trace."""

    kind: StringColumn  # the types of the jobs
    steps: Floats
    scale: Floats
    arrival: Floats


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    tables = [each for each in (path, *companions) if is_rate_table(unpack.read_head(each))]
    traces = [each for each in (path, *companions) if each not in tables]
    if len(tables) != 1 or len(traces) != 1:
        raise InputError(
            f"{path}: there are {len(traces)} traces and {len(tables)} tables of throughputs: give one of each"
        )
    trace, rates = traces[0], _read_rates(tables[0])
    jobs = read_jobs(trace)
    known = {kind for by_job in rates.values() for kind, rate in by_job.items() if rate > 0}
    single, listed = jobs.scale == 1, jobs.kind.match(known.__contains__)
    kept = np.flatnonzero(single & listed)
    if not len(kept):
        raise InputError(
            f"{trace}: no job takes one GPU and has a throughput in {tables[0].name}: give its own table"
        )
    skipped = +Counter({SEVERAL: int((~single).sum()), UNKNOWN: int((single & ~listed).sum())})
    return Imported(_build_tasks(jobs, kept, rates), len(jobs.steps), skipped, _build_cluster(list(rates)))


def _build_tasks(jobs: Jobs, kept: Ints, rates: Rates) -> Tasks:
    used, which = np.unique(jobs.kind.codes[kept], return_inverse=True)
    kinds = [jobs.kind.names[code] for code in used]
    speed = np.array([[by_job.get(kind, 0.0) for by_job in rates.values()] for kind in kinds])[which]
    steps = jobs.steps[kept]
    times = np.divide(steps[:, None], speed, out=np.full(speed.shape, math.inf), where=speed > 0)
    runs = np.isfinite(times)
    batch = [_BATCH.search(kind) for kind in kinds]
    models = [_BATCH.sub("", kind).strip() for kind in kinds]
    numbers = {name: number for number, name in enumerate(sorted(set(models)))}
    return Tasks.build(
        size=steps,
        compute_intensity=np.full(len(kept), 0.5),
        memory_required=np.zeros(len(kept)),
        arrival_time=jobs.arrival[kept],
        duration_estimate=np.where(runs, times, 0.0).sum(axis=1) / runs.sum(axis=1),
        measured={"cpu": np.full(len(kept), math.inf), **dict(zip(rates, times.T, strict=True))},
        features={
            "batch_size": np.array([float(found[1]) if found else math.nan for found in batch])[which],
            "model": np.array([float(numbers[name]) for name in models])[which],
        },
    )


def _build_cluster(types: list[str]) -> Cluster:
    gpus = [replace(DEFAULT_GPU, name=name) for name in types]
    return Cluster((DEFAULT_CPU, *gpus), tuple(Node({"cpu": 1, name: GPUS}) for name in types))


def read_jobs(path: Path) -> Jobs:
    """Read a trace; an error names the file and the line."""
    try:
        with tables.prefix_errors(path):
            columns = tables.join_blocks(path, _read_fast(path), NO_JOBS)
        valid = all(_in_range(name, columns[name]).all() for name in MINIMUM)
    except tables.NotPlainError:
        valid = False
    if not valid:
        columns = _read_slowly(path)
    return Jobs(encode_strings(columns["job_type"]), *(columns[name] for name in MINIMUM))


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
    """Return throughputs of jobs that run alone on one GPU."""
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


def _select_alone(path: Path, kind: str, jobs: dict[str, Any]) -> dict[str, float]:
    found = {}
    for name, beside in jobs.items():
        matched = _JOB.fullmatch(name)
        job, scale = (matched[1], matched[2]) if matched else (name, "1")
        rate = beside.get(ALONE) if isinstance(beside, dict) else None
        if scale != "1" or rate is None:  # on several GPUs, or measured beside other jobs only
            continue
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not (rate == 0 or 1e-9 < rate < MAXIMUM):
            raise InputError(
                f"{path}: {kind}, {tables.shorten(name)}: the throughput is {rate!r:.40}, expected steps a second"
            )
        found[job] = float(rate)
    return found


FORMAT = Format(
    "gavel", "training jobs of Gavel with its throughputs", MAPPING, sniff, _read, COMPANION, is_rate_table
)
