"""The recorder stores what it took, once, and says no rather than growing without end."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.recorder import Pace, Recorder
from hybrid_scheduler.storage.rows import Batch
from hybrid_scheduler.storage.store import Store
from stored import batch_of, keys_of, new_run, results_of, stored_keys

pytestmark = pytest.mark.asyncio
SOON = Pace(flush_seconds=0.01, retry_seconds=0.01, retry_seconds_at_most=0.1)


@asynccontextmanager
async def recording(
    store: Store, pace: Pace = SOON, on_trouble: Callable[[str], None] = pytest.fail
) -> AsyncIterator[Recorder]:
    recorder = Recorder(store, pace, on_trouble)
    recorder.start()
    yield recorder
    await recorder.close()


@asynccontextmanager
async def locked(tmp_path: Path) -> AsyncIterator[None]:
    """Hold the write lock of the file, as another program may."""
    other = sqlite3.connect(tmp_path / "hms.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


async def test_after_a_flush_everything_added_before_is_stored(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store, Pace(flush_seconds=60)) as recorder:
        for first in range(0, 50, 10):
            assert recorder.add(batch_of(run_id, first, first + 10))
        assert recorder.pending_rows == 50 * 4
        await recorder.flush()
        assert await stored_keys(store, run_id) == keys_of(0, 50)
        assert (recorder.rows_written, recorder.pending_rows, recorder.last_error) == (200, 0, None)
        assert recorder.last_commit is not None


async def test_without_a_flush_rows_are_stored_soon(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store) as recorder:
        recorder.add(batch_of(run_id, 0, 3))
        while not await store.tasks_page(run_id):
            await asyncio.sleep(0.01)


async def test_closing_stores_what_waits(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store, Pace(flush_seconds=60)) as recorder:
        recorder.add(batch_of(run_id, 0, 10))
    assert await stored_keys(store, run_id) == keys_of(0, 10)
    with pytest.raises(StorageError, match="recorder is not running"):
        recorder.add(batch_of(run_id, 10, 20))


async def test_many_batches_are_committed_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[int]()
    write = store.write

    async def counted(batch: Batch) -> None:
        written.append(len(batch))
        await write(batch)

    monkeypatch.setattr(store, "write", counted)
    run_id = await new_run(store)
    async with recording(store, Pace(flush_seconds=60, commit_rows=100)) as recorder:
        for first in range(40):
            recorder.add(batch_of(run_id, first, first + 1))
        await recorder.flush()
    assert written == [100, 60]


async def test_batches_of_two_runs_go_to_their_runs(store: Store) -> None:
    one, two = await new_run(store), await new_run(store)
    async with recording(store) as recorder:
        for first in range(0, 30, 10):
            for run_id in (one, two):
                recorder.add(batch_of(run_id, first, first + 10))
    assert await stored_keys(store, one) == await stored_keys(store, two) == keys_of(0, 30)


async def test_several_threads_may_add_at_once(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store) as recorder:

        def add_some(first: int) -> None:
            for task_id in range(first, first + 25):
                assert recorder.add(batch_of(run_id, task_id, task_id + 1))

        threads = [threading.Thread(target=add_some, args=(first,)) for first in range(0, 100, 25)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        await recorder.flush()
        assert await stored_keys(store, run_id) == keys_of(0, 100)


async def test_a_full_buffer_takes_nothing_more_until_there_is_room(sqlite_store: Store, tmp_path: Path) -> None:
    run_id = await new_run(sqlite_store)
    pace = Pace(limit_rows=100, flush_seconds=0.0, retry_seconds=0.01, failures_before_trouble=10**6)
    async with recording(sqlite_store, pace) as recorder:
        async with locked(tmp_path):
            added = 0
            while recorder.add(batch_of(run_id, added, added + 5)):
                added += 5
            assert recorder.pending_rows == 100
            assert not await asyncio.to_thread(recorder.wait_for_room, 0.01)
        assert await asyncio.to_thread(recorder.wait_for_room, 30.0)
        assert recorder.add(batch_of(run_id, added, added + 5))
    assert await stored_keys(sqlite_store, run_id) == keys_of(0, 30)


async def test_a_batch_larger_than_the_buffer_is_taken_when_nothing_waits(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store, Pace(limit_rows=10)) as recorder:
        assert recorder.add(batch_of(run_id, 0, 100))
        assert not recorder.add(batch_of(run_id, 100, 101))
        await recorder.flush()
    assert await stored_keys(store, run_id) == keys_of(0, 100)


async def test_an_answer_that_is_lost_after_the_commit_doubles_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, write = await new_run(store), store.write
    lost = iter([True, True, False])

    async def write_and_lose_the_answer(batch: Batch) -> None:
        await write(batch)
        if next(lost):
            raise StorageError("the connection broke")

    monkeypatch.setattr(store, "write", write_and_lose_the_answer)
    async with recording(store) as recorder:
        recorder.add(batch_of(run_id, 0, 10))
        await recorder.flush()
    assert await stored_keys(store, run_id) == keys_of(0, 10)
    assert (len(await store.training()), recorder.rows_written) == (10, 40)


async def test_rows_that_can_never_be_stored_are_given_up_loudly_and_their_neighbours_are_not(store: Store) -> None:
    run_id, troubles = await new_run(store), list[str]()
    async with recording(store, Pace(flush_seconds=60), troubles.append) as recorder:
        recorder.add(batch_of(run_id, 0, 10))
        recorder.add(Batch(run_id, results=(results_of("greedy", 77, 80),)))  # their tasks are nowhere
        recorder.add(batch_of(run_id, 10, 20))
        with pytest.raises(StorageError, match="refuses rows"):
            await recorder.flush()
        await recorder.flush()  # told once
    assert [message.partition(":")[0] for message in troubles] == ["3 rows are given up"]
    assert (recorder.rows_refused, recorder.rows_written) == (3, 80)
    assert await stored_keys(store, run_id) == keys_of(0, 20)


async def test_an_error_that_nobody_foresaw_is_told_and_leaves_nobody_waiting(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Batch) -> None:
        raise ZeroDivisionError("a bug")

    run_id, troubles = await new_run(sqlite_store), list[str]()
    monkeypatch.setattr(sqlite_store, "write", broken)
    recorder = Recorder(sqlite_store, SOON, troubles.append)
    recorder.start()
    recorder.add(batch_of(run_id, 0, 1))
    for _ in range(2):
        with pytest.raises(StorageError, match="ZeroDivisionError: a bug"):
            await recorder.flush()
    with pytest.raises(StorageError, match="recorder is not running"):
        recorder.add(batch_of(run_id, 1, 2))
    with pytest.raises(StorageError, match="4 rows could not be stored"):
        await recorder.close()
    assert troubles == ["the recorder stopped, 4 rows are not stored: ZeroDivisionError: a bug"]


async def test_closing_while_the_database_is_away_says_what_is_lost(sqlite_store: Store, tmp_path: Path) -> None:
    run_id = await new_run(sqlite_store)
    recorder = Recorder(sqlite_store, SOON, lambda _: None)
    recorder.start()
    async with locked(tmp_path):
        recorder.add(batch_of(run_id, 0, 10))
        waiting = asyncio.create_task(recorder.flush())
        await asyncio.sleep(0)
        with pytest.raises(StorageError, match=r"40 rows could not be stored: .* is locked"):
            await recorder.close(patience=0.5)
    with pytest.raises(StorageError, match="stopped before all was stored"):
        await waiting


async def test_only_the_newest_tasks_are_kept(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store, Pace(flush_seconds=0.0, keep_tasks=20)) as recorder:
        for first in range(0, 100, 10):
            recorder.add(batch_of(run_id, first, first + 10))
            await recorder.flush()
    assert await stored_keys(store, run_id) == keys_of(80, 100)


async def test_old_tasks_that_cannot_be_deleted_now_are_deleted_later(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, prune = await new_run(sqlite_store), sqlite_store.prune
    failures = iter([True, False, False])

    async def fail_once(run: int, keep: int) -> int:
        if next(failures):
            raise StorageError("the database is locked")
        return await prune(run, keep)

    monkeypatch.setattr(sqlite_store, "prune", fail_once)
    async with recording(sqlite_store, Pace(flush_seconds=0.0, keep_tasks=5)) as recorder:
        for first in (0, 10, 20):
            recorder.add(batch_of(run_id, first, first + 10))
            await recorder.flush()
    assert await stored_keys(sqlite_store, run_id) == keys_of(25, 30)


async def test_a_recorder_that_was_never_started_can_be_closed(sqlite_store: Store) -> None:
    await Recorder(sqlite_store).close()
