"""The service itself: health, metrics, and the schema of the messages on `/ws`."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from hybrid_scheduler import __version__
from hybrid_scheduler.server import messages
from hybrid_scheduler.server.answers import manager_of
from hybrid_scheduler.server.metrics import Metrics
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.control import Health, Part
from hybrid_scheduler.storage.database import StorageError

router = APIRouter(prefix="/api", tags=["service"])
_BEGIN = time.monotonic()
_UNHEALTHY: dict[int | str, dict[str, Any]] = {503: {"model": Health, "description": "The database does not answer."}}


@router.get("/health", summary="Health", responses={**errors(), **_UNHEALTHY})
async def health(request: Request, response: Response) -> Health:
    """Ask the database and the cache, and look at the engine; 503 if the database does not answer."""
    manager = manager_of(request)
    store, cache, engine = await _store(manager), await _cache(manager), _engine(manager)
    states = {each.state for each in (store, cache, engine)}
    down = store.state == "down"
    response.status_code = 503 if down else 200
    return Health(
        state="down" if down else "degraded" if states & {"degraded", "down"} else "ok",
        version=__version__,
        uptime=time.monotonic() - _BEGIN,
        store=store,
        cache=cache,
        engine=engine,
    )


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={**errors(), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Return counters and gauges in Prometheus' text format."""
    collected: Metrics = request.app.state.metrics
    return Response(collected.text(), media_type=CONTENT_TYPE_LATEST)


@router.get("/schema/ws", summary="JSON Schema of the messages on /ws", responses=errors())
async def schema() -> dict[str, Any]:
    """Return the schema of every message that the WebSocket sends."""
    return messages.schema()


async def _store(manager: Manager) -> Part:
    kind = manager.store.engine.dialect.name
    try:
        seconds = await manager.store.ping()
    except StorageError as error:
        return Part(state="down", kind=kind, milliseconds=None, message=str(error))
    recorder = manager.recorder
    message = recorder.last_error or "" if recorder.troubled else ""
    return Part(
        state="degraded" if recorder.troubled else "ok", kind=kind, milliseconds=seconds * 1e3, message=message
    )


async def _cache(manager: Manager) -> Part:
    if manager.settings.redis is None:
        return Part(state="ok", kind="memory", milliseconds=0.0, message="")
    seconds = await manager.cache.ping()
    if seconds is None:
        message = "Redis does not answer: this process goes on alone until it is back"
        return Part(state="degraded", kind="redis", milliseconds=None, message=message)
    return Part(state="ok", kind="redis", milliseconds=seconds * 1e3, message="")


def _engine(manager: Manager) -> Part:
    snapshot = manager.snapshot()
    if snapshot is None:
        notice = manager.hub.notice
        return Part(state="degraded" if notice else "none", kind="none", milliseconds=None, message=notice)
    wrong = snapshot.state == "failed" or bool(snapshot.error)
    return Part(state="degraded" if wrong else "ok", kind=snapshot.state, milliseconds=None, message=snapshot.error)
