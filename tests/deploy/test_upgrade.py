"""A database that an older version made is brought up to date, with every row as it was."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, insert, select
from sqlalchemy.ext.asyncio import create_async_engine

from hybrid_scheduler.storage import database
from hybrid_scheduler.storage.database import parse_url
from hybrid_scheduler.storage.store import Store

pytestmark = pytest.mark.asyncio
Rows = dict[str, list[dict[str, Any]]]
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TASKS = 40


def alembic_config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).with_name("migrations")))
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def older_revisions() -> list[str]:
    known = [script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()]
    return sorted(known)[:-1]


def fill(connection: Connection) -> Rows:
    """Fill every table with rows as an older version did, and return them as the database has them."""
    tables = MetaData()
    tables.reflect(connection)
    run = {"id": 1, "kind": "live", "status": "finished", "seed": 42, "version": "0.0.1", "started_at": MOMENT}
    run |= {"heartbeat_at": MOMENT, "cluster": {"gpus": 2}, "settings": {"rate": 5.5}, "summary": {"tasks": TASKS}}
    rows: Rows = {"runs": [run], "tasks": [], "scheduler_results": [], "training_data": []}
    rows |= {"settings_changes": [{"run_id": 1, "change": {"load": 0.5}}], "models": [{"path": "run1-oracle.model"}]}
    for number in range(TASKS):
        shape = {"size": 100.5 + number, "compute_intensity": number / TASKS, "memory_required": 10.25 * number}
        rows["tasks"].append({"run_id": 1, "task_id": number, "arrival_time": number / 3, **shape})
        result = {"scheduler_name": "oracle", "attempt": 1, "finish_time": number / 7}
        rows["scheduler_results"].append({"run_id": 1, "task_id": number, **result})
        rows["training_data"].append({"run_id": 1, "task_id": number, **shape})
    for table, each in rows.items():
        connection.execute(insert(tables.tables[table]), [{**_required(tables.tables[table]), **row} for row in each])
    return contents(connection)


def _required(table: Any) -> dict[str, Any]:
    """Return something for the columns that must not be empty."""
    kinds = {int: 0, float: 1.5, str: "word", bool: True, datetime: MOMENT}
    needed = [each for each in table.columns if not each.nullable and not each.primary_key]
    return {each.name: kinds.get(each.type.python_type, {}) for each in needed if not each.foreign_keys}


def contents(connection: Connection) -> Rows:
    tables = MetaData()
    tables.reflect(connection)
    return {
        name: [dict(row._mapping) for row in connection.execute(select(table))]
        for name, table in tables.tables.items()
        if name != "alembic_version"
    }


@pytest.mark.parametrize("revision", older_revisions())
async def test_a_database_of_an_older_revision_keeps_its_data(revision: str, empty_url: str) -> None:
    engine = create_async_engine(parse_url(empty_url))
    async with engine.begin() as connection:
        await connection.run_sync(lambda each: command.upgrade(alembic_config(each), revision))
        before = await connection.run_sync(fill)
    await engine.dispose()
    assert [len(before[name]) for name in ("tasks", "scheduler_results", "training_data")] == [TASKS] * 3

    store = await Store.open(empty_url)
    async with store.engine.connect() as connection:
        after = await connection.run_sync(contents)
    run = await store.run(1)
    tasks = await store.tasks_page(1, limit=1000)
    await store.close()
    for table, rows in before.items():
        kept = [{name: row[name] for name in rows[0]} for row in after[table]] if rows else after[table]
        assert kept == rows, table
    assert (run.seed, run.version, run.settings, run.summary) == (42, "0.0.1", {"rate": 5.5}, {"tasks": TASKS})
    assert [task["size"] for task in tasks] == [100.5 + number for number in range(TASKS)]
