"""A format turns files into tasks and accounts for every row: measured, assumed or skipped with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Tasks

MEASURED, ASSUMED, IGNORED = "measured", "assumed", "ignored"


@dataclass(frozen=True)
class Mapped:
    """One line of a format's mapping: a column of the file, what it becomes, and on what ground."""

    column: str  # empty: the file has nothing of the kind
    becomes: str  # empty: nothing is made of it
    ground: str  # MEASURED, ASSUMED or IGNORED
    note: str = ""


@dataclass(frozen=True)
class Imported:
    """What a file holds: tasks, the machines if it names some, and an account of its rows."""

    tasks: Tasks
    rows: int
    skipped: Mapping[str, int] = field(default_factory=dict)  # rows by the reason why they became no task
    cluster: Cluster | None = None

    @property
    def used(self) -> int:
        """How many rows became tasks."""
        return self.rows - sum(self.skipped.values())


@dataclass(frozen=True)
class Format:
    """One format: how to tell it, how to read it, and what its columns mean."""

    name: str
    summary: str
    mapping: tuple[Mapped, ...]
    sniff: Callable[[bytes], bool]  # whether the first bytes of a file, unpacked, are of this format
    read: Callable[[Path, Sequence[Path]], Imported]  # the file, and companions such as a list of nodes
    companions: str = ""  # which further files it takes; empty: none
    accompanies: Callable[[bytes], bool] | None = None  # whether first bytes are those of a companion
