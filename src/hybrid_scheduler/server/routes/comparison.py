"""The race at this moment; answers are kept for half a second, so asking often costs little.

Before the first simulation there is nothing to compare, and all of these answer 409.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from hybrid_scheduler import registry
from hybrid_scheduler.learning.insight import History
from hybrid_scheduler.live.lane import LOOK_BACK
from hybrid_scheduler.live.snapshot import Analysis, DeviceState, SchedulerState, Snapshot
from hybrid_scheduler.server.answers import cached, manager_of, required_analysis, required_snapshot
from hybrid_scheduler.server.schemas.base import Schema, errors
from hybrid_scheduler.server.schemas.race import (
    Comparison,
    CorrelationMatrix,
    Device,
    Heatmap,
    Quantiles,
    RankBy,
    Ranked,
    SchedulerEntry,
    SchedulerLoad,
    SizeDistribution,
    Utilization,
    WinMatrix,
    told,
)

router = APIRouter(prefix="/api", tags=["comparison"])
NEEDS_A_RACE = errors(409)


@router.get("/schedulers", summary="What can race", responses=errors())
async def schedulers(
    request: Request,
    also: Annotated[
        list[str] | None,
        Query(max_length=100, description="More specs to describe: with options, from files, not installed."),
    ] = None,
) -> list[SchedulerEntry]:
    """Return the registry: built-in schedulers and plug-ins, how each is drawn, and who takes part now."""
    simulation = manager_of(request).simulation
    racing = set(simulation.settings.schedulers) if simulation else set()
    table = registry.schedulers.table
    specs = list(dict.fromkeys([*table, *sorted(racing), *(also or [])]))
    descriptions = registry.describe(specs)
    return [_entry(spec, descriptions[spec], table.get(spec), racing) for spec in specs]


def _entry(
    spec: str, described: registry.Description, entry: registry.Entry | None, racing: set[str]
) -> SchedulerEntry:
    return SchedulerEntry(
        name=spec,
        label=described.label,
        short=described.short,
        kind=described.kind,
        style=described.style,
        summary=entry.summary if entry else "as asked for",
        sighted=entry.sighted if entry else "",
        featured=entry is not None and entry.featured,
        racing=spec in racing,
    )


@router.get("/comparison", summary="Ranking now", response_model=Comparison, responses=NEEDS_A_RACE)
async def comparison(
    request: Request,
    by: Annotated[
        RankBy, Query(description="Figure of the last tasks to rank by; less is better.")
    ] = "mean_turnaround",
) -> Response:
    """Return totals and averages of every scheduler, best first, and the bound that nobody can beat."""
    manager = manager_of(request)

    async def build() -> Comparison:
        histories = (await required_analysis(manager)).histories
        return ranked(required_snapshot(manager), histories, by)

    return await cached(manager, f"comparison:{manager.run_id}:{by}", build)


def ranked(snapshot: Snapshot, histories: Mapping[str, History], by: RankBy) -> Comparison:
    """Rank the schedulers of a snapshot; who has done nothing yet comes last."""

    def figure(state: SchedulerState) -> float:
        value = float(getattr(state.window, by))
        return value if state.window.tasks and math.isfinite(value) else math.inf

    order = sorted(snapshot.schedulers, key=figure)
    best = figure(order[0]) if order else math.nan
    ranking = [
        Ranked(**asdict(state), rank=place, over_best=figure(state) / best if best > 0 else math.nan)
        for place, state in enumerate(order, 1)
    ]
    return Comparison(
        state=snapshot.state,
        tasks_processed=snapshot.tasks_processed,
        sim_time=snapshot.sim_time,
        bound=snapshot.bound,
        by=by,
        ranking=ranking,
        histories=told.validate_python({name: asdict(each) for name, each in histories.items()}),
    )


@router.get("/utilization", summary="Busy shares", response_model=Utilization, responses=NEEDS_A_RACE)
async def utilization(request: Request) -> Response:
    """Return how busy every scheduler keeps every device, and how long its queues are."""
    manager = manager_of(request)

    async def build() -> Utilization:
        snapshot = required_snapshot(manager)
        return Utilization(
            sim_time=snapshot.sim_time,
            seconds=LOOK_BACK,
            devices=[Device.model_validate(each) for each in snapshot.devices],
            schedulers=[_load(each, snapshot.devices) for each in snapshot.schedulers],
        )

    return await cached(manager, f"utilization:{manager.run_id}", build)


def _load(state: SchedulerState, devices: Sequence[DeviceState]) -> SchedulerLoad:
    def mean(kind: str) -> float:
        shares = [state.utilisation[each.index] for each in devices if each.kind == kind and not each.failed]
        return sum(shares) / len(shares) if shares else math.nan

    return SchedulerLoad(
        name=state.name,
        utilisation=list(state.utilisation),
        cpu=mean("cpu"),
        gpu=mean("gpu"),
        backlog=state.backlog,
        queue_length=state.queue_length,
        saturated=state.saturated,
    )


@router.get("/matrix/wins", summary="Who beats whom", response_model=WinMatrix, responses=NEEDS_A_RACE)
async def wins(request: Request) -> Response:
    """Return how often each scheduler ended a task before each other one."""

    def picture(analysis: Analysis) -> WinMatrix:
        counts, names = analysis.wins, analysis.schedulers
        share = [[_share(counts[a][b], counts[b][a]) for b in range(len(names))] for a in range(len(names))]
        return WinMatrix(tasks=analysis.tasks, schedulers=names, wins=counts, share=share)

    return await _picture(request, "wins", picture)


def _share(won: int, lost: int) -> float | None:
    return won / (won + lost) if won + lost else None


@router.get(
    "/matrix/correlation", summary="What goes with what", response_model=CorrelationMatrix, responses=NEEDS_A_RACE
)
async def correlation(request: Request) -> Response:
    """Return how features of tasks and turnarounds of schedulers go together."""
    return await _picture(request, "correlation", CorrelationMatrix.model_validate)


@router.get("/distribution/sizes", summary="Task sizes", response_model=SizeDistribution, responses=NEEDS_A_RACE)
async def sizes(request: Request) -> Response:
    """Return a histogram of the sizes of the last tasks."""

    def picture(analysis: Analysis) -> SizeDistribution:
        return SizeDistribution(
            tasks=analysis.tasks,
            edges=analysis.size_edges,
            counts=analysis.size_counts,
            log_sizes=analysis.log_sizes,
            quantiles=Quantiles.model_validate(analysis.size_quantiles),
        )

    return await _picture(request, "sizes", picture)


@router.get("/heatmap", summary="Where the GPU pays", response_model=Heatmap, responses=NEEDS_A_RACE)
async def heatmap(request: Request) -> Response:
    """Return the best GPU share by size and intensity of the last tasks."""

    def picture(analysis: Analysis) -> Heatmap:
        return Heatmap(
            tasks=analysis.tasks,
            size_edges=analysis.size_edges,
            log_sizes=analysis.log_sizes,
            intensity_edges=analysis.intensity_edges,
            best_gpu_share=analysis.heatmap,
            gpu_wins=analysis.gpu_wins,
            speedup=analysis.speedup,
        )

    return await _picture(request, "heatmap", picture)


async def _picture(request: Request, name: str, picture: Callable[[Analysis], Schema]) -> Response:
    manager = manager_of(request)

    async def build() -> Schema:
        return picture(await required_analysis(manager))

    return await cached(manager, f"{name}:{manager.run_id}", build)
