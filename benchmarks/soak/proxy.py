"""`Proxy`: a TCP proxy in front of a server that can be cut, closed and silenced, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

BLOCK = 1 << 16


class Proxy:
    """Forwards to a port of this machine; `cut`, `close` and `silence` do to connections what networks do."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = True
        self._heard = asyncio.Event()
        self.connections = 0  # that were ever made
        self.port = 0

    def cut(self) -> None:
        """Break every connection; new ones are let through."""
        self._soon(self._abort)

    def close(self) -> None:
        """Break every connection and let none through until `open`."""
        self._open = False
        self._soon(self._abort)

    def silence(self) -> None:
        """Let connections stand but carry nothing until `open`, as a network does that swallows packets."""
        self._soon(self._heard.clear)

    def open(self) -> None:
        """Let everything through again."""
        self._open = True
        self._soon(self._heard.set)

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    # --- in the thread -----------------------------------------------------------------------------------------

    def _soon(self, work: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(work)

    def _abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()  # a reset, not a polite end

    async def _listen(self) -> int:
        self._heard.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _end(self) -> None:
        self._server.close()
        self._abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._open:
            writer.transport.abort()
            return
        self.connections += 1
        try:
            there, to_there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # the server itself is away
            writer.transport.abort()
            return
        both = {writer, to_there}
        self._writers |= both
        ways = [asyncio.create_task(self._carry(*way)) for way in ((reader, to_there), (there, writer))]
        self._tasks |= set(ways)
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in both:
            each.transport.abort()
        await asyncio.wait(ways)
        self._writers -= both
        self._tasks -= set(ways)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(BLOCK):
                await self._heard.wait()
                writer.write(data)
                await writer.drain()
