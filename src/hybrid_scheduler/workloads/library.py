"""The library of uploaded workloads: a folder in which each appears completely or not at all.

A workload is a folder of its own, with the file as it was uploaded (`tasks`) and its description (`about.json`).
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.files import new_directory, scratch_file, sha256
from hybrid_scheduler.workloads.formats import reader, unpack

UPLOAD = "upload:"
NAME = r"[a-z0-9][a-z0-9._-]{0,99}"
MAX_TASKS = 1_000_000
MAX_BYTES = 256 << 20  # unpacked
MAX_WORKLOADS = 200
STALE_AFTER = 3600.0  # seconds
FILE, ABOUT = "tasks", "about.json"
_NAME = re.compile(NAME)
_SPEC = re.compile(rf"{UPLOAD}({NAME})(?:@([0-9a-f]{{8}}))?")


def is_upload(spec: str) -> bool:
    """Whether a workload is an uploaded file rather than a preset."""
    return spec.startswith(UPLOAD)


def parse_name(spec: str) -> str:
    """Return the name in `upload:NAME` or `upload:NAME@SHA8`."""
    return _parse_spec(spec)[0]


def _parse_spec(spec: str) -> tuple[str, str]:
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise InputError(
            f"'{spec[:120]}' names no uploaded workload: write upload:NAME, with a-z, 0-9, '.', '_', '-'"
        )
    return found[1], found[2] or ""


def check_name(name: str) -> None:
    """Refuse a name that could lead out of the folder, or that some file systems do not allow."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name[:120]}' cannot be the name of a workload: take up to 100 of a-z, 0-9, '.', '_', '-', "
            "the first of them a letter or a digit"
        )


@dataclass(frozen=True)
class Entry:
    """The description of an uploaded workload."""

    name: str
    format: str
    tasks: int
    bytes: int
    sha256: str
    uploaded_at: str  # ISO 8601, UTC
    duration: float  # seconds from the first arrival to the last
    dependencies: bool
    obstacle: str  # why it cannot be replayed endlessly; empty: it can

    @property
    def spec(self) -> str:
        """Its name in settings and experiments."""
        return f"{UPLOAD}{self.name}"

    @property
    def pinned_spec(self) -> str:
        """The same with the first digits of the SHA-256, so that another file of this name is detected."""
        return f"{self.spec}@{self.sha256[:8]}"


