"""Orders to the simulation, under both sets of paths that clients know."""

from __future__ import annotations

import asyncio
from typing import Annotated, cast

from fastapi import APIRouter, Body, Query, Request

from hybrid_scheduler import registry
from hybrid_scheduler.live.settings import MOST_GPUS
from hybrid_scheduler.server.answers import manager_of
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.schemas.base import ORDER, errors
from hybrid_scheduler.server.schemas.control import (
    ChangeAnswer,
    Choices,
    LiveSettings,
    ResumeOrder,
    SettingsAnswer,
    SettingsChange,
    State,
    Status,
    StepOrder,
)
from hybrid_scheduler.workloads.generator import PRESETS

router = APIRouter(prefix="/api", tags=["simulation"])
Paused = Annotated[bool, Query(description="Halt before the first task, to go on step by step.")]


@router.post("/simulation/start", summary="Start a new run", responses=errors(*ORDER))
async def start(
    request: Request, values: Annotated[SettingsChange | None, Body()] = None, paused: Paused = False
) -> Status:
    """Start a new run with the server's settings, some of them changed."""
    manager = manager_of(request)
    await manager.start(values.values_given() if values else {}, paused)
    return status_of(manager)


@router.post("/simulation/stop", summary="End the run", responses=errors(*ORDER))
async def stop(request: Request) -> Status:
    """End the run and store its summary."""
    manager = manager_of(request)
    await manager.stop()
    return status_of(manager)


@router.post("/simulation/pause", summary="Pause", responses=errors(*ORDER))
@router.post("/pause", summary="Pause (short path)", responses=errors(*ORDER))
async def pause(request: Request) -> Status:
    """Halt between two blocks of tasks."""
    manager = manager_of(request)
    await manager.pause()
    return status_of(manager)


@router.post("/simulation/resume", summary="Go on", responses=errors(*ORDER, 404))
@router.post("/resume", summary="Go on (short path)", responses=errors(*ORDER, 404))
async def resume(
    request: Request, order: Annotated[ResumeOrder | None, Body()] = None, paused: Paused = False
) -> Status:
    """Go on after a pause.

    With a run's number, go on with that run: it is played again up to its last stored task.
    """
    manager = manager_of(request)
    if order is not None and order.run_id is not None:
        await manager.resume_run(order.run_id, paused)
    else:
        await manager.resume()
    return status_of(manager)


@router.post("/simulation/step", summary="Let some tasks pass", responses=errors(*ORDER))
async def step(request: Request, order: Annotated[StepOrder | None, Body()] = None) -> Status:
    """Let so many tasks pass while paused."""
    manager = manager_of(request)
    await manager.step(order.tasks if order else 1)
    return status_of(manager)


@router.get("/simulation/status", summary="How the simulation stands", responses=errors())
@router.get("/status", summary="How the simulation stands (short path)", responses=errors())
async def status(request: Request) -> Status:
    """Return state, progress and what is wrong."""
    return status_of(manager_of(request))


@router.get("/simulation/settings", summary="Settings", responses=errors())
async def settings(request: Request) -> SettingsAnswer:
    """Return the settings as they stand, and what may be chosen."""
    manager = manager_of(request)
    entries, _ = await asyncio.to_thread(manager.library.entries)
    files = [each.spec for each in entries if not each.obstacle]
    return SettingsAnswer(settings=_settings_of(manager), choices=_choices(files))


@router.patch("/simulation/settings", summary="Change settings", responses=errors(*ORDER))
async def change(request: Request, values: SettingsChange) -> ChangeAnswer:
    """Change settings while the simulation runs; a GPU that fails throws its tasks back, none is lost."""
    manager = manager_of(request)
    done = await manager.change(values.values_given())
    return ChangeAnswer(
        at_task=done.at_task, at_time=done.at_time, change=done.change, settings=_settings_of(manager)
    )


def status_of(manager: Manager) -> Status:
    """Return how the simulation of a manager stands."""
    snapshot = manager.snapshot()
    return Status(
        is_running=snapshot is not None and snapshot.state == "running",
        state=cast(State, snapshot.state) if snapshot else "none",
        measured=snapshot.measured if snapshot else manager.settings.live_settings().measured,
        run_id=manager.run_id,
        tasks_processed=snapshot.tasks_processed if snapshot else 0,
        sim_time=snapshot.sim_time if snapshot else 0.0,
        tasks_per_second=snapshot.tasks_per_second if snapshot else None,
        arrival_rate=snapshot.arrival_rate if snapshot else None,
        bound=snapshot.bound if snapshot else None,
        schedulers=[each.name for each in snapshot.schedulers] if snapshot else [],
        saturated=[each.name for each in snapshot.schedulers if each.saturated] if snapshot else [],
        error=snapshot.error if snapshot else "",
        notice=manager.hub.notice,
    )


def _settings_of(manager: Manager) -> LiveSettings:
    snapshot = manager.snapshot()
    values = snapshot.settings if snapshot else manager.settings.live_settings().to_dict()
    return LiveSettings.model_validate(values)


def _choices(files: list[str]) -> Choices:
    presets = [name for name, each in PRESETS.items() if each.graph is None] + files
    return Choices(schedulers=list(registry.schedulers.table), presets=presets, most_gpus=MOST_GPUS)
