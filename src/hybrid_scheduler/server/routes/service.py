"""The service itself: health, metrics, the schema of the messages on `/ws`, and trained models."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from hybrid_scheduler import __version__
from hybrid_scheduler.core.compiler import cache_directory
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.model_files import list_models
from hybrid_scheduler.server.dependencies import Manager, respond_cached
from hybrid_scheduler.server.metrics import Metrics
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.schemas import messages
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.race import Health, Part
from hybrid_scheduler.server.schemas.runs import ModelFile, Models, StoredModel
from hybrid_scheduler.storage.database import StorageError

router = APIRouter(prefix="/api", tags=["service"])
models_router = APIRouter(prefix="/api", tags=["models"])
MODELS_FOLDER = Path("models")  # as in `hms models`
_START = time.monotonic()
_UNHEALTHY: dict[int | str, dict[str, Any]] = {503: {"model": Health, "description": "The database does not answer."}}


@router.get("/health", summary="Health", responses={**errors(), **_UNHEALTHY})
async def health(manager: Manager, response: Response) -> Health:
    """Return the health of database, cache and engine; 503 if the database does not answer."""
    store, cache, engine = await _check_store(manager), await _check_cache(manager), _check_engine(manager)
    states = {each.state for each in (store, cache, engine)}
    down = store.state == "down"
    response.status_code = 503 if down else 200
    return Health(
        state="down" if down else "degraded" if states & {"degraded", "down"} else "ok",
        version=__version__,
        uptime=time.monotonic() - _START,
        store=store,
        cache=cache,
        engine=engine,
    )


async def _check_store(manager: RaceManager) -> Part:
    kind, recorder = manager.store.engine.dialect.name, manager.recorder
    try:
        seconds = await manager.store.ping()
    except StorageError as error:
        return Part(state="down", kind=kind, milliseconds=None, message=str(error))
    if recorder.is_failing:
        return Part(state="degraded", kind=kind, milliseconds=seconds * 1e3, message=recorder.last_error or "")
    return Part(state="ok", kind=kind, milliseconds=seconds * 1e3, message="")


async def _check_cache(manager: RaceManager) -> Part:
    if manager.settings.redis is None:
        return Part(state="ok", kind="memory", milliseconds=0.0, message="")
    seconds = await manager.cache.ping()
    if seconds is None:
        message = "Redis does not answer: this process goes on alone until it is back"
        return Part(state="degraded", kind="redis", milliseconds=None, message=message)
    return Part(state="ok", kind="redis", milliseconds=seconds * 1e3, message="")


def _check_engine(manager: RaceManager) -> Part:
    snapshot = manager.snapshot()
    if snapshot is None:
        notice = manager.hub.notice
        return Part(state="degraded" if notice else "none", kind="none", milliseconds=None, message=notice)
    failing = snapshot.state == "failed" or bool(snapshot.error)
    return Part(state="degraded" if failing else "ok", kind=snapshot.state, milliseconds=None, message=snapshot.error)


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={**errors(), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Return counters and gauges in Prometheus' text format."""
    collector: Metrics = request.app.state.metrics
    return Response(collector.text(), media_type=CONTENT_TYPE_LATEST)


@router.get("/schema/ws", summary="JSON Schema of the messages on /ws", responses=errors())
async def schema() -> dict[str, Any]:
    """Return the schema of every message that the WebSocket sends."""
    return messages.schema()


@models_router.get("/models", summary="Trained models", response_model=Models, responses=errors())
async def models(manager: Manager) -> Response:
    """Return models of the database and model files, with what they were trained on.

    Files come from the folder `models` and from the cache of agents trained for a cluster.
    """

    async def build() -> Models:
        files, problems = await asyncio.to_thread(_list_files, (MODELS_FOLDER, cache_directory() / "models"))
        stored = [StoredModel.model_validate(each) for each in await manager.store.models()]
        return Models(stored=stored, files=files, problems=problems)

    return await respond_cached(manager, "models", build)


def _list_files(folders: tuple[Path, ...]) -> tuple[list[ModelFile], list[str]]:
    """List model files; a corrupt manifest in one folder must not hide the models of the others."""
    files, problems = [], []
    for folder in folders:
        try:
            files += [ModelFile(folder=str(folder), **each) for each in list_models(folder)]
        except (InputError, OSError) as error:
            problems.append(str(error))
    return files, problems
