"""The folder of a pipeline: results, records of finished phases, and what earlier runs left.

A record says what a phase was made from and what it wrote; a phase with an up-to-date record is not run again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write, scratch_file, sha256

SCHEMA = 1
KIND = "pipeline_phase"
RECORDS, EARLIER = "data/pipeline", "data/earlier"


@dataclass(frozen=True)
class Inputs:
    """Everything that the results of a phase depend on."""

    options: dict[str, Any]
    files: dict[str, str]  # SHA-256 by path
    version: str = __version__

    def differs(self, before: Inputs) -> str:
        """Return what has changed since `before`; empty if nothing has."""
        for name, value in self.options.items():
            was = before.options.get(name)
            if value != was:
                return f"{name} is {_short(value)}, was {_short(was)}"
        for name, digest in self.files.items():
            if digest != before.files.get(name):
                return f"{name} is another one"
        if self.files.keys() != before.files.keys() or self.options.keys() != before.options.keys():
            return "its options or inputs are others"
        return "" if self.version == before.version else f"version {before.version} made it, this is {self.version}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True)
class Record:
    """One finished phase."""

    phase: str
    inputs: Inputs
    outputs: dict[str, str]  # SHA-256 by path below the pipeline's folder
    facts: dict[str, Any] = field(default_factory=dict)  # figures, the same for the same inputs
    measured: dict[str, Any] = field(default_factory=dict)  # wall times and other measurements

    def write(self, path: Path) -> None:
        """Write the record, whole or not at all."""
        document = {"kind": KIND, "schema": SCHEMA, **asdict(self)}
        with atomic_write(path) as scratch:
            scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _read_record(path: Path, phase: str) -> Record | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        raise _corrupt_record(path) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from None
    if not isinstance(data, dict) or data.get("kind") != KIND or not isinstance(data.get("schema"), int):
        raise _corrupt_record(path)
    if data["schema"] > SCHEMA:
        raise InputError(
            f"{path} was written by a newer version (schema {data['schema']}, known {SCHEMA}): upgrade, or choose "
            "another --out"
        )
    try:
        return _parse_record(data, phase)
    except (KeyError, TypeError, ValueError):
        raise _corrupt_record(path) from None


def _parse_record(data: dict[str, Any], phase: str) -> Record:
    if data["phase"] != phase:
        raise ValueError(phase)
    parts = {name: _require_mapping(data[name]) for name in ("outputs", "facts", "measured")}
    inputs = _require_mapping(data["inputs"])
    made = Inputs(_require_mapping(inputs["options"]), _require_mapping(inputs["files"]), str(inputs["version"]))
    return Record(phase, made, **parts)


def _require_mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _corrupt_record(path: Path) -> InputError:
    return InputError(f"{path} is torn or no record of a phase: remove it, and its phase is run again")


def hash_files(root: Path, places: tuple[str, ...]) -> dict[str, str]:
    """Return the SHA-256 of every file at or below these places of a folder, by path relative to the folder."""
    found: dict[str, str] = {}
    for place in places:
        path = root / place
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        found.update({each.relative_to(root).as_posix(): sha256(each) for each in files if each.is_file()})
    return found


class Workspace:
    """The files below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._earlier: Path | None = None

    def record_path(self, phase: str) -> Path:
        """Return the path of a phase's record."""
        return self.root / RECORDS / f"{phase}.json"

    def read_record(self, phase: str) -> Record | None:
        """Return the record of a phase, if it has one; one that cannot be trusted is an error."""
        return _read_record(self.record_path(phase), phase)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep a second pipeline out of the folder while a block runs; the folder must be writable."""
        folder = self.root / RECORDS
        with scratch_file(folder):
            pass
        with (folder / ".lock").open("w", encoding="utf-8") as file:
            if not _try_lock(file.fileno()):
                raise InputError(f"another pipeline is at work in {self.root}: wait for it, or choose another --out")
            yield

    @contextmanager
    def scratch(self, phase: str) -> Iterator[Path]:
        """Yield an empty folder for a phase to write to; leftovers of an interruption are removed."""
        folder = self.root / RECORDS / f".{phase}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"cannot write {folder} ({error.strerror}): choose another --out") from None
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, phase: str, made: Path, places: tuple[str, ...], force: bool) -> list[str]:
        """Move a phase's results into place; return lines on where earlier results were moved to."""
        self.record_path(phase).unlink(missing_ok=True)  # from here on the phase is not finished
        moved = []
        for place in places:
            old, new = self.root / place, made / place
            if old.exists() or old.is_symlink():
                moved += self._make_room(place, new, force)
            if new.exists():
                self._move(new, old)
        return moved

    def _make_room(self, place: str, new: Path, force: bool) -> list[str]:
        old = self.root / place
        same = new.exists() and _hash_tree(old) == _hash_tree(new)
        if not (force or same):
            there = self._archive() / place
            self._move(old, there)
            return [f"{place} of before is now {there.relative_to(self.root).as_posix()}"]
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
        return []

    def _archive(self) -> Path:
        """Return the folder to which this run moves earlier results."""
        if self._earlier is None:
            folder = self.root / EARLIER
            numbers = [int(each.name) for each in folder.glob("*") if each.name.isdecimal()]
            self._earlier = folder / str(max(numbers, default=0) + 1)
        return self._earlier

    def _move(self, source: Path, target: Path) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)
        except OSError as error:
            raise InputError(f"cannot write {target} ({error.strerror}): check its rights and free space") from None


def _hash_tree(path: Path) -> dict[str, str]:
    return hash_files(path, ("",)) if path.is_dir() else {"": sha256(path)} if path.is_file() else {}


def _try_lock(handle: int) -> bool:
    """Take the lock of a file, which the system releases when the process ends."""
    if os.name != "posix":
        return True  # no such lock elsewhere: the user must not start two pipelines in one folder
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
