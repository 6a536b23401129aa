"""The recorder stores what it accepted, once, whatever fails, and refuses batches rather than growing without end."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.recorder import Recorder, RecorderOptions
from hybrid_scheduler.storage.rows import Batch, SettingsChange
from hybrid_scheduler.storage.store import Store
from services import Postgres
from stored import expected_keys, make_batch, make_results, new_run, stored_keys

pytestmark = pytest.mark.asyncio
SOON = RecorderOptions(flush_seconds=0.01, retry_seconds=0.01, max_retry_seconds=0.1)


@asynccontextmanager
async def recording(
    store: Store, options: RecorderOptions = SOON, on_failure: Callable[[str], None] = pytest.fail
) -> AsyncIterator[Recorder]:
    recorder = Recorder(store, options, on_failure)
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
    async with recording(store, RecorderOptions(flush_seconds=60)) as recorder:
        for first in range(0, 50, 10):
            assert recorder.add(make_batch(run_id, first, first + 10))
        assert recorder.pending_rows == 50 * 4
        await recorder.flush()
        assert await stored_keys(store, run_id) == expected_keys(0, 50)
        assert (recorder.rows_written, recorder.pending_rows, recorder.last_error) == (200, 0, None)
        assert recorder.last_commit is not None


async def test_without_a_flush_rows_are_stored_soon(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store) as recorder:
        recorder.add(make_batch(run_id, 0, 3))
        while not await store.tasks_page(run_id):
            await asyncio.sleep(0.01)


async def test_closing_stores_what_waits(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store, RecorderOptions(flush_seconds=60)) as recorder:
        recorder.add(make_batch(run_id, 0, 10))
    assert await stored_keys(store, run_id) == expected_keys(0, 10)
    with pytest.raises(StorageError, match="recorder is not running"):
        recorder.add(make_batch(run_id, 10, 20))


async def test_many_batches_are_committed_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[int]()
    write = store.write

    async def counted(batch: Batch) -> None:
        written.append(len(batch))
        await write(batch)

    monkeypatch.setattr(store, "write", counted)
    run_id = await new_run(store)
    async with recording(store, RecorderOptions(flush_seconds=60, commit_rows=100)) as recorder:
        for first in range(40):
            recorder.add(make_batch(run_id, first, first + 1))
        await recorder.flush()
    assert written == [100, 60]


async def test_batches_of_two_runs_go_to_their_runs(store: Store) -> None:
    one, two = await new_run(store), await new_run(store)
    async with recording(store) as recorder:
        for first in range(0, 30, 10):
            for run_id in (one, two):
                recorder.add(make_batch(run_id, first, first + 10))
    assert await stored_keys(store, one) == await stored_keys(store, two) == expected_keys(0, 30)


async def test_several_threads_may_add_at_once(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store) as recorder:

        def add_some(first: int) -> None:
            for task_id in range(first, first + 25):
                assert recorder.add(make_batch(run_id, task_id, task_id + 1))

        threads = [threading.Thread(target=add_some, args=(first,)) for first in range(0, 100, 25)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        await recorder.flush()
        assert await stored_keys(store, run_id) == expected_keys(0, 100)


async def test_a_full_buffer_takes_nothing_more_until_there_is_room(sqlite_store: Store, tmp_path: Path) -> None:
    run_id = await new_run(sqlite_store)
    options = RecorderOptions(limit_rows=100, flush_seconds=0.0, retry_seconds=0.01, failures_before_alert=10**6)
    async with recording(sqlite_store, options) as recorder:
        async with locked(tmp_path):
            added = 0
            while recorder.add(make_batch(run_id, added, added + 5)):
                added += 5
            assert recorder.pending_rows == 100
            assert not await asyncio.to_thread(recorder.wait_for_room, 0.01)
        assert await asyncio.to_thread(recorder.wait_for_room, 300.0)
        assert recorder.add(make_batch(run_id, added, added + 5))
    assert await stored_keys(sqlite_store, run_id) == expected_keys(0, 30)


async def test_a_batch_larger_than_the_buffer_is_taken_when_nothing_waits(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store, RecorderOptions(limit_rows=10)) as recorder:
        assert recorder.add(make_batch(run_id, 0, 100))
        assert not recorder.add(make_batch(run_id, 100, 101))
        await recorder.flush()
    assert await stored_keys(store, run_id) == expected_keys(0, 100)


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
        recorder.add(make_batch(run_id, 0, 10))
        await recorder.flush()
    assert await stored_keys(store, run_id) == expected_keys(0, 10)
    assert (len(await store.training_data()), recorder.rows_written) == (10, 40)


async def test_rows_that_can_never_be_stored_are_given_up_loudly_and_their_neighbours_are_not(store: Store) -> None:
    run_id, failures = await new_run(store), list[str]()
    async with recording(store, RecorderOptions(flush_seconds=60), failures.append) as recorder:
        recorder.add(make_batch(run_id, 0, 10))
        recorder.add(Batch(run_id, results=(make_results("greedy", 77, 80),)))  # their tasks are nowhere
        recorder.add(make_batch(run_id, 10, 20))
        with pytest.raises(StorageError, match="refuses rows"):
            await recorder.flush()
        await recorder.flush()  # reported once
    assert [message.partition(":")[0] for message in failures] == ["3 rows are given up"]
    assert (recorder.rows_refused, recorder.rows_written) == (3, 80)
    assert await stored_keys(store, run_id) == expected_keys(0, 20)


async def test_an_error_that_nobody_foresaw_is_told_and_leaves_nobody_waiting(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Batch) -> None:
        raise ZeroDivisionError("a bug")

    run_id, failures = await new_run(sqlite_store), list[str]()
    monkeypatch.setattr(sqlite_store, "write", broken)
    recorder = Recorder(sqlite_store, SOON, failures.append)
    recorder.start()
    recorder.add(make_batch(run_id, 0, 1))
    with pytest.raises(StorageError, match=r"these rows have no place in a database \(a bug\)"):
        await recorder.flush()
    monkeypatch.undo()
    recorder.add(make_batch(run_id, 1, 2))  # it goes on with the next ones
    await recorder.close()
    assert recorder.rows_refused == 4
    assert any("a bug" in each for each in failures)


async def test_closing_while_the_database_is_away_says_what_is_lost(sqlite_store: Store, tmp_path: Path) -> None:
    run_id = await new_run(sqlite_store)
    recorder = Recorder(sqlite_store, SOON, lambda _: None)
    recorder.start()
    async with locked(tmp_path):
        recorder.add(make_batch(run_id, 0, 10))
        waiting = asyncio.create_task(recorder.flush())
        while recorder.last_error is None:
            await asyncio.sleep(0.01)
        with pytest.raises(StorageError, match=r"40 rows could not be stored: .* is locked"):
            await recorder.close(patience=0.0)
    with pytest.raises(StorageError, match="stopped before all was stored"):
        await waiting


async def test_only_the_newest_tasks_are_kept(store: Store) -> None:
    run_id = await new_run(store)
    async with recording(store, RecorderOptions(flush_seconds=0.0, keep_tasks=20)) as recorder:
        for first in range(0, 100, 10):
            recorder.add(make_batch(run_id, first, first + 10))
            await recorder.flush()
    assert await stored_keys(store, run_id) == expected_keys(80, 100)


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
    async with recording(sqlite_store, RecorderOptions(flush_seconds=0.0, keep_tasks=5)) as recorder:
        for first in (0, 10, 20):
            recorder.add(make_batch(run_id, first, first + 10))
            await recorder.flush()
    assert await stored_keys(sqlite_store, run_id) == expected_keys(25, 30)


async def test_a_recorder_that_was_never_started_can_be_closed(sqlite_store: Store) -> None:
    await Recorder(sqlite_store).close()


# --- faults: databases stop, disks fill up, processes are killed -------------------------------------------------


class RecorderProbe:
    """A recorder, its failure messages and its recoveries."""

    def __init__(self, store: Store) -> None:
        self.failures: list[str] = []
        self.recoveries = 0
        self.heard = asyncio.Event()
        self.recorder = Recorder(store, SOON, self._note_failure, self._note_recovery)
        self.recorder.start()

    def _note_failure(self, message: str) -> None:
        self.failures.append(message)
        self.heard.set()

    def _note_recovery(self) -> None:
        self.recoveries += 1


class Engine(threading.Thread):
    """Adds batches of ten tasks in its own thread until stopped; waits while the buffer is full."""

    def __init__(self, recorder: Recorder, run_id: int) -> None:
        super().__init__()
        self.added, self._recorder, self._run_id, self._stop_asked = 0, recorder, run_id, threading.Event()

    def run(self) -> None:
        while not self._stop_asked.wait(0.002):
            if self._recorder.add(make_batch(self._run_id, self.added, self.added + 10)):
                self.added += 10

    def stop(self) -> None:
        self._stop_asked.set()
        self.join()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["shut down", "crashed"])
async def test_postgresql_stops_and_comes_back_and_no_row_is_lost_or_doubled(
    postgres: Postgres, postgres_url: str, how: signal.Signals
) -> None:
    store = await Store.open(postgres_url)
    run_id = await new_run(store)
    probe = RecorderProbe(store)
    engine = Engine(probe.recorder, run_id)
    engine.start()
    while probe.recorder.rows_written < 1000:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(postgres.stop, how)
    await probe.heard.wait()
    assert probe.recorder.is_failing
    added = engine.added
    while engine.added < added + 100:  # rows are accepted during the outage
        await asyncio.sleep(0.01)
    postgres.launch()
    await asyncio.to_thread(postgres.wait)
    while probe.recoveries == 0:
        await asyncio.sleep(0.01)
    engine.stop()
    await probe.recorder.flush()
    assert await stored_keys(store, run_id) == expected_keys(0, engine.added)
    assert probe.recorder.rows_written == 4 * engine.added
    assert len(probe.failures) == probe.recoveries == 1
    assert "rows wait to be stored: the database" in probe.failures[0]
    await probe.recorder.close()
    await store.close()


def _refuse_writes(store: Store, pragma: str) -> list[str]:
    """Run a pragma on every connection that is taken from the pool from now on."""
    pragmas = [pragma]

    def on_checkout(connection: Any, *_: object) -> None:
        cursor = connection.cursor()
        cursor.execute(pragmas[-1])
        cursor.close()

    event.listen(store.engine.sync_engine, "checkout", on_checkout)
    return pragmas


@pytest.mark.parametrize(
    ("trouble", "cure", "message"),
    [
        ("PRAGMA max_page_count = 30", "PRAGMA max_page_count = 1000000", "is full: free some space"),
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "is read-only: make the file"),
    ],
    ids=["full disk", "read-only"],
)
async def test_a_disk_that_takes_nothing_is_told_and_nothing_is_half_written(
    sqlite_store: Store, trouble: str, cure: str, message: str
) -> None:
    store, run_id = sqlite_store, await new_run(sqlite_store)
    pragmas = _refuse_writes(store, trouble)
    probe = RecorderProbe(store)
    probe.recorder.add(make_batch(run_id, 0, 2000))
    await probe.heard.wait()
    assert message in probe.failures[0]
    assert await store.tasks_page(run_id) == []
    assert await stored_keys(store, run_id) == []
    pragmas.append(cure)
    await probe.recorder.flush()
    assert await stored_keys(store, run_id) == expected_keys(0, 2000)
    assert (len(probe.failures), probe.recoveries) == (1, 1)
    await probe.recorder.close()


RECORD_UNTIL_KILLED = """
import asyncio, sys
from hybrid_scheduler.storage.recorder import Recorder, RecorderOptions
from hybrid_scheduler.storage.store import Store
from stored import make_batch, new_run

