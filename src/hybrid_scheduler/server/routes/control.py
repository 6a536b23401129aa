"""Commands to the simulation, under the long and the short paths that clients use."""

from __future__ import annotations

import asyncio
from typing import Annotated, cast

from fastapi import APIRouter, Body, Query

from hybrid_scheduler import registry
from hybrid_scheduler.live.settings import MAX_GPUS
from hybrid_scheduler.server.dependencies import Manager
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.schemas import race as schemas
from hybrid_scheduler.server.schemas.base import COMMAND, errors
from hybrid_scheduler.workloads.generator import PRESETS

router = APIRouter(prefix="/api", tags=["simulation"])
Paused = Annotated[bool, Query(description="Pause before the first task, to continue step by step.")]


@router.post("/simulation/start", summary="Start a new run", responses=errors(*COMMAND))
async def start(
    manager: Manager, values: Annotated[schemas.SettingsChange | None, Body()] = None, paused: Paused = False
) -> schemas.Status:
    """Start a new run with the server's settings, some of them changed."""
    await manager.start(values.to_changes() if values else {}, paused)
    return _build_status(manager)


@router.post("/simulation/stop", summary="End the run", responses=errors(*COMMAND))
async def stop(manager: Manager) -> schemas.Status:
    """End the run and store its summary."""
    await manager.stop()
    return _build_status(manager)


@router.post("/simulation/pause", summary="Pause", responses=errors(*COMMAND))
@router.post("/pause", summary="Pause (short path)", responses=errors(*COMMAND))
async def pause(manager: Manager) -> schemas.Status:
    """Pause between two blocks of tasks."""
    await manager.pause()
    return _build_status(manager)


@router.post("/simulation/resume", summary="Resume", responses=errors(*COMMAND, 404))
@router.post("/resume", summary="Resume (short path)", responses=errors(*COMMAND, 404))
async def resume(
    manager: Manager, order: Annotated[schemas.ResumeOrder | None, Body()] = None, paused: Paused = False
) -> schemas.Status:
    """Continue after a pause.

    With the number of a run, continue that run: it is replayed up to its last stored task.
    """
    if order is not None and order.run_id is not None:
        await manager.resume_run(order.run_id, paused)
    else:
        await manager.resume()
    return _build_status(manager)


@router.post("/simulation/step", summary="Process some tasks", responses=errors(*COMMAND))
async def step(manager: Manager, order: Annotated[schemas.StepOrder | None, Body()] = None) -> schemas.Status:
    """Process so many tasks while paused."""
    await manager.step(order.tasks if order else 1)
    return _build_status(manager)


@router.get("/simulation/status", summary="State of the simulation", responses=errors())
@router.get("/status", summary="State of the simulation (short path)", responses=errors())
async def status(manager: Manager) -> schemas.Status:
    """Return state, progress and problems; the bound is that of the last certificate, which nobody waits for."""
    await manager.watch(certify=False)
    return _build_status(manager)


@router.get("/simulation/settings", summary="Settings", responses=errors())
async def settings(manager: Manager) -> schemas.SettingsAnswer:
    """Return the settings and their possible values."""
    entries, _ = await asyncio.to_thread(manager.library.entries)
    presets = [name for name, each in PRESETS.items() if each.graph is None]
    presets += [each.spec for each in entries if not each.obstacle]
    choices = schemas.Choices(schedulers=list(registry.schedulers.table), presets=presets, most_gpus=MAX_GPUS)
    return schemas.SettingsAnswer(settings=_find_settings(manager), choices=choices)


@router.patch("/simulation/settings", summary="Change settings", responses=errors(*COMMAND))
async def change(manager: Manager, values: schemas.SettingsChange) -> schemas.ChangeAnswer:
    """Change settings while the simulation runs; the tasks of a GPU that fails start again elsewhere."""
    logged = await manager.change(values.to_changes())
    return schemas.ChangeAnswer(**vars(logged), settings=_find_settings(manager))


def _build_status(manager: RaceManager) -> schemas.Status:
    snapshot = manager.snapshot()
    schedulers = snapshot.schedulers if snapshot else []
    return schemas.Status(
        is_running=snapshot is not None and snapshot.state == "running",
        state=cast(schemas.State, snapshot.state) if snapshot else "none",
        measured=snapshot.measured if snapshot else manager.settings.live_settings().is_measured,
        run_id=manager.run_id,
        tasks_processed=snapshot.tasks_processed if snapshot else 0,
        sim_time=snapshot.sim_time if snapshot else 0.0,
        tasks_per_second=snapshot.tasks_per_second if snapshot else None,
        arrival_rate=snapshot.arrival_rate if snapshot else None,
        bound=snapshot.bound if snapshot else None,
        schedulers=[each.name for each in schedulers],
        saturated=[each.name for each in schedulers if each.saturated],
        error=snapshot.error if snapshot else "",
        notice=manager.resuming or manager.hub.notice,
    )


def _find_settings(manager: RaceManager) -> schemas.LiveSettings:
    snapshot = manager.snapshot()
    values = snapshot.settings if snapshot else manager.settings.live_settings().to_dict()
    return schemas.LiveSettings.model_validate(values)
