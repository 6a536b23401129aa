"""The jobs of Gavel's traces as columns: fields with tabs between them, a line each, in one of three layouts."""

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
from hybrid_scheduler.workloads.formats import unpack
from hybrid_scheduler.workloads.formats.checked import NUMBER, TEXT, Block
from hybrid_scheduler.workloads.formats.documents import CELLS, json_document, shown
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.table import (
    DoubtError,
    Words,
    converter,
    gathered,
    reading,
    require_few,
    require_text,
    whole_lines,
    words_of,
)

COMMON = ("job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps")
LAYOUTS = {
    7: (*COMMON, "arrival_time", "scale_factor"),
    9: (*COMMON, "scale_factor", "priority_weight", "SLO", "arrival_time"),
    10: (
        "job_type",
        "command",
        "working_directory",
        *COMMON[2:],
        "scale_factor",
        "priority_weight",
        "SLO",
        "arrival_time",
    ),
}
"""Columns of a trace by their number: three generations of Gavel."""
MOST = 1e15
NOTHING = ": there are no jobs: give a line for each"
LEAST = {"total_steps": 1.0, "scale_factor": 1.0, "arrival_time": 0.0}
"""Columns of numbers, and the smallest that each may hold."""
WANTED = {"job_type": TEXT, **dict.fromkeys(LEAST, NUMBER)}


@dataclass(frozen=True)
class Jobs:
    """The columns of a trace that matter."""

    kind: Words  # the types of the jobs
    steps: Floats
    scale: Floats
    arrival: Floats

    def __len__(self) -> int:
        return len(self.steps)


def read_jobs(path: Path) -> Jobs:
    """Read a trace; an error names the file and the line."""
    try:
        columns = _plain(path)
    except DoubtError:
        columns = _careful(path)
    return Jobs(words_of(columns["job_type"]), *(columns[name] for name in LEAST))


def _plain(path: Path) -> Block:
    with reading(path):
        columns = gathered(path, _fast(path), NOTHING)
    if not all(_is_good(name, columns[name]).all() for name in LEAST):
        raise DoubtError
    return columns


def _is_good(name: str, column: Floats) -> Any:
    return (column >= LEAST[name]) & (column < MOST)


def _fast(path: Path) -> Iterator[Block]:
    convert = None
    with unpack.opened(path) as file:
        for block in whole_lines(file):
            require_text(block)
            if convert is None:
                first, block = _first_line(block.removeprefix(b"\xef\xbb\xbf"))  # a mark of UTF-8 is no text
                convert = converter(list(_layout(first)), WANTED, "\t", empty_lines=True)
            yield convert(block)


def _first_line(block: bytes) -> tuple[str, bytes]:
    """Return the first line that is not empty, and the lines from there on."""
    block = block.lstrip(b"\r\n")
    line = block.partition(b"\n")[0].decode()
    if not line.strip():
        raise DoubtError
    return line, block


def _layout(line: str) -> tuple[str, ...]:
    return LAYOUTS.get(line.count("\t") + 1, LAYOUTS[10])


def _careful(path: Path) -> Block:
    """Read line by line what is not plain, and find the first line that is no job."""
    lines = [
        (line, content) for line, content in enumerate(unpack.text(path, CELLS).split("\n"), 1) if content.strip()
    ]
    if not lines:
        raise InputError(f"{path}{NOTHING}")
    require_few(path, len(lines))
    layout = _layout(lines[0][1])
    rows = [content.split("\t") for _, content in lines]
    for (line, _), cells in zip(lines, rows, strict=True):
        if len(cells) != len(layout):
            raise InputError(f"{path} line {line}: there are {len(cells)} fields, expected {len(layout)}: correct it")
    columns = dict(zip(layout, zip(*rows, strict=True), strict=True))
    found: Block = {"job_type": columns["job_type"]}
    for name, least in LEAST.items():
        found[name] = np.array([_number(cell) for cell in columns[name]])
        good = _is_good(name, found[name])
        if not good.all():
            row = int(np.argmin(good))
            said = f"{name} is '{shown(columns[name][row])}', expected a number from {least:g} on"
            raise InputError(f"{path} line {lines[row][0]}: {said}")
    return found


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


