"""Standard Workload Format: logs of parallel machines (cs.huji.ac.il/labs/parallel/workload/swf.html).

A line a job, 18 numbers with blanks between them, -1 for unknown; comments begin with `;` and describe the machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import DEFAULT_CPU, MAX_NODES, Cluster, Node
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.tasks import SERIALISED, Floats, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import tables
from hybrid_scheduler.workloads.formats.columns import RowFilter, require_values, since_first
from hybrid_scheduler.workloads.formats.reader import (
    ASSUMED,
    IGNORED,
    MEASURED,
    Format,
    Imported,
    ImportedJobs,
    Mapped,
)
from hybrid_scheduler.workloads.formats.unpack import open_unpacked, read_head

FIELDS = (
    *("job", "submit", "wait", "run_time", "processors", "cpu_time", "used_memory", "requested_processors"),
    *("requested_time", "requested_memory", "status", "user", "group", "program", "queue", "partition"),
    *("preceding", "think_time"),
)
USED = (*(FIELDS[place] for place in (0, 1, 3, 4, 6)), *FIELDS[7:12])
FAILED, PARTS, CANCELLED = 0, (2, 3, 4), 5
KB_PER_MB = 1024.0
SLOWDOWN_FLOOR = 10.0  # seconds: what the literature on such logs takes
NO_JOBS = " has no jobs, only comments: add a line for every job"
_HEADER = re.compile(rb"^;\s*(MaxProcs|MaxNodes)\s*:\s*([0-9]{1,9})\b", re.MULTILINE)
_NUMBER = re.compile(rb"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?")

MAPPING = (
    Mapped("1 job", "task_id", MEASURED),
    Mapped("2 submit", "arrival_time", MEASURED, "seconds, counted from the first job that is kept"),
    Mapped("4 run time, 5 processors", "time_cpu", ASSUMED, "run time · processors / processors of a device"),
    Mapped("9 requested time", "expected_cpu", ASSUMED, "computed like time_cpu; policies see it if it is known"),
    Mapped("7 used memory", "memory_required", MEASURED, "KB a processor · processors / 1024; else field 10; else 0"),
    Mapped("8 requested processors", "size", ASSUMED, "processors requested, or used: independent of the duration"),
    Mapped("8, 9, 10", "feature_…", MEASURED, "requested processors, seconds and KB: known before the job runs"),
    Mapped("11 status", "", IGNORED, "0 failed, 5 cancelled, 2–4 parts of a job: skipped; all others are tasks"),
    Mapped("; MaxProcs, MaxNodes", "cluster", MEASURED, "a CPU device per node, or per processor without MaxNodes"),
    Mapped("", "one task a job", ASSUMED, "a parallel job runs on one device, with the same work (--serialise)"),
    Mapped(
        "5 processors", "serialised", MEASURED, "devices that the job took at once: more than one needs --serialise"
    ),
    Mapped("", "compute_intensity", ASSUMED, "0, and no GPU can run it: the log has no GPUs"),
    Mapped("3, 6, 12–16", "", IGNORED, "wait, CPU time, user, group, program, queue, partition"),
    Mapped("17, 18", "", IGNORED, "preceding job and think time: already part of the submit time"),
)


def sniff(head: bytes) -> bool:
    """Whether the first line that is no comment holds 18 numbers, or some after comments: then one is missing."""
    first = next((line for line in head.split(b"\n") if _is_job(line)), b"").split()
    if first:
        expected = len(first) == len(FIELDS) or head.startswith(b";")
        return expected and all(_NUMBER.fullmatch(each) for each in first)
    return head.startswith(b";") and _HEADER.search(head) is not None


def _read(path: Path, _: Sequence[Path]) -> Imported:
    table = read_jobs(path)
    with table.locate_errors():
        jobs = _filter_jobs(table.columns)
        rows = jobs.rows
    machine = {name.decode(): int(count) for name, count in _HEADER.findall(read_head(path))}
    cluster, width = _build_cluster(machine)
    with table.locate_errors(rows):
        tasks = _build_tasks({name: column[rows] for name, column in table.columns.items()}, width)
    return Imported(tasks, table.rows, jobs.skipped, cluster, SLOWDOWN_FLOOR)


def read_jobs(path: Path) -> tables.Table:
    """Read the used fields of all jobs; an error names the file and the line."""
    with tables.prefix_errors(path):
        try:
            columns = tables.join_blocks(path, _read_fast(path), NO_JOBS)
        except tables.NotPlainError:
            columns = tables.join_blocks(path, _read_slowly(path), NO_JOBS)

    def find_line(row: int) -> int:
        with open_unpacked(path) as file:
            return next(islice((number for number, line in enumerate(file, 1) if _is_job(line)), row, None))

    return tables.Table(path, len(columns["job"]), columns, find_line)


def _read_fast(path: Path) -> Iterator[tables.Block]:
    convert = tables.make_converter(list(FIELDS), dict.fromkeys(USED, tables.NUMBER), " ", empty_lines=True)
    with open_unpacked(path) as file:
        for block in tables.split_lines(file):
            if jobs := _drop_comments(block):
                yield convert(jobs)


def _drop_comments(block: bytes) -> bytes:
    while block.startswith(b";"):  # most logs have comments at the top only
        block = block.partition(b"\n")[2]
    if b";" in block:
        block = b"\n".join(line for line in block.split(b"\n") if _is_job(line)) + b"\n"
    if not block.isascii() or b"n" in block or b"N" in block:
        raise tables.NotPlainError  # Arrow reads words such as nan as numbers
    return tables.collapse_blanks(block)


def _is_job(line: bytes) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(b";")


def _read_slowly(path: Path) -> Iterator[tables.Block]:
    with open_unpacked(path) as file:
        rows = _read_rows(path, file)
        while block := list(islice(rows, tables.ROWS_AT_ONCE)):
            found = dict(zip(FIELDS, np.array(block).T.copy(), strict=True))
            yield {name: found[name] for name in USED}


def _read_rows(path: Path, file: Iterable[bytes]) -> Iterator[list[float]]:
    for number, line in enumerate(file, 1):
        if not _is_job(line):
            continue
        cells = line.split()
        if len(cells) != len(FIELDS):
            raise InputError(
                f"{path} line {number}: there are {len(cells)} fields, expected {len(FIELDS)}: correct this line"
            )
        row = [tables.parse_number(cell) for cell in cells]
        wrong = next((cell for cell, value in zip(cells, row, strict=True) if math.isnan(value)), None)
        if wrong is not None:
            text = wrong[:40].decode("utf-8", "replace")
            raise InputError(f"{path} line {number}: '{text}' is no number: write -1 for what is not known")
        yield row


def _filter_jobs(fields: Mapping[str, Floats], keep_failed: bool = False) -> RowFilter:
    """Check the fields, and skip jobs of which too little is known, and those that did not end unless kept."""
    job = fields["job"]
    require_values("job", job, (np.floor(job) == job) & (np.abs(job) < 2**53), "a whole number")
    for name in ("submit", "run_time", "processors", "used_memory"):
        column = fields[name]
        valid = ((column >= 0) & (column < np.inf)) | (column == -1)
        require_values(name, column, valid, "0 or more, or -1 for unknown")
    jobs, status, seconds = RowFilter(len(job)), fields["status"], fields["run_time"]
    jobs.skip(np.isin(status, PARTS), "part of a job that has a line of its own")
    if not keep_failed:
        jobs.skip(status == FAILED, "failed")
        jobs.skip(status == CANCELLED, "cancelled")
    jobs.skip(fields["submit"] < 0, "submit time not known")
    jobs.skip(seconds < 0, "run time not known")
    jobs.skip(seconds == 0, "ran for 0 s")
    jobs.skip(_count_processors(fields) <= 0, "processors not known")
    return jobs


def _count_processors(fields: Mapping[str, Floats]) -> Floats:
    used, requested = fields["processors"], fields["requested_processors"]
    return np.where(used > 0, used, np.where(np.isfinite(requested), requested, 0.0))


def _build_cluster(machine: Mapping[str, int]) -> tuple[Cluster | None, float]:
    """Return the machine of the header, and how many processors one of its devices has."""
    processors = machine.get("MaxProcs") or machine.get("MaxNodes") or 0
    nodes = machine.get("MaxNodes") or processors
    if not 0 < nodes <= MAX_NODES:
        return None, 1.0
    return Cluster((DEFAULT_CPU,), (Node({"cpu": 1}),) * nodes), max(processors / nodes, 1.0)


def _build_tasks(jobs: Mapping[str, Floats], width: float) -> Tasks:
    processors = _count_processors(jobs)
    work = jobs["run_time"] * processors / width
    columns = {name: jobs[f"requested_{name}"] for name in ("processors", "time", "memory")}
    requested = {name: np.where((each > 0) & (each < np.inf), each, np.nan) for name, each in columns.items()}
    memory = np.where(jobs["used_memory"] > 0, jobs["used_memory"], np.nan_to_num(requested["memory"]))
    return Tasks.build(
        size=np.where(np.isnan(requested["processors"]), processors, requested["processors"]),
        compute_intensity=np.zeros(len(work)),
        memory_required=memory * processors / KB_PER_MB,
        arrival_time=since_first(jobs["submit"]),
        task_id=jobs["job"].astype(np.int64),
        duration_estimate=work,
        measured={"cpu": work, "gpu": np.full(len(work), np.inf)},
        expected={"cpu": requested["time"] * processors / width},
        features={f"requested_{name}": column for name, column in requested.items()},
        traits={SERIALISED: np.maximum(processors / width, 1.0)},
    )


def _read_jobs(path: Path, _: Sequence[Path]) -> ImportedJobs:
    """Read jobs with their width, requested time and memory; those that failed occupied processors too."""
    table = read_jobs(path)
    with table.locate_errors():
        kept = _filter_jobs(table.columns, keep_failed=True)
        rows = kept.rows
    found = {name: column[rows] for name, column in table.columns.items()}
    processors, requested = _count_processors(found), found["requested_time"]
    memory = np.where(found["used_memory"] > 0, found["used_memory"], np.maximum(found["requested_memory"], 0.0))
    with table.locate_errors(rows):
        jobs = Jobs.build(
            seconds=found["run_time"],
            arrival=found["submit"],
            requested=np.where((requested > 0) & np.isfinite(requested), requested, np.nan),
            cpu_milli=processors * WHOLE,
            memory_mib=np.ceil(memory * processors / KB_PER_MB),
            user=np.maximum(found["user"], 0.0),
            job_id=np.abs(found["job"]),
        )
    machine = {name.decode(): int(count) for name, count in _HEADER.findall(read_head(path))}
    size = machine.get("MaxProcs") or machine.get("MaxNodes")
    return ImportedJobs(jobs, table.rows, kept.skipped, Machines.pool(size) if size else None)


FORMAT = Format(
    "swf", "Standard Workload Format: logs of parallel machines", MAPPING, sniff, _read, read_jobs=_read_jobs
)
