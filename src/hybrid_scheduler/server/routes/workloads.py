"""Workloads: upload a trace, see its shape, race on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse

from hybrid_scheduler.errors import UnknownNameError
from hybrid_scheduler.server.answers import manager_of
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.schemas.base import ORDER, errors
from hybrid_scheduler.server.schemas.workloads import Removed, WorkloadLine, Workloads, WorkloadShape
from hybrid_scheduler.server.workloads import entry_line, preset_line, received, require_known, shape, used_files
from hybrid_scheduler.workloads.formats.reader import formats
from hybrid_scheduler.workloads.generator import PRESETS
from hybrid_scheduler.workloads.library import NAME

router = APIRouter(prefix="/api/workloads", tags=["workloads"])
PATTERN = f"^{NAME}$"
Name = Annotated[str, Path(pattern=PATTERN, description="Name of the workload.", examples=["trace.csv"])]
_OCTETS = "application/octet-stream"
_BINARY: dict[str, Any] = {_OCTETS: {"schema": {"type": "string", "format": "binary"}}}
_FILE: dict[int | str, dict[str, Any]] = {200: {"description": "The file.", "content": _BINARY}}


@router.get("", summary="All workloads", responses=errors())
async def listed(request: Request) -> Workloads:
    """Return uploaded files and built-in presets."""
    manager = manager_of(request)
    entries, problems = await asyncio.to_thread(manager.library.entries)
    used = await used_files(manager)
    return Workloads(
        workloads=[*(entry_line(each, used) for each in entries), *map(preset_line, PRESETS)],
        most_bytes=manager.settings.max_upload_bytes,
        formats=sorted(formats.table),
        problems=problems,
    )


@router.post(
    "",
    status_code=201,
    summary="Upload a workload",
    responses=errors(*ORDER),
    openapi_extra={"requestBody": {"required": True, "content": _BINARY}},
)
async def upload(
    request: Request,
    name: Annotated[str, Query(pattern=PATTERN, description="Its name from now on.", examples=["trace.csv"])],
) -> WorkloadLine:
    """Take a file as the body of the request, read it, and keep it if it can be used; its format is recognised.

    A file of the same name is not replaced: delete it first.
    """
    return entry_line(await received(manager_of(request), name, request.stream()), set())


@router.get("/{name}", summary="Shape of a workload", responses=errors(400, 404, 409))
async def detail(request: Request, name: Name) -> WorkloadShape:
    """Return how tasks, sizes, memory and arrivals of a workload are spread."""
    with unknown_is_missing():
        return await shape(manager_of(request), name)


@router.get(
    "/{name}/file", summary="A workload as a file", response_class=FileResponse, responses=_FILE | errors(400, 404)
)
async def download(request: Request, name: Name) -> FileResponse:
    """Return the file as it was uploaded."""
    manager = manager_of(request)
    with unknown_is_missing():
        entry = await require_known(manager, name)
    return FileResponse(manager.library.path(entry.name), media_type=_OCTETS, filename=entry.name)


@router.delete("/{name}", summary="Delete a workload", responses=errors(*ORDER, 404))
async def remove(request: Request, name: Name) -> Removed:
    """Delete a file, unless the live race or an experiment needs it."""
    manager = manager_of(request)
    with unknown_is_missing():
        entry = await require_known(manager, name)
        if name in await used_files(manager):
            raise ConflictError(f"workload '{name}' is in use: wait for the race or experiment that needs it to end")
        await asyncio.to_thread(manager.library.remove, name)
    return Removed(removed=entry.spec)


@contextmanager
def unknown_is_missing() -> Iterator[None]:
    """Answer 404 where a name in the path is not known."""
    try:
        yield
    except UnknownNameError as error:
        raise HTTPException(404, str(error)) from None
