"""Small HTTP clients that cost less than what they measure."""

from __future__ import annotations

import asyncio
import http.client
import time
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from benchmarks.rows import require


class Asker(asyncio.Protocol):
    """Asks again as soon as it is answered, over one connection."""

    def __init__(self, path: str, number: int) -> None:
        self._request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self._left = number
        self._seen = bytearray()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, blank, body = self._seen.partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(head.decode()))
            return
        self._seen.clear()
        self._left -= 1
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))

    def _ask(self) -> None:
        if self._left:
            self._transport.write(self._request)  # type: ignore[attr-defined]  # the transport that asyncio hands over can write
        else:
            self.done.set_result(None)
            self._transport.close()


async def ask(port: int, path: str, connections: int, each: int) -> None:
    """Ask over several connections at once."""
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: Asker(path, each), "127.0.0.1", port) for _ in range(connections)]
    await asyncio.gather(*(asker.done for _, asker in made))


def latencies(port: int, path: str, seconds: float, gap: float) -> npt.NDArray[np.float64]:
    """Ask one question after the other for a while; return how many seconds each answer took."""
    connection, found = http.client.HTTPConnection("127.0.0.1", port, timeout=30), []
    due = time.perf_counter()
    end = due + seconds
    while due < end:
        time.sleep(max(0.0, due - time.perf_counter()))
        begin = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        found.append(time.perf_counter() - begin)
        require(answer.status == 200, f"GET {path} was answered with {answer.status}")
        due = max(due + gap, time.perf_counter())
    connection.close()
    return np.array(found)


def wait_for(port: int, path: str, seconds: float = 60.0) -> None:
    """Wait until a question gets a good answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    require(False, f"GET {path} had no good answer within {seconds:g} s")
