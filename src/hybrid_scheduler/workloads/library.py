"""A folder of uploaded workloads: each appears whole or not at all, and is told apart by its SHA-256.

A workload is a folder of its own, with the file as it came (`tasks`) and what is known about it (`about.json`).
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.files import new_directory, sha256, written_apart
from hybrid_scheduler.workloads.formats import reader, unpack

UPLOAD = "upload:"
NAME = r"[a-z0-9][a-z0-9._-]{0,99}"
MOST_TASKS = 1_000_000
MOST_BYTES = 256 << 20  # unpacked
MOST_WORKLOADS = 200
LEFT_BEHIND = 3600.0  # seconds
FILE, ABOUT = "tasks", "about.json"
_NAME = re.compile(NAME)
_SPEC = re.compile(rf"{UPLOAD}({NAME})(?:@([0-9a-f]{{8}}))?")


def is_upload(spec: str) -> bool:
    """Whether a workload is an uploaded one rather than a preset."""
    return spec.startswith(UPLOAD)


def name_of(spec: str) -> str:
    """Return the name in `upload:NAME` or `upload:NAME@SHA8`."""
    return _parts(spec)[0]


def _parts(spec: str) -> tuple[str, str]:
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise InputError(
            f"'{spec[:120]}' names no uploaded workload: write upload:NAME, with a-z, 0-9, '.', '_', '-'"
        )
    return found[1], found[2] or ""


def check_name(name: str) -> None:
    """Refuse a name that could lead out of the folder, or that some file system does not take."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name[:120]}' cannot be the name of a workload: take up to 100 of a-z, 0-9, '.', '_', '-', "
            "the first of them a letter or a digit"
        )


@dataclass(frozen=True)
class Entry:
    """An uploaded workload: what is known without reading it again."""

    name: str
    format: str
    tasks: int
    bytes: int
    sha256: str
    uploaded_at: str  # ISO 8601, UTC
    duration: float  # seconds from the first arrival to the last
    dependencies: bool
    obstacle: str  # why no endless stream can be made of it; empty: one can

    @property
    def spec(self) -> str:
        """What settings and experiments call it."""
        return f"{UPLOAD}{self.name}"

    @property
    def pinned(self) -> str:
        """The same with the first digits of the SHA-256, so that another file of this name is noticed."""
        return f"{self.spec}@{self.sha256[:8]}"


