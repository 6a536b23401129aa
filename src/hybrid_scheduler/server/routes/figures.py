"""Figures of finished runs with intervals, one run alone or several side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from hybrid_scheduler.server.errors import ConflictError
from hybrid_scheduler.server.routes.runs import RunId
from hybrid_scheduler.server.schemas.errors import errors
from hybrid_scheduler.server.schemas.figures import RunComparison, RunFigures

router = APIRouter(prefix="/api", tags=["experiments"])
Numbers = Annotated[
    str,
    Query(pattern=r"^[0-9]{1,15}(,[0-9]{1,15})+$", description="Two to eight runs, with commas.", examples=["1,2"]),
]


@router.get("/runs/{run_id}/figures", summary="What a run has measured", responses=errors(404, 409))
async def figures(request: Request, run_id: RunId) -> RunFigures:
    """Return every measure of every scheduler with its 95 % interval."""
    raise ConflictError("figures are not served yet: wait for the next version")


@router.get("/compare", summary="Several runs side by side", responses=errors(400, 404, 409))
async def compare(request: Request, runs: Numbers) -> RunComparison:
    """Return the figures of several runs, and how each scheduler differs from the first run."""
    raise ConflictError("figures are not served yet: wait for the next version")
