"""Opens databases: addresses, connections, migrations, and driver errors translated into one line for people."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name


class StorageError(SchedulerError):
    """The database cannot be used now; the same call may succeed later."""


class RefusedError(StorageError):
    """The database works but will never accept these rows."""


class DuplicateError(RefusedError):
    """A row with this key exists already."""


class ClaimedError(StorageError):
    """Another server runs the simulation of this database."""

    def __init__(self, owner: str, seconds_left: float) -> None:
        self.owner = owner
        self.seconds_left = seconds_left
        super().__init__(
            f"the simulation of this database is run by '{owner}': stop it there, choose another database, "
            f"or wait (its claim ends in {max(seconds_left, 0.0):.0f} s unless renewed)"
        )


_EXAMPLES = "write sqlite:///data/hms.db or postgresql://user:password@host/name"
_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}


def parse_url(url: str) -> URL:
    """Parse a database address; the driver may be left out, and the folder of a file is created."""
    try:
        parsed = make_url(url)
    except ArgumentError:  # not quoted: it may hold a password
        raise InputError(f"the address of the database cannot be read: {_EXAMPLES}") from None
    backend = parsed.get_backend_name()
    if backend not in _DRIVERS:
        raise unknown_name("database", backend, set(_DRIVERS), _EXAMPLES)
    if backend == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise InputError("SQLite in memory forgets everything: name a file, as in sqlite:///data/hms.db")
        folder = Path(parsed.database.removeprefix("file:")).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder} ({error.strerror}): choose another database") from None
    return parsed.set(drivername=_DRIVERS[backend])


def describe_url(url: URL) -> str:
    """Return an address for people: the file, or the server without the password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def prepare_file(url: URL, patience: float) -> None:
    """Open a SQLite file once and switch it to WAL, so that readers never wait for the writer.

    A file that cannot be opened fails here; in aiosqlite it would leave a thread behind.
    """
    if url.get_backend_name() != "sqlite":
        return
    end = time.monotonic() + patience
    with closing(sqlite3.connect(str(url.database), uri="uri" in url.query)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file: what is deleted can be given back
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:  # for this, SQLite itself does not wait for a lock
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > end:
                    raise
                time.sleep(0.02)


def check_file(url: URL) -> str:
    """Return the first damage that SQLite finds in a file, empty if it finds none."""
    with closing(sqlite3.connect(str(url.database), uri="uri" in url.query)) as connection:
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    lines = [line for line in found.splitlines() if not line.startswith("***")]  # a heading
    return "" if found == "ok" else lines[0] if lines else found


def connect(url: URL, patience: float) -> AsyncEngine:
    """Create the connection pool; a lock or a connection is waited for `patience` seconds."""
    options: dict[str, Any] = {"json_serializer": to_json, "json_deserializer": orjson.loads}
    if url.get_backend_name() == "sqlite":
        engine = create_async_engine(url, connect_args={"timeout": patience}, **options)

        @event.listens_for(engine.sync_engine, "connect")
        def set_up(connection: Any, _record: object) -> None:
            cursor = connection.cursor()
            # A commit survives the death of the process; power loss may undo the last ones.
            cursor.execute("PRAGMA synchronous = NORMAL")
            cursor.execute("PRAGMA foreign_keys = ON")
            cursor.close()

        return engine
    arguments = {"timeout": patience, "command_timeout": max(30.0, patience)}
    try:
        return create_async_engine(url, pool_pre_ping=True, connect_args=arguments, **options)
    except ModuleNotFoundError:
        raise InputError("PostgreSQL needs asyncpg: pip install 'hybrid-ml-scheduler[postgres]'") from None


@asynccontextmanager
async def open_connection(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Take a connection; a new one is made to the end if cancelled meanwhile, and closed again.

    Cut off while it connects, aiosqlite would leave a thread that answers an event loop which may be closed by then.
    """
    if isinstance(engine.pool, QueuePool) and engine.pool.checkedin():  # that one is open
        async with engine.connect() as connection:
            yield connection
        return
    connection = engine.connect()
    connecting = asyncio.ensure_future(connection.start())
    try:
        await asyncio.shield(connecting)
    except asyncio.CancelledError:
        while not connecting.done():
            with suppress(asyncio.CancelledError):  # once more: raised below
                await asyncio.wait([connecting])
        if connecting.exception() is None:
            await connection.close()
        raise
    async with AsyncExitStack() as stack:
        stack.push_async_exit(connection)
        yield connection


def to_json(value: object) -> str:
    """Return JSON for a column; NumPy numbers and arrays are allowed."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS).decode()


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Translate what SQLAlchemy and the drivers raise inside the block into `StorageError`."""
    expected: tuple[type[Exception], ...] = (SQLAlchemyError, sqlite3.Error, OSError, OverflowError, *_copy_errors())
    try:
        yield
    except expected as error:
        raise translate_error(error, where) from error


def _copy_errors() -> tuple[type[Exception], ...]:
    """Return what asyncpg raises past SQLAlchemy during COPY; nothing if it is not installed."""
    try:
        import asyncpg
    except ModuleNotFoundError:
        return ()
    return (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


FULL_BYTES = 200_000  # left on a disk that is as good as full: SQLite's shared index takes 32 kB, a page of it 4
_FULL = (
    "the disk of the database {where} is full: free some space there, then hms prune --bytes 1GB deletes old runs "
    "and gives theirs back"
)
_SQLITE = {
    "READONLY": "the database {where} is read-only: make the file and its folder writable or choose another database",
    "FULL": _FULL,
    "BUSY": "the database {where} is locked by another program: close that program or choose another database",
    "LOCKED": "the database {where} is locked by another program: close that program or choose another database",
    "NOTADB": "{where} is no SQLite database: choose another file or remove this one",
    "CORRUPT": "the database {where} is damaged: restore a copy with hms restore, or remove the file",
    "CANTOPEN": "the database {where} cannot be opened: check that its folder exists and is writable",
    "IOERR": "the disk of the database {where} does not answer properly: check it",
}
_POSTGRES = {
    "08": "the database {where} broke off the connection: check that it runs",
    "28": "the database {where} does not let this user in: check user and password",
    "3D": "the database {where} does not exist: create it with createdb",
    "25006": "the database {where} is read-only: use the primary server",
    "42501": "the user of {where} may not do this: grant it the rights on schema public",
    "53100": _FULL,
    "53300": "the database {where} has no free connection: raise its max_connections",
    "57": "the database {where} is starting or stopping: wait for it",
}
_UNREACHABLE = "the database {where} cannot be reached ({why}): start it or correct the address"
_DUPLICATE = "23505"
_REFUSED = ("22", "23")  # PostgreSQL's classes of wrong data and of broken constraints


def translate_error(error: BaseException, where: str) -> StorageError:
    """Return a `StorageError` for what a driver raised; `where` is the address without its password."""
    chain = [error]  # and its causes down to the root; SQLAlchemy keeps the driver's error in `orig`
    while cause := getattr(chain[-1], "orig", None) or chain[-1].__cause__:
        chain.append(cause)
    for each in chain:
        name = getattr(each, "sqlite_errorname", "").split("_")[1:2]
        code = str(getattr(each, "sqlstate", None) or getattr(each, "pgcode", None) or "")
        if name == ["CONSTRAINT"] or code.startswith(_REFUSED):
            kind = DuplicateError if code == _DUPLICATE else RefusedError
            return kind(f"the database {where} refuses rows ({_line(each)}): store their tasks first")
        if name and name[0] in ("IOERR", "CANTOPEN") and _is_full(where):  # SQLite often says no more than that
            name = ["FULL"]
        sentence = _SQLITE.get("".join(name)) or next((s for c, s in _POSTGRES.items() if code.startswith(c)), None)
        if sentence:
            return StorageError(sentence.format(where=where))
    root = chain[-1]
    if isinstance(root, OSError):  # a refused or timed-out connection, an unknown host
        return StorageError(_UNREACHABLE.format(where=where, why=_line(root)))
    if any(isinstance(each, OverflowError | ValueError) or type(each).__name__ == "DataError" for each in chain):
        return RefusedError(f"the database {where} refuses rows ({_line(root)}): correct their values")
    return StorageError(f"the database {where} failed ({_line(root)}): check that it runs")


def _is_full(file: str) -> bool:
    try:
        return shutil.disk_usage(Path(file.removeprefix("file:")).parent).free < FULL_BYTES
    except OSError:
        return False


def _line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


_LOCK = 0x686D7331  # "hms1": the key of our advisory lock


async def take_lock(connection: AsyncConnection) -> None:
    """Wait until no other server is in a locked transaction; taken before anything is read, held until the commit."""
    is_postgres = connection.dialect.name == "postgresql"
    await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})" if is_postgres else "BEGIN IMMEDIATE")


async def open_engine(url: str, patience: float) -> AsyncEngine:
    """Connect, and migrate the database to this version's tables; of two servers that start together, one waits."""
    engine = connect(parse_url(url), patience)
    try:
        with translate_errors(describe_url(engine.url)):
            await asyncio.to_thread(prepare_file, engine.url, patience)
            async with engine.connect() as connection:
                await take_lock(connection)
                await connection.run_sync(_migrate)
                await connection.commit()
    except BaseException:
        await engine.dispose()
        raise
    return engine


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    current = MigrationContext.configure(connection).get_current_heads()
    if unknown := sorted(set(current) - known):
        raise StorageError(
            f"the database was made by a newer version (revision {unknown[0]}, this one knows up to {max(known)}): "
            "upgrade hybrid-ml-scheduler or choose another database"
        )
    if max(known) not in current:
        command.upgrade(config, "head")
