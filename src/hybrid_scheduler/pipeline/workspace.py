"""A record says what a finished phase was made from and what it wrote; a phase that has one is not done again."""

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
from hybrid_scheduler.files import sha256, written_apart, written_whole

SCHEMA = 1
KIND = "pipeline_phase"


@dataclass(frozen=True)
class Inputs:
    """All that the results of a phase follow from."""

    options: dict[str, Any]
    files: dict[str, str]  # SHA-256 by path
    version: str = __version__

    def differs(self, before: Inputs) -> str:
        """Say what has changed since `before`; empty if nothing has."""
        for name, value in self.options.items():
            was = before.options.get(name)
            if value != was:
                return f"{name} is {_short(value)}, was {_short(was)}"
        for name, digest in self.files.items():
            if digest != before.files.get(name):
                return f"{name} is another one"
        if self.files.keys() != before.files.keys() or self.options.keys() != before.options.keys():
            return "it is made from something else"
        return "" if self.version == before.version else f"version {before.version} made it, this is {self.version}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True)
class Record:
    """One finished phase."""

    phase: str
    inputs: Inputs
    outputs: dict[str, str]  # SHA-256 of every file, by its path below the pipeline's folder
    facts: dict[str, Any] = field(default_factory=dict)  # what came of it, the same for the same inputs
    measured: dict[str, Any] = field(default_factory=dict)  # wall times and what else a clock has told

    def write(self, path: Path) -> None:
        """Write the record, whole or not at all."""
        document = {"kind": KIND, "schema": SCHEMA, **asdict(self)}
        with written_whole(path) as scratch:
            scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(path: Path, phase: str) -> Record | None:
    """Return a phase's record, None if there is none; one that cannot be trusted is an error."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        raise _torn(path) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from None
    if not isinstance(data, dict) or data.get("kind") != KIND or not isinstance(data.get("schema"), int):
        raise _torn(path)
    if data["schema"] > SCHEMA:
        raise InputError(
            f"{path} was written by a newer version (schema {data['schema']}, known {SCHEMA}): upgrade, or choose "
            "another --out"
        )
    try:
        return _built(data, phase)
    except (KeyError, TypeError, ValueError):
        raise _torn(path) from None


def _built(data: dict[str, Any], phase: str) -> Record:
    if data["phase"] != phase:
        raise ValueError(phase)
    parts = {name: _mapping(data[name]) for name in ("outputs", "facts", "measured")}
    inputs = _mapping(data["inputs"])
    made = Inputs(_mapping(inputs["options"]), _mapping(inputs["files"]), str(inputs["version"]))
    return Record(phase, made, **parts)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _torn(path: Path) -> InputError:
    return InputError(f"{path} is torn or no record of a phase: remove it, and its phase is done again")


def digests(root: Path, places: tuple[str, ...]) -> dict[str, str]:
    """Return the SHA-256 of every file at or below these places of a folder, by its path below the folder."""
    found: dict[str, str] = {}
    for place in places:
        path = root / place
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        found.update({each.relative_to(root).as_posix(): sha256(each) for each in files if each.is_file()})
    return found


RECORDS, EARLIER = "data/pipeline", "data/earlier"


class Workspace:
    """Places below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._earlier: Path | None = None

    def record_path(self, phase: str) -> Path:
        """Return where the record of a phase stands."""
        return self.root / RECORDS / f"{phase}.json"

    def record(self, phase: str) -> Record | None:
        """Return the record of a phase, if it has one."""
        return read_record(self.record_path(phase), phase)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep a second pipeline out of the folder while a block runs; an unwritable folder is told here."""
        folder = self.root / RECORDS
        with written_apart(folder):
            pass
        with (folder / ".lock").open("w", encoding="utf-8") as file:
            if not _locked(file.fileno()):
                raise InputError(f"another pipeline is at work in {self.root}: wait for it, or choose another --out")
            yield

    @contextmanager
    def scratch(self, phase: str) -> Iterator[Path]:
        """Hand out an empty folder in which a phase writes; what an interruption left there is thrown away."""
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
        """Move a phase's results into place and return what had to make room for them, with where it is now."""
        self.record_path(phase).unlink(missing_ok=True)  # from here on the phase is not finished
        kept = []
        for place in places:
            old, new = self.root / place, made / place
            if old.exists() or old.is_symlink():
                kept += self._make_room(place, new, force)
            if new.exists():
                self._move(new, old)
        return kept

    def _make_room(self, place: str, new: Path, force: bool) -> list[str]:
        old = self.root / place
        same = new.exists() and _tree(old) == _tree(new)
        if not (force or same):
            there = self._aside() / place
            self._move(old, there)
            return [f"{place} of before is now {there.relative_to(self.root).as_posix()}"]
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
        return []

    def _aside(self) -> Path:
        """Return the folder that takes what this run replaces."""
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


def _tree(path: Path) -> dict[str, str]:
    return digests(path, ("",)) if path.is_dir() else {"": digests(path.parent, (path.name,)).get(path.name, "")}


def _locked(handle: int) -> bool:
    """Take the lock of a file; it is let go of when the process ends, however that happens."""
    if os.name != "posix":
        return True  # no such lock there: two pipelines in one folder are the user's care
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
