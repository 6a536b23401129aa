"""Retention over all runs: what exceeds age or bytes is deleted, oldest first, and the disk gets its space back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from hybrid_scheduler.storage.retention import (
    LOW_WATER,
    apply_retention,
    give_back_space,
    measure_disk,
    plan_retention,
)
from hybrid_scheduler.storage.store import Store
from hybrid_scheduler.storage.tables import runs
from stored import make_batch, new_run

pytestmark = pytest.mark.asyncio


async def _add_run(store: Store, tasks: int = 3000, ended_days_ago: float | None = 0.0) -> int:
    run_id = await new_run(store)
    for first in range(0, tasks, 1000):
        await store.write(make_batch(run_id, first, first + 1000))
    if ended_days_ago is not None:
        await store.end_run(run_id, "finished", {})
        moment = datetime.now(UTC) - timedelta(days=ended_days_ago)
        async with store.engine.begin() as connection:
            await connection.execute(update(runs).where(runs.c.id == run_id).values(ended_at=moment))
    return run_id


async def _run_ids(store: Store) -> list[int]:
    return [run.id for run in await store.runs()]


async def test_runs_that_ended_too_long_ago_are_deleted_and_the_file_shrinks(store: Store) -> None:
    old, recent, newest = await _add_run(store, ended_days_ago=9.0), await _add_run(store), await _add_run(store)
    before = await measure_disk(store)
    plan = await plan_retention(store, None, 7.0)
    assert (plan.runs, plan.trimmed) == ((old,), None)
    await apply_retention(store, plan)
    assert await _run_ids(store) == [newest, recent]
    assert (await measure_disk(store)).used < before.used
    assert not await plan_retention(store, None, 7.0)


async def test_the_oldest_runs_go_until_the_rest_fits_and_then_no_more(store: Store) -> None:
    ids = [await _add_run(store) for _ in range(4)]
    used = (await measure_disk(store)).used
    plan = await plan_retention(store, int(0.7 * used), None)
    assert plan.runs == tuple(ids[: len(plan.runs)])
    assert 1 <= len(plan.runs) < 4
    await apply_retention(store, plan)
    assert (await measure_disk(store)).used < used
    assert not await plan_retention(store, used, None)


async def test_a_run_that_goes_on_is_kept_and_its_oldest_tasks_go_last(store: Store) -> None:
    ended, running = await _add_run(store), await _add_run(store, ended_days_ago=None)
    base = 1_000_000  # bytes that are there without tasks, at most
    plan = await plan_retention(store, base, 1e-9)
    assert plan.runs == (ended,)
    assert plan.trimmed is not None
    assert plan.trimmed[0] == running
    assert 0 <= plan.trimmed[1] < 3000
    await apply_retention(store, plan)
    assert await _run_ids(store) == [running]
    assert (await store.count_tasks([running])).get(running, 0) == plan.trimmed[1]
    assert await store.last_task(running) == (2999 if plan.trimmed[1] else None)


async def test_within_the_limits_nothing_is_deleted(store: Store) -> None:
    await _add_run(store, tasks=1000)
    await _add_run(store, tasks=1000)
    assert not await plan_retention(store, 10**12, 30.0)
    assert not await plan_retention(store, None, None)
    assert 0 < LOW_WATER < 1


async def test_a_file_of_version_1_0_gives_its_space_back_too(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE made_without_auto_vacuum (a)")
    store = await Store.open(f"sqlite:///{file}")
    try:
        await store.delete_run(await _add_run(store))
        before = await measure_disk(store)
        assert before.unused > 0
        await give_back_space(store)
        after = await measure_disk(store)
        assert after.unused == 0
        assert after.used < before.used
        assert file.stat().st_size == after.used
    finally:
        await store.close()
