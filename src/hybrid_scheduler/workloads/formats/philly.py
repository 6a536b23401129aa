"""Job tables in the style of Microsoft's Philly trace (github.com/msr-fiddle/philly-traces).

Each job has a number of GPUs, a time of submission, and a duration or a start and an end; names of columns vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import columns
from hybrid_scheduler.workloads.formats.columns import RowFilter
from hybrid_scheduler.workloads.formats.reader import (
    ASSUMED,
    IGNORED,
    MEASURED,
    Format,
    Imported,
    ImportedJobs,
    Mapped,
)
from hybrid_scheduler.workloads.formats.tables import NUMBER, TEXT, Table, read_table

ALIASES = {
    "gpus": ("num_gpus", "gpu_num", "num_gpu", "gpus", "gpu_count", "n_gpus", "gpu_number"),
    "submit": ("submitted_time", "submit_time", "submission_time", "submitted_at", "submitted"),
    "duration": ("duration", "run_time", "runtime", "run_duration", "execution_time"),
    "start": ("start_time", "started_time", "started_at", "start"),
    "end": ("end_time", "finished_time", "finish_time", "ended_at", "end"),
    "user": ("user", "user_id", "username"),
}
_GPUS, _SUBMIT, _DURATION, _START, _END, _USER = (", ".join(names) for names in ALIASES.values())

MAPPING = (
    Mapped(_SUBMIT, "arrival_time", MEASURED, "seconds or dates, counted from the first job that is kept"),
    Mapped(_DURATION, "time_gpu", MEASURED, "seconds; a name such as duration_ms gives the unit"),
    Mapped(f"{_START}; {_END}", "time_gpu", MEASURED, "end − start where there is no duration"),
    Mapped(_GPUS, "tasks", ASSUMED, "a job of g GPUs becomes g tasks that arrive together; no gang scheduling"),
    Mapped(_GPUS, "size, feature_gpus", ASSUMED, "GPUs requested (1 for none): independent of the duration"),
    Mapped("", "time_cpu", ASSUMED, "the duration for a job of 0 GPUs; others cannot run there"),
    Mapped("", "compute_intensity", ASSUMED, "1 with a GPU, 0 without"),
    Mapped("", "memory_required", ASSUMED, "0: the table has none"),
    Mapped(_USER, "", IGNORED, "only jobs of shared clusters (hms jobs) have users"),
    Mapped("any other (job, vc, status)", "", IGNORED, "failed and killed jobs used their GPUs too"),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names GPUs, a time of submission, and how long a job ran."""
    return _is_complete(columns.find_roles(sorted(columns.parse_header(head)), ALIASES))


def _is_complete(roles: dict[str, str]) -> bool:
    return {"gpus", "submit"} <= set(roles) and ("duration" in roles or {"start", "end"} <= set(roles))


def _read(path: Path, _: Sequence[Path]) -> Imported:
    table, jobs, gpus, arrival, duration = _read_rows(path)
    with table.locate_errors():
        tasks = _build_tasks(jobs.rows, gpus, arrival, duration)
    return Imported(tasks, table.rows, jobs.skipped)


def _read_jobs(path: Path, _: Sequence[Path]) -> ImportedJobs:
    """Read jobs whose GPUs start together and may lie on several nodes."""
    table, kept, gpus, arrival, duration = _read_rows(path)
    with table.locate_errors():
        rows = kept.rows
        jobs = Jobs.build(
            **_read_users(table, rows),
            seconds=duration[rows],
            arrival=columns.since_first(arrival[rows]),
            cpu_milli=np.where(gpus[rows] > 0, 0, WHOLE),
            gpus=gpus[rows],
            span=np.ones(len(rows), bool),
        )
    return ImportedJobs(jobs, table.rows, kept.skipped)


def _read_users(table: Table, rows: Ints) -> dict[str, Any]:
    """Return the users of jobs by number, and their names, if there is such a column."""
    role = columns.find_roles(table.columns, {"user": ALIASES["user"]})
    if not role:
        return {}
    found = columns.encode_strings([cell or "not known" for cell in table.columns[role["user"]].to_pylist()])
    return {"user": found.codes[rows], "user_names": found.names}


def _read_rows(path: Path) -> tuple[Table, RowFilter, Floats, Floats, Floats]:
    """Return the table, the rows that can be used, and of all rows GPUs, submission and duration."""
    table = read_table(path, _select_columns)
    roles = columns.find_roles(table.columns, ALIASES)
    with table.locate_errors():
        gpus = table.numbers(roles["gpus"])
        columns.require_counts(roles["gpus"], np.where(np.isnan(gpus), 0, gpus))
        arrival = columns.parse_seconds(table, roles["submit"])
        if "duration" in roles:
            duration = columns.parse_seconds(table, roles["duration"])
        else:
            duration = columns.parse_seconds(table, roles["end"]) - columns.parse_seconds(table, roles["start"])
        columns.require_values("duration", duration, ~(duration < 0) & ~np.isinf(duration), "seconds, 0 or more")
        columns.require_values(roles["submit"], arrival, ~np.isinf(arrival), "a moment")
    jobs = RowFilter(table.rows)
    jobs.skip(np.isnan(gpus), "number of GPUs not known")
    jobs.skip(np.isnan(arrival), "time of submission not known")
    jobs.skip(np.isnan(duration), "duration not known")
    jobs.skip(duration == 0, "ran for 0 s")
    return table, jobs, gpus, arrival, duration


def _select_columns(header: list[str]) -> dict[str, str]:
    roles = columns.find_roles(header, ALIASES)
    if not _is_complete(roles):
        raise InputError(
            f"found {columns.format_names(header)}: needed are num_gpus, submit_time, "
            "and duration or start and end_time"
        )
    return {column: NUMBER if role == "gpus" else TEXT for role, column in roles.items()}


def _build_tasks(rows: Ints, gpus: Floats, arrival: Floats, duration: Floats) -> Tasks:
    rows = columns.repeat_rows(rows, np.maximum(gpus[rows], 1))
    width, time = gpus[rows], duration[rows]
    return Tasks.build(
        size=np.maximum(width, 1),
        compute_intensity=(width > 0).astype(float),
        memory_required=np.zeros(len(rows)),
        arrival_time=columns.since_first(arrival[rows]),
        duration_estimate=time,
        measured={"cpu": np.where(width > 0, np.inf, time), "gpu": np.where(width > 0, time, np.inf)},
        features={"gpus": width},
    )


FORMAT = Format(
    "philly",
    "table of GPU jobs in the style of Microsoft's Philly trace",
    MAPPING,
    sniff,
    _read,
    read_jobs=_read_jobs,
)
