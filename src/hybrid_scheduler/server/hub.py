"""`Hub`: numbers messages, keeps the last ones, and hands them to every client at its own speed."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from secrets import token_hex
from typing import Any

import orjson

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
_HEAD = struct.Struct(">Q16s")  # number and stream of a message that goes to other processes
AT_ONCE = 10  # clients that are served before others get their turn


def to_bytes(value: object) -> bytes:
    """Write JSON; dataclasses are welcome, NaN and infinity become null."""
    return orjson.dumps(value, option=_OPTIONS, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, deque | set | frozenset):
        return list(value)
    if hasattr(value, "_asdict"):
        return value._asdict()
    raise TypeError(f"{type(value).__name__} has no JSON")


def _text(value: object) -> str:
    return to_bytes(value).decode()


def is_update(message: str) -> bool:
    """Whether a message shows the race."""
    return message.startswith('{"type":"simulation_update"')


class Client:
    """A bounded queue of one who watches; too slow, it loses the oldest messages and is told how many."""

    def __init__(self, limit: int, first: Iterable[str] = ()) -> None:
        self._limit = limit
        self._queue = deque(first)  # beyond the limit, if need be: what it missed is not its fault
        self._filled = asyncio.Event()
        self._skipped = 0  # not yet told
        self.skipped_total = 0

    def put(self, message: str) -> None:
        """Queue a message; never waits. `wake` tells the client."""
        while len(self._queue) >= self._limit:
            self._queue.popleft()
            self._skipped += 1
            self.skipped_total += 1
        self._queue.append(message)

    def wake(self) -> None:
        """Let the client send what waits for it."""
        self._filled.set()

    async def next(self) -> str:
        """Wait for the next message; what was skipped is told before."""
        while not self._queue:
            self._filled.clear()
            await self._filled.wait()
        if self._skipped:
            count, self._skipped = self._skipped, 0
            return _text({"type": "skipped", "count": count})
        return self._queue.popleft()


class Hub:
    """All clients of this process, and the messages that they may have missed."""

    def __init__(self, ring: int = 240, client_queue: int = 16) -> None:
        self.stream = token_hex(8)
        self.seq = 0
        self.clients: set[Client] = set()
        self.sent = 0
        self.forward: Callable[[bytes], None] | None = None  # to other processes, if there are any
        self._queue_limit = client_queue
        self._ring: deque[tuple[int, str]] = deque(maxlen=ring)
        self._last_update: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self.notice = ""  # what is wrong at the moment, for those who join

    def use_loop(self) -> None:
        """Remember the event loop, on which all clients live."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    # --- sending -----------------------------------------------------------------------------------------------

    def publish(self, kind: str, **fields: Any) -> None:
        """Give a message its number, serialise it once and queue it for all; on the event loop."""
        self.seq += 1
        message = _text({"type": kind, "seq": self.seq, "time": time.time(), **fields})
        self._spread(self.seq, message, kind == "simulation_update")
        if self.forward:
            self.forward(_HEAD.pack(self.seq, self.stream.encode()) + message.encode())

    def publish_soon(self, kind: str, **fields: Any) -> None:
        """Publish from any thread; before the server runs, nobody is there to listen."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if threading.get_ident() == self._thread:
            self.publish(kind, **fields)
        else:
            loop.call_soon_threadsafe(lambda: self.publish(kind, **fields))

    def relay(self, packet: bytes) -> str:
        """Take a message that another process numbered; returns it."""
        seq, stream = _HEAD.unpack_from(packet)
        message = packet[_HEAD.size :].decode()
        if stream.decode() != self.stream:  # the simulation's process was started anew
            self.stream = stream.decode()
            self._ring.clear()
        self.seq = seq
        self._spread(seq, message, is_update(message))
        return message

    def _spread(self, seq: int, message: str, update: bool) -> None:
        self._ring.append((seq, message))
        self._last_update = message if update else self._last_update
        self.sent += len(self.clients)
        for client in self.clients:
            client.put(message)
        self._wake(list(self.clients))

    def _wake(self, clients: list[Client]) -> None:
        """Wake some clients, and the others after the event loop has looked round: requests do not wait for all."""
        for client in clients[:AT_ONCE]:
            client.wake()
        if len(clients) > AT_ONCE:
            asyncio.get_running_loop().call_soon(self._wake, clients[AT_ONCE:])

    # --- clients -----------------------------------------------------------------------------------------------

    def join(self, cursor: int | None = None, stream: str | None = None) -> Client:
        """Add a client; it gets what it missed since message `cursor`, or is told to begin anew."""
        client = Client(self._queue_limit, self._welcome(cursor, stream))
        self.clients.add(client)
        return client

    def leave(self, client: Client) -> None:
        """Forget a client."""
        self.clients.discard(client)

    def _welcome(self, cursor: int | None, stream: str | None) -> Iterator[str]:
        yield _text({"type": "hello", "stream": self.stream, "seq": self.seq, "notice": self.notice})
        if cursor is not None and self._knows(cursor, stream):
            yield from (message for seq, message in self._ring if seq > cursor)
            return
        if cursor is not None:
            yield _text({"type": "reset", "seq": self.seq})
        if self._last_update:
            yield self._last_update

    def _knows(self, cursor: int, stream: str | None) -> bool:
        oldest = self._ring[0][0] if self._ring else self.seq + 1
        return oldest - 1 <= cursor <= self.seq and stream in (None, self.stream)
