"""The folder of a pipeline: phases write apart, finished results move into place, old ones are kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import written_apart
from hybrid_scheduler.pipeline.records import Record, digests, read_record

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
