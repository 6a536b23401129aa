"""Copies of a real SQLite and a real PostgreSQL: taken while rows come in, put back whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.backup import backup, restore
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.store import Store
from services import Postgres
from stored import expected_keys, make_batch, new_run, stored_keys

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's programs of the server's own version."""
    if "postgresql" in request.node.name:
        server: Postgres = request.getfixturevalue("postgres")
        monkeypatch.setenv("PATH", f"{server.binaries}{os.pathsep}{os.environ['PATH']}")


async def test_a_copy_taken_while_it_is_used_brings_back_what_was_stored_then(url: str, tmp_path: Path) -> None:
    store = await Store.open(url)
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 50))
    backup(url, tmp_path / "copies" / "one")
    await store.write(make_batch(run_id, 50, 80))
    later = await store.begin_run("live", 7, {}, {})
    await store.close()

    await restore(url, tmp_path / "copies" / "one", replace=True)
    again = await Store.open(url)
    assert await stored_keys(again, run_id) == expected_keys(0, 50)
    with pytest.raises(InputError, match=f"run {later} is not in this database"):
        await again.run(later)
    assert await again.begin_run("live", 7, {}, {}) == later  # ids go on where they were
    await again.write(make_batch(run_id, 50, 60))
    assert await stored_keys(again, run_id) == expected_keys(0, 60)
    await again.close()


async def test_runs_that_are_there_are_not_replaced_unless_one_says_so(url: str, tmp_path: Path) -> None:
    store = await Store.open(url)
    run_id = await new_run(store)
    backup(url, tmp_path / "copy")
    with pytest.raises(InputError, match="holds runs: give --force to replace them"):
        await restore(url, tmp_path / "copy")
    with pytest.raises(InputError, match="exists: name a new file"):
        backup(url, tmp_path / "copy")
    assert (await store.run(run_id)).status == "running"
    await store.close()


async def test_a_server_that_runs_there_keeps_a_copy_from_being_put_back(url: str, tmp_path: Path) -> None:
    store = await Store.open(url)
    backup(url, tmp_path / "copy")
    await store.claim("machine/1/abc", 60)
    with pytest.raises(InputError, match="'machine/1/abc' runs the simulation of this database: stop that server"):
        await restore(url, tmp_path / "copy", replace=True)
    await store.close()


async def test_a_damaged_copy_leaves_the_database_as_it_is(url: str, tmp_path: Path) -> None:
    store = await Store.open(url)
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 30))
    copy = tmp_path / "copy"
    backup(url, copy)
    copy.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2])
    with pytest.raises(StorageError):
        await restore(url, copy, replace=True)
    assert await stored_keys(store, run_id) == expected_keys(0, 30)
    await store.close()


async def test_a_copy_of_the_other_kind_is_told_apart(postgres_url: str, tmp_path: Path) -> None:
    file = f"sqlite:///{tmp_path}/hms.db"
    await (await Store.open(file)).close()
    backup(file, tmp_path / "copy")
    with pytest.raises(InputError, match="is a copy of SQLite, the database is PostgreSQL"):
        await restore(postgres_url, tmp_path / "copy")


async def test_a_machine_without_postgresqls_programs_says_what_to_install(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="pg_dump is not installed: install PostgreSQL's client programs"):
        backup(postgres_url, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []
