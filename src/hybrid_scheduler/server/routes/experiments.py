"""Experiments: comparisons over seeds, in the background."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from hybrid_scheduler.server.errors import ConflictError
from hybrid_scheduler.server.schemas.base import LARGEST_ID
from hybrid_scheduler.server.schemas.errors import ORDER, errors
from hybrid_scheduler.server.schemas.experiments import Experiment, ExperimentCreate, ExperimentPage

router = APIRouter(prefix="/api/experiments", tags=["experiments"])
ExperimentId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Number of the experiment.", examples=[1])]


@router.get("", summary="Experiments, newest first", responses=errors())
async def page(
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Experiments at most.")] = 50,
) -> ExperimentPage:
    """Return what was compared, and how far it is."""
    raise ConflictError("experiments are not served yet: wait for the next version")


@router.post("", status_code=201, summary="Start an experiment", responses=errors(*ORDER))
async def create(request: Request, order: ExperimentCreate) -> Experiment:
    """Compare schedulers on one workload over several seeds, in a process of its own; one at a time, others wait."""
    raise ConflictError("experiments are not served yet: wait for the next version")


@router.get("/{experiment_id}", summary="How an experiment stands", responses=errors(404))
async def detail(request: Request, experiment_id: ExperimentId) -> Experiment:
    """Return how far an experiment is."""
    raise ConflictError("experiments are not served yet: wait for the next version")


@router.delete("/{experiment_id}", summary="Cancel an experiment", responses=errors(*ORDER, 404))
async def cancel(request: Request, experiment_id: ExperimentId) -> Experiment:
    """Stop an experiment that waits or runs; delete its run to be rid of one that has ended."""
    raise ConflictError("experiments are not served yet: wait for the next version")
