"""Connections that send no request do not lock others out."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from hybrid_scheduler.server import serve
from live_server import live

pytestmark = pytest.mark.asyncio


async def open_half(address: str, count: int) -> list[asyncio.StreamWriter]:
    """Connect so many times and send half a request on each."""
    host, port = address.removeprefix("http://").split(":")
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        writers.append(writer)
    return writers


async def test_half_open_requests_beyond_the_room_give_way_to_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.serve.raise_file_limit", lambda _: 20)
    monkeypatch.setattr(serve, "HEADER_SECONDS", 3600.0)
    async with live(f"sqlite:///{tmp_path}/hms.db") as served:
        writers = await open_half(served.address, 60)
        assert (await served.get("/api/health"))["state"] == "ok"
        for writer in writers:
            writer.close()


async def test_a_request_that_does_not_come_ends_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "HEADER_SECONDS", 0.1)
    async with live(f"sqlite:///{tmp_path}/hms.db") as served:
        host, port = served.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /api/health HTTP/1.1\r\nHost: loc")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        async with served.watch() as client:  # a WebSocket has sent its request, and stays
            await served.post("/api/simulation/start")
            for _ in range(5):
                await client.next("simulation_update")


async def test_the_limit_of_open_files_is_raised_or_fewer_connections_are_allowed() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
        room = serve.raise_file_limit(2000)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft == min(hard, serve.WANTED_FILES)
        assert room == soft - serve.RESERVE
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
