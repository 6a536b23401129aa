"""Workloads: upload a trace, see its shape, race on it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse

from hybrid_scheduler.server.errors import ConflictError
from hybrid_scheduler.server.schemas.errors import ORDER, errors
from hybrid_scheduler.server.schemas.workloads import Removed, WorkloadLine, Workloads, WorkloadShape

router = APIRouter(prefix="/api/workloads", tags=["workloads"])
NAME = r"^[a-z0-9][a-z0-9._-]{0,99}$"
Name = Annotated[str, Path(pattern=NAME, description="Name of the workload.", examples=["trace.csv"])]
_BINARY: dict[str, Any] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_FILE: dict[int | str, dict[str, Any]] = {200: {"description": "The file.", "content": _BINARY}}


@router.get("", summary="All workloads", responses=errors())
async def listed(request: Request) -> Workloads:
    """Return uploaded files and built-in presets."""
    raise ConflictError("workloads are not served yet: wait for the next version")


@router.post(
    "",
    status_code=201,
    summary="Upload a workload",
    responses=errors(*ORDER),
    openapi_extra={"requestBody": {"required": True, "content": _BINARY}},
)
async def upload(
    request: Request,
    name: Annotated[str, Query(pattern=NAME, description="Its name from now on.", examples=["trace.csv"])],
) -> WorkloadLine:
    """Take a file as the body of the request, read it, and keep it if it can be used; its format is recognised.

    A file of the same name is not replaced: delete it first.
    """
    raise ConflictError("workloads are not served yet: wait for the next version")


@router.get("/{name}", summary="Shape of a workload", responses=errors(404))
async def shape(request: Request, name: Name) -> WorkloadShape:
    """Return how tasks, sizes, memory and arrivals of a workload are spread."""
    raise ConflictError("workloads are not served yet: wait for the next version")


@router.get(
    "/{name}/file", summary="A workload as a file", response_class=FileResponse, responses=_FILE | errors(404)
)
async def download(request: Request, name: Name) -> FileResponse:
    """Return the file as it was uploaded."""
    raise ConflictError("workloads are not served yet: wait for the next version")


@router.delete("/{name}", summary="Delete a workload", responses=errors(*ORDER, 404))
async def remove(request: Request, name: Name) -> Removed:
    """Delete a file, unless the live race or an experiment needs it."""
    raise ConflictError("workloads are not served yet: wait for the next version")
