"""The present figures of the race. Responses are cached for half a second, so that frequent requests cost little.

Before the first simulation there is nothing to compare, and all but the registry respond with 409.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from hybrid_scheduler import registry
from hybrid_scheduler.learning.insight import History
from hybrid_scheduler.live.lane import UTILISATION_SECONDS
from hybrid_scheduler.live.snapshot import Analysis, DeviceState, SchedulerFigures, Snapshot
from hybrid_scheduler.server.dependencies import WatchedManager, require, respond_cached
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.schemas import race as schemas
from hybrid_scheduler.server.schemas.base import Schema, errors

router = APIRouter(prefix="/api", tags=["comparison"])
NEEDS_A_RACE = errors(409)


@router.get("/schedulers", summary="Known schedulers", responses=errors())
async def schedulers(
    manager: WatchedManager,
    also: Annotated[
        list[Annotated[str, Field(min_length=1)]] | None,
        Query(max_length=100, description="More specs to describe: with options, from files, not installed."),
    ] = None,
) -> list[schemas.SchedulerEntry]:
    """Return the registry: built-in schedulers and plug-ins, how each is drawn, and which take part now."""
    racing = set(manager.simulation.settings.schedulers) if manager.simulation else set()
    table = registry.schedulers.table
    specs = list(dict.fromkeys([*table, *sorted(racing), *(also or [])]))
    descriptions = registry.describe(specs)
    unlisted = registry.Entry("", "", summary="as asked for")
    entries = {spec: table.get(spec, unlisted) for spec in specs}
    return [
        schemas.SchedulerEntry(
            name=spec,
            **vars(descriptions[spec]),
            summary=entry.summary,
            sighted=entry.clairvoyant,
            featured=entry.featured,
            racing=spec in racing,
        )
        for spec, entry in entries.items()
    ]


@router.get("/comparison", summary="Ranking now", response_model=schemas.Comparison, responses=NEEDS_A_RACE)
async def comparison(
    manager: WatchedManager,
    by: Annotated[
        schemas.RankBy, Query(description="Figure of the last tasks to rank by; less is better.")
    ] = "mean_turnaround",
) -> Response:
    """Return totals and averages of every scheduler, best first, and the lower bound."""

    async def build() -> schemas.Comparison:
        histories = require(await manager.analysis()).histories
        return _rank(require(manager.snapshot()), histories, by)

    return await respond_cached(manager, f"comparison:{manager.run_id}:{by}", build)


def _rank(snapshot: Snapshot, histories: Mapping[str, History], by: schemas.RankBy) -> schemas.Comparison:
    """Rank the schedulers of a snapshot; those without tasks come last."""

    def figure(scheduler: SchedulerFigures) -> float:
        value = float(getattr(scheduler.window, by))
        return value if scheduler.window.tasks and math.isfinite(value) else math.inf

    order = sorted(snapshot.schedulers, key=figure)
    best = figure(order[0]) if order else math.nan
    ranking = [
        schemas.Ranked(**vars(each), rank=rank, over_best=figure(each) / best if best > 0 else math.nan)
        for rank, each in enumerate(order, 1)
    ]
    return schemas.Comparison(**vars(snapshot), by=by, ranking=ranking, histories=dict(histories))


@router.get("/utilization", summary="Busy shares", response_model=schemas.Utilization, responses=NEEDS_A_RACE)
async def utilization(manager: WatchedManager) -> Response:
    """Return how busy every scheduler keeps every device, and how long its queues are."""

    async def build() -> schemas.Utilization:
        snapshot = require(manager.snapshot())
        return schemas.Utilization(
            sim_time=snapshot.sim_time,
            seconds=UTILISATION_SECONDS,
            devices=[schemas.Device.model_validate(each) for each in snapshot.devices],
            schedulers=[_build_load(each, snapshot.devices) for each in snapshot.schedulers],
        )

    return await respond_cached(manager, f"utilization:{manager.run_id}", build)


def _build_load(scheduler: SchedulerFigures, devices: Sequence[DeviceState]) -> schemas.SchedulerLoad:
    def mean(kind: str) -> float:
        shares = [scheduler.utilisation[each.index] for each in devices if each.kind == kind and not each.failed]
        return sum(shares) / len(shares) if shares else math.nan

    return schemas.SchedulerLoad(**vars(scheduler), cpu=mean("cpu"), gpu=mean("gpu"))


@router.get("/matrix/wins", summary="Pairwise wins", response_model=schemas.WinMatrix, responses=NEEDS_A_RACE)
async def wins(manager: WatchedManager) -> Response:
    """Return how often each scheduler ended a task before each other one."""

    def build(analysis: Analysis) -> schemas.WinMatrix:
        counts, names = analysis.wins, analysis.schedulers
        pairs = [[(won, counts[b][a]) for b, won in enumerate(row)] for a, row in enumerate(counts)]
        share = [[won / (won + lost) if won + lost else None for won, lost in row] for row in pairs]
        return schemas.WinMatrix(tasks=analysis.tasks, schedulers=names, wins=counts, share=share)

    return await _respond_analysis(manager, "wins", build)


@router.get(
    "/matrix/correlation", summary="Correlations", response_model=schemas.CorrelationMatrix, responses=NEEDS_A_RACE
)
async def correlation(manager: WatchedManager) -> Response:
    """Return the correlations of task features and of the turnarounds of schedulers."""
    return await _respond_analysis(manager, "correlation", schemas.CorrelationMatrix.model_validate)


@router.get(
    "/distribution/sizes", summary="Task sizes", response_model=schemas.SizeDistribution, responses=NEEDS_A_RACE
)
async def sizes(manager: WatchedManager) -> Response:
    """Return a histogram of the sizes of the last tasks."""
    return await _respond_analysis(manager, "sizes", schemas.SizeDistribution.model_validate)


@router.get("/heatmap", summary="Where the GPU pays", response_model=schemas.Heatmap, responses=NEEDS_A_RACE)
async def heatmap(manager: WatchedManager) -> Response:
    """Return the best GPU share by size and intensity of the last tasks."""
    return await _respond_analysis(manager, "heatmap", schemas.Heatmap.model_validate)


async def _respond_analysis(manager: RaceManager, name: str, build: Callable[[Analysis], Schema]) -> Response:
    async def build_response() -> Schema:
        return build(require(await manager.analysis()))

    return await respond_cached(manager, f"{name}:{manager.run_id}", build_response)
