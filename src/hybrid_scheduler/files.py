"""Atomic writes of files and folders, checks before the work whose results they shall hold, and limits of reading."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybrid_scheduler.errors import InputError

MAX_DOCUMENT = 256 << 20  # bytes of a file that is read whole; people write thousands


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` if the block succeeds; creates missing folders."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as error:
        raise InputError(f"cannot write {target} ({error.strerror}): choose another path") from None
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        scratch.chmod(0o644)
        scratch.replace(target)
    except OSError as error:
        raise InputError(
            f"cannot write {target} ({error.strerror or error}): free space or choose another path"
        ) from None
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def scratch_file(folder: str | Path) -> Iterator[Path]:
    """Yield a hidden file that is deleted after the block, in a folder that is created if it is missing."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".new.")
    except OSError as error:
        raise InputError(f"cannot write to {folder} ({error.strerror}): choose another folder") from None
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def new_directory(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` if the block succeeds; never replaces results."""
    target = Path(path)
    require_new(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise InputError(f"cannot write {target} ({error.strerror}): choose another folder") from None
    try:
        yield scratch
        scratch.chmod(0o755)
        scratch.replace(target)
    except OSError as error:
        raise InputError(
            f"cannot write {target} ({error.strerror or error}): free space or choose another folder"
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def require_new(path: str | Path) -> None:
    """Raise an error if a folder is not empty."""
    target = Path(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists and is not empty: choose another folder or remove it first")


def require_absent(path: str | Path) -> None:
    """Raise an error if a file exists or cannot be written."""
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} exists: choose another path or remove it first")
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InputError(f"cannot write {target} ({above} is no folder that can be written): choose another path")


def read_document(path: str | Path) -> str:
    """Return the text of a file; `OSError` for what may have no end, as pipes and devices, or is far too large."""
    found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device", str(path))
    if found.st_size > MAX_DOCUMENT:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return Path(path).read_text(encoding="utf-8")


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
