"""The WebSocket `/ws`: builds the frames of a race and sends every message to every client at its own speed.

Who joins late gets the last minutes of the race and of the log first: the `History`.
"""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import reduce
from operator import getitem
from secrets import token_hex
from typing import Any, NamedTuple

import orjson
from fastapi import APIRouter, Query, WebSocket, WebSocketDisconnect

from hybrid_scheduler.live.snapshot import Analysis, Snapshot
from hybrid_scheduler.server.encoding import encode_json, round_figure, round_figures, round_time
from hybrid_scheduler.server.feed import News
from hybrid_scheduler.server.security import is_allowed_origin
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.background import end_tasks

router = APIRouter()
FORBIDDEN, FULL = 4403, 4429  # close codes
CLIENTS_PER_WAKE = 10  # clients that are woken before the event loop handles anything else
POINTS, POINT_SECONDS = 150, 2.0  # of the history: the last five minutes; a frame of a race at full speed is as large
LINES, NOTIFICATIONS, MARKS = 200, 20, 60
MAX_TEXT = 1000  # characters of a line
HISTORY_COLUMNS = {
    "turnaround": ("window", "mean_turnaround"),
    "p95": ("window", "p95_turnaround"),
    "execution": ("window", "avg_time"),
    "backlog": ("backlog",),
    "over_bound": ("makespan_over_bound",),
    "turnaround_over_bound": ("turnaround_over_bound",),
}  # name in the history: path in the figures of a scheduler
_HEADER = struct.Struct(">Q16s")  # number and stream of a message that goes to other processes
_SNAPSHOT = tuple(each.name for each in fields(Snapshot) if each.name != "latest")
_KEY_FIGURES = (
    *("name", "avg_time", "mean_turnaround", "makespan", "makespan_over_bound", "turnaround_over_bound", "wins"),
    "saturated",
)


