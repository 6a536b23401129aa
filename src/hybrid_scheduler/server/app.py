"""`create_app`: the service as one ASGI application."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from loguru import logger
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from hybrid_scheduler import __version__
from hybrid_scheduler.server import routes, websocket
from hybrid_scheduler.server.lifecycle import autostart
from hybrid_scheduler.server.logs import stream_logs
from hybrid_scheduler.server.pages import add_reference, mount_dashboard
from hybrid_scheduler.server.problems import add_handlers
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.routes.service import Metrics
from hybrid_scheduler.server.schemas.base import tidy_definition
from hybrid_scheduler.server.security import SAFE, SecurityMiddleware
from hybrid_scheduler.server.web_workers import RemoteRaceManager, serve_web_workers
from hybrid_scheduler.settings import AppSettings, load_settings

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def create_app(settings: AppSettings | None = None) -> FastAPI:
    """Build the service; it connects to its database when the server starts."""
    settings = settings or load_settings()
    manager = RemoteRaceManager(settings) if settings.role == "web" else RaceManager(settings)
    app = FastAPI(
        title="Hybrid ML Scheduler",
        version=__version__,
        summary="Scheduling policies race on one stream of tasks; watch them, change the conditions, ask why.",
        lifespan=_lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's own page loads its script from another site
        redoc_url=None,
    )
    app.state.settings, app.state.manager, app.state.metrics = settings, manager, Metrics(manager)
    add_handlers(app)
    for name in sorted(module.name for module in pkgutil.iter_modules(routes.__path__)):
        for router in vars(importlib.import_module(f"{routes.__name__}.{name}")).values():
            if isinstance(router, APIRouter):
                app.router.routes.extend(router.routes)  # included, they would be built again at the first request
    app.router.routes.extend(websocket.router.routes)
    app.api_route("/api/{path:path}", methods=METHODS, include_in_schema=False)(_raise_not_found)
    add_reference(app)
    mount_dashboard(app)
    _extend_openapi(app)
    app.add_middleware(
        SecurityMiddleware,
        settings=settings,
        allow=lambda key, rate: manager.cache.allow(key, rate),
        observe=app.state.metrics.observe,
    )
    if settings.trusted_pages:  # outermost, so that those pages can read errors too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.trusted_pages,
            allow_methods=METHODS,
            allow_headers=["authorization", "content-type"],
        )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: AppSettings = app.state.settings
    manager: RaceManager = app.state.manager
    await manager.open()
    log_handler = None
    if settings.role == "all":
        log_handler = stream_logs(manager.hub)
        if settings.redis:
            serve_web_workers(manager)
        if settings.autostart:
            manager.supervisor.run(autostart(manager), "the start of the simulation")
    try:
        yield
    finally:
        if log_handler is not None:
            logger.remove(log_handler)
        await manager.close()


async def _raise_not_found(path: str) -> Response:
    raise HTTPException(404, f"/api/{path} does not exist: see /docs for what there is")


def _extend_openapi(app: FastAPI) -> None:
    """Add to OpenAPI that requests which change something need the token."""
    build = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        schema = build()
        for definition in schema["components"]["schemas"].values():
            tidy_definition(definition)
        bearer = {"type": "http", "scheme": "bearer", "description": "The control token, where one is needed."}
        schema["components"]["securitySchemes"] = {"token": bearer}
        for operations in schema["paths"].values():
            for method, operation in operations.items():
                if method.upper() not in SAFE:
                    operation["security"] = [{"token": []}, {}]
        return schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the schema
