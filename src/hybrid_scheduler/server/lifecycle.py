"""The life of a run: a server claims the simulation of its database, starts or resumes a run, and stores its end."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import orjson
from loguru import logger

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning.model_files import read_manifest
from hybrid_scheduler.live.settings import SIMULATED
from hybrid_scheduler.live.simulation import ContinuousSimulation
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.problems import BusyError
from hybrid_scheduler.server.recording import Recording
from hybrid_scheduler.storage.database import ClaimedError, StorageError
from hybrid_scheduler.storage.store import Run, Store

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import RaceManager

CLAIM_TTL = 15.0  # seconds that a claim lasts without being renewed
STORE_TIMEOUT = 8.0  # seconds that the end of a run waits for a database that does not answer
RETRY_SECONDS = 1.0
CANNOT_REPEAT = "measured, and what really ran cannot be played again"
_own_names: set[str] = set()  # owners of this process


class Ownership:
    """A server's claim on the simulation of its database; `on_lost` is called if another server took it over."""

    def __init__(self, store: Store, on_lost: Callable[[str], None]) -> None:
        self.owner = f"{machine_name()}/{os.getpid()}/{token_hex(4)}"
        _own_names.add(self.owner)
        self._store, self._on_lost = store, on_lost
        self._renewing: asyncio.Task[None] | None = None

    async def claim(self) -> None:
        """Claim the simulation and keep renewing the claim; `ClaimedError` if another live server has it."""
        try:
            await self._store.claim(self.owner, CLAIM_TTL)
        except ClaimedError as error:
            if not is_dead(error.owner):
                raise
            logger.info(f"'{error.owner}' is dead: its claim is taken over")
            await self._store.release(error.owner)
            await self._store.claim(self.owner, CLAIM_TTL)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew(), name="heartbeat")

    async def release(self) -> None:
        """Release the claim."""
        await self.stop_renewing()
        await self._store.release(self.owner)

    async def stop_renewing(self) -> None:
        """Let the claim expire."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
            self._renewing = None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(CLAIM_TTL / 3)
            try:
                await self._store.claim(self.owner, CLAIM_TTL)
            except ClaimedError as error:
                self._on_lost(str(error))
                return
            except StorageError as error:  # the recorder meets the same error and pauses the simulation
                logger.warning(f"the claim could not be renewed: {error}")


async def mark_abandoned_runs(store: Store) -> list[int]:
    """Mark the runs of dead servers as interrupted, after releasing the claim of one that is dead; returns ids."""
    try:
        probe = f"{machine_name()}/{os.getpid()}/probe"
        await store.claim(probe, CLAIM_TTL)
        await store.release(probe)
    except ClaimedError as error:
        if is_dead(error.owner):
            await store.release(error.owner)
    return await store.mark_interrupted()


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this machine that has ended; False for other machines."""
    try:
        machine, pid, _ = owner.rsplit("/", 2)
        number = int(pid)
    except ValueError:
        return False
    if machine != machine_name():
        return False
    if number == os.getpid():
        return owner not in _own_names  # an earlier process had the same id
    return not _is_alive(number)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def machine_name() -> str:
    """Return the host and its process namespace: process ids mean nothing outside of a container."""
    namespace = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()}:{namespace.stat().st_ino if namespace.exists() else 0}"


async def autostart(manager: RaceManager) -> None:
    """Start or resume a run; waits for the claim of a server that has just died to expire."""
    deadline = time.monotonic() + 2 * CLAIM_TTL
    try:
        while not await _try_start(manager) and time.monotonic() < deadline:
            await asyncio.sleep(RETRY_SECONDS)
    except SchedulerError as error:
        manager.notify(f"the simulation could not be started: {error}", "error")


async def _try_start(manager: RaceManager) -> bool:
    try:
        run_id = await _find_interrupted(manager) if manager.settings.resume else None
        await (manager.start() if run_id is None else manager.resume_run(run_id))
    except ClaimedError as error:
        if not manager.hub.notice:
            manager.notify(str(error), "error")
        return False
    return True


async def _find_interrupted(manager: RaceManager) -> int | None:
    """Return the newest interrupted run, None if there is none or it cannot be replayed."""
    runs = await manager.store.runs()
    run = next((run for run in runs if run.kind == "live" and run.status == "interrupted"), None)
    if run is not None and is_measured(run):
        manager.notify(f"run {run.id} was {CANNOT_REPEAT}: a new one is started", "warning")
        return None
    return run.id if run else None


def is_measured(run: Run) -> bool:
    """Whether the tasks of a run really ran; runs of older versions were all simulated."""
    return bool(run.settings.get("backend", SIMULATED) != SIMULATED)


@dataclass(frozen=True)
class RunOutcome:
    """What is stored when a run ends."""

    status: str
    summary: dict[str, Any]
    models: list[tuple[str, Path, dict[str, Any]]]  # of its learners: scheduler, file, manifest


async def end_run(manager: RaceManager, recording: Recording, simulation: ContinuousSimulation, status: str) -> None:
    """Store the end of a run; `BusyError` if the database does not answer, and storing is retried until it does."""
    folder = manager.settings.data_dir / "models"
    outcome = await asyncio.to_thread(_collect_outcome, simulation, recording.run_id, folder, status)
    try:
        async with asyncio.timeout(STORE_TIMEOUT):
            await _store_outcome(manager, recording, outcome)
    except (TimeoutError, StorageError):
        number = recording.run_id
        manager.spawn(_retry_storing(manager, recording, outcome), f"the end of run {number}")
        raise BusyError(
            f"run {number} has ended, but the database does not answer: the end is stored when it is back"
        ) from None


def _collect_outcome(simulation: ContinuousSimulation, run_id: int, folder: Path, status: str) -> RunOutcome:
    summary = {"snapshot": simulation.snapshot(), "analysis": simulation.analysis()}
    return RunOutcome(status, orjson.loads(encode_json(summary)), _save_models(simulation, run_id, folder))


def _save_models(
    simulation: ContinuousSimulation, run_id: int, folder: Path
) -> list[tuple[str, Path, dict[str, Any]]]:
    saved = []
    for name, lane in simulation.race.lanes.items():
        if not lane.scheduler.learn_every:
            continue
        path = folder / f"run{run_id}-{lane.scheduler.name}.model"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lane.scheduler.save(path)
        except (SchedulerError, OSError) as error:
            logger.warning(f"the model of {name} was not saved: {error}")
        else:
            saved.append((name, path, read_manifest(path)))
    return saved


async def _store_outcome(manager: RaceManager, recording: Recording, outcome: RunOutcome) -> None:
    await recording.flush()
    await manager.store.end_run(recording.run_id, outcome.status, outcome.summary)
    for name, path, manifest in outcome.models:
        digest, training = str(manifest["sha256"]), manifest["training"]
        await manager.store.add_model(name, str(path), digest, training, recording.run_id)
    if not manager.active:
        await manager.ownership.release()


async def _retry_storing(manager: RaceManager, recording: Recording, outcome: RunOutcome) -> None:
    while True:
        await asyncio.sleep(RETRY_SECONDS)
        try:
            async with manager.starting:
                await _store_outcome(manager, recording, outcome)
        except StorageError as error:
            logger.debug(f"the end of run {recording.run_id} is not stored yet: {error}")
        else:
            manager.notify(f"the end of run {recording.run_id} is stored")
            return
