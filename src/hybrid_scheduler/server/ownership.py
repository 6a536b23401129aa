"""`Ownership`: this server's claim on the simulation of its database, renewed while it lives."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

from loguru import logger

from hybrid_scheduler.storage.errors import ClaimedError, StorageError
from hybrid_scheduler.storage.store import Store

TTL = 15.0  # seconds that a claim lasts without being renewed
BEAT = TTL / 3
_ours: set[str] = set()  # owners of this process


class Ownership:
    """Claims, renews and releases; `on_lost` is told if another server took over."""

    def __init__(self, store: Store, on_lost: Callable[[str], None]) -> None:
        self.owner = f"{_machine()}/{os.getpid()}/{token_hex(4)}"
        _ours.add(self.owner)
        self._store, self._on_lost = store, on_lost
        self._beats: asyncio.Task[None] | None = None

    async def claim(self) -> None:
        """Take the simulation; `ClaimedError` if another living server has it."""
        try:
            await self._store.claim(self.owner, TTL)
        except ClaimedError as error:
            if not is_dead(error.owner):
                raise
            logger.info(f"'{error.owner}' is dead: its claim is taken over")
            await self._store.release(error.owner)
            await self._store.claim(self.owner, TTL)
        if self._beats is None or self._beats.done():
            self._beats = asyncio.create_task(self._beat(), name="heartbeat")

    async def release(self) -> None:
        """Give the claim up."""
        await self.quiet()
        await self._store.release(self.owner)

    async def quiet(self) -> None:
        """Stop renewing; the claim ends by itself."""
        if self._beats is not None:
            self._beats.cancel()
            await asyncio.wait([self._beats])
            self._beats = None

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT)
            try:
                await self._store.heartbeat(self.owner, TTL)
            except ClaimedError as error:
                self._on_lost(str(error))
                return
            except StorageError as error:  # the recorder meets the same trouble and halts the simulation
                logger.warning(f"the claim could not be renewed: {error}")


async def sweep(store: Store) -> list[int]:
    """Mark runs that dead servers left; a server known to be dead loses its claim first. Returns the runs' ids."""
    try:
        probe = f"{_machine()}/{os.getpid()}/probe"
        await store.claim(probe, TTL)
        await store.release(probe)
    except ClaimedError as error:
        if is_dead(error.owner):
            await store.release(error.owner)
    return await store.mark_interrupted()


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this machine that is gone; of others one cannot know."""
    try:
        machine, pid, _ = owner.rsplit("/", 2)
        number = int(pid)
    except ValueError:
        return False
    if machine != _machine():
        return False
    if number == os.getpid():
        return owner not in _ours  # our number, but none of our names: a process before us had it
    return not _lives(number)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _machine() -> str:
    """Name the machine, and the container: process numbers mean nothing outside of it."""
    namespace = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()}:{namespace.stat().st_ino if namespace.exists() else 0}"
