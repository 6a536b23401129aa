"""Figures of finished runs with intervals, one run alone or several side by side."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.server.answers import known_run, manager_of
from hybrid_scheduler.server.routes.runs import RunId
from hybrid_scheduler.server.runs import differences, figures_of, notes, sample_of
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.runs import RunComparison, RunFigures

MOST_RUNS = 8
router = APIRouter(prefix="/api", tags=["experiments"])
Numbers = Annotated[
    str,
    Query(pattern=r"^[0-9]{1,15}(,[0-9]{1,15})*$", description="Two to eight runs, with commas.", examples=["1,2"]),
]


@router.get("/runs/{run_id}/figures", summary="What a run has measured", responses=errors(404, 409))
async def figures(request: Request, run_id: RunId) -> RunFigures:
    """Return every measure of every scheduler with its 95 % interval."""
    manager = manager_of(request)
    return await figures_of(await sample_of(manager, await known_run(manager, run_id)))


@router.get("/compare", summary="Several runs side by side", responses=errors(400, 404, 409))
async def compare(request: Request, runs: Numbers) -> RunComparison:
    """Return the figures of several runs, and how each scheduler differs from the first run."""
    manager, numbers = manager_of(request), list(map(int, runs.split(",")))
    if not 2 <= len(set(numbers)) == len(numbers) <= MOST_RUNS:
        raise InputError(f"runs are {runs}: name two to {MOST_RUNS} different ones, as in 1,2")
    samples = [await sample_of(manager, await known_run(manager, number)) for number in numbers]
    first, *others = samples
    return RunComparison(
        baseline=first.run.id,
        runs=[await figures_of(each) for each in samples],
        differences=await asyncio.to_thread(lambda: [row for each in others for row in differences(first, each)]),
        notes=notes(samples),
    )
