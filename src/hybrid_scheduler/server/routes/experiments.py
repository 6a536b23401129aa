"""Experiments (comparisons over seeds, in the background), and figures of runs with intervals."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.server.dependencies import After, Manager, RunId, find_run
from hybrid_scheduler.server.jobs import MAX_QUEUED, describe_experiment, experiment_state
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.runs import collect_sample, compare_samples, estimate_figures, find_caveats
from hybrid_scheduler.server.schemas import runs as schemas
from hybrid_scheduler.server.schemas.base import COMMAND, MAX_ID, errors
from hybrid_scheduler.storage.store import COMPARISON, Run

MAX_RUNS = 8
router = APIRouter(prefix="/api", tags=["experiments"])
ExperimentId = Annotated[int, Path(ge=0, le=MAX_ID, description="Number of the experiment.", examples=[1])]
RunIds = Annotated[
    str,
    Query(pattern=r"^[0-9]{1,15}(,[0-9]{1,15})*$", description="Two to eight runs, with commas.", examples=["1,2"]),
]


@router.get("/experiments", summary="Experiments, newest first", responses=errors())
async def page(
    manager: Manager,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Experiments at most.")] = 50,
) -> schemas.ExperimentPage:
    """Return experiments and their progress."""
    store = manager.store
    runs, unfinished = await store.runs(after, limit, COMPARISON), await store.active_runs(COMPARISON)
    return schemas.ExperimentPage(
        experiments=[describe_experiment(run, unfinished) for run in runs],
        next=runs[-1].id if len(runs) == limit else None,
        waiting=len(unfinished),
        most_waiting=MAX_QUEUED,
    )


@router.post("/experiments", status_code=201, summary="Start an experiment", responses=errors(*COMMAND))
async def create(manager: Manager, order: schemas.ExperimentCreate) -> schemas.Experiment:
    """Compare schedulers on one workload over several seeds, in a process of its own; one at a time, others wait."""
    return await _describe(manager, await manager.submit_experiment(order.model_dump()))


@router.get("/experiments/{experiment_id}", summary="State of an experiment", responses=errors(404))
async def detail(manager: Manager, experiment_id: ExperimentId) -> schemas.Experiment:
    """Return an experiment and its progress."""
    return await _describe(manager, experiment_id)


@router.delete("/experiments/{experiment_id}", summary="Cancel an experiment", responses=errors(*COMMAND, 404))
async def cancel(manager: Manager, experiment_id: ExperimentId) -> schemas.Experiment:
    """Stop an experiment that is queued or running; one that has ended is deleted as a run."""
    run = await _find_experiment(manager, experiment_id)
    if run.status != "running":
        raise ConflictError(
            f"experiment {experiment_id} is {experiment_state(run)} already: "
            f"DELETE /api/runs/{experiment_id} deletes it"
        )
    await manager.cancel_experiment(experiment_id)
    return await _describe(manager, experiment_id)


async def _describe(manager: RaceManager, run_id: int) -> schemas.Experiment:
    run = await _find_experiment(manager, run_id)
    return describe_experiment(run, await manager.store.active_runs(COMPARISON))


async def _find_experiment(manager: RaceManager, run_id: int) -> Run:
    run = await find_run(manager, run_id)
    if run.kind != COMPARISON:
        raise HTTPException(404, f"run {run_id} is a {run.kind} run, no experiment: see GET /api/runs/{run_id}")
    return run


@router.get("/runs/{run_id}/figures", summary="Figures of a run", responses=errors(404, 409))
async def figures(manager: Manager, run_id: RunId) -> schemas.RunFigures:
    """Return every measure of every scheduler with its 95 % interval."""
    sample = await collect_sample(manager, await find_run(manager, run_id))
    return await asyncio.to_thread(estimate_figures, sample)


@router.get("/compare", summary="Compare runs", responses=errors(400, 404, 409))
async def compare(manager: Manager, runs: RunIds) -> schemas.RunComparison:
    """Return the figures of several runs, and how each scheduler differs from the first run."""
    run_ids = list(map(int, runs.split(",")))
    if not 2 <= len(set(run_ids)) == len(run_ids) <= MAX_RUNS:
        raise InputError(f"runs are {runs}: name two to {MAX_RUNS} different ones, as in 1,2")
    samples = [await collect_sample(manager, await find_run(manager, run_id)) for run_id in run_ids]
    first, *others = samples
    return schemas.RunComparison(
        baseline=first.run.id,
        runs=[await asyncio.to_thread(estimate_figures, each) for each in samples],
        differences=await asyncio.to_thread(lambda: [row for each in others for row in compare_samples(first, each)]),
        notes=find_caveats(samples),
    )