async def main():
    store = await Store.open(sys.argv[1])
    await store.claim("killed:1", ttl=0.0)
    run_id = await new_run(store, "killed:1")
    recorder = Recorder(store, RecorderOptions(flush_seconds=0.0))
    recorder.start()
    first = 0
    while True:
        for _ in range(3):
            recorder.add(make_batch(run_id, first, first + 100))
            first += 100
        await recorder.flush()
        print(run_id, first, flush=True)

asyncio.run(main())
"""


async def test_after_kill_9_every_acknowledged_row_is_there_and_the_run_is_interrupted(url: str) -> None:
    environment = {"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": ""}
    command = [sys.executable, "-c", RECORD_UNTIL_KILLED, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        for _ in range(5):
            run_id, acknowledged = map(int, process.stdout.readline().split())
        process.kill()
        rest = process.stdout.read().split(b"\n")
        if len(rest) > 1:
            acknowledged = int(rest[-2].split()[1])
    store = await Store.open(url)
    stored = await stored_keys(store, run_id)
    assert len(stored) >= 2 * acknowledged >= 3000
    assert stored == expected_keys(0, len(stored) // 2)
    assert len(stored) % 200 == 0  # whole batches
    assert await store.mark_interrupted() == [run_id]
    assert (await store.run(run_id)).status == "interrupted"
    await store.close()


async def test_reads_fail_in_one_line_while_postgresql_is_away(postgres: Postgres, postgres_url: str) -> None:
    store = await Store.open(postgres_url)
    postgres.stop()
    try:
        with pytest.raises(StorageError, match=r"the database .* (cannot be reached|broke off)"):
            await store.ping()
    finally:
        postgres.start()
    assert await store.ping() > 0
    await store.close()


async def test_rows_that_cannot_be_encoded_are_given_up_and_the_others_are_stored(store: Store) -> None:
    run_id, told = await new_run(store), list[str]()
    async with recording(store, SOON, told.append) as recorder:
        bad = SettingsChange(0, 0.0, {"max_queue": 2**70})
        recorder.add(make_batch(run_id, 0, 10))
        recorder.add(Batch(run_id, changes=(bad,)))
        recorder.add(make_batch(run_id, 10, 20))
        with pytest.raises(StorageError, match="no place in a database"):
            await recorder.flush()
        assert await stored_keys(store, run_id) == expected_keys(0, 20)
        assert (recorder.rows_refused, len(told)) == (1, 1)