class Library:
    """The folder; several processes of one machine may share it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._cache: tuple[str, Tasks] | None = None  # the file read last, which a race reads again and again
        self._lock = threading.Lock()

    def receive(self) -> AbstractContextManager[Path]:
        """Provide a path for a file that is being uploaded; what is left there afterwards is deleted."""
        return scratch_file(self.folder)

    def keep(self, name: str, file: Path) -> Entry:
        """Move a file into the library, if it is valid."""
        with self.add(name) as place:
            file.replace(place)
        return self.entry(name)

    @contextmanager
    def add(self, name: str) -> Iterator[Path]:
        """Provide a path to write a new file to; it is read afterwards, and kept only if it is valid."""
        self.require_room(name)
        with new_directory(self.folder / name) as scratch:
            place = scratch / FILE
            yield place
            about = _describe(name, place)
            (scratch / ABOUT).write_text(json.dumps(asdict(about), indent=2) + "\n", encoding="utf-8")

    def require_room(self, name: str) -> None:
        """Refuse a name that is taken, and more files than the library may hold."""
        check_name(name)
        if (self.folder / name).exists():
            raise SchedulerError(f"there is a workload '{name}' already: delete it first or choose another name")
        if len(self._names()) >= MAX_WORKLOADS:
            raise SchedulerError(f"there are {MAX_WORKLOADS} workloads already: delete one first")

    def remove(self, name: str) -> None:
        """Delete a workload; it disappears at once, even if deleting its files takes longer."""
        gone = self.folder / f".{name}.{secrets.token_hex(4)}"
        try:
            (self.folder / self.entry(name).name).rename(gone)
        except OSError as error:
            raise InputError(f"workload '{name}' cannot be deleted ({error.strerror}): check the folder") from None
        shutil.rmtree(gone, ignore_errors=True)

    def sweep(self) -> None:
        """Delete the remains of uploads that were killed; one that is under way is younger than that."""
        for each in self.folder.glob(".*"):
            with suppress(OSError):  # another process sweeps too
                if time.time() - each.stat().st_mtime > STALE_AFTER:
                    shutil.rmtree(each) if each.is_dir() else each.unlink()

    def _names(self) -> list[str]:
        return sorted(each.name for each in self.folder.glob("*") if each.is_dir() and _NAME.fullmatch(each.name))

    def entries(self) -> tuple[list[Entry], list[str]]:
        """Return all workloads by name, and the problems of those that cannot be used."""
        found, problems = [], []
        for name in self._names():
            try:
                found.append(self.entry(name))
            except (InputError, UnknownNameError) as error:
                problems.append(str(error))
        return found, problems

    def entry(self, name: str) -> Entry:
        """Return the description of a workload; `UnknownNameError` if there is none of this name."""
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
            raise InputError(f"{about} is damaged: delete workload '{name}' and upload it again") from None

    def path(self, name: str) -> Path:
        """Return the absolute path of a workload's file."""
        return (self.folder / self.entry(name).name / FILE).resolve()

    def resolve(self, spec: str) -> Entry:
        """Return the workload that `upload:NAME@SHA8` names; another file of this name is refused."""
        name, digits = _parse_spec(spec)
        entry = self.entry(name)
        if not entry.sha256.startswith(digits):
            raise InputError(
                f"workload '{name}' is not the file of this run (SHA-256 {entry.sha256[:8]}…, expected {digits}…): "
                "upload that file again"
            )
        return entry

    def tasks(self, spec: str) -> Tasks:
        """Return the tasks of a workload in the order of the file."""
        entry = self.resolve(spec)
        with self._lock:
            if self._cache is None or self._cache[0] != entry.sha256:
                path = self.folder / entry.name / FILE
                try:
                    same = sha256(path) == entry.sha256
                except OSError as error:
                    raise InputError(f"{path} cannot be read ({error.strerror}): upload it again") from None
                if not same:
                    raise InputError(
                        f"{path} is not the file that was uploaded (its SHA-256 differs): upload it again"
                    )
                self._cache = entry.sha256, reader.read(path)
            return self._cache[1]


def _describe(name: str, place: Path) -> Entry:
    """Read and describe a new file; errors name the workload instead of the temporary path."""
    try:
        form = reader.detect_format(place).name
        _require_size(form, place)
        tasks = reader.read(place)
    except InputError as error:
        raise InputError(str(error).replace(str(place), name)) from None
    if len(tasks) > MAX_TASKS:
        raise InputError(f"{name}: there are {len(tasks)} tasks, at most {MAX_TASKS} can be used: leave out some")
    return Entry(
        name=name,
        format=form,
        tasks=len(tasks),
        bytes=place.stat().st_size,
        sha256=sha256(place),
        uploaded_at=datetime.now(UTC).isoformat(),
        duration=float(np.ptp(tasks.arrival_time)),
        dependencies=tasks.has_edges,
        obstacle=find_obstacle(tasks),
    )


def _require_size(form: str, place: Path) -> None:
    """Refuse too many bytes or lines before a file is read: a million rows of Python objects take a gigabyte."""
    lines, size = 0, 0
    with unpack.open_unpacked(place) as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            lines, size = lines + block.count(b"\n"), size + len(block)
            if size > MAX_BYTES:
                raise InputError(f"{place}: it unpacks to more than {MAX_BYTES:,} bytes: leave out some tasks")
    if lines > MAX_TASKS + 1 and form != "parquet":
        raise InputError(f"{place}: there are {lines} lines, at most {MAX_TASKS} tasks can be used: leave out some")


def find_obstacle(tasks: Tasks) -> str:
    """Return why tasks cannot be replayed as an endless stream; empty if they can."""
    if tasks.has_edges:
        return "it has dependencies, which an endless stream has not: use it in an experiment"
    if tasks.measured and not {"cpu", "gpu"} & set(tasks.measured):
        given = ", ".join(f"time_{name}" for name in sorted(tasks.measured))
        return f"it has {given}, the cluster of the race time_cpu and time_gpu: rename the columns"
    if len(tasks) > 1 and not np.ptp(tasks.arrival_time) > 0:
        return "all its tasks arrive at once, so there are no gaps to stretch: give them arrival times"
    return ""
