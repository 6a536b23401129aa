"""Backup and restore of a database in one file: by SQLite's online backup, or pg_dump and pg_restore."""

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
from hybrid_scheduler.storage.database import ClaimedError, StorageError, describe_url, parse_url, translate_errors
from hybrid_scheduler.storage.store import Store

_CLAIM_SECONDS = 1.0  # for which the simulation is claimed, to check that no server runs it
_UNOWNED = ("--no-owner", "--no-privileges")
_SQLITE_HEADER = b"SQLite format 3\x00"


def backup(address: str, copy: Path) -> None:
    """Copy a database to a new file, consistently, while servers keep using it."""
    if copy.exists():
        raise InputError(f"{copy} exists: name a new file, copies are never replaced")
    url = parse_url(address)
    partial = copy.with_name(f".{copy.name}.part")
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        if _is_sqlite(url):
            _copy_sqlite(url, partial)
        else:
            _run_client("pg_dump", url, ["--format=custom", *_UNOWNED, f"--file={partial}"])
        partial.rename(copy)
    except OSError as error:
        raise InputError(f"{copy} cannot be written ({error.strerror}): choose another place") from None
    finally:
        partial.unlink(missing_ok=True)


async def restore(address: str, copy: Path, replace: bool = False) -> None:
    """Replace a database by a copy, wholly or not at all; refused while a server runs its simulation."""
    if not copy.is_file():
        raise InputError(f"{copy} does not exist: name a file that hms backup wrote")
    url = parse_url(address)
    with copy.open("rb") as opened:
        is_sqlite = opened.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    if is_sqlite != _is_sqlite(url):
        kinds = ("SQLite", "PostgreSQL") if is_sqlite else ("PostgreSQL", "SQLite")
        raise InputError(
            f"{copy} is a copy of {kinds[0]}, the database is {kinds[1]}: name a database of the same kind"
        )
    if await _has_runs(url, address) and not replace:
        raise InputError(f"{describe_url(url)} holds runs: give --force to replace them, after a backup")
    if is_sqlite:
        _replace_sqlite(url, copy)
    else:
        options = ["--clean", "--if-exists", *_UNOWNED, "--single-transaction", "--exit-on-error"]
        _run_client("pg_restore", url, [*options, str(copy)])
    await (await Store.open(address)).close()  # migrates a copy of an older version


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


async def _has_runs(url: URL, address: str) -> bool:
    """Whether there are runs that would be lost; refused while a server runs the simulation."""
    if _is_sqlite(url) and not Path(str(url.database)).exists():
        return False
    store = await Store.open(address)
    try:
        await store.claim("hms restore", _CLAIM_SECONDS)
        await store.release("hms restore")
        return bool(await store.runs(limit=1))
    except ClaimedError as error:
        raise InputError(f"'{error.owner}' runs the simulation of this database: stop that server first") from None
    finally:
        await store.close()


def _copy_sqlite(url: URL, copy: Path) -> None:
    source = Path(str(url.database))
    if not source.is_file():
        raise InputError(f"{source} does not exist: there is nothing to copy")
    with (
        translate_errors(str(source)),
        closing(sqlite3.connect(source)) as live,
        closing(sqlite3.connect(copy)) as whole,
    ):
        live.backup(whole)
        whole.execute("PRAGMA journal_mode = DELETE")  # one file without a WAL
    _check_integrity(copy)


def _check_integrity(copy: Path) -> None:
    with translate_errors(str(copy)), closing(sqlite3.connect(copy)) as opened:
        verdict = opened.execute("PRAGMA integrity_check").fetchone()[0]
    if verdict != "ok":
        raise StorageError(f"the copy {copy} is damaged ({verdict}): take another one")


def _replace_sqlite(url: URL, copy: Path) -> None:
    _check_integrity(copy)
    target = Path(str(url.database))
    partial = target.with_name(f".{target.name}.part")
    shutil.copyfile(copy, partial)
    for ending in ("-wal", "-shm"):  # they belong to the old database and would corrupt the new one
        target.with_name(target.name + ending).unlink(missing_ok=True)
    partial.replace(target)


def _run_client(program: str, url: URL, options: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs; the password is passed in the environment, invisible to other users."""
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
            f"{program} failed on {describe_url(url)} ({lines[-1]}): nothing was changed, correct it and repeat"
        )
