"""Runs: list, details, rename, delete, export, resume; and the stored results for charts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from hybrid_scheduler.server.dependencies import After, Manager, RunId, RunQuery, find_run, resolve_run, respond_json
from hybrid_scheduler.server.export import MEDIA_TYPES, export_run
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.runs import describe_run, summarize_runs
from hybrid_scheduler.server.schemas.base import COMMAND, Removed, errors
from hybrid_scheduler.server.schemas.runs import (
    ExportFormat,
    Resumed,
    RunChange,
    RunDetail,
    RunKind,
    RunLine,
    RunPage,
    SettingsChange,
)
from hybrid_scheduler.server.schemas.tasks import HistoryRow, TrainingRecord

HISTORY_TASKS = 1000
router = APIRouter(prefix="/api/runs", tags=["runs"])
history = APIRouter(prefix="/api", tags=["history"])
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {media.partition(";")[0]: _BINARY for media in MEDIA_TYPES.values()},
    }
}


@router.get("", summary="Runs, newest first", responses=errors())
async def page(
    manager: Manager,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Runs at most.")] = 50,
    kind: Annotated[RunKind | None, Query(description="Only runs of this kind.")] = None,
) -> RunPage:
    """Return the runs of this database; an empty page if there is none."""
    lines = await summarize_runs(manager, await manager.store.runs(after, limit, kind))
    return RunPage(runs=lines, next=lines[-1].id if len(lines) == limit else None)


@router.get("/{run_id}", summary="Everything about a run", responses=errors(404))
async def detail(manager: Manager, run_id: RunId) -> RunDetail:
    """Return the settings of a run, its changes and its results."""
    run = await find_run(manager, run_id)
    changes, last = await manager.store.settings_changes(run_id), await manager.store.last_task(run_id)
    return RunDetail(
        **asdict(run) | describe_run(manager, run, last),
        changes=[SettingsChange.model_validate(each) for each in changes],
        last_task=last,
    )


@router.patch("/{run_id}", summary="Rename a run", responses=errors(*COMMAND, 404))
async def rename(manager: Manager, run_id: RunId, change: RunChange) -> RunLine:
    """Name a run, or remove its name."""
    await find_run(manager, run_id)
    await manager.store.rename_run(run_id, change.title)
    return (await summarize_runs(manager, [await find_run(manager, run_id)]))[0]


@router.delete("/{run_id}", summary="Delete a run", responses=errors(*COMMAND, 404))
async def remove(manager: Manager, run_id: RunId) -> Removed:
    """Delete a run that has ended, with all its tasks and results."""
    run = await find_run(manager, run_id)
    if run.status == "running" or run.id == manager.run_id:
        raise ConflictError(
            f"run {run_id} is the current one or running: end it, and start another, before deleting it"
        )
    await manager.store.delete_run(run_id)
    return Removed(removed=f"run {run_id}")


@router.get(
    "/{run_id}/export",
    summary="A run as a file",
    response_class=StreamingResponse,
    responses=_FILES | errors(404, 409),
)
async def download(
    manager: Manager,
    run_id: RunId,
    form: Annotated[ExportFormat, Query(alias="format", description="CSV or Parquet.")] = "csv",
) -> StreamingResponse:
    """Stream every result of a run with its task, in order of task, scheduler and attempt.

    Of a running one, the file holds what is stored at the time of the request.
    """
    run = await find_run(manager, run_id)
    if run.kind != "live":
        raise ConflictError(f"run {run_id} is a {run.kind}, which keeps no tasks: see /api/runs/{run_id}/figures")
    metadata = {"run": str(run.id), "version": run.version, "seed": str(run.seed)}
    return StreamingResponse(
        export_run(manager.store, run.id, form, metadata),
        media_type=MEDIA_TYPES[form],
        headers={
            "Content-Disposition": f'attachment; filename="run-{run.id}.{form}"',
            "Cache-Control": "no-store",
        },
    )


@router.post("/{run_id}/resume", summary="Resume a run", responses=errors(*COMMAND, 404))
async def resume(manager: Manager, run_id: RunId) -> Resumed:
    """Continue an interrupted or stopped run: it is replayed up to its last task, then runs live."""
    await find_run(manager, run_id)
    return Resumed(run_id=await manager.resume_run(run_id))


@history.get(
    "/full_history",
    summary="Latest training records",
    response_model=list[TrainingRecord],
    responses=errors(),
)
async def full_history(manager: Manager) -> Response:
    """Return the latest 1000 training examples of all runs, newest first; empty before any run."""
    return respond_json(await manager.store.training_data(HISTORY_TASKS))


@history.get(
    "/history/comparative",
    summary="Latest results of all schedulers",
    response_model=list[HistoryRow],
    responses=errors(404),
)
async def comparative(
    manager: Manager,
    limit: Annotated[int, Query(ge=1, le=5000, description="Results; a task has one for each scheduler.")] = 600,
    run: RunQuery = None,
) -> Response:
    """Return the latest results of a run with their tasks, newest task first; empty before any run."""
    run_id = await resolve_run(manager, run)
    return respond_json([] if run_id is None else await manager.store.history(run_id, limit))
