"""A database brings itself to this version's tables, whatever it was before, and never half-way."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from hybrid_scheduler.storage import database
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.store import Store
from hybrid_scheduler.storage.tables import metadata
from stored import batch_of, keys_of, new_run, stored_keys

pytestmark = pytest.mark.asyncio


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
    await store.write(batch_of(run_id, 0, 10))
    await store.close()
    again = await Store.open(url)
    assert await stored_keys(again, run_id) == keys_of(0, 10)
    await again.close()


async def test_servers_that_start_together_do_not_collide(empty_url: str) -> None:
    stores = await asyncio.gather(*(Store.open(empty_url) for _ in range(8)))
    assert await ask(stores[0], "SELECT version_num FROM alembic_version") == ["0002"]
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
    from alembic import command

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
    from alembic import command

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
