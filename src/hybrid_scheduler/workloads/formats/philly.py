"""Job tables in the style of Microsoft's Philly trace: who asked for how many GPUs, when, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats.checked import NUMBER, TEXT
from hybrid_scheduler.workloads.formats.column_names import roles_of, seconds
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.own import names_in, shown
from hybrid_scheduler.workloads.formats.table import (
    Sieve,
    Table,
    from_first,
    read_table,
    repeated,
    require,
    require_counts,
)

ALIASES = {
    "gpus": ("num_gpus", "gpu_num", "num_gpu", "gpus", "gpu_count", "n_gpus", "gpu_number"),
    "submit": ("submitted_time", "submit_time", "submission_time", "submitted_at", "submitted"),
    "duration": ("duration", "run_time", "runtime", "run_duration", "execution_time"),
    "start": ("start_time", "started_time", "started_at", "start"),
    "end": ("end_time", "finished_time", "finish_time", "ended_at", "end"),
}


def _said(role: str) -> str:
    return ", ".join(ALIASES[role])


MAPPING = (
    Mapped(_said("submit"), "arrival_time", MEASURED, "seconds or dates, counted from the first job that is kept"),
    Mapped(_said("duration"), "time_gpu", MEASURED, "seconds; a name such as duration_ms gives the unit"),
    Mapped(f"{_said('start')}; {_said('end')}", "time_gpu", MEASURED, "end − start where there is no duration"),
    Mapped(
        _said("gpus"), "tasks", ASSUMED, "a job of g GPUs is g tasks that arrive together; starting together is lost"
    ),
    Mapped(_said("gpus"), "size, feature_gpus", ASSUMED, "GPUs asked for (1 for none): no duration is in it"),
    Mapped("", "time_cpu", ASSUMED, "a job of 0 GPUs takes its duration on a CPU, all others cannot run there"),
    Mapped("", "compute_intensity", ASSUMED, "1 with a GPU, 0 without"),
    Mapped("", "memory_required", ASSUMED, "0: the table has none"),
    Mapped(
        "any other (job, user, vc, status)", "", IGNORED, "jobs that failed or were killed have used their GPUs too"
    ),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names GPUs, a time of submission, and how long a job ran."""
    return _is_enough(roles_of(sorted(names_in(head)), ALIASES))


def _is_enough(roles: dict[str, str]) -> bool:
    return {"gpus", "submit"} <= set(roles) and ("duration" in roles or {"start", "end"} <= set(roles))


def _read(path: Path, _: Sequence[Path]) -> Imported:
    roles: dict[str, str] = {}
    table = read_table(path, lambda header: _kinds(header, roles))
    with table.explained():
        gpus = table.numbers(roles["gpus"])
        require_counts(roles["gpus"], np.where(np.isnan(gpus), 0, gpus))
        arrival, duration = seconds(roles["submit"], table.columns[roles["submit"]]), _durations(table, roles)
        require("duration", duration, ~(duration < 0) & ~np.isinf(duration), "seconds, 0 or more")
        require(roles["submit"], arrival, ~np.isinf(arrival), "a moment")
        sieve = Sieve(table.rows)
        sieve.skip(np.isnan(gpus), "number of GPUs not known")
        sieve.skip(np.isnan(arrival), "time of submission not known")
        sieve.skip(np.isnan(duration), "duration not known")
        sieve.skip(duration == 0, "ran for 0 s")
        tasks = _tasks(sieve.rows, gpus, arrival, duration)
    return Imported(tasks, table.rows, sieve.skipped)


def _kinds(header: list[str], roles: dict[str, str]) -> dict[str, str]:
    roles.clear()
    roles.update(roles_of(header, ALIASES))
    if not _is_enough(roles):
        raise InputError(
            f"found {shown(header)}: needed are num_gpus, submit_time, and duration or start and end_time"
        )
    return {column: NUMBER if role == "gpus" else TEXT for role, column in roles.items()}


def _durations(table: Table, roles: dict[str, str]) -> Floats:
    if "duration" in roles:
        return seconds(roles["duration"], table.columns[roles["duration"]])
    start, end = (seconds(roles[role], table.columns[roles[role]]) for role in ("start", "end"))
    return end - start


def _tasks(rows: Ints, gpus: Floats, arrival: Floats, duration: Floats) -> Tasks:
    rows = repeated(rows, np.maximum(gpus[rows], 1))
    wide, time = gpus[rows], duration[rows]
    return Tasks.build(
        size=np.maximum(wide, 1),
        compute_intensity=(wide > 0).astype(float),
        memory_required=np.zeros(len(rows)),
        arrival_time=from_first(arrival[rows]),
        duration_estimate=time,
        measured={"cpu": np.where(wide > 0, np.inf, time), "gpu": np.where(wide > 0, time, np.inf)},
        features={"gpus": wide},
    )


FORMAT = Format("philly", "table of GPU jobs in the style of Microsoft's Philly trace", MAPPING, sniff, _read)