class Library:
    """The folder; several processes of one machine may share it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._kept: tuple[str, Tasks] | None = None  # the file read last: a race turns to it again and again
        self._lock = threading.Lock()

    # --- writing -----------------------------------------------------------------------------------------------

    @contextmanager
    def receiving(self) -> Iterator[Path]:
        """Hand out a place for a file that arrives bit by bit; whatever is left there afterwards is deleted."""
        with written_apart(self.folder) as place:
            yield place

    def keep(self, name: str, file: Path) -> Entry:
        """Move a file into the library if it can be used."""
        with self.adding(name) as place:
            file.replace(place)
        return self.entry(name)

    @contextmanager
    def adding(self, name: str) -> Iterator[Path]:
        """Hand out where to write a new file; afterwards it is read, and kept only if it can be used."""
        self.require_room(name)
        with new_directory(self.folder / name) as scratch:
            place = scratch / FILE
            yield place
            about = _looked_at(name, place)
            (scratch / ABOUT).write_text(json.dumps(asdict(about), indent=2) + "\n", encoding="utf-8")

    def require_room(self, name: str) -> None:
        """Refuse a name that is taken, and a file more than the library takes."""
        check_name(name)
        if (self.folder / name).exists():
            raise SchedulerError(f"there is a workload '{name}' already: delete it first or choose another name")
        if len(self._names()) >= MOST_WORKLOADS:
            raise SchedulerError(f"there are {MOST_WORKLOADS} workloads already: delete one first")

    def remove(self, name: str) -> None:
        """Delete a workload; it is gone at once even if deleting its files takes longer."""
        gone = self.folder / f".{name}.{secrets.token_hex(4)}"
        try:
            (self.folder / self.entry(name).name).rename(gone)
        except OSError as error:
            raise InputError(f"workload '{name}' cannot be deleted ({error.strerror}): check the folder") from None
        shutil.rmtree(gone, ignore_errors=True)

    def sweep(self) -> None:
        """Delete what uploads have left that were killed half-way; one that goes on is younger than that."""
        hidden = self.folder.glob(".*") if self.folder.is_dir() else ()
        for each in hidden:
            with suppress(OSError):  # another process sweeps too
                if time.time() - each.stat().st_mtime > LEFT_BEHIND:
                    shutil.rmtree(each) if each.is_dir() else each.unlink()

    # --- looking -----------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        return sorted(each.name for each in self.folder.iterdir() if each.is_dir() and _NAME.fullmatch(each.name))

    def entries(self) -> tuple[list[Entry], list[str]]:
        """Return all workloads by name, and what is wrong with those that cannot be used."""
        found, problems = [], []
        for name in self._names():
            try:
                found.append(self.entry(name))
            except (InputError, UnknownNameError) as error:
                problems.append(str(error))
        return found, problems

    def entry(self, name: str) -> Entry:
        """Return what is known about a workload; `UnknownNameError` if there is none of this name."""
        check_name(name)
        about = self.folder / name / ABOUT
        try:
            return Entry(**json.loads(about.read_text(encoding="utf-8")))
        except FileNotFoundError:
            known = ", ".join(self._names()) or "none"
            raise UnknownNameError(
                f"there is no workload '{name}': uploaded are {known}; upload it with POST /api/workloads"
            ) from None
        except (OSError, ValueError, TypeError):
            raise InputError(f"{about} is torn: delete workload '{name}' and upload it again") from None

    def path(self, name: str) -> Path:
        """Return where the file of a workload is, as an absolute path."""
        return (self.folder / self.entry(name).name / FILE).resolve()

    # --- what a race needs -------------------------------------------------------------------------------------

    def resolve(self, spec: str) -> Entry:
        """Return the workload that `upload:NAME@SHA8` means; another file of this name is refused."""
        name, digits = _parts(spec)
        entry = self.entry(name)
        if not entry.sha256.startswith(digits):
            raise InputError(
                f"workload '{name}' is not the file of this run (SHA-256 {entry.sha256[:8]}…, expected {digits}…): "
                "upload that file again"
            )
        return entry

    def tasks(self, spec: str) -> Tasks:
        """Return the tasks of a workload in order of the file."""
        entry = self.resolve(spec)
        with self._lock:
            if self._kept is None or self._kept[0] != entry.sha256:
                self._kept = entry.sha256, self._read(entry)
            return self._kept[1]

    def _read(self, entry: Entry) -> Tasks:
        path = self.folder / entry.name / FILE
        try:
            same = sha256(path) == entry.sha256
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): upload it again") from None
        if not same:
            raise InputError(f"{path} is not the file that was uploaded (its SHA-256 differs): upload it again")
        return reader.read(path)


def _looked_at(name: str, place: Path) -> Entry:
    """Read a new file; an error calls it by its name, not by where it lies for the moment."""
    try:
        form = reader.format_of(place)
        _refuse_long(form, place)
        tasks = reader.read(place)
    except InputError as error:
        raise InputError(str(error).replace(str(place), name)) from None
    if len(tasks) > MOST_TASKS:
        raise InputError(f"{name}: there are {len(tasks)} tasks, at most {MOST_TASKS} can be used: leave out some")
    return Entry(
        name=name,
        format=form,
        tasks=len(tasks),
        bytes=place.stat().st_size,
        sha256=sha256(place),
        uploaded_at=datetime.now(UTC).isoformat(),
        duration=float(np.ptp(tasks.arrival_time)),
        dependencies=tasks.has_edges,
        obstacle=obstacle(tasks),
    )


def _refuse_long(form: str, place: Path) -> None:
    """Count bytes and lines, unpacked, before a file is read: a million rows of Python objects take a gigabyte."""
    lines, size = 0, 0
    with unpack.opened(place) as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            lines, size = lines + block.count(b"\n"), size + len(block)
            if size > MOST_BYTES:
                raise InputError(f"{place}: it unpacks to more than {MOST_BYTES:,} bytes: leave out some tasks")
    if lines > MOST_TASKS + 1 and form != "parquet":
        raise InputError(f"{place}: there are {lines} lines, at most {MOST_TASKS} tasks can be used: leave out some")


def obstacle(tasks: Tasks) -> str:
    """Say why no endless stream can be made of tasks; empty if one can."""
    if tasks.has_edges:
        return "it has dependencies, which an endless stream has not: use it in an experiment"
    if tasks.measured and not {"cpu", "gpu"} & set(tasks.measured):
        given = ", ".join(f"time_{name}" for name in sorted(tasks.measured))
        return f"it has {given}, the cluster of the race time_cpu and time_gpu: rename the columns"
    if len(tasks) > 1 and not np.ptp(tasks.arrival_time) > 0:
        return "all its tasks arrive at once, so there are no gaps to stretch: give them arrival times"
    return ""
