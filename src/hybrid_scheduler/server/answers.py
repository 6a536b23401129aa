"""What routes share: the manager at hand, which run is meant, and answers that are kept for half a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import HTTPException, Query, Request, Response

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live.snapshot import Analysis, Snapshot
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import NOTHING, Manager
from hybrid_scheduler.server.schemas.base import LARGEST_ID, Schema
from hybrid_scheduler.storage.store import Run

KEPT = 0.5  # seconds that an answer is handed out again: as long as a frame of the live feed
JSON = "application/json"

RunQuery = Annotated[
    int | None,
    Query(ge=0, le=LARGEST_ID, description="Number of a run; default: the current run, else the newest one."),
]


def manager_of(request: Request) -> Manager:
    """Return the manager of the application that serves a request."""
    manager: Manager = request.app.state.manager
    return manager


async def cached(manager: Manager, key: str, build: Callable[[], Awaitable[Schema]]) -> Response:
    """Answer with what was built less than half a second ago, else build it."""
    kept = await manager.cache.get(key)
    if kept is None:
        kept = (await build()).model_dump_json().encode()
        await manager.cache.set(key, kept, KEPT)
    return Response(kept, media_type=JSON)


def plain(rows: Any) -> Response:
    """Answer with rows of the store as they are; what is no number becomes null."""
    return Response(to_bytes(rows), media_type=JSON)


def required_snapshot(manager: Manager) -> Snapshot:
    """Return the race at this moment; 409 if there is none."""
    snapshot = manager.snapshot()
    if snapshot is None:
        raise ConflictError(NOTHING)
    return snapshot


async def required_analysis(manager: Manager) -> Analysis:
    """Return the slow pictures of the race; 409 if there is none."""
    analysis = await manager.analysis()
    if analysis is None:
        raise ConflictError(NOTHING)
    return analysis


async def known_run(manager: Manager, run_id: int) -> Run:
    """Return a run; 404 if it is not in the database."""
    try:
        return await manager.store.run(run_id)
    except InputError as error:
        raise HTTPException(404, str(error)) from None


async def meant_run(manager: Manager, run: int | None) -> int | None:
    """Return the run that a request means: the one it names, else the current one, else the newest, if any."""
    if run is not None:
        return (await known_run(manager, run)).id
    if manager.run_id is not None:
        return manager.run_id
    newest = await manager.store.runs(limit=1)
    return newest[0].id if newest else None
