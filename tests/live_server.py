"""The service on a real port: in the test's own event loop, or as `hms serve` in a process that may be killed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import orjson
import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.serve import browser_url, build_config, listen
from hybrid_scheduler.settings import AppSettings, load_settings

QUICK = ("round_robin", "greedy", "eft", "oracle")  # none that learns
DEADLINE = 300.0  # seconds; only there so that a hang ends
QUIET: dict[str, Any] = {
    "schedulers": QUICK,
    "autostart": False,
    "log_file": "none",
    "rate_limit": "none",
    "frame_seconds": 0.05,
    "port": 0,
    "pace": 100.0,
}


async def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.01)


class Live:
    """A served application."""

    def __init__(self, config: uvicorn.Config, address: str, client: httpx.AsyncClient) -> None:
        self.address, self.client = address, client
        app: Any = config.app
        self.manager: RaceManager = app.state.manager

    @asynccontextmanager
    async def watch(self, query: str = "", **options: Any) -> AsyncIterator[Watcher]:
        """Connect to /ws."""
        # Without a limit of the queue, a client that has stopped reading can close at once.
        options = {"max_queue": None, "open_timeout": DEADLINE, "ping_timeout": None} | options
        async with connect(self.address.replace("http", "ws") + "/ws" + query, **options) as socket:
            yield Watcher(socket)

    async def post(self, path: str, json: Any = None, status: int = 200) -> Any:
        """Send a command and return the response after checking its status."""
        answer = await self.client.post(path, json=json)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def get(self, path: str) -> Any:
        """Return a response after checking its status."""
        answer = await self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def until_tasks(self, count: int) -> None:
        """Wait until so many tasks are processed."""
        await until(lambda: (seen := self.manager.snapshot()) is not None and seen.tasks_processed >= count)


class Watcher:
    """A client of /ws."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def next(self, kind: str | None = None) -> dict[str, Any]:
        """Return the next message, or the next one of a kind."""
        async with asyncio.timeout(DEADLINE):
            while True:
                message: dict[str, Any] = orjson.loads(await self.socket.recv())
                if kind in (None, message["type"]):
                    return message


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the tests."""
        yield


def build_settings(url: str, **settings: Any) -> AppSettings:
    return load_settings(database_url=url, **(QUIET | settings))


@asynccontextmanager
async def live(url: str, **settings: Any) -> AsyncIterator[Live]:
    """Serve a database on a free port; with `autostart=True` the simulation is running when this returns."""
    config = build_config(build_settings(url, **settings))
    listener = listen("127.0.0.1", 0)
    address = browser_url(listener).replace("localhost", "127.0.0.1")
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await until(lambda: server.started or serving.done())
    async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as client:
        served = Live(config, address, client)
        try:
            if settings.get("autostart"):
                await until(lambda: served.manager.active)
            yield served
        finally:
            server.should_exit = True
            await serving
            listener.close()


class Process:
    """`hms serve` in a process of its own."""

    def __init__(self, folder: Path, url: str, *arguments: str, **environment: str) -> None:
        command: list[str | Path] = [
            *environment.pop("WITHIN", "").split(),  # a program that starts it elsewhere, such as unshare
            Path(sys.executable).with_name("hms"),
            "serve",
            "--port",
            "0",
            "--database",
            url,
            *arguments,
        ]
        quick = {"SCHEDULERS": ",".join(QUICK), "PACE": "200", "FRAME_SECONDS": "0.1", "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **quick, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            if "watch it at" in line:
                self._ready.set()
        self._ready.set()

    @property
    def address(self) -> str:
        """The URL, once it listens."""
        assert self._ready.wait(DEADLINE)
        found = re.search(r"watch it at (\S+)", "".join(self.lines))
        assert found, "".join(self.lines)
        return found[1].replace("localhost", "127.0.0.1")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it and return its exit code."""
        self._process.send_signal(how)
        code = self._process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._reader.join(DEADLINE)
        if self._process.stdout:
            self._process.stdout.close()
