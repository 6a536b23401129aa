"""`Hub`: numbers messages, keeps the last ones, and hands them to every client at its own speed."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from secrets import token_hex
from typing import Any

from fastapi import APIRouter, Query, WebSocket, WebSocketDisconnect

from hybrid_scheduler.live.snapshot import Analysis, Snapshot, TaskRecord, TaskResult
from hybrid_scheduler.server.encoding import brief, figure, moment, to_bytes
from hybrid_scheduler.server.feed import News, Span
from hybrid_scheduler.server.security import origin_allowed
from hybrid_scheduler.settings import AppSettings

_HEAD = struct.Struct(">Q16s")  # number and stream of a message that goes to other processes
AT_ONCE = 10  # clients that are served before others get their turn


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


router = APIRouter()
FORBIDDEN, FULL = 4403, 4429  # close codes


@router.websocket("/ws")
async def watch(
    websocket: WebSocket,
    cursor: str | None = Query(None, description="Number of the last message that was seen."),
    stream: str | None = Query(None, description="The stream it was numbered in."),
) -> None:
    """Send messages until the client goes away."""
    settings: AppSettings = websocket.app.state.settings
    hub: Hub = websocket.app.state.manager.hub
    if not origin_allowed(websocket.headers, settings):
        await websocket.close(FORBIDDEN, "this page may not connect: add it to ALLOWED_ORIGINS")
        return
    if len(hub.clients) >= settings.max_clients:
        await websocket.close(FULL, "too many clients: raise MAX_CLIENTS")
        return
    await websocket.accept()
    client = hub.join(int(cursor) if cursor and cursor.isdecimal() and len(cursor) < 20 else None, stream)
    try:
        await _serve(websocket, client)
    finally:
        hub.leave(client)


async def _serve(websocket: WebSocket, client: Client) -> None:
    """Send and read until either ends; without reading one never learns that a client has left."""
    tasks = [asyncio.create_task(_send(websocket, client)), asyncio.create_task(_read(websocket))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(websocket: WebSocket, client: Client) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # Starlette's two ways to say that the client has left
        while True:
            await websocket.send_text(await client.next())


async def _read(websocket: WebSocket) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await websocket.receive()  # clients have nothing to say; orders go through REST


_SNAPSHOT = tuple(each.name for each in fields(Snapshot) if each.name != "latest")
_COMPARED = ("name", "avg_time", "mean_turnaround", "makespan", "makespan_over_bound", "wins", "saturated")


def update(run_id: int | None, snapshot: Snapshot, news: News, analysis: Analysis | None) -> dict[str, Any]:
    """Return the fields of a `simulation_update`."""
    frame = {name: getattr(snapshot, name) for name in _SNAPSHOT}
    latest = snapshot.latest
    frame |= {
        "run_id": run_id,
        "schedulers": brief(snapshot.schedulers),
        "task": _task(latest),
        "comparison": [brief({name: getattr(each, name) for name in _COMPARED}) for each in snapshot.schedulers],
        "latest_results": {name: _result(each) for name, each in latest.results.items()} if latest else {},
        "records": list(news.records),
        "records_total": news.records_total,
        "spans": [_compact(span) for span in news.spans],
        "spans_total": news.spans_total,
        "marks": news.marks,
        "analysis": brief(analysis),
    }
    return frame


def _result(result: TaskResult) -> dict[str, Any]:
    """Write a result as short as can be; its moments keep their decimals however long a run has been going on."""
    short: dict[str, Any] = brief(result)
    return {**short, "start": moment(result.start), "finish": moment(result.finish)}


def _task(latest: TaskRecord | None) -> dict[str, Any] | None:
    if latest is None:
        return None
    return {
        "id": latest.task_id,
        "size": figure(latest.size),
        "intensity": figure(latest.compute_intensity),
        "memory": figure(latest.memory_required),
        "arrival_time": moment(latest.arrival_time),
    }


def _compact(span: Span) -> tuple[str, int, float, float, int, int]:
    """Write a span as short as it can be: there are many of them."""
    return span.scheduler, span.device, moment(span.start), moment(span.end), span.task_id, span.attempt
