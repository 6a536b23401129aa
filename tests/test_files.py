"""A file or folder appears whole or not at all, and nothing else is left behind."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from helpers_cli import files_in
from hybrid_scheduler import files
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write, new_directory, read_document, sha256

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class PowerError(Exception):
    """Stands for whatever may interrupt a program."""


def _begin(context: AbstractContextManager[Path], then: Callable[[], object] = lambda: None) -> None:
    """Write something into what is handed out, then let something happen."""
    with context as scratch:
        (scratch / "one.txt" if scratch.is_dir() else scratch).write_text("new", encoding="utf-8")
        then()


def _interrupt(context: AbstractContextManager[Path], error: Exception) -> None:
    def fail() -> None:
        raise error

    _begin(context, fail)


# --- files ---------------------------------------------------------------------------------------------------


def test_a_file_appears_only_when_the_block_has_ended(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b.csv"
    with atomic_write(target) as scratch:
        scratch.write_text("new", encoding="utf-8")
        assert not target.exists()
        assert scratch.parent == target.parent
        assert scratch.suffix == ".csv"
    assert files_in(tmp_path) == {"a/": b"", "a/b.csv": b"new"}


def test_a_new_file_replaces_an_old_one_and_can_be_read_by_others(tmp_path: Path) -> None:
    target = tmp_path / "old.csv"
    target.write_text("old", encoding="utf-8")
    _begin(atomic_write(target))
    assert files_in(tmp_path) == {"old.csv": b"new"}
    assert target.stat().st_mode & 0o777 == 0o644


def test_a_block_that_fails_leaves_the_old_file_and_no_scratch(tmp_path: Path) -> None:
    target = tmp_path / "old.csv"
    target.write_text("old", encoding="utf-8")
    with pytest.raises(PowerError):
        _interrupt(atomic_write(target), PowerError())
    assert files_in(tmp_path) == {"old.csv": b"old"}


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "old.csv"
    target.write_text("old", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot write .*old\.csv \(No space left on device\): free space"):
        _interrupt(atomic_write(target), FULL)
    assert files_in(tmp_path) == {"old.csv": b"old"}


def test_a_folder_cannot_be_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*folder \(Is a directory\)"):
        _begin(atomic_write(tmp_path / "folder"))
    assert files_in(tmp_path) == {"folder/": b""}


def test_a_file_below_a_file_cannot_be_written_and_the_block_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot write .*: choose another path"):
        _interrupt(atomic_write(tmp_path / "file" / "inside.csv"), PowerError())
    assert files_in(tmp_path) == {"file": b"x"}


# --- folders -------------------------------------------------------------------------------------------------


def test_a_folder_appears_only_when_the_block_has_ended(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "run"
    with new_directory(target) as scratch:
        (scratch / "one.txt").write_text("1", encoding="utf-8")
        assert not target.exists()
    assert files_in(tmp_path) == {"deep/": b"", "deep/run/": b"", "deep/run/one.txt": b"1"}
    assert target.stat().st_mode & 0o777 == 0o755


def test_a_block_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(PowerError):
        _interrupt(new_directory(tmp_path / "run"), PowerError())
    assert files_in(tmp_path) == {}


def test_a_full_disk_while_a_folder_is_filled_is_one_sentence_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*run \(No space left on device\)"):
        _interrupt(new_directory(tmp_path / "run"), FULL)
    assert files_in(tmp_path) == {}


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    _begin(new_directory(tmp_path / "run"))
    assert files_in(tmp_path) == {"run/": b"", "run/one.txt": b"new"}


@pytest.mark.parametrize("kind", ["a full folder", "a file"])
def test_what_exists_is_never_replaced_by_a_folder_and_the_block_does_not_run(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "run"
    if kind == "a file":
        target.write_text("old", encoding="utf-8")
    else:
        target.mkdir()
        (target / "old.txt").write_text("old", encoding="utf-8")
    before = files_in(tmp_path)
    with pytest.raises(InputError, match="exists and is not empty: choose another folder"):
        _interrupt(new_directory(target), PowerError())
    assert files_in(tmp_path) == before


def test_a_folder_that_someone_else_fills_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "run"

    def someone_else() -> None:
        target.mkdir()
        (target / "theirs.txt").write_text("theirs", encoding="utf-8")

    with pytest.raises(InputError, match=r"run.* not empty"):
        _begin(new_directory(target), someone_else)
    assert files_in(tmp_path) == {"run/": b"", "run/theirs.txt": b"theirs"}


def test_a_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 1000)
    assert sha256(tmp_path / "bytes") == hashlib.sha256(bytes(range(256)) * 1000).hexdigest()


def test_what_has_no_end_or_is_far_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("short", encoding="utf-8")
    assert read_document(tmp_path / "text") == "short"
    monkeypatch.setattr(files, "MAX_DOCUMENT", 4)
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("text", "File too large"), ("pipe", "pipe or a device"), ("/dev/zero", "pipe or a device")):
        with pytest.raises(OSError, match=why):
            read_document(tmp_path / name)
