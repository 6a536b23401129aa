"""The recorder: takes batches from the engine's thread and commits many of them at once."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from loguru import logger

from hybrid_scheduler.storage.background import end_tasks
from hybrid_scheduler.storage.database import RefusedError, StorageError
from hybrid_scheduler.storage.rows import Batch, merge_batches
from hybrid_scheduler.storage.store import Store

Keep = Callable[[Callable[[], Coroutine[Any, Any, None]], str], "asyncio.Task[None]"]


@dataclass(frozen=True)
class RecorderOptions:
    """Limits of the buffer, frequency of commits, and retries."""

    limit_rows: int = 200_000  # in the buffer; then `add` returns False
    commit_rows: int = 10_000  # of one transaction; more would block the event loop for no gain
    flush_seconds: float = 0.25  # that a row waits for others
    retry_seconds: float = 0.1  # doubled with every failure
    max_retry_seconds: float = 5.0
    failures_before_alert: int = 3
    keep_tasks: int | None = None  # of a run; older ones are deleted


class Recorder:
    """A bounded buffer in front of the store. What `add` accepted is not lost while the process lives.

    `add` and `wait_for_room` are for any thread; everything else is for the event loop that called `start`.
    """

    def __init__(
        self,
        store: Store,
        options: RecorderOptions | None = None,
        on_failure: Callable[[str], None] = logger.error,
        on_recovery: Callable[[], None] = lambda: logger.info("the database is back, everything is stored"),
    ) -> None:
        self.options = options or RecorderOptions()
        self.rows_written = 0
        self.rows_refused = 0
        self.pending_rows = 0
        self.last_error: str | None = None
        self.last_commit: datetime | None = None
        self.is_failing = False
        self._store = store
        self._on_failure, self._on_recovery = on_failure, on_recovery
        self._waiting: deque[Batch] = deque()
        self._room = threading.Condition()  # guards the buffer and its counts
        self._added = self._completed = 0
        self._closed = False
        self._refusal: StorageError | None = None
        self._flushes: list[tuple[int, asyncio.Future[None]]] = []
        self._tasks_since_prune = 0
        self._has_work, self._flush_now = asyncio.Event(), asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    def start(self, keep: Keep | None = None) -> None:
        """Start writing; called on the event loop. `keep` starts work and restarts it when it fails."""
        self._loop = asyncio.get_running_loop()
        self._writer = keep(self._write_all, "recorder") if keep else self._loop.create_task(self._write_all())
        self._writer.add_done_callback(self._fail_flushes)

    # --- the engine's side -----------------------------------------------------------------------------------

    def add(self, batch: Batch) -> bool:
        """Accept a batch; False if the buffer is full."""
        with self._room:
            if self._closed or self._writer is None:
                raise StorageError("the recorder is not running: start it before the engine, stop it after")
            # A batch larger than the limit is accepted when nothing else waits.
            if self.pending_rows and self.pending_rows + len(batch) > self.options.limit_rows:
                return False
            self._waiting.append(batch)
            self._added += 1
            self.pending_rows += len(batch)
            enough = self.pending_rows >= self.options.commit_rows
        self._loop.call_soon_threadsafe((self._flush_now if enough else self._has_work).set)
        return True

    def wait_for_room(self, seconds: float) -> bool:
        """Block the engine's thread until half of the buffer is free; False if that takes longer."""
        with self._room:
            return self._room.wait_for(lambda: self.pending_rows <= self.options.limit_rows // 2, seconds)

    # --- the event loop's side -------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Return when everything added before is committed; raises if the database refused some of it."""
        with self._room:
            target = self._added
        if self._completed < target:
            if self._writer is None or self._writer.done():
                raise StorageError(f"the recorder stopped before all was stored: {self.last_error}")
            done = asyncio.get_running_loop().create_future()
            self._flushes.append((target, done))
            self._flush_now.set()
            await done
        refusal, self._refusal = self._refusal, None
        if refusal:
            raise refusal

    async def close(self, patience: float = 10.0) -> None:
        """Stop accepting, write what waits, stop; raises if that takes longer than `patience` seconds."""
        with self._room:
            self._closed = True
        if self._writer is None:
            return
        self._flush_now.set()
        await asyncio.wait([self._writer], timeout=patience)
        await end_tasks([self._writer])
        if self.pending_rows:
            raise StorageError(f"{self.pending_rows} rows could not be stored: {self.last_error}")

    def _fail_flushes(self, writer: asyncio.Task[None]) -> None:
        """Fail pending flushes when the writer has ended; an unexpected error is reported."""
        self._closed = True
        if not writer.cancelled() and (error := writer.exception()):
            self.last_error = f"{type(error).__name__}: {error}"
            self._on_failure(f"the recorder stopped, {self.pending_rows} rows are not stored: {self.last_error}")
        for _, done in self._flushes:
            if not done.done():
                done.set_exception(StorageError(f"the recorder stopped before all was stored: {self.last_error}"))

    async def _write_all(self) -> None:
        while not self._closed or self._waiting:
            await self._wait_for_work()
            while group := self._take_group():
                await self._commit(group)
                await self._prune(group)

    async def _wait_for_work(self) -> None:
        """Wait for a batch, then a little for more, unless a flush is due."""
        waits = [asyncio.ensure_future(each.wait()) for each in (self._has_work, self._flush_now)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(waits[1:], timeout=self.options.flush_seconds)
        for each in waits:
            each.cancel()
        self._has_work.clear()
        self._flush_now.clear()

    def _take_group(self) -> list[Batch]:
        """Take batches of one run that fit one transaction."""
        group: list[Batch] = []
        rows = 0
        with self._room:
            while self._waiting and (not group or self._waiting[0].run_id == group[0].run_id):
                rows += len(self._waiting[0])
                if group and rows > self.options.commit_rows:
                    break
                group.append(self._waiting.popleft())
        return group

    async def _commit(self, group: list[Batch]) -> None:
        """Write a group, retrying; the batch keeps its key, so a commit whose answer was lost is not repeated."""
        batch, failures = merge_batches(group), 0
        while True:
            try:
                await self._store.write(batch)
            except RefusedError as error:
                await self._give_up(group, error)
                return
            except StorageError as error:
                failures += 1
                self.last_error = str(error)
                if failures == self.options.failures_before_alert:
                    self.is_failing = True
                    self._on_failure(f"{self.pending_rows} rows wait to be stored: {error}")
                delay = self.options.retry_seconds * 2 ** min(failures - 1, 30)
                await asyncio.sleep(min(delay, self.options.max_retry_seconds))
            except Exception as error:  # noqa: BLE001  # rows that cannot be encoded must not end the recorder
                logger.opt(exception=error).error("rows cannot be stored")
                await self._give_up(group, RefusedError(f"these rows have no place in a database ({error})"))
                return
            else:
                self.rows_written += len(batch)
                self.last_commit, self.last_error = datetime.now(UTC), None
                if self.is_failing:
                    self.is_failing = False
                    self._on_recovery()
                self._complete(group)
                return

    async def _give_up(self, group: list[Batch], error: RefusedError) -> None:
        """Give up on a batch that can never be stored and report it; store the rest of its group one by one."""
        if len(group) > 1:
            for each in group:
                await self._commit([each])
            return
        self.rows_refused += len(group[0])
        self.last_error, self._refusal = str(error), error
        self._on_failure(f"{len(group[0])} rows are given up: {error}")
        self._complete(group)

    def _complete(self, group: list[Batch]) -> None:
        with self._room:
            self._completed += len(group)
            self.pending_rows -= sum(map(len, group))
            self._room.notify_all()
        due = [done for target, done in self._flushes if target <= self._completed]
        self._flushes = [each for each in self._flushes if each[0] > self._completed]
        for done in due:
            if not done.done():  # its flush was cancelled
                done.set_result(None)

    async def _prune(self, group: list[Batch]) -> None:
        """Delete the oldest tasks beyond the retention limit, once enough have been added."""
        if (keep := self.options.keep_tasks) is None:
            return
        self._tasks_since_prune += sum(len(rows) for batch in group for rows in batch.tasks)
        if self._tasks_since_prune <= keep // 10:
            return
        try:
            await self._store.prune(group[0].run_id, keep)
            self._tasks_since_prune = 0
        except StorageError as error:  # the next commit meets it too and reports it if it lasts
            logger.warning(f"old tasks are kept for now: {error}")
