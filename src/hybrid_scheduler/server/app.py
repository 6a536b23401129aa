"""`create_app`: the whole service as one ASGI application."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from loguru import logger
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.server import routes, websocket
from hybrid_scheduler.server.lifecycle import TTL
from hybrid_scheduler.server.logs import show_logs_to
from hybrid_scheduler.server.metrics import Metrics
from hybrid_scheduler.server.pages import add_reference, mount_dashboard
from hybrid_scheduler.server.problems import add_handlers
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.run_summaries import CANNOT_REPEAT, is_measured
from hybrid_scheduler.server.security import SAFE, Guard
from hybrid_scheduler.server.web_workers import RemoteManager
from hybrid_scheduler.settings import AppSettings, load_settings
from hybrid_scheduler.storage.database import ClaimedError

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def create_app(settings: AppSettings | None = None) -> FastAPI:
    """Build the service; it connects to its database when the server starts."""
    settings = settings or load_settings()
    manager = RemoteManager(settings) if settings.role == "web" else Manager(settings)
    app = FastAPI(
        title="Hybrid ML Scheduler",
        version=__version__,
        summary="Scheduling policies race on one stream of tasks; watch them, change the conditions, ask why.",
        lifespan=_lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's own page loads its script from elsewhere
        redoc_url=None,
    )
    app.state.settings, app.state.manager, app.state.metrics = settings, manager, Metrics(manager)
    add_handlers(app)
    for module in pkgutil.iter_modules(routes.__path__):
        app.include_router(importlib.import_module(f"{routes.__name__}.{module.name}").router)
    app.include_router(websocket.router)
    app.api_route("/api/{path:path}", methods=METHODS, include_in_schema=False)(_nothing_here)
    add_reference(app)
    mount_dashboard(app)
    _describe_security(app)
    app.add_middleware(
        Guard,
        settings=settings,
        allow=lambda key, rate: manager.cache.allow(key, rate),
        observe=app.state.metrics.observe,
    )
    if settings.allowed_origins:  # outermost, so that those pages can read refusals too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=METHODS,
            allow_headers=["authorization", "content-type"],
        )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    manager: Manager = app.state.manager
    await manager.open()
    lines = show_logs_to(manager.hub) if app.state.settings.role == "all" else None
    try:
        settings: AppSettings = app.state.settings
        if settings.autostart and settings.role == "all":
            manager.spawn(begin(manager), "the start of the simulation")
        yield
    finally:
        if lines is not None:
            logger.remove(lines)
        await manager.close()


async def _nothing_here(path: str) -> Response:
    raise HTTPException(404, f"/api/{path} does not exist: see /docs for what there is")


def _describe_security(app: FastAPI) -> None:
    """Say in OpenAPI which requests need the token: all that change something."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        schema = describe()
        bearer = {"type": "http", "scheme": "bearer", "description": "The control token, where one is needed."}
        schema.setdefault("components", {})["securitySchemes"] = {"token": bearer}
        for operations in schema["paths"].values():
            for method, operation in operations.items():
                if method.upper() not in SAFE:
                    operation["security"] = [{"token": []}, {}]
        return schema

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's documented way to extend the schema


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
