"""The service itself: health, metrics, the schema of the messages on `/ws`, and trained models."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import Scope

from hybrid_scheduler import __version__
from hybrid_scheduler.core.compiler import cache_directory
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.model_files import list_models
from hybrid_scheduler.live.snapshot import Snapshot
from hybrid_scheduler.server.dependencies import Manager, respond_cached
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.schemas import messages
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.race import Health, Part
from hybrid_scheduler.server.schemas.runs import ModelFile, Models, StoredModel
from hybrid_scheduler.storage.database import StorageError

router = APIRouter(prefix="/api", tags=["service"])
models_router = APIRouter(prefix="/api", tags=["models"])
MODELS_FOLDER = Path("models")  # as in `hms models`
LEAST_FREE = 200_000_000  # bytes of the disk below which health warns
_START = time.monotonic()
_BY_SCHEDULER = (  # name, help, attribute, is it a counter
    ("hms_placements", "Tasks that a scheduler placed", "tasks", True),
    ("hms_rejected", "Tasks that a scheduler rejected", "rejected", True),
    ("hms_restarts", "Tasks started again after a failure", "restarts", True),
    ("hms_wins", "Tasks that a scheduler ended first", "wins", True),
    ("hms_energy_joules", "Energy of all tasks", "energy", True),
    ("hms_backlog_seconds", "Work queued on the mean device", "backlog", False),
    ("hms_queue_length", "Shares of tasks that wait", "queue_length", False),
    ("hms_saturated", "Whether the queue keeps growing", "saturated", False),
    ("hms_turnaround_seconds", "Mean time from arrival to finish", "mean_turnaround", False),
    ("hms_makespan_over_bound", "1 is optimal", "makespan_over_bound", False),
    ("hms_turnaround_over_bound", "1 is optimal, on the certified window", "turnaround_over_bound", False),
)
_UNHEALTHY: dict[int | str, dict[str, Any]] = {503: {"model": Health, "description": "The database does not answer."}}


@router.get("/health", summary="Health", responses={**errors(), **_UNHEALTHY})
async def health(manager: Manager, response: Response) -> Health:
    """Return the health of database, cache and engine; 503 if the database does not answer."""
    store, cache, engine = await _check_store(manager), await _check_cache(manager), _check_engine(manager)
    tasks, disk = _check_tasks(manager), _check_disk(manager)
    states = {each.state for each in (store, cache, engine, tasks, disk)}
    down = store.state == "down"
    response.status_code = 503 if down else 200
    return Health(
        state="down" if down else "degraded" if states & {"degraded", "down"} else "ok",
        version=__version__,
        uptime=time.monotonic() - _START,
        store=store,
        cache=cache,
        engine=engine,
        disk=disk,
        database_bytes=manager.disk.used if manager.disk else None,
        disk_free_bytes=manager.disk.free if manager.disk else None,
        tasks=tasks,
    )


async def _check_store(manager: RaceManager) -> Part:
    kind, recorder = manager.store.engine.dialect.name, manager.recorder
    try:
        seconds = await manager.store.ping()
    except StorageError as error:
        return Part(state="down", kind=kind, milliseconds=None, message=str(error))
    if manager.damage:
        return Part(state="down", kind=kind, milliseconds=seconds * 1e3, message=manager.damage)
    lost = f"{recorder.rows_refused} rows were refused" if recorder.rows_refused else ""
    if recorder.is_failing or lost:
        message = recorder.last_error or lost
        return Part(state="degraded", kind=kind, milliseconds=seconds * 1e3, message=message)
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
        notice = manager.resuming or manager.hub.notice
        return Part(state="degraded" if notice else "none", kind="none", milliseconds=None, message=notice)
    failing = snapshot.state == "failed" or bool(snapshot.error)
    return Part(state="degraded" if failing else "ok", kind=snapshot.state, milliseconds=None, message=snapshot.error)


def _check_tasks(manager: RaceManager) -> Part:
    troubles = manager.supervisor.troubles()
    state: Literal["ok", "degraded"] = "degraded" if troubles else "ok"
    return Part(state=state, kind="background", milliseconds=None, message="; ".join(troubles))


def _check_disk(manager: RaceManager) -> Part:
    free = manager.disk.free if manager.disk else None
    if free is None or free >= LEAST_FREE:
        return Part(state="ok", kind="disk", milliseconds=None, message="")
    message = f"{free / 1e6:,.0f} MB are left for the database: hms prune --bytes 1GB deletes old runs"
    return Part(state="degraded", kind="disk", milliseconds=None, message=message)


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={**errors(), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Return counters and gauges in Prometheus' text format."""
    collector: Metrics = request.app.state.metrics
    await request.app.state.manager.look()
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
    files: list[ModelFile] = []
    problems: list[str] = []
    for folder in folders:
        try:
            files += [ModelFile(folder=str(folder), **each) for each in list_models(folder, problems)]
        except (InputError, OSError) as error:
            problems.append(str(error))
    return files, problems


