"""Traces of requests to services and functions: when each arrived and how long it took; names of columns vary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import columns, philly
from hybrid_scheduler.workloads.formats.columns import RowFilter
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.tables import NUMBER, TEXT, read_table

ALIASES = {
    "arrival": ("arrival", "arrival_time", "arrived_at", "timestamp", "start_timestamp", "invocation_time", "ts"),
    "end": ("end_timestamp", "completion_time"),
    "duration": ("duration", "service_time", "execution_time", "latency", "runtime"),
    "memory": ("memory", "memory_mb", "memory_required", "allocated_memory_mb"),
}
_ARRIVAL, _END, _DURATION, _MEMORY = (", ".join(names) for names in ALIASES.values())

MAPPING = (
    Mapped(_ARRIVAL, "arrival_time", MEASURED, "seconds or dates, counted from the first request"),
    Mapped(_END, "arrival_time", MEASURED, "end − duration where there is no arrival"),
    Mapped(_DURATION, "time_cpu", MEASURED, "seconds; a name such as duration_ms gives the unit"),
    Mapped(_MEMORY, "memory_required", MEASURED, "MB; 0 where there is none"),
    Mapped("", "time_gpu", ASSUMED, "inf: how long a request takes on a GPU was not measured"),
    Mapped("", "size", ASSUMED, "1: nothing is known about a request in advance"),
    Mapped("", "compute_intensity", ASSUMED, "0"),
    Mapped("any other", "", IGNORED),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names an arrival and a duration, and is that of no other known table."""
    names = columns.parse_header(head)
    if philly.sniff(head) or "compute_intensity" in names:
        return False
    return _is_complete(columns.find_roles(sorted(names), ALIASES))


def _is_complete(roles: dict[str, str]) -> bool:
    return "duration" in roles and bool({"arrival", "end"} & set(roles))


def _read(path: Path, _: Sequence[Path]) -> Imported:
    table = read_table(path, _select_columns)
    roles = columns.find_roles(table.columns, ALIASES)
    with table.locate_errors():
        duration = columns.parse_seconds(table, roles["duration"])
        columns.require_values(roles["duration"], duration, ~(duration < 0) & ~np.isinf(duration), "0 or more")
        name = roles.get("arrival") or roles["end"]
        arrival, memory = columns.parse_seconds(table, name), np.zeros(table.rows)
        columns.require_values(name, arrival, ~np.isinf(arrival), "a moment")
        if "arrival" in roles:
            columns.require_values(name, arrival, ~(arrival < 0), "seconds, 0 or more")
        else:
            arrival = arrival - duration
        if "memory" in roles:
            memory = np.nan_to_num(table.numbers(roles["memory"]), nan=0.0)
            columns.require_values(roles["memory"], memory, (memory >= 0) & (memory < np.inf), "MB, 0 or more")
        requests = RowFilter(table.rows)
        requests.skip(np.isnan(arrival), "arrival not known")
        requests.skip(np.isnan(duration), "duration not known")
        requests.skip(duration == 0, "took 0 s")
        rows = requests.rows
        seconds = duration[rows]
        tasks = Tasks.build(
            size=np.ones(len(rows)),
            compute_intensity=np.zeros(len(rows)),
            memory_required=memory[rows],
            arrival_time=columns.since_first(arrival[rows]),
            duration_estimate=seconds,
            measured={"cpu": seconds, "gpu": np.full(len(rows), np.inf)},
        )
    return Imported(tasks, table.rows, requests.skipped)


def _select_columns(header: list[str]) -> dict[str, str]:
    roles = columns.find_roles(header, ALIASES)
    if not _is_complete(roles):
        raise InputError(
            f"found {columns.format_names(header)}: needed are arrival and duration (or end_timestamp and duration)"
        )
    if "arrival" in roles:
        roles.pop("end", None)
    return {column: NUMBER if role == "memory" else TEXT for role, column in roles.items()}


FORMAT = Format("requests", "trace of requests: arrival and duration", MAPPING, sniff, _read)
