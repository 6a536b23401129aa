"""How a run ends: what waits is stored, then a summary, and others may claim the simulation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from loguru import logger

from hybrid_scheduler.engine.simulation import ContinuousSimulation
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning.model_file import read_manifest
from hybrid_scheduler.server.errors import BusyError
from hybrid_scheduler.server.hub import to_bytes
from hybrid_scheduler.server.recording import Recording
from hybrid_scheduler.storage.errors import StorageError

if TYPE_CHECKING:
    from hybrid_scheduler.server.manager import Manager

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