@router.websocket("/ws")
async def watch(
    websocket: WebSocket,
    cursor: str | None = Query(None, description="Number of the last message that was seen."),
    stream: str | None = Query(None, description="The stream it was numbered in."),
) -> None:
    """Send messages until the client disconnects."""
    settings: AppSettings = websocket.app.state.settings
    hub: Hub = websocket.app.state.manager.hub
    if not is_allowed_origin(websocket.headers, settings):
        await websocket.close(FORBIDDEN, "this page may not connect: add it to ALLOWED_ORIGINS")
        return
    if len(hub.clients) >= settings.max_clients:
        await websocket.close(FULL, "too many clients: raise MAX_CLIENTS")
        return
    await websocket.accept()
    client = hub.join(int(cursor) if cursor and cursor.isdecimal() and len(cursor) < 20 else None, stream)
    # Without receiving, a disconnect would never be noticed.
    tasks = [asyncio.create_task(_send(websocket, client)), asyncio.create_task(_receive(websocket))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hub.clients.discard(client)
        await end_tasks(tasks)


async def _send(websocket: WebSocket, client: Client) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # Starlette raises either when the client has left
        while True:
            await websocket.send_text(await client.next())


async def _receive(websocket: WebSocket) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await websocket.receive()  # ignored: commands go through REST


class Client:
    """The bounded queue of one client; if it is too slow, it loses the oldest messages and is told how many."""

    def __init__(self, limit: int, first: Iterable[str] = ()) -> None:
        self._limit = limit
        self._queue = deque(first)  # may exceed the limit: it holds what the client missed while away
        self.filled = asyncio.Event()
        self._skipped = 0  # since the last message
        self.skipped_total = 0

    def put(self, message: str) -> None:
        """Queue a message without waiting; the client sends it when `filled` is set."""
        while len(self._queue) >= self._limit:
            self._queue.popleft()
            self._skipped += 1
            self.skipped_total += 1
        self._queue.append(message)

    async def next(self) -> str:
        """Wait for the next message, or for a note of how many were skipped before it."""
        while not self._queue:
            self.filled.clear()
            await self.filled.wait()
        if self._skipped:
            count, self._skipped = self._skipped, 0
            return _to_text({"type": "skipped", "count": count})
        return self._queue.popleft()


class Hub:
    """All clients of this process; the last messages for those that reconnect, the last minutes for who joins."""

    def __init__(self, ring: int = 240, client_queue: int = 16) -> None:
        self.stream = token_hex(8)
        self.seq = 0
        self.clients: set[Client] = set()
        self.sent = 0
        self.wanted = asyncio.Event()  # set when somebody joins
        self.forward: Callable[[bytes], None] | None = None  # to other processes, if there are any
        self._queue_limit = client_queue
        self._ring: deque[tuple[int, str]] = deque(maxlen=ring)
        self._history = History()
        self._last_update: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self.notice = ""  # present problem, for clients that join

    def use_loop(self) -> None:
        """Remember the event loop, on which all clients live."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    def publish(self, kind: str, **fields: Any) -> None:
        """Give a message its number, serialise it once and queue it for all clients; on the event loop."""
        self.seq += 1
        values = {"type": kind, "seq": self.seq, "time": time.time(), **fields}
        message = _to_text(values)
        self._history.add(values)
        self._broadcast(self.seq, message, kind == "simulation_update")
        if self.forward:
            self.forward(_HEADER.pack(self.seq, self.stream.encode()) + message.encode())

    def publish_soon(self, kind: str, **fields: Any) -> None:
        """Publish from any thread; dropped while the server is not running."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if threading.get_ident() == self._thread:
            self.publish(kind, **fields)
        else:
            loop.call_soon_threadsafe(lambda: self.publish(kind, **fields))

    def relay(self, packet: bytes) -> dict[str, Any]:
        """Broadcast a message that another process has numbered; returns it."""
        seq, stream = _HEADER.unpack_from(packet)
        message = packet[_HEADER.size :].decode()
        if stream.decode() != self.stream:  # the simulation's process was restarted
            self.stream = stream.decode()
            self._ring.clear()
            self._history = History()
        self.seq = seq
        values: dict[str, Any] = orjson.loads(message)
        self._history.add(values)
        self._broadcast(seq, message, is_update(message))
        return values

    def _broadcast(self, seq: int, message: str, update: bool) -> None:
        self._ring.append((seq, message))
        self._last_update = message if update else self._last_update
        self.sent += len(self.clients)
        for client in self.clients:
            client.put(message)
        self._wake(list(self.clients))

    def _wake(self, clients: list[Client]) -> None:
        """Wake some clients now and the others in later turns of the event loop, so that requests need not wait."""
        for client in clients[:CLIENTS_PER_WAKE]:
            client.filled.set()
        if len(clients) > CLIENTS_PER_WAKE:
            asyncio.get_running_loop().call_soon(self._wake, clients[CLIENTS_PER_WAKE:])

    def join(self, cursor: int | None = None, stream: str | None = None) -> Client:
        """Add a client; it gets the messages after number `cursor`, or a reset if they are gone."""
        client = Client(self._queue_limit, self._first_messages(cursor, stream))
        self.clients.add(client)
        self.wanted.set()
        return client

    def _first_messages(self, cursor: int | None, stream: str | None) -> Iterator[str]:
        yield _to_text({"type": "hello", "stream": self.stream, "seq": self.seq, "notice": self.notice})
        if cursor is not None:
            oldest = self._ring[0][0] if self._ring else self.seq + 1
            if oldest - 1 <= cursor <= self.seq and stream in (None, self.stream):
                yield from (message for seq, message in self._ring if seq > cursor)
                return
            yield _to_text({"type": "reset", "seq": self.seq})
        yield self._history.encode(self.seq)
        if self._last_update:
            yield self._last_update


def is_update(message: str) -> bool:
    """Whether a message is a frame of the race."""
    return message.startswith('{"type":"simulation_update"')


def _to_text(value: object) -> str:
    return encode_json(value).decode()


def build_update(run_id: int | None, snapshot: Snapshot, news: News, analysis: Analysis | None) -> dict[str, Any]:
    """Return the fields of a `simulation_update`."""
    latest = snapshot.latest
    return {name: getattr(snapshot, name) for name in _SNAPSHOT} | {
        "run_id": run_id,
        "schedulers": round_figures(snapshot.schedulers),
        "certified_window": round_figures(snapshot.certified_window),
        "task": {
            "id": latest.task_id,
            "size": round_figure(latest.size),
            "intensity": round_figure(latest.compute_intensity),
            "memory": round_figure(latest.memory_required),
            "arrival_time": round_time(latest.arrival_time),
        }
        if latest
        else None,
        "comparison": [
            round_figures({name: getattr(each, name) for name in _KEY_FIGURES}) for each in snapshot.schedulers
        ],
        "latest_results": {
            name: round_figures(each) | {"start": round_time(each.start), "finish": round_time(each.finish)}
            for name, each in (latest.results if latest else {}).items()
        },
        "records": list(news.records),
        "records_total": news.records_total,
        "updates": news.updates,
        "spans": [  # plain tuples, which are short in JSON: there are many spans
            (name, device, round_time(start), round_time(end), task_id, attempt)
            for name, device, start, end, task_id, attempt in news.spans
        ],
        "spans_total": news.spans_total,
        "marks": news.marks,
        "analysis": round_figures(analysis),
    }


class Point(NamedTuple):
    """What is kept of an update."""

    clock: float
    time: float
    rate: float | None
    bound: float | None
    schedulers: dict[str, tuple[list[float | None], list[float | None]]]  # columns; busy share by device


class History:
    """Bounded columns of figures, and the last lines of the log; made of messages as they are sent."""

    def __init__(self) -> None:
        self._log: deque[dict[str, Any]] = deque(maxlen=LINES)
        self._notifications: deque[dict[str, Any]] = deque(maxlen=NOTIFICATIONS)
        self._text: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._points: deque[Point] = deque(maxlen=POINTS)
        self._marks: deque[Any] = deque(maxlen=MARKS)
        self._newest: Mapping[str, Any] | None = None

    def add(self, message: dict[str, Any]) -> None:
        """Add a message of the stream."""
        self._text = None
        if message["type"] == "simulation_update":
            self._add_update(message)
        else:
            lines = self._log if message["type"] == "log" else self._notifications
            lines.append(message | {"message": message["message"][:MAX_TEXT]})

    def _add_update(self, update: Mapping[str, Any]) -> None:
        """Remember the update before this one: the newest is sent to everybody as it is."""
        before, self._newest = self._newest, update
        if before is None:
            return
        if before["run_id"] != update["run_id"] or before["tasks_processed"] > update["tasks_processed"]:
            self._clear()
            self._newest = update
            return
        self._marks.extend(before["marks"])
        last = self._points[-1] if self._points else None
        if last is None or (before["time"] - last.clock >= POINT_SECONDS and before["sim_time"] > last.time):
            self._points.append(_read_point(before))

    def encode(self, seq: int) -> str:
        """Return the message for who joins after message number `seq`."""
        if self._text is None:
            self._text = encode_json(self._describe() | {"seq": seq}).decode()
        return self._text

    def _describe(self) -> dict[str, Any]:
        points = list(self._points)
        columns = {name: [getattr(each, name) for each in points] for name in ("clock", "time", "rate", "bound")}
        return {
            "type": "history",
            "run_id": self._newest["run_id"] if self._newest else None,
            **columns,
            "schedulers": {name: _build_columns(name, points) for name in (points[-1].schedulers if points else ())},
            "marks": self._marks,
            "log": self._log,
            "notifications": self._notifications,
        }


def _read_point(update: Mapping[str, Any]) -> Point:
    schedulers = {each["name"]: (_read_figures(each), each["utilisation"]) for each in update["schedulers"]}
    return Point(
        round(update["time"], 1), update["sim_time"], update["tasks_per_second"], update["bound"], schedulers
    )


def _read_figures(figures: Mapping[str, Any]) -> list[float | None]:
    start: Any = figures
    return [reduce(getitem, path, start) for path in HISTORY_COLUMNS.values()]


def _build_columns(name: str, points: Iterable[Point]) -> dict[str, Any]:
    """Return the columns of a scheduler; null before it joined, and of devices that were not there."""
    known = [each.schedulers.get(name, ([], [])) for each in points]
    columns = [[_get_value(figures, column) for figures, _ in known] for column in range(len(HISTORY_COLUMNS))]
    devices = range(len(known[-1][1]))
    busy = [[_get_value(shares, device) for _, shares in known] for device in devices]
    return dict(zip(HISTORY_COLUMNS, columns, strict=True)) | {"utilisation": busy}


def _get_value(values: list[float | None], place: int) -> float | None:
    return values[place] if place < len(values) else None
