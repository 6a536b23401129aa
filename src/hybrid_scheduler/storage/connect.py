"""Opens a database: reads its address, sets it up, and says what is wrong with it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.storage.errors import explain

_EXAMPLES = "write sqlite:///data/hms.db or postgresql://user:password@host/name"
_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",  # a commit survives the death of the process; power loss may undo the last ones
    "PRAGMA foreign_keys = ON",
)


def read_url(url: str) -> URL:
    """Read a database address; the driver may be left out, and the folder of a file is made."""
    try:
        parsed = make_url(url)
    except ArgumentError:  # not quoted: it may hold a password
        raise InputError(f"the address of the database cannot be read: {_EXAMPLES}") from None
    backend = parsed.get_backend_name()
    if backend not in _DRIVERS:
        raise unknown_name("database", backend, set(_DRIVERS), _EXAMPLES)
    if backend == "sqlite":
        _prepare_folder(parsed.database)
    return parsed.set(drivername=_DRIVERS[backend])


def _prepare_folder(database: str | None) -> None:
    if not database or database == ":memory:":
        raise InputError("SQLite in memory forgets everything: name a file, as in sqlite:///data/hms.db")
    folder = Path(database.removeprefix("file:")).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder} ({error.strerror}): choose another database") from None


def shown(url: URL) -> str:
    """Return an address as people read it: the file, or the server without the password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def prepare(url: URL, patience: float) -> None:
    """Open a file once and let readers never wait for the writer from now on; may take `patience` seconds.

    This also meets whatever keeps a file from being opened, after which aiosqlite would leave a thread behind.
    """
    if url.get_backend_name() != "sqlite":
        return
    connection = sqlite3.connect(str(url.database), uri="uri" in url.query)
    try:
        _switch_to_wal(connection, time.monotonic() + patience)
    finally:
        connection.close()


def _switch_to_wal(connection: sqlite3.Connection, end: float) -> None:
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:  # for this, SQLite itself does not wait for a lock
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


def connect(url: URL, patience: float) -> AsyncEngine:
    """Make the pool of connections; `patience` is how many seconds a lock or a connection is waited for."""
    options: dict[str, Any] = {"json_serializer": to_json, "json_deserializer": orjson.loads}
    if url.get_backend_name() == "sqlite":
        engine = create_async_engine(url, connect_args={"timeout": patience}, **options)
        event.listen(engine.sync_engine, "connect", _set_up_sqlite)
        return engine
    arguments = {"timeout": patience, "command_timeout": max(30.0, patience)}
    try:
        return create_async_engine(url, pool_pre_ping=True, connect_args=arguments, **options)
    except ModuleNotFoundError:
        raise InputError("PostgreSQL needs asyncpg: pip install 'hybrid-ml-scheduler[postgres]'") from None


def _set_up_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def to_json(value: object) -> str:
    """Write JSON as the columns hold it; NumPy's numbers and arrays are welcome."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS).decode()


@contextmanager
def troubles(where: str) -> Iterator[None]:
    """Turn what SQLAlchemy and the drivers raise inside the block into errors for people."""
    expected: tuple[type[Exception], ...] = (
        SQLAlchemyError,
        sqlite3.Error,
        OSError,
        OverflowError,
        *_driver_errors(),
    )
    try:
        yield
    except expected as error:
        raise explain(error, where) from error


def _driver_errors() -> tuple[type[Exception], ...]:
    """Return what asyncpg raises past SQLAlchemy during COPY; nothing where it is not installed."""
    try:
        import asyncpg
    except ModuleNotFoundError:
        return ()
    return (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