class Metrics(Collector):
    """Collects counters of other objects at every scrape; only requests are timed here."""

    def __init__(self, manager: RaceManager) -> None:
        self._manager = manager
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._requests = Histogram(
            "hms_http_seconds",
            "Time to answer a request",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
        )

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Record one request by its route: paths contain ids, which would be unbounded labels."""
        route = getattr(scope.get("route"), "path", "other")
        self._requests.labels(scope["method"] if route != "other" else "any", route, status).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Read the race and the service."""
        if (snapshot := self._manager.snapshot()) is not None:
            yield from self._collect_race(snapshot)
        hub, recorder, supervisor = self._manager.hub, self._manager.recorder, self._manager.supervisor
        yield CounterMetricFamily("hms_background_failures", "Failures of background work", supervisor.failures)
        yield GaugeMetricFamily("hms_background_tasks", "Background work that goes on", supervisor.kept)
        skipped = sum(client.skipped_total for client in hub.clients)
        yield CounterMetricFamily("hms_frames", "Messages published on /ws", hub.seq)
        yield CounterMetricFamily("hms_frames_queued", "Messages queued for clients", hub.sent)
        yield GaugeMetricFamily("hms_clients", "Clients on /ws", len(hub.clients))
        yield GaugeMetricFamily("hms_clients_skipped", "Messages dropped for slow clients", skipped)
        yield CounterMetricFamily("hms_recorder_rows", "Rows committed", recorder.rows_written)
        yield CounterMetricFamily("hms_recorder_refused", "Rows that the database refused", recorder.rows_refused)
        yield GaugeMetricFamily("hms_recorder_pending", "Rows that wait to be committed", recorder.pending_rows)
        yield GaugeMetricFamily("hms_recorder_troubled", "Whether the database fails", float(recorder.is_failing))

        disk = self._manager.disk
        if disk is not None:
            yield GaugeMetricFamily("hms_database_bytes", "Size of the database", disk.used)
        if disk is not None and disk.free is not None:
            yield GaugeMetricFamily("hms_disk_free_bytes", "Space left on the disk of the database", disk.free)

    def _collect_race(self, snapshot: Snapshot) -> Iterable[Metric]:
        yield CounterMetricFamily("hms_tasks", "Tasks that arrived", snapshot.tasks_processed)
        yield GaugeMetricFamily("hms_running", "Whether the race is running", float(snapshot.state == "running"))
        yield GaugeMetricFamily("hms_tasks_per_second", "Tasks per second", snapshot.tasks_per_second)
        yield GaugeMetricFamily("hms_simulated_seconds", "Simulated time", snapshot.sim_time)
        for name, meaning, attribute, counter in _BY_SCHEDULER:
            family = CounterMetricFamily if counter else GaugeMetricFamily
            metric = family(name, meaning, labels=["scheduler"])
            for each in snapshot.schedulers:
                metric.add_metric([each.name], float(getattr(each, attribute)))
            yield metric
