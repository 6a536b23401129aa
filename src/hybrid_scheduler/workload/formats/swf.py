"""Standard Workload Format: logs of parallel machines, 18 numbers a line, −1 for what is not known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.model.cluster import DEFAULT_CPU, MOST_NODES, Cluster, Node
from hybrid_scheduler.model.tasks import Floats, Ints, Tasks
from hybrid_scheduler.workload.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workload.formats.opening import head
from hybrid_scheduler.workload.formats.sieve import Sieve, from_first, require
from hybrid_scheduler.workload.formats.swf_lines import FIELDS, data_lines, line_of, read_fields

FAILED, PARTS, CANCELLED = 0, (2, 3, 4), 5
KB_PER_MB = 1024.0
MAPPING = (
    Mapped("1 job", "task_id", MEASURED),
    Mapped("2 submit", "arrival_time", MEASURED, "seconds, counted from the first job that is kept"),
    Mapped("4 run time, 5 processors", "time_cpu", ASSUMED, "run time · processors / processors of a device"),
    Mapped(
        "9 requested time", "expected_cpu", ASSUMED, "reckoned like time_cpu; policies are told this if it is known"
    ),
    Mapped(
        "7 used memory", "memory_required", MEASURED, "KB a processor · processors / 1024; else 10 requested; else 0"
    ),
    Mapped("8 requested processors", "size", ASSUMED, "processors asked for, or used: no duration is in it"),
    Mapped("8, 9, 10", "feature_…", MEASURED, "requested processors, seconds and KB: known before the job runs"),
    Mapped("11 status", "", IGNORED, "0 failed, 5 cancelled, 2–4 parts of a job: skipped; all others are tasks"),
    Mapped("; MaxProcs, MaxNodes", "cluster", MEASURED, "a CPU device per node, or per processor without MaxNodes"),
    Mapped(
        "", "one task a job", ASSUMED, "a wide job is stretched on one device: its work is kept, its width is lost"
    ),
    Mapped("", "compute_intensity", ASSUMED, "0, and no GPU can run it: the log knows no GPUs"),
    Mapped("3, 6, 12–16", "", IGNORED, "wait, CPU time, user, group, program, queue, partition"),
    Mapped("17, 18", "", IGNORED, "preceding job and think time: the submit time has waited for them already"),
)
_HEADER = re.compile(rb"^;\s*(MaxProcs|MaxNodes)\s*:\s*([0-9]{1,9})\b", re.MULTILINE)
_NUMBER = re.compile(rb"[-+]?[0-9]*\.?[0-9]+")


def sniff(first: bytes) -> bool:
    """Whether the first line that is no comment holds 18 numbers."""
    line = next(data_lines(first.split(b"\n")), b"").split()
    if line:
        return len(line) == len(FIELDS) and all(_NUMBER.fullmatch(each) for each in line)
    return first.startswith(b";") and _HEADER.search(first) is not None


def _read(path: Path, _: Sequence[Path]) -> Imported:
    fields = read_fields(path)
    machine = {name.decode(): int(count) for name, count in _HEADER.findall(head(path))}
    with _explained(path):
        _check(fields)
        sieve = Sieve(len(fields["job"]))
        _sort_out(fields, sieve)
        rows = sieve.rows
    cluster, wide = _cluster(machine)
    with _explained(path, rows):
        tasks = _tasks({name: column[rows] for name, column in fields.items()}, wide)
    return Imported(tasks, len(fields["job"]), sieve.skipped, cluster)


@contextmanager
def _explained(path: Path, rows: Ints | None = None) -> Iterator[None]:
    """Turn what is wrong with a row, or with one of those that were kept, into what is wrong with a line."""
    try:
        yield
    except RowError as error:
        row = error.row if rows is None else int(rows[error.row])
        raise InputError(f"{path} line {line_of(path, row)}: {error.reason}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _check(fields: Mapping[str, Floats]) -> None:
    job = fields["job"]
    require("job", job, (np.floor(job) == job) & (np.abs(job) < 2**53), "a whole number")
    for name in ("submit", "run_time", "processors", "used_memory"):
        column = fields[name]
        require(name, column, ((column >= 0) & (column < np.inf)) | (column == -1), "0 or more, or -1 for unknown")


def _sort_out(fields: Mapping[str, Floats], sieve: Sieve) -> None:
    status, seconds = fields["status"], fields["run_time"]
    sieve.skip(np.isin(status, PARTS), "part of a job that has a line of its own")
    sieve.skip(status == FAILED, "failed")
    sieve.skip(status == CANCELLED, "cancelled")
    sieve.skip(fields["submit"] < 0, "submit time not known")
    sieve.skip(seconds < 0, "run time not known")
    sieve.skip(seconds == 0, "ran for 0 s")
    sieve.skip(_processors(fields) <= 0, "processors not known")


def _processors(fields: Mapping[str, Floats]) -> Floats:
    given, asked = fields["processors"], fields["requested_processors"]
    return np.where(given > 0, given, np.where(np.isfinite(asked), asked, 0.0))


def _cluster(machine: Mapping[str, int]) -> tuple[Cluster | None, float]:
    """Return the machine of the header, and how many processors one of its devices has."""
    processors = machine.get("MaxProcs") or machine.get("MaxNodes") or 0
    nodes = machine.get("MaxNodes") or processors
    if not 0 < nodes <= MOST_NODES:
        return None, 1.0
    return Cluster((DEFAULT_CPU,), (Node({"cpu": 1}),) * nodes), max(processors / nodes, 1.0)


def _tasks(kept: Mapping[str, Floats], wide: float) -> Tasks:
    processors = _processors(kept)
    work = kept["run_time"] * processors / wide
    asked = {name: _known(kept[f"requested_{name}"]) for name in ("processors", "time", "memory")}
    each = np.where(kept["used_memory"] > 0, kept["used_memory"], np.nan_to_num(asked["memory"]))
    size = np.where(np.isnan(asked["processors"]), processors, asked["processors"])
    return Tasks.build(
        size=size,
        compute_intensity=np.zeros(len(work)),
        memory_required=each * processors / KB_PER_MB,
        arrival_time=from_first(kept["submit"]),
        task_id=kept["job"].astype(np.int64),
        duration_estimate=work,
        measured={"cpu": work, "gpu": np.full(len(work), np.inf)},
        expected={"cpu": asked["time"] * processors / wide},
        features={f"requested_{name}": column for name, column in asked.items()},
    )


def _known(column: Floats) -> Floats:
    """Return what is above 0; the rest is not known."""
    return np.where((column > 0) & (column < np.inf), column, np.nan)


FORMAT = Format("swf", "Standard Workload Format: logs of parallel machines", MAPPING, sniff, _read)
