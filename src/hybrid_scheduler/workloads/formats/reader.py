"""Trace formats: which there are, and how a file is read, recognised by its first bytes and never by its name."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.metrics import SLOWDOWN_FLOOR
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.registry import Entry, Registry
from hybrid_scheduler.workloads.formats import memory, unpack

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
    slowdown_floor: float = SLOWDOWN_FLOOR  # seconds that bounded slowdown takes an execution for at least

    @property
    def used(self) -> int:
        """How many rows became tasks."""
        return self.rows - sum(self.skipped.values())


@dataclass(frozen=True)
class ImportedJobs:
    """The contents of a file as jobs of a shared cluster, with all that they ask for."""

    jobs: Jobs
    rows: int
    skipped: Mapping[str, int] = field(default_factory=dict)  # rows that became no job, by reason
    machines: Machines | None = None


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
    read_jobs: Callable[[Path, Sequence[Path]], ImportedJobs] | None = None  # for shared clusters; None: no widths


NAMES = (
    *("parquet", "csv", "alibaba", "swf", "philly", "requests", "llm", "genai", "spot"),
    *("wfcommons", "etc", "kernels", "starpu", "starpu_models", "gavel"),
)
"""Built-in formats, each in the module of its name, in the order in which they are tried."""
FALLBACK = "csv"  # reads what no format recognises: its errors say what is wrong with the table

formats = Registry(
    "format",
    "hybrid_scheduler.formats",
    tuple(Entry(name, f"hybrid_scheduler.workloads.formats.{name}:FORMAT") for name in NAMES),
    hint="docs/formats.md says what each is",
)


def load_format(name: str) -> Format:
    """Return a format by name."""
    found: Format = formats.load(name)
    return found


def load_formats() -> list[Format]:
    """Return all formats, in the order in which they are tried."""
    return [load_format(name) for name in formats.table]


def sniff(path: str | Path) -> Format | None:
    """Return the first format that recognises the first bytes of a file, if any does."""
    head = unpack.read_head(path)
    return next((each for each in load_formats() if each.sniff(head)), None)


def detect_format(path: str | Path) -> Format:
    """Return the format of a file, CSV if no format recognises it; a companion of another file is refused."""
    form = sniff(path)
    if form is None:
        head = unpack.read_head(path)
        for each in load_formats():
            if each.accompanies and each.accompanies(head):
                raise InputError(f"{path} goes with a file of the format {each.name}: give that file too")
        if head.lstrip().startswith((b"{", b"[")):
            known = ", ".join(formats.table)
            raise InputError(f"{path} is JSON of no known kind, known are {known}: name one with --format")
    return form or load_format(FALLBACK)


def choose_format(paths: Sequence[str | Path], name: str = "") -> Format:
    """Return the one format of files that belong together: the named one, else the one that is recognised."""
    if not paths:
        raise InputError("there is no file to read: give the path of one")
    if name:
        return load_format(name)
    found = {each.name: (each, path) for path in paths if (each := sniff(path))}
    if len(found) > 1:
        listed = ", ".join(f"{path} is {name}" for name, (_, path) in found.items())
        raise InputError(f"{listed}: read files of different formats one after the other")
    return next(iter(found.values()))[0] if found else detect_format(paths[0])


def read_all(paths: Sequence[str | Path], name: str = "") -> Imported:
    """Read a file and its companions, such as pods and their list of nodes, given in any order."""
    form = choose_format(paths, name)
    main, companions = _find_main(paths, form)
    with _pause_garbage_collection(), memory.report_shortage(main), _overflow_quietly():
        return form.read(main, companions)


def read_jobs(paths: Sequence[str | Path], name: str = "") -> ImportedJobs:
    """Read jobs of a shared cluster with all that they ask for, and the machines if the files name some."""
    form = choose_format(paths, name)
    if form.read_jobs is None:
        known = ", ".join(each.name for each in load_formats() if each.read_jobs)
        raise InputError(f"{paths[0]}: files of the format {form.name} say nothing of width: give one of {known}")
    main, companions = _find_main(paths, form)
    with memory.report_shortage(main), _overflow_quietly():
        return form.read_jobs(main, companions)


def _find_main(paths: Sequence[str | Path], form: Format) -> tuple[Path, list[Path]]:
    """Tell the file with the work from those that belong to it."""
    if len(paths) > 1 and not form.companions:
        raise InputError(f"{paths[1]}: the format {form.name} takes one file: give {paths[0]} alone")
    files = [Path(path) for path in paths]
    main = next((each for each in files if len(files) > 1 and form.sniff(unpack.read_head(each))), files[0])
    return main, [each for each in files if each is not main]


def read(path: str | Path) -> Tasks:
    """Read the tasks of a file of any known format."""
    return read_all([path]).tasks


def _overflow_quietly() -> np.errstate:
    """Let numbers beyond all measure become infinite without a warning: the checks refuse them and name the line."""
    return np.errstate(over="ignore", divide="ignore", invalid="ignore")


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    # A JSON document is millions of objects without a cycle: it is read twice as fast without the collector.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
