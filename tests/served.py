"""The service in the test's own process, without a port, on a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI

from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.settings import load_settings

QUICK = ("round_robin", "random", "greedy", "eft", "oracle")  # none that learns


def build_app(url: str, **settings: Any) -> FastAPI:
    """Build the service for a database; it starts nothing by itself."""
    wanted = {"schedulers": QUICK, "autostart": False, "log_file": "none", "rate_limit": "none"} | settings
    return create_app(load_settings(database_url=url, **wanted))


class Service:
    """The service, a client, and a simulation that advances only by `step`."""

    def __init__(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        self.app, self.client = app, client
        self.manager: RaceManager = app.state.manager

    async def get(self, path: str, **query: Any) -> Any:
        """Return the JSON of a response after checking its status."""
        answer = await self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def refused(self, path: str, **query: Any) -> int:
        """Return the status of an error after checking its shape."""
        answer = await self.client.get(path, params=query)
        assert answer.json()["error"]["message"]
        return answer.status_code

    async def start(self, **settings: Any) -> int:
        """Start a run and pause it; return the number of tasks processed."""
        await self.manager.start({"pace": 0.1, **settings})
        await self.manager.pause()
        simulation = self.manager.simulation
        assert simulation is not None
        return simulation.race.stream.number

    async def step(self, tasks: int, **settings: Any) -> None:
        """Process and store so many tasks; starts a run if there is none."""
        if tasks > 100:
            settings = {"pace": 200.0, **settings}  # in larger blocks
        passed = 0 if self.manager.active else await self.start(**settings)
        await self.manager.step(tasks - passed)
        await self.flush()

    async def flush(self) -> None:
        """Wait until everything is stored."""
        await self.manager.flush()


@asynccontextmanager
async def serving(url: str, **settings: Any) -> AsyncIterator[Service]:
    """Serve a database."""
    app = build_app(url, **settings)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield Service(app, client)
