"""What is stored, for charts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from hybrid_scheduler.server.answers import RunQuery, manager_of, meant_run, plain
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.tasks import HistoryRow, TrainingRecord

LATEST = 1000
router = APIRouter(tags=["history"])


@router.get(
    "/api/full_history",
    summary="Latest training records",
    response_model=list[TrainingRecord],
    responses=errors(),
)
async def full_history(request: Request) -> Response:
    """Return the latest 1000 examples that models are trained on, of all runs, newest first; empty before any run."""
    return plain(await manager_of(request).store.training(LATEST))


@router.get(
    "/api/history/comparative",
    summary="Latest results of all schedulers",
    response_model=list[HistoryRow],
    responses=errors(404),
)
async def comparative(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=5000, description="Results; a task has one for each scheduler.")] = 600,
    run: RunQuery = None,
) -> Response:
    """Return the latest results of a run beside their tasks, newest task first; empty before any run."""
    manager = manager_of(request)
    run_id = await meant_run(manager, run)
    return plain([] if run_id is None else await manager.store.history(run_id, limit))
