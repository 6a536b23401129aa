"""Copies of a database in one file, and back: SQLite's own online copy, or pg_dump and pg_restore."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import URL

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.database import ClaimedError, StorageError, read_url, shown, troubles
from hybrid_scheduler.storage.store import Store

_CHECK = 1.0  # seconds for which the simulation is claimed to see that nobody runs it
_BESIDE = ("-wal", "-shm")  # files of SQLite that belong to the database they stand beside
_SQLITE_HEAD = b"SQLite format 3\x00"


def backup(address: str, copy: Path) -> None:
    """Copy a database to a new file, whole and as of one moment; whoever uses it need not stop."""
    if copy.exists():
        raise InputError(f"{copy} exists: name a new file, copies are never replaced")
    url = read_url(address)
    partial = copy.with_name(f".{copy.name}.part")
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(url, partial) if _in_file(url) else _dump(url, partial)
        partial.rename(copy)
    except OSError as error:
        raise InputError(f"{copy} cannot be written ({error.strerror}): choose another place") from None
    finally:
        partial.unlink(missing_ok=True)


async def restore(address: str, copy: Path, replace: bool = False) -> None:
    """Put a copy in the place of a database, wholly or not at all; refused while a server runs a race there."""
    if not copy.is_file():
        raise InputError(f"{copy} does not exist: name a file that hms backup wrote")
    url = read_url(address)
    with copy.open("rb") as opened:
        of_file = opened.read(len(_SQLITE_HEAD)) == _SQLITE_HEAD
    if of_file != _in_file(url):
        kinds = ("SQLite", "PostgreSQL") if of_file else ("PostgreSQL", "SQLite")
        raise InputError(
            f"{copy} is a copy of {kinds[0]}, the database is {kinds[1]}: name a database of the same kind"
        )
    if await _has_runs(url, address) and not replace:
        raise InputError(f"{shown(url)} holds runs: give --force to replace them, after a backup")
    _put_file(url, copy) if of_file else _load(url, copy)
    await (await Store.open(address)).close()  # a copy made by an older version is brought up to date


def _in_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


async def _has_runs(url: URL, address: str) -> bool:
    """Say whether there is anything to lose; refuse while a living server uses it."""
    if _in_file(url) and not Path(str(url.database)).exists():
        return False
    store = await Store.open(address)
    try:
        await store.claim("hms restore", _CHECK)
        await store.release("hms restore")
        return bool(await store.runs(limit=1))
    except ClaimedError as error:
        raise InputError(f"'{error.owner}' runs the simulation of this database: stop that server first") from None
    finally:
        await store.close()


# --- SQLite ------------------------------------------------------------------------------------------------------


def _copy_file(url: URL, copy: Path) -> None:
    source = Path(str(url.database))
    if not source.is_file():
        raise InputError(f"{source} does not exist: there is nothing to copy")
    with troubles(str(source)), closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(copy)) as whole:
        live.backup(whole)
        whole.execute("PRAGMA journal_mode = DELETE")  # one file, none beside it
    _require_sound(copy)


def _require_sound(copy: Path) -> None:
    with troubles(str(copy)), closing(sqlite3.connect(copy)) as opened:
        verdict = opened.execute("PRAGMA integrity_check").fetchone()[0]
    if verdict != "ok":
        raise StorageError(f"the copy {copy} is damaged ({verdict}): take another one")


def _put_file(url: URL, copy: Path) -> None:
    _require_sound(copy)
    target = Path(str(url.database))
    partial = target.with_name(f".{target.name}.part")
    shutil.copyfile(copy, partial)
    for ending in _BESIDE:  # of the database that goes; beside the new one they would spoil it
        target.with_name(target.name + ending).unlink(missing_ok=True)
    partial.replace(target)


# --- PostgreSQL --------------------------------------------------------------------------------------------------


def _dump(url: URL, copy: Path) -> None:
    _run("pg_dump", url, ["--format=custom", "--no-owner", "--no-privileges", f"--file={copy}"])


def _load(url: URL, copy: Path) -> None:
    options = ["--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
    _run("pg_restore", url, [*options, str(copy)])


def _run(program: str, url: URL, options: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs; the password goes through the environment, where others cannot see it."""
    found = shutil.which(program)
    if found is None:
        raise InputError(
            f"{program} is not installed: install PostgreSQL's client programs, of the server's version or newer"
        )
    place = [f"--host={url.host or 'localhost'}", f"--port={url.port or 5432}", f"--dbname={url.database}"]
    user = [f"--username={url.username}"] if url.username else []
    environment = {**os.environ, "PGPASSWORD": str(url.password)} if url.password else dict(os.environ)
    command = [found, *place, *user, "--no-password", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  # PostgreSQL's own program
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise StorageError(
            f"{program} failed on {shown(url)} ({lines[-1]}): nothing was changed, correct it and repeat"
        )
