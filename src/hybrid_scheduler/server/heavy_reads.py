"""`HeavyReads`: reads of whole runs in an event loop of their own: no request waits while their rows are built."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from hybrid_scheduler.storage.background import end_tasks
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.store import Store

T = TypeVar("T")
AT_A_TIME = 2  # blocks of rows that are read: one comes from the database while another one is encoded


class HeavyReads:
    """A thread with an event loop and connections of its own from the first read on; for the loop of requests."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._store: Store | None = None
        self.turns = asyncio.Semaphore(AT_A_TIME)  # for those who read over there

    async def read(self, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
        """Return what a coroutine reads from the store over there."""
        return await self._call(work(await self._open()))

    async def stream(self, work: Callable[[Store], AsyncGenerator[T, None]]) -> AsyncIterator[T]:
        """Yield what a generator yields over there; one whose reader is slow waits there too."""
        parts, turn = work(await self._open()), asyncio.Lock()
        try:
            # Shielded: a generator cannot be closed while it runs, and its reader may leave at any time.
            while (part := await asyncio.shield(self._call(_take(parts, turn)))) is not None:
                yield part
        finally:
            self._send(_close(parts, turn))

    async def close(self) -> None:
        """End all reads, disconnect, and end the thread."""
        if self._loop is not None:
            await self._call(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join)
            self._loop.close()
            self._loop = None

    async def _open(self) -> Store:
        async with self._opening:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="heavy-reads", daemon=True)
                self._thread.start()
            if self._store is None:
                self._store = await self._call(Store.open(self._url))
            return self._store

    def _call(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        return asyncio.wrap_future(self._send(work))

    def _send(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if self._loop is None:
            work.close()
            raise StorageError("the server is closing: read again when it is back")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _end(self) -> None:
        await end_tasks(each for each in asyncio.all_tasks() if each is not asyncio.current_task())
        if self._store is not None:
            await self._store.close()


async def _take(parts: AsyncGenerator[T, None], turn: asyncio.Lock) -> T | None:
    async with turn:
        return await anext(parts, None)


async def _close(parts: AsyncGenerator[T, None], turn: asyncio.Lock) -> None:
    async with turn:
        await parts.aclose()
