"""What a trace format is: how to recognise its files, how to read them, and what becomes of each column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Tasks

MEASURED, ASSUMED, IGNORED = "measured", "assumed", "ignored"


@dataclass(frozen=True)
class Mapped:
    """One row of a format's mapping: a column of the file, what it becomes, and whether that was measured."""

    column: str  # empty: the file has no such column
    becomes: str  # empty: it is not used
    ground: str  # MEASURED, ASSUMED or IGNORED
    note: str = ""


@dataclass(frozen=True)
class Imported:
    """The contents of a file: its tasks, its machines if it names some, and an account of its rows."""

    tasks: Tasks
    rows: int
    skipped: Mapping[str, int] = field(default_factory=dict)  # rows that became no task, by reason
    cluster: Cluster | None = None

    @property
    def used(self) -> int:
        """How many rows became tasks."""
        return self.rows - sum(self.skipped.values())


@dataclass(frozen=True)
class Format:
    """A trace format; a plug-in package registers one under the entry point `hybrid_scheduler.formats`."""

    name: str
    summary: str
    mapping: tuple[Mapped, ...]
    sniff: Callable[[bytes], bool]  # whether the first bytes of a file, unpacked, are of this format
    read: Callable[[Path, Sequence[Path]], Imported]  # takes the main file and its companions
    companions: str = ""  # which further files it takes, such as a list of nodes; empty: none
    accompanies: Callable[[bytes], bool] | None = None  # whether the first bytes are those of a companion
