"""`Supervisor`: background work of the service that is restarted when it fails, and never fails unseen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from loguru import logger

from hybrid_scheduler.storage.background import end_tasks

FIRST_DELAY, MAX_DELAY = 0.1, 30.0  # seconds before a restart, doubled with every failure in a row
CALM_SECONDS = 60.0  # without a failure, after which one counts as over
Work = Callable[[], Coroutine[Any, Any, Any]]


class Supervisor:
    """Runs coroutines in the background; for the event loop."""

    def __init__(self, on_failure: Callable[[str], None]) -> None:
        self.failures = 0  # of all work, since the start
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[Any]] = set()
        self._kept: set[asyncio.Task[None]] = set()  # those of them that should go on
        self._troubles: dict[str, tuple[str, float]] = {}  # by name: what failed, and when

    def keep(self, work: Work, name: str) -> asyncio.Task[None]:
        """Run work that should go on until the server ends: it is started again whenever it fails."""
        task = self._create(self._restart(work, name), name)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)
        return task

    @property
    def kept(self) -> int:
        """How many kinds of work go on until the server ends."""
        return len(self._kept)

    def run(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run work once; a failure is reported."""
        return self._create(self._report(work, name), name)

    def troubles(self) -> list[str]:
        """Return what has failed lately, for people."""
        calm = time.monotonic() - CALM_SECONDS
        self._troubles = {name: each for name, each in self._troubles.items() if each[1] > calm}
        return [message for message, _ in self._troubles.values()]

    async def close(self) -> None:
        """End all work and wait until it has ended: a query that was cut off must still close its connection."""
        await end_tasks(self._tasks - {asyncio.current_task()})

    def _create(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _restart(self, work: Work, name: str) -> None:
        delay = FIRST_DELAY
        while True:
            begin = time.monotonic()
            try:
                await work()
            except Exception as error:  # noqa: BLE001  # whatever it is: reported, and tried again
                self._note(error, name, "it is started again")
            else:
                return
            delay = FIRST_DELAY if time.monotonic() - begin > CALM_SECONDS else min(2 * delay, MAX_DELAY)
            await asyncio.sleep(delay)

    async def _report(self, work: Coroutine[Any, Any, Any], name: str) -> Any:
        try:
            return await work
        except Exception as error:  # noqa: BLE001  # nothing awaits it
            self._note(error, name, "see the log")

    def _note(self, error: Exception, name: str, next_step: str) -> None:
        self.failures += 1
        message = f"{name} failed ({type(error).__name__}: {error}): {next_step}"
        self._troubles[name] = message, time.monotonic()
        logger.opt(exception=error).error(f"{name} failed")
        self._on_failure(message)
