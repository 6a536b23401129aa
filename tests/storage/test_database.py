"""Databases are opened, migrated to this version's tables, or refused with one line that says what to do."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from databases import run_apart
from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.storage import database
from hybrid_scheduler.storage.background import end_tasks
from hybrid_scheduler.storage.database import StorageError, translate_error
from hybrid_scheduler.storage.store import Store
from hybrid_scheduler.storage.tables import metadata
from services import Postgres
from stored import expected_keys, make_batch, new_run, stored_keys

pytestmark = pytest.mark.asyncio


# --- opening -------------------------------------------------------------------------------------------------------


async def refusal(url: str, kind: type[SchedulerError] = StorageError, patience: float = 120.0) -> str:
    with pytest.raises(kind) as raised:
        await Store.open(url, patience)
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
    await store.write(make_batch(run_id, 0, 3))
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
        await sqlite_store.write(make_batch(run_id, 0, 1))
    assert "is locked by another program" in await refusal(f"sqlite:///{tmp_path}/hms.db", patience=0.2)
    other.execute("ROLLBACK")
    other.close()
    await sqlite_store.write(make_batch(run_id, 0, 1))


async def test_sqlite_is_set_up_for_a_writer_among_readers(sqlite_store: Store) -> None:
    async with sqlite_store.engine.connect() as connection:
        found = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert found == ["wal", 1, 1]


# --- migrations ----------------------------------------------------------------------------------------------------


async def ask(store: Store, question: str) -> list[Any]:
    async with store.engine.connect() as connection:
        return list((await connection.execute(text(question))).scalars())


async def change(store: Store, statement: str) -> None:
    async with store.engine.begin() as connection:
        await connection.execute(text(statement))


async def test_an_empty_database_gets_all_tables(empty_url: str) -> None:
    store = await Store.open(empty_url)
    async with store.engine.connect() as connection:
        names = await connection.run_sync(lambda c: set(inspect(c).get_table_names()))
    await store.close()
    assert names == {*metadata.tables, "alembic_version"}


async def test_the_migrations_make_what_the_tables_say(empty_url: str) -> None:
    store = await Store.open(empty_url)

    def differences(connection: Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))

    async with store.engine.connect() as connection:
        found = await connection.run_sync(differences)
    await store.close()
    assert found == []


async def test_on_sqlite_they_agree_to_the_letter(sqlite_store: Store, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/direct.db")
    metadata.create_all(engine)
    question = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'alembic_version'"
    with engine.connect() as connection:
        direct = list(connection.execute(text(question)).scalars())
    engine.dispose()

    def clauses(statements: list[str]) -> list[list[str]]:
        # A column that was added later stands behind the constraints, where SQLite writes it.
        lines = [re.sub(r"\n?, (?=title |progress )", ",\n", each).removesuffix(")") for each in statements]
        return sorted(sorted(line.strip(" ,\t\n") for line in each.splitlines() if line.strip()) for each in lines)

    assert clauses(await ask(sqlite_store, question)) == clauses(direct)


async def test_an_existing_database_keeps_its_rows(url: str) -> None:
    store = await Store.open(url)
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 10))
    await store.close()
    again = await Store.open(url)
    assert await stored_keys(again, run_id) == expected_keys(0, 10)
    await again.close()


async def test_servers_that_start_together_do_not_collide(empty_url: str) -> None:
    stores = await asyncio.gather(*(Store.open(empty_url, patience=120.0) for _ in range(8)))
    assert await ask(stores[0], "SELECT version_num FROM alembic_version") == ["0003"]
    for store in stores:
        await store.close()


async def test_a_database_of_a_newer_version_is_left_alone(url: str) -> None:
    store = await Store.open(url)
    await change(store, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StorageError, match=r"newer version \(revision 9999, .*upgrade hybrid-ml-scheduler"):
        await Store.open(url)
    assert await ask(store, "SELECT version_num FROM alembic_version") == ["9999"]
    await store.close()


async def test_a_database_with_tables_of_somebody_else_is_left_alone(empty_url: str) -> None:
    store = await Store.open(empty_url)
    for statement in ("DELETE FROM alembic_version", "DROP TABLE claims"):
        await change(store, statement)
    with pytest.raises(StorageError, match="already exists"):
        await Store.open(empty_url)
    async with store.engine.connect() as connection:
        assert not await connection.run_sync(lambda c: inspect(c).has_table("claims"))
    await store.close()


async def test_every_step_can_be_undone(empty_url: str) -> None:
    store = await Store.open(empty_url)

    def down(connection: Connection) -> set[str]:
        config = Config()
        config.set_main_option("script_location", str(Path(database.__file__).with_name("migrations")))
        config.attributes["connection"] = connection
        assert len(ScriptDirectory.from_config(config).get_heads()) == 1
        command.downgrade(config, "base")
        return set(inspect(connection).get_table_names())

    async with store.engine.begin() as connection:
        assert await connection.run_sync(down) == {"alembic_version"}
    await store.close()


async def test_runs_of_the_first_tables_are_kept_and_have_no_title(empty_url: str) -> None:
    store = await Store.open(empty_url)
    run_id = await store.begin_run("live", 42, {"gpus": 2}, {"rate": 5.0}, title="lost on the way down")

    def down(connection: Connection) -> set[str]:
        config = Config()
        config.set_main_option("script_location", str(Path(database.__file__).with_name("migrations")))
        config.attributes["connection"] = connection
        command.downgrade(config, "0001")
        return {column["name"] for column in inspect(connection).get_columns("runs")}

    async with store.engine.begin() as connection:
        assert not {"title", "progress"} & await connection.run_sync(down)
    await store.close()
    again = await Store.open(empty_url)
    run = await again.run(run_id)
    assert (run.seed, run.settings, run.title, run.progress) == (42, {"rate": 5.0}, None, None)
    await again.close()


async def test_a_full_disk_is_named_with_advice_whatever_sqlite_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    assert "does not answer properly" in str(translate_error(error, str(tmp_path / "hms.db")))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    assert "is full: free some space there, then hms prune" in str(translate_error(error, str(tmp_path / "hms.db")))


async def test_what_is_cut_off_while_it_connects_leaves_no_thread_that_answers_a_closed_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, failures = threading.Event(), list[BaseException | None]()
    connect: Any = sqlite3.connect

    def connect_slowly(*arguments: Any, **options: Any) -> Any:
        begun.set()
        time.sleep(0.1)
        return connect(*arguments, **options)

    async def cut_off() -> None:
        store = await Store.open(f"sqlite:///{tmp_path}/hms.db")
        await store.engine.dispose()  # the next query connects
        monkeypatch.setattr(sqlite3, "connect", connect_slowly)
        query = asyncio.create_task(store.ping())
        assert await asyncio.to_thread(begun.wait, 120.0)
        await end_tasks([query])
        await store.close()

    monkeypatch.setattr(threading, "excepthook", lambda each: failures.append(each.exc_value))
    others = set(threading.enumerate())
    run_apart(cut_off)  # in a loop of its own, which is closed
    for thread in set(threading.enumerate()) - others:
        thread.join(120.0)
    assert failures == []
