"""The columns of our own tables of tasks, as text or as Parquet: what each means, and how tasks are built of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_scheduler.core.tasks import EXPECTED, FEATURE, MEASURED, Edges, Ints, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import format as grounds
from hybrid_scheduler.workloads.formats.format import Mapped

REQUIRED = ("size", "compute_intensity", "memory_required")
OPTIONAL = ("task_id", "arrival_time", "duration_estimate", "dependencies", "dependency_megabytes")
PREFIXES = (MEASURED, EXPECTED, FEATURE)

MAPPING = (
    Mapped("size, task_size", "size", grounds.MEASURED, "N, above 0"),
    Mapped("compute_intensity", "compute_intensity", grounds.MEASURED, "I, from 0 to 1"),
    Mapped("memory_required", "memory_required", grounds.MEASURED, "MB, 0 or more"),
    Mapped("task_id", "task_id", grounds.MEASURED, "whole number, unique; the row number if absent"),
    Mapped("arrival_time", "arrival_time", grounds.MEASURED, "seconds, 0 or more; 0 if absent"),
    Mapped("dependencies", "dependencies", grounds.MEASURED, "ids of parents, `1;2` or `[1, 2]`"),
    Mapped("dependency_megabytes", "MB on edges", grounds.MEASURED, "MB from each parent, `0.5;3`; 0 if absent"),
    Mapped("duration_estimate", "duration_estimate", grounds.MEASURED, "seconds; the formula if absent or empty"),
    Mapped("time_<class>", "time_<class>", grounds.MEASURED, "seconds; `inf`: cannot run there; empty: the formula"),
    Mapped(
        "expected_<class>", "expected_<class>", grounds.MEASURED, "seconds that policies are told; empty: the true"
    ),
    Mapped("feature_<name>", "feature_<name>", grounds.MEASURED, "a number that models may learn from, or empty"),
    Mapped("", "duration_estimate", grounds.ASSUMED, "k·N^1.5/(I + 0.5) where the file has none"),
    Mapped("any other", "", grounds.IGNORED),
)


def is_ours(name: str) -> bool:
    """Whether a column means something to us."""
    return name in (*REQUIRED, *OPTIONAL) or name.startswith(PREFIXES)


def check_header(header: list[str]) -> None:
    """Refuse columns from which no tasks can be made, whatever kind of file they come from."""
    if not header:
        raise InputError("the file is empty: it needs a header line and a line for every task")
    for name in REQUIRED:
        if name not in header:
            raise InputError(f"column '{name}' is missing, found {shown(header)}: needed are {', '.join(REQUIRED)}")
    for name in header:
        if header.count(name) > 1 and is_ours(name):
            raise InputError(f"column '{name[:40]}' appears twice: keep one of them")


def shown(header: list[str]) -> str:
    """Write names of columns in one line, whatever they are."""
    names = [" ".join(name[:40].split()) for name in header[:20]]
    return ", ".join([*names, "…"] if len(header) > 20 else names)


def names_in(head: bytes) -> set[str]:
    """Return the names of columns in the first line of a table of text."""
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return {name.strip('\r "\t') for name in line.decode("utf-8", "replace").split(",")}


def built(columns: Mapping[str, Any], ids: Ints | None, edges: Edges | None) -> Tasks:
    """Build tasks of the columns of a file."""

    def beginning(prefix: str) -> dict[str, Any]:
        return {name.removeprefix(prefix): each for name, each in columns.items() if name.startswith(prefix)}

    return Tasks.build(
        columns["size"],
        columns["compute_intensity"],
        columns["memory_required"],
        columns.get("arrival_time"),
        ids,
        columns.get("duration_estimate"),
        edges,
        beginning(MEASURED),
        beginning(EXPECTED),
        beginning(FEATURE),
    )
