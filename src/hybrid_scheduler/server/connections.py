"""`Connections`: what a process of the service holds whether or not it runs the simulation itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from loguru import logger

from hybrid_scheduler.server.feed import Feed
from hybrid_scheduler.server.websocket import Hub
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.cache import Cache, open_cache
from hybrid_scheduler.storage.database import StorageError
from hybrid_scheduler.storage.recorder import Pace, Recorder
from hybrid_scheduler.storage.store import Store
from hybrid_scheduler.workloads.library import Library


class Connections:
    """Database, cache, recorder, live feed, and work in the background."""

    store: Store
    cache: Cache
    recorder: Recorder

    def __init__(self, settings: AppSettings) -> None:
        self.settings = settings
        self.hub = Hub(settings.ring, settings.client_queue)
        self.feed = Feed()
        self.library = Library(settings.workloads)
        self.reading = asyncio.Lock()  # of uploads: one is read at a time, for they can be large
        self._background: set[asyncio.Task[Any]] = set()

    async def connect(self) -> None:
        """Open database and cache."""
        self.hub.use_loop()
        await asyncio.to_thread(self.library.sweep)
        self.store = await Store.open(self.settings.database)
        self.cache = await open_cache(self.settings.redis)
        self.recorder = Recorder(
            self.store, Pace(keep_tasks=self.settings.keep_tasks), self.on_trouble, self.on_recovered
        )
        self.recorder.start()

    async def disconnect(self) -> None:
        """Write what waits, and close everything."""
        for task in list(self._background):
            task.cancel()
        try:
            await self.recorder.close()
        except StorageError as error:
            logger.error(str(error))
        await self.cache.close()
        await self.store.close()

    def on_trouble(self, error: str) -> None:
        """Tell that the database does not take rows."""
        self.notify(error, "error")

    def on_recovered(self) -> None:
        """Tell that the database is back."""
        self.hub.notice = ""
        self.notify("the database is back: everything is stored")

    def notify(self, message: str, level: str = "info") -> None:
        """Tell everyone who watches; an error is also told to those who come later, until it is over."""
        logger.log(level.upper(), message)
        if level == "error":
            self.hub.notice = message
        self.hub.publish_soon("notification", level=level, message=message)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Run something in the background until it ends or the server does."""
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Tell of background work that failed: nobody waits for it who could."""
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.opt(exception=error).error(f"{task.get_name()} failed")
            self.notify(f"{task.get_name()} failed ({type(error).__name__}: {error}): see the log", "error")
