"""Databases stop, disks fill up, processes are killed: no row is lost or doubled, and it is said aloud."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.recorder import Pace, Recorder
from hybrid_scheduler.storage.store import Store
from services import Postgres
from stored import batch_of, keys_of, new_run, stored_keys

pytestmark = pytest.mark.asyncio
QUICK = Pace(flush_seconds=0.01, retry_seconds=0.01, retry_seconds_at_most=0.1)


class Told:
    """A recorder and what it said."""

    def __init__(self, store: Store) -> None:
        self.troubles: list[str] = []
        self.recoveries = 0
        self.heard = asyncio.Event()
        self.recorder = Recorder(store, QUICK, self._trouble, self._recovered)
        self.recorder.start()

    def _trouble(self, message: str) -> None:
        self.troubles.append(message)
        self.heard.set()

    def _recovered(self) -> None:
        self.recoveries += 1


class Engine(threading.Thread):
    """Adds batches of ten tasks in its own thread until told to stop; waits when the recorder says no."""

    def __init__(self, recorder: Recorder, run_id: int) -> None:
        super().__init__()
        self.added, self._recorder, self._run_id, self._stop_asked = 0, recorder, run_id, threading.Event()

    def run(self) -> None:
        while not self._stop_asked.wait(0.002):
            if self._recorder.add(batch_of(self._run_id, self.added, self.added + 10)):
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
    told = Told(store)
    engine = Engine(told.recorder, run_id)
    engine.start()
    while told.recorder.rows_written < 1000:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(postgres.stop, how)
    await told.heard.wait()
    assert told.recorder.troubled
    await asyncio.sleep(1.0)
    postgres.launch()
    await asyncio.to_thread(postgres.wait)
    while told.recoveries == 0:
        await asyncio.sleep(0.01)
    engine.stop()
    await told.recorder.flush()
    assert await stored_keys(store, run_id) == keys_of(0, engine.added)
    assert told.recorder.rows_written == 4 * engine.added
    assert len(told.troubles) == told.recoveries == 1
    assert "rows wait to be stored: the database" in told.troubles[0]
    await told.recorder.close()
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
        ("PRAGMA max_page_count = 30", "PRAGMA max_page_count = 1000000", "is full: free space"),
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "is read-only: make the file"),
    ],
    ids=["full disk", "read-only"],
)
async def test_a_disk_that_takes_nothing_is_told_and_nothing_is_half_written(
    sqlite_store: Store, trouble: str, cure: str, message: str
) -> None:
    store, run_id = sqlite_store, await new_run(sqlite_store)
    pragmas = _refuse_writes(store, trouble)
    told = Told(store)
    told.recorder.add(batch_of(run_id, 0, 2000))
    await told.heard.wait()
    assert message in told.troubles[0]
    assert await store.tasks_page(run_id) == []
    assert await stored_keys(store, run_id) == []
    pragmas.append(cure)
    await told.recorder.flush()
    assert await stored_keys(store, run_id) == keys_of(0, 2000)
    assert (len(told.troubles), told.recoveries) == (1, 1)
    await told.recorder.close()


RECORD_UNTIL_KILLED = """
import asyncio, sys
from hybrid_scheduler.storage.recorder import Pace, Recorder
from hybrid_scheduler.storage.store import Store
from stored import batch_of, new_run

async def main():
    store = await Store.open(sys.argv[1])
    await store.claim("killed:1", ttl=0.0)
    run_id = await new_run(store, "killed:1")
    recorder = Recorder(store, Pace(flush_seconds=0.0))
    recorder.start()
    first = 0
    while True:
        for _ in range(3):
            recorder.add(batch_of(run_id, first, first + 100))
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
    assert stored == keys_of(0, len(stored) // 2)
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
