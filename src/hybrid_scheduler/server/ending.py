"""How a run ends: what waits is stored, then a summary, and others may claim the simulation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
from loguru import logger

from hybrid_scheduler.engine.simulation import ContinuousSimulation
from hybrid_scheduler.server.errors import BusyError
from hybrid_scheduler.server.hub import to_bytes
from hybrid_scheduler.server.recording import Recording
from hybrid_scheduler.storage.errors import StorageError

if TYPE_CHECKING:
    from hybrid_scheduler.server.manager import Manager

PATIENCE = 8.0  # seconds that the end of a run waits for a database that does not answer
AGAIN = 1.0  # seconds until the next try after that


async def end_run(manager: Manager, recording: Recording, simulation: ContinuousSimulation, status: str) -> None:
    """Store the end of a run; if the database is away, `BusyError`, and it is tried again until it is back."""
    snapshot, analysis = await asyncio.to_thread(lambda: (simulation.snapshot(), simulation.analysis()))
    summary: dict[str, Any] = orjson.loads(to_bytes({"snapshot": snapshot, "analysis": analysis}))
    try:
        async with asyncio.timeout(PATIENCE):
            await _store(manager, recording, status, summary)
    except (TimeoutError, StorageError):
        number = recording.run_id
        manager.spawn(_store_later(manager, recording, status, summary), f"the end of run {number}")
        raise BusyError(
            f"run {number} has ended, but the database does not answer: the end is stored when it is back"
        ) from None


async def _store(manager: Manager, recording: Recording, status: str, summary: dict[str, Any]) -> None:
    await recording.flush()
    await manager.store.end_run(recording.run_id, status, summary)
    if not manager.active:
        await manager.ownership.release()


async def _store_later(manager: Manager, recording: Recording, status: str, summary: dict[str, Any]) -> None:
    while True:
        await asyncio.sleep(AGAIN)
        try:
            async with manager.order:
                await _store(manager, recording, status, summary)
        except StorageError as error:
            logger.debug(f"the end of run {recording.run_id} waits: {error}")
        else:
            manager.notify(f"the end of run {recording.run_id} is stored")
            return
