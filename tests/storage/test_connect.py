"""A database that cannot be used is answered with one line that says what to do."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.store import Store
from services import Postgres
from stored import batch_of, new_run

pytestmark = pytest.mark.asyncio


async def refusal(url: str, kind: type[SchedulerError] = StorageError) -> str:
    with pytest.raises(kind) as raised:
        await Store.open(url, patience=0.2)
    message = str(raised.value)
    assert "\n" not in message
    return message


async def test_the_folder_of_a_file_is_made(tmp_path: Path) -> None:
    store = await Store.open(f"sqlite:///{tmp_path}/a/b/hms.db")
    await store.close()
    assert (tmp_path / "a" / "b" / "hms.db").is_file()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot make the folder" in await refusal(f"sqlite:///{tmp_path}/file/hms.db", InputError)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
async def test_a_database_in_memory_is_refused(url: str) -> None:
    assert "name a file" in await refusal(url, InputError)


async def test_an_address_that_cannot_be_read_is_not_repeated(tmp_path: Path) -> None:
    message = await refusal("me:secret@localhost", InputError)
    assert "secret" not in message
    assert "postgresql://user:password@host/name" in message


async def test_an_unknown_kind_of_database_is_answered_with_the_known_ones() -> None:
    assert "known: postgres, postgresql, sqlite" in await refusal("mysql://localhost/hms", UnknownNameError)


async def test_a_missing_driver_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    assert "pip install 'hybrid-ml-scheduler[postgres]'" in await refusal("postgresql://localhost/hms", InputError)


async def test_sqlite_needs_no_driver_of_postgresql(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    store = await Store.open(f"sqlite:///{tmp_path}/hms.db")
    run_id = await new_run(store)
    await store.write(batch_of(run_id, 0, 3))
    assert await store.last_task(run_id) == 2
    await store.close()


async def test_an_unreachable_server_is_named_without_its_password() -> None:
    message = await refusal("postgresql://me:secret@127.0.0.1:1/hms")
    assert "cannot be reached" in message
    assert "127.0.0.1:1/hms" in message
    assert "secret" not in message


async def test_a_database_that_does_not_exist_is_named(postgres: Postgres) -> None:
    assert "does not exist: create it with createdb" in await refusal(postgres.url("nowhere"))


async def test_an_unknown_user_is_told_to_check(postgres: Postgres) -> None:
    assert "check user and password" in await refusal(postgres.url().replace("postgres@", "stranger@"))


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    assert "is no SQLite database" in await refusal(f"sqlite:///{tmp_path}/notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "not a database " * 100


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert "cannot be opened" in await refusal(f"sqlite:///{tmp_path}")


async def test_a_read_only_file_is_named(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "hms.db").close()
    (tmp_path / "hms.db").touch()
    assert "is read-only" in await refusal(f"sqlite:///file:{tmp_path}/hms.db?mode=ro&uri=true")


async def test_a_locked_file_is_named(sqlite_store: Store, tmp_path: Path) -> None:
    run_id = await new_run(sqlite_store)
    other = sqlite3.connect(tmp_path / "hms.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="is locked by another program"):
        await sqlite_store.write(batch_of(run_id, 0, 1))
    assert "is locked by another program" in await refusal(f"sqlite:///{tmp_path}/hms.db")
    other.execute("ROLLBACK")
    other.close()
    await sqlite_store.write(batch_of(run_id, 0, 1))


async def test_sqlite_is_set_up_for_a_writer_among_readers(sqlite_store: Store) -> None:
    async with sqlite_store.engine.connect() as connection:
        found = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert found == ["wal", 1, 1]
