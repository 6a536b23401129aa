"""Starts the simulation when the server starts, without making the server wait."""

from __future__ import annotations

import asyncio
import time

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.server.manager import Manager
from hybrid_scheduler.server.ownership import TTL
from hybrid_scheduler.server.run_lines import CANNOT_REPEAT, is_measured
from hybrid_scheduler.storage.errors import ClaimedError


async def begin(manager: Manager) -> None:
    """Start, or say why not; the claim of a server that has just died is waited for."""
    patience = time.monotonic() + 2 * TTL
    try:
        while not await _begun(manager) and time.monotonic() < patience:
            await asyncio.sleep(1.0)
    except SchedulerError as error:
        manager.notify(f"the simulation could not be started: {error}", "error")


async def _begun(manager: Manager) -> bool:
    try:
        run_id = await _interrupted(manager) if manager.settings.resume else None
        await (manager.start() if run_id is None else manager.resume_run(run_id))
    except ClaimedError as error:
        if not manager.hub.notice:
            manager.notify(str(error), "error")
        return False
    return True


async def _interrupted(manager: Manager) -> int | None:
    """Return the newest run that was interrupted, None if there is none or it cannot be played again."""
    runs = await manager.store.runs()
    run = next((run for run in runs if run.kind == "live" and run.status == "interrupted"), None)
    if run is not None and is_measured(run):
        manager.notify(f"run {run.id} was {CANNOT_REPEAT}: a new one is started", "warning")
        return None
    return run.id if run else None