GPUS = 36
"""GPUs of each type: those of the cluster that Gavel's authors simulate."""
SPREAD = "_unconsolidated"
"""How the types end under which jobs on several servers are listed."""
ALONE = "null"
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
    Mapped("job_type", "feature_batch_size", MEASURED, "as its name tells; empty if it does not"),
    Mapped(
        "job_type", "feature_model", MEASURED, "number of the model (the name without its batch size) by alphabet"
    ),
    Mapped("", "duration_estimate", ASSUMED, "mean over the GPUs that run the job"),
    Mapped("", "compute_intensity, memory_required", ASSUMED, "0.5 and 0: not in the files"),
    Mapped("throughputs beside another job", "", IGNORED, "devices take one task at a time"),
    Mapped("throughputs of <type>_unconsolidated", "", IGNORED, "jobs on several servers"),
    Mapped("", "cluster", ASSUMED, "36 GPUs of each type, as its authors simulate; a node for each type"),
    Mapped("command, working_directory, num_steps_arg, needs_data_dir, priority_weight, SLO", "", IGNORED),
)
Rates = dict[str, dict[str, float]]
"""Steps a second by type of GPU and job type."""


def _read(path: Path, companions: Sequence[Path]) -> Imported:
    tables = [each for each in (path, *companions) if accompanies(unpack.head(each))]
    traces = [each for each in (path, *companions) if each not in tables]
    if len(tables) != 1 or len(traces) != 1:
        raise InputError(
            f"{path}: there are {len(traces)} traces and {len(tables)} tables of throughputs: give one of each"
        )
    trace, rates = traces[0], _rates(tables[0])
    jobs = read_jobs(trace)
    known = {kind for by_job in rates.values() for kind, rate in by_job.items() if rate > 0}
    single, listed = jobs.scale == 1, jobs.kind.where(known.__contains__)
    kept = np.flatnonzero(single & listed)
    if not len(kept):
        raise InputError(
            f"{trace}: no job takes one GPU and has a throughput in {tables[0].name}: give its own table"
        )
    skipped = +Counter({SEVERAL: int((~single).sum()), UNKNOWN: int((single & ~listed).sum())})
    return Imported(_tasks(jobs, kept, rates), len(jobs), skipped, _cluster(list(rates)))


def _tasks(jobs: Jobs, kept: Ints, rates: Rates) -> Tasks:
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


def _cluster(types: list[str]) -> Cluster:
    gpus = [replace(DEFAULT_GPU, name=name) for name in types]
    return Cluster((DEFAULT_CPU, *gpus), tuple(Node({"cpu": 1, name: GPUS}) for name in types))


def _rates(path: Path) -> Rates:
    """Return throughputs of jobs that run alone on one GPU."""
    data = json_document(path)
    if not isinstance(data, dict) or not all(isinstance(each, dict) for each in data.values()):
        raise InputError(f"{path}: expected throughputs by type of GPU and job: this is another kind of file")
    found = {kind: _alone(path, kind, jobs) for kind, jobs in data.items() if not kind.endswith(SPREAD)}
    if not found or not all(kind.isidentifier() and kind != "cpu" for kind in found):
        raise InputError(f"{path}: the types of GPU are {', '.join(map(shown, found))}: expected names such as v100")
    return found


def _alone(path: Path, kind: str, jobs: dict[str, Any]) -> dict[str, float]:
    found = {}
    for name, beside in jobs.items():
        matched = _JOB.fullmatch(name)
        job, scale = (matched[1], matched[2]) if matched else (name, "1")
        if scale != "1":
            continue
        rate = beside.get(ALONE) if isinstance(beside, dict) else None
        if rate is None:
            continue  # measured beside other jobs only
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not (rate == 0 or 1e-9 < rate < MOST):
            raise InputError(
                f"{path}: {kind}, {shown(name)}: the throughput is {rate!r:.40}, expected steps a second"
            )
        found[job] = float(rate)
    return found


def accompanies(head: bytes) -> bool:
    """Whether the first bytes are those of a table of throughputs."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and b'"null"' in head


def sniff(head: bytes) -> bool:
    """Whether the first line is a job of a trace, or this is the table of throughputs."""
    cells = head.split(b"\n", 1)[0].rstrip(b"\r").split(b"\t")
    if len(cells) not in LAYOUTS:
        return accompanies(head)
    job = dict(zip(LAYOUTS[len(cells)], cells, strict=True))
    return all(re.fullmatch(rb"[0-9]+(\.[0-9]+)?", job[name].strip()) for name in ("total_steps", "scale_factor"))


FORMAT = Format("gavel", "training jobs of Gavel with its throughputs", MAPPING, sniff, _read, COMPANION, accompanies)
