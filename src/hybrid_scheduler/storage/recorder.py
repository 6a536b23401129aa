"""The recorder takes batches from the engine's thread and commits many of them at once."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from loguru import logger

from hybrid_scheduler.storage.database import RefusedError, StorageError
from hybrid_scheduler.storage.rows import Batch, merged
from hybrid_scheduler.storage.store import Store


@dataclass(frozen=True)
class Pace:
    """How much is held back, how often it is committed, and how a failing database is tried again."""

    limit_rows: int = 200_000  # what may wait; then `add` says no
    commit_rows: int = 10_000  # of one transaction; more would hold up the event loop and gain nothing
    flush_seconds: float = 0.25  # a row waits no longer than this for company
    retry_seconds: float = 0.1  # doubled with every failure …
    retry_seconds_at_most: float = 5.0  # … up to this
    failures_before_trouble: int = 3
    keep_tasks: int | None = None  # retention limit of a run


class Recorder:
    """A bounded buffer in front of the store. Nothing that `add` accepted is lost while the process lives.

    `add` and `wait_for_room` are for any thread; everything else is for the event loop that called `start`.
    """

    def __init__(
        self,
        store: Store,
        pace: Pace | None = None,
        on_trouble: Callable[[str], None] = logger.error,
        on_recovered: Callable[[], None] = lambda: logger.info("the database is back, everything is stored"),
    ) -> None:
        self.pace = pace or Pace()
        self.rows_written = 0
        self.rows_refused = 0
        self.pending_rows = 0
        self.last_error: str | None = None
        self.last_commit: datetime | None = None
        self.troubled = False
        self._store = store
        self._on_trouble, self._on_recovered = on_trouble, on_recovered
        self._waiting: deque[Batch] = deque()
        self._room = threading.Condition()  # guards what `add` touches
        self._added = self._settled = 0
        self._closed = False
        self._refusal: StorageError | None = None
        self._flushes: list[tuple[int, asyncio.Future[None]]] = []
        self._tasks_since_prune = 0
        self._work, self._urge = asyncio.Event(), asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write; called on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._writer = self._loop.create_task(self._write_all(), name="recorder")
        self._writer.add_done_callback(self._ended)

    # --- the engine's side -----------------------------------------------------------------------------------

    def add(self, batch: Batch) -> bool:
        """Take a batch to be stored; False, and nothing taken, if too much is waiting already."""
        with self._room:
            if self._closed or self._writer is None:
                raise StorageError("the recorder is not running: start it before the engine, stop it after")
            # A batch larger than the limit must fit at some time: when nothing else waits.
            if self.pending_rows and self.pending_rows + len(batch) > self.pace.limit_rows:
                return False
            self._waiting.append(batch)
            self._added += 1
            self.pending_rows += len(batch)
            enough = self.pending_rows >= self.pace.commit_rows
        self._loop.call_soon_threadsafe((self._urge if enough else self._work).set)
        return True

    def wait_for_room(self, seconds: float) -> bool:
        """Wait, in the engine's thread, until half of the buffer is free; False if that takes too long."""
        with self._room:
            return self._room.wait_for(lambda: self.pending_rows <= self.pace.limit_rows // 2, seconds)

    # --- the event loop's side -------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Return when everything added before is committed; raises if the database refused some of it."""
        with self._room:
            target = self._added
        if self._settled < target:
            if self._writer is None or self._writer.done():
                raise StorageError(f"the recorder stopped before all was stored: {self.last_error}")
            done = asyncio.get_running_loop().create_future()
            self._flushes.append((target, done))
            self._urge.set()
            await done
        refusal, self._refusal = self._refusal, None
        if refusal:
            raise refusal

    async def close(self, patience: float = 10.0) -> None:
        """Take nothing more, write what waits, stop; raises if that takes longer than `patience` seconds."""
        with self._room:
            self._closed = True
        if self._writer is None:
            return
        self._urge.set()
        await asyncio.wait([self._writer], timeout=patience)
        self._writer.cancel()
        await asyncio.wait([self._writer])
        if self.pending_rows:
            raise StorageError(f"{self.pending_rows} rows could not be stored: {self.last_error}")

    def _ended(self, writer: asyncio.Task[None]) -> None:
        """Leave nobody waiting for a writer that is gone; an error that nobody foresaw is told."""
        self._closed = True
        if not writer.cancelled() and (error := writer.exception()):
            self.last_error = f"{type(error).__name__}: {error}"
            self._on_trouble(f"the recorder stopped, {self.pending_rows} rows are not stored: {self.last_error}")
        for _, done in self._flushes:
            if not done.done():
                done.set_exception(StorageError(f"the recorder stopped before all was stored: {self.last_error}"))

    async def _write_all(self) -> None:
        while not self._closed or self._waiting:
            await self._wait_for_work()
            while group := self._take():
                await self._commit(group)
                await self._prune(group)

    async def _wait_for_work(self) -> None:
        """Wait for a first batch, and then a little for more, unless somebody urges."""
        waits = [asyncio.ensure_future(each.wait()) for each in (self._work, self._urge)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(waits[1:], timeout=self.pace.flush_seconds)
        for each in waits:
            each.cancel()
        self._work.clear()
        self._urge.clear()

    def _take(self) -> list[Batch]:
        """Take batches of one run that fit one transaction."""
        group: list[Batch] = []
        rows = 0
        with self._room:
            while self._waiting and (not group or self._waiting[0].run_id == group[0].run_id):
                rows += len(self._waiting[0])
                if group and rows > self.pace.commit_rows:
                    break
                group.append(self._waiting.popleft())
        return group

    async def _commit(self, group: list[Batch]) -> None:
        """Write a group, again and again if need be; it keeps its key, so a lost answer doubles nothing."""
        batch, failures = merged(group), 0
        while True:
            try:
                await self._store.write(batch)
            except RefusedError as error:
                await self._refused(group, error)
                return
            except StorageError as error:
                failures += 1
                self._failed(error, failures)
                delay = self.pace.retry_seconds * 2 ** min(failures - 1, 30)
                await asyncio.sleep(min(delay, self.pace.retry_seconds_at_most))
            else:
                self.rows_written += len(batch)
                self.last_commit = datetime.now(UTC)
                self._recovered()
                self._settle(group)
                return

    async def _refused(self, group: list[Batch], error: RefusedError) -> None:
        """Give up on a batch that can never be stored, loudly; its neighbours are stored one by one."""
        if len(group) > 1:
            for each in group:
                await self._commit([each])
            return
        self.rows_refused += len(group[0])
        self.last_error, self._refusal = str(error), error
        self._on_trouble(f"{len(group[0])} rows are given up: {error}")
        self._settle(group)

    def _failed(self, error: StorageError, failures: int) -> None:
        self.last_error = str(error)
        if failures == self.pace.failures_before_trouble:
            self.troubled = True
            self._on_trouble(f"{self.pending_rows} rows wait to be stored: {error}")

    def _recovered(self) -> None:
        self.last_error = None
        if self.troubled:
            self.troubled = False
            self._on_recovered()

    def _settle(self, group: list[Batch]) -> None:
        with self._room:
            self._settled += len(group)
            self.pending_rows -= sum(map(len, group))
            self._room.notify_all()
        due = [done for target, done in self._flushes if target <= self._settled]
        self._flushes = [each for each in self._flushes if each[0] > self._settled]
        for done in due:
            if not done.done():  # a flush that was given up
                done.set_result(None)

    async def _prune(self, group: list[Batch]) -> None:
        """Now and then, delete the oldest tasks beyond the retention limit."""
        if (keep := self.pace.keep_tasks) is None:
            return
        self._tasks_since_prune += sum(len(rows) for batch in group for rows in batch.tasks)
        if self._tasks_since_prune <= keep // 10:
            return
        try:
            await self._store.prune(group[0].run_id, keep)
            self._tasks_since_prune = 0
        except StorageError as error:  # the next commit meets it too, and says so if it lasts
            logger.warning(f"old tasks are kept for now: {error}")
