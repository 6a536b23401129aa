"""Runs: what there is, everything about one, and one as a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse

from hybrid_scheduler.server.answers import known_run, manager_of
from hybrid_scheduler.server.export import MEDIA_TYPES, export
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.run_summaries import about, lines_of
from hybrid_scheduler.server.schemas.base import LARGEST_ID, ORDER, errors
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
from hybrid_scheduler.server.schemas.workloads import Removed

router = APIRouter(prefix="/api/runs", tags=["runs"])
RunId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Number of the run.", examples=[1])]
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {
            media.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
            for media in MEDIA_TYPES.values()
        },
    }
}


@router.get("", summary="Runs, newest first", responses=errors())
async def page(
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Runs at most.")] = 50,
    kind: Annotated[RunKind | None, Query(description="Only runs of this kind.")] = None,
) -> RunPage:
    """Return the runs of this database; an empty page if there is none."""
    manager = manager_of(request)
    found = await lines_of(manager, await manager.store.runs(after, limit, kind))
    return RunPage(runs=found, next=found[-1].id if len(found) == limit else None)


@router.get("/{run_id}", summary="Everything about a run", responses=errors(404))
async def detail(request: Request, run_id: RunId) -> RunDetail:
    """Return how a run began, what was changed, and how it ended."""
    manager = manager_of(request)
    run = await known_run(manager, run_id)
    changes, last = await manager.store.settings_changes(run_id), await manager.store.last_task(run_id)
    return RunDetail(
        **asdict(run) | about(manager, run, last),
        changes=[SettingsChange.model_validate(each) for each in changes],
        last_task=last,
    )


@router.patch("/{run_id}", summary="Rename a run", responses=errors(*ORDER, 404))
async def rename(request: Request, run_id: RunId, change: RunChange) -> RunLine:
    """Give a run a name, or take it away."""
    manager = manager_of(request)
    await known_run(manager, run_id)
    await manager.store.rename_run(run_id, change.title)
    return (await lines_of(manager, [await known_run(manager, run_id)]))[0]


@router.delete("/{run_id}", summary="Delete a run", responses=errors(*ORDER, 404))
async def remove(request: Request, run_id: RunId) -> Removed:
    """Delete a run that has ended, with all its tasks and results."""
    manager = manager_of(request)
    run = await known_run(manager, run_id)
    if run.status == "running" or run.id == manager.run_id:
        raise ConflictError(
            f"run {run_id} is the current one or goes on: end it, and start another, before deleting it"
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
    request: Request,
    run_id: RunId,
    form: Annotated[ExportFormat, Query(alias="format", description="CSV or Parquet.")] = "csv",
) -> StreamingResponse:
    """Stream every result of a run beside its task, in order of task, scheduler and attempt.

    Of a run that goes on, the file holds what was stored when it was asked for.
    """
    manager = manager_of(request)
    run = await known_run(manager, run_id)
    if run.kind != "live":
        raise ConflictError(f"run {run_id} is a {run.kind}, which keeps no tasks: see /api/runs/{run_id}/figures")
    about = {"run": str(run.id), "version": run.version, "seed": str(run.seed)}
    name = f"run-{run.id}.{form}"
    return StreamingResponse(
        export(manager.store, run.id, form, about),
        media_type=MEDIA_TYPES[form],
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


@router.post("/{run_id}/resume", summary="Go on with a run", responses=errors(*ORDER, 404))
async def resume(request: Request, run_id: RunId) -> Resumed:
    """Go on with a run that was interrupted or stopped: it is played again up to its last task, then goes on live."""
    manager = manager_of(request)
    await known_run(manager, run_id)
    return Resumed(run_id=await manager.resume_run(run_id))
