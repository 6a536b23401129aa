"""What routes share: the race manager, the run that a request means, and responses that are cached briefly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, HTTPException, Path, Query, Request, Response

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import NO_SIMULATION, RaceManager
from hybrid_scheduler.server.schemas.base import MAX_ID, Schema
from hybrid_scheduler.storage.store import Run

CACHE_SECONDS = 0.5  # as long as a frame of the live feed
JSON = "application/json"
T = TypeVar("T")


async def get_manager(request: Request) -> RaceManager:
    """Return the manager of the application that serves a request."""
    manager: RaceManager = request.app.state.manager
    return manager


async def get_watched_manager(request: Request) -> RaceManager:
    """Return the manager with a fresh snapshot: who sends requests watches the race."""
    manager = await get_manager(request)
    await manager.watch()
    return manager


Manager = Annotated[RaceManager, Depends(get_manager)]
WatchedManager = Annotated[RaceManager, Depends(get_watched_manager)]
RunId = Annotated[int, Path(ge=0, le=MAX_ID, description="Number of the run.", examples=[1])]
RunQuery = Annotated[
    int | None, Query(ge=0, le=MAX_ID, description="Number of a run; default: the current run, else the newest one.")
]
After = Annotated[int | None, Query(ge=0, le=MAX_ID, description="`next` of the page before.")]


async def find_run(manager: RaceManager, run_id: int) -> Run:
    """Return a run; 404 if it is not in the database."""
    try:
        return await manager.store.run(run_id)
    except InputError as error:
        raise HTTPException(404, str(error)) from None


async def resolve_run(manager: RaceManager, run: int | None) -> int | None:
    """Return the id of the run that a request names, else of the current one, else of the newest, if any."""
    if run is not None:
        return (await find_run(manager, run)).id
    if manager.run_id is not None:
        return manager.run_id
    newest = await manager.store.runs(limit=1)
    return newest[0].id if newest else None


def require(found: T | None) -> T:
    """Return the snapshot or analysis of a race; 409 if there is no race."""
    if found is None:
        raise ConflictError(NO_SIMULATION)
    return found


async def respond_cached(manager: RaceManager, key: str, build: Callable[[], Awaitable[Schema]]) -> Response:
    """Respond with what was built less than half a second ago, else build it."""
    body = await manager.cache.get(key)
    if body is None:
        body = (await build()).model_dump_json().encode()
        await manager.cache.set(key, body, CACHE_SECONDS)
    return Response(body, media_type=JSON)
