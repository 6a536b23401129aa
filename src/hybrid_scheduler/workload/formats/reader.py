"""Reads any file of tasks: what it is, is told by its first bytes, never by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.workload.formats import csv, parquet

READERS: dict[str, Callable[[str | Path], Tasks]] = {"csv": csv.read, "parquet": parquet.read}
"""By name of the format."""
HEAD = 4096


def format_of(path: str | Path) -> str:
    """Return which format a file has; what is nothing else is taken for CSV, whose reader says what is wrong."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path") from None
    return "parquet" if head.startswith(parquet.MAGIC) else "csv"


def read(path: str | Path) -> Tasks:
    """Read tasks from a file of any known format."""
    return READERS[format_of(path)](path)
