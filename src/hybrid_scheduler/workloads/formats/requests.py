"""Traces of requests: when each came and how long it took, as logs of services and of functions have them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import philly
from hybrid_scheduler.workloads.formats.checked import NUMBER, TEXT
from hybrid_scheduler.workloads.formats.column_names import roles_of, seconds
from hybrid_scheduler.workloads.formats.format import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.own import names_in, shown
from hybrid_scheduler.workloads.formats.table import Sieve, Table, from_first, read_table, require

ALIASES = {
    "arrival": ("arrival", "arrival_time", "arrived_at", "timestamp", "start_timestamp", "invocation_time", "ts"),
    "end": ("end_timestamp", "completion_time"),
    "duration": ("duration", "service_time", "execution_time", "latency", "runtime"),
    "memory": ("memory", "memory_mb", "memory_required", "allocated_memory_mb"),
}
MAPPING = (
    Mapped(
        ", ".join(ALIASES["arrival"]), "arrival_time", MEASURED, "seconds or dates, counted from the first request"
    ),
    Mapped(", ".join(ALIASES["end"]), "arrival_time", MEASURED, "end − duration where there is no arrival"),
    Mapped(
        ", ".join(ALIASES["duration"]), "time_cpu", MEASURED, "seconds; a name such as duration_ms gives the unit"
    ),
    Mapped(", ".join(ALIASES["memory"]), "memory_required", MEASURED, "MB; 0 where there is none"),
    Mapped("", "time_gpu", ASSUMED, "inf: how long a request takes on a GPU was not measured"),
    Mapped("", "size", ASSUMED, "1: nothing is known about a request beforehand"),
    Mapped("", "compute_intensity", ASSUMED, "0"),
    Mapped("any other", "", IGNORED),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names an arrival and a duration, and is no other table that we know."""
    names = names_in(head)
    if philly.sniff(head) or "compute_intensity" in names:
        return False
    return _is_enough(roles_of(sorted(names), ALIASES))


def _is_enough(roles: dict[str, str]) -> bool:
    return "duration" in roles and bool({"arrival", "end"} & set(roles))


def _read(path: Path, _: Sequence[Path]) -> Imported:
    roles: dict[str, str] = {}
    table = read_table(path, lambda header: _kinds(header, roles))
    with table.explained():
        duration = seconds(roles["duration"], table.columns[roles["duration"]])
        require(roles["duration"], duration, ~(duration < 0) & ~np.isinf(duration), "0 or more")
        arrival, memory = _arrivals(table, roles, duration), _memory(table, roles)
        sieve = Sieve(table.rows)
        sieve.skip(np.isnan(arrival), "arrival not known")
        sieve.skip(np.isnan(duration), "duration not known")
        sieve.skip(duration == 0, "took 0 s")
        rows = sieve.rows
        tasks = _tasks(arrival[rows], duration[rows], memory[rows])
    return Imported(tasks, table.rows, sieve.skipped)


def _kinds(header: list[str], roles: dict[str, str]) -> dict[str, str]:
    roles.clear()
    roles.update(roles_of(header, ALIASES))
    if not _is_enough(roles):
        raise InputError(f"found {shown(header)}: needed are arrival and duration (or end_timestamp and duration)")
    if "arrival" in roles:
        roles.pop("end", None)
    return {column: NUMBER if role == "memory" else TEXT for role, column in roles.items()}


def _arrivals(table: Table, roles: dict[str, str], duration: Floats) -> Floats:
    name = roles.get("arrival") or roles["end"]
    moment = seconds(name, table.columns[name])
    require(name, moment, ~np.isinf(moment), "a moment")
    if "arrival" in roles:
        require(name, moment, ~(moment < 0), "seconds, 0 or more")
        return moment
    return moment - duration


def _memory(table: Table, roles: dict[str, str]) -> Floats:
    if "memory" not in roles:
        return np.zeros(table.rows)
    memory = np.nan_to_num(table.numbers(roles["memory"]), nan=0.0)
    require(roles["memory"], memory, (memory >= 0) & (memory < np.inf), "MB, 0 or more")
    return memory


def _tasks(arrival: Floats, duration: Floats, memory: Floats) -> Tasks:
    count = len(arrival)
    return Tasks.build(
        size=np.ones(count),
        compute_intensity=np.zeros(count),
        memory_required=memory,
        arrival_time=from_first(arrival),
        duration_estimate=duration,
        measured={"cpu": duration, "gpu": np.full(count, np.inf)},
    )


FORMAT = Format("requests", "trace of requests: arrival and duration", MAPPING, sniff, _read)
