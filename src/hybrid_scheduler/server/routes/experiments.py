"""Experiments: comparisons over seeds, in the background."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request

from hybrid_scheduler.server.answers import known_run, manager_of
from hybrid_scheduler.server.jobs import MOST_WAITING, experiment_of, state_of
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.schemas.base import LARGEST_ID, ORDER, errors
from hybrid_scheduler.server.schemas.runs import Experiment, ExperimentCreate, ExperimentPage
from hybrid_scheduler.storage.store import COMPARISON, Run

router = APIRouter(prefix="/api/experiments", tags=["experiments"])
ExperimentId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Number of the experiment.", examples=[1])]


@router.get("", summary="Experiments, newest first", responses=errors())
async def page(
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Experiments at most.")] = 50,
) -> ExperimentPage:
    """Return what was compared, and how far it is."""
    store = manager_of(request).store
    runs, unfinished = await store.runs(after, limit, COMPARISON), await store.unfinished(COMPARISON)
    return ExperimentPage(
        experiments=[experiment_of(run, unfinished) for run in runs],
        next=runs[-1].id if len(runs) == limit else None,
        waiting=len(unfinished),
        most_waiting=MOST_WAITING,
    )


@router.post("", status_code=201, summary="Start an experiment", responses=errors(*ORDER))
async def create(request: Request, order: ExperimentCreate) -> Experiment:
    """Compare schedulers on one workload over several seeds, in a process of its own; one at a time, others wait."""
    manager = manager_of(request)
    return await _shown(manager, await manager.ask_experiment(order.model_dump()))


@router.get("/{experiment_id}", summary="How an experiment stands", responses=errors(404))
async def detail(request: Request, experiment_id: ExperimentId) -> Experiment:
    """Return how far an experiment is."""
    return await _shown(manager_of(request), experiment_id)


@router.delete("/{experiment_id}", summary="Cancel an experiment", responses=errors(*ORDER, 404))
async def cancel(request: Request, experiment_id: ExperimentId) -> Experiment:
    """Stop an experiment that waits or runs; delete its run to be rid of one that has ended."""
    manager = manager_of(request)
    run = await _known(manager, experiment_id)
    if run.status != "running":
        raise ConflictError(
            f"experiment {experiment_id} is {state_of(run)} already: DELETE /api/runs/{experiment_id} is rid of it"
        )
    await manager.cancel_experiment(experiment_id)
    return await _shown(manager, experiment_id)


async def _known(manager: Manager, number: int) -> Run:
    run = await known_run(manager, number)
    if run.kind != COMPARISON:
        raise HTTPException(404, f"run {number} is a {run.kind} run, no experiment: see GET /api/runs/{number}")
    return run


async def _shown(manager: Manager, number: int) -> Experiment:
    return experiment_of(await _known(manager, number), await manager.store.unfinished(COMPARISON))
