"""`Ownership`: this server's claim on the simulation of its database, renewed while it lives."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import orjson
from loguru import logger

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning.model_files import read_manifest
from hybrid_scheduler.live.simulation import ContinuousSimulation
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.server.problems import BusyError
from hybrid_scheduler.server.recording import Recording
from hybrid_scheduler.storage.database import ClaimedError, StorageError
from hybrid_scheduler.storage.store import Store

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import Manager

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


PATIENCE = 8.0  # seconds that the end of a run waits for a database that does not answer
AGAIN = 1.0  # seconds until the next try after that


@dataclass(frozen=True)
class End:
    """What is stored when a run ends."""

    status: str
    summary: dict[str, Any]
    models: list[tuple[str, Path, dict[str, Any]]]  # of its learners: scheduler, file, manifest


async def end_run(manager: Manager, recording: Recording, simulation: ContinuousSimulation, status: str) -> None:
    """Store the end of a run; if the database is away, `BusyError`, and it is tried again until it is back."""
    end = await asyncio.to_thread(_look_back, simulation, recording.run_id, manager.settings.data_dir, status)
    try:
        async with asyncio.timeout(PATIENCE):
            await _store(manager, recording, end)
    except (TimeoutError, StorageError):
        number = recording.run_id
        manager.spawn(_store_later(manager, recording, end), f"the end of run {number}")
        raise BusyError(
            f"run {number} has ended, but the database does not answer: the end is stored when it is back"
        ) from None


def _look_back(simulation: ContinuousSimulation, run_id: int, folder: Path, status: str) -> End:
    parts = {"snapshot": simulation.snapshot(), "analysis": simulation.analysis()}
    return End(status, orjson.loads(to_bytes(parts)), kept_models(simulation, run_id, folder / "models"))


def kept_models(
    simulation: ContinuousSimulation, run_id: int, folder: Path
) -> list[tuple[str, Path, dict[str, Any]]]:
    """Write what the learners of a run know, each to a file of its own."""
    kept = []
    for name, lane in simulation.race.lanes.items():
        if not lane.scheduler.learn_every:
            continue
        place = folder / f"run{run_id}-{lane.scheduler.name}.model"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lane.scheduler.save(place)
        except (SchedulerError, OSError) as error:
            logger.warning(f"the model of {name} was not kept: {error}")
        else:
            kept.append((name, place, read_manifest(place)))
    return kept


async def _store(manager: Manager, recording: Recording, end: End) -> None:
    await recording.flush()
    await manager.store.end_run(recording.run_id, end.status, end.summary)
    for name, place, manifest in end.models:
        digest, training = str(manifest["sha256"]), manifest["training"]
        await manager.store.add_model(name, str(place), digest, training, recording.run_id)
    if not manager.active:
        await manager.ownership.release()


async def _store_later(manager: Manager, recording: Recording, end: End) -> None:
    while True:
        await asyncio.sleep(AGAIN)
        try:
            async with manager.order:
                await _store(manager, recording, end)
        except StorageError as error:
            logger.debug(f"the end of run {recording.run_id} waits: {error}")
        else:
            manager.notify(f"the end of run {recording.run_id} is stored")
            return
