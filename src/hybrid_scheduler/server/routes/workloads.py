"""Workloads: presets and uploaded files to race on, and their statistics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse
from starlette.requests import ClientDisconnect

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.server.dependencies import Manager
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.lifecycle import find_uses
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.schemas.base import COMMAND, Removed, errors
from hybrid_scheduler.server.schemas.tasks import WorkloadLine, Workloads, WorkloadShape
from hybrid_scheduler.workloads.formats.reader import formats
from hybrid_scheduler.workloads.generator import PRESETS, WorkloadGenerator
from hybrid_scheduler.workloads.library import NAME, Entry
from hybrid_scheduler.workloads.statistics import compute_shape

READ_SECONDS = 60.0  # that reading a file may take
T = TypeVar("T")
SHAPE_TASKS = 2000  # of a preset
SHAPE_CACHE_SECONDS = 3600.0  # a file of the same SHA-256 has the same shape
PATTERN = f"^{NAME}$"
router = APIRouter(prefix="/api/workloads", tags=["workloads"])
Name = Annotated[str, Path(pattern=PATTERN, description="Name of the workload.", examples=["trace.csv"])]
_OCTETS = "application/octet-stream"
_BINARY: dict[str, Any] = {_OCTETS: {"schema": {"type": "string", "format": "binary"}}}
_FILE: dict[int | str, dict[str, Any]] = {200: {"description": "The file.", "content": _BINARY}}


@router.get("", name="listed", summary="All workloads", responses=errors())
async def list_workloads(manager: Manager) -> Workloads:
    """Return uploaded files and built-in presets."""
    entries, problems = await asyncio.to_thread(manager.library.entries)
    used = set(await find_uses(manager))
    return Workloads(
        workloads=[*(_describe_upload(each, used) for each in entries), *map(_describe_preset, PRESETS)],
        most_bytes=manager.settings.max_upload_bytes,
        formats=sorted(formats.table),
        problems=problems,
    )


@router.post(
    "",
    status_code=201,
    summary="Upload a workload",
    responses=errors(*COMMAND),
    openapi_extra={"requestBody": {"required": True, "content": _BINARY}},
)
async def upload(
    manager: Manager,
    request: Request,
    name: Annotated[str, Query(pattern=PATTERN, description="Name for the workload.", examples=["trace.csv"])],
) -> WorkloadLine:
    """Store the body of the request as a file if it can be used as a workload; its format is recognised.

    A file of the same name is not replaced: delete it first.
    """
    return _describe_upload(await _receive_upload(manager, name, request.stream()), set())


@router.get("/{name}", summary="Statistics of a workload", responses=errors(400, 404, 409))
async def detail(manager: Manager, name: Name) -> WorkloadShape:
    """Return the distributions of the sizes, intensities, memory and arrivals of a workload."""
    with _not_found_if_unknown():
        return await _find_shape(manager, name)


@router.get(
    "/{name}/file", summary="A workload as a file", response_class=FileResponse, responses=_FILE | errors(400, 404)
)
async def download(manager: Manager, name: Name) -> FileResponse:
    """Return the file as it was uploaded."""
    with _not_found_if_unknown():
        entry = await _find_upload(manager, name)
    return FileResponse(manager.library.path(entry.name), media_type=_OCTETS, filename=entry.name)


@router.delete("/{name}", summary="Delete a workload", responses=errors(*COMMAND, 404))
async def remove(manager: Manager, name: Name) -> Removed:
    """Delete a file, unless an experiment needs it, or the live run, which is replayed with it after a restart."""
    with _not_found_if_unknown():
        entry = await _find_upload(manager, name)
        await manager.remove_workload(entry)
    return Removed(removed=entry.spec)


@contextmanager
def _not_found_if_unknown() -> Iterator[None]:
    try:
        yield
    except UnknownNameError as error:
        raise HTTPException(404, str(error)) from None


def _describe_preset(name: str) -> WorkloadLine:
    preset = PRESETS[name]
    is_graph = preset.graph is not None
    return WorkloadLine(
        name=name,
        spec=name,
        kind="preset",
        summary=preset.summary,
        tasks=SHAPE_TASKS,
        dependencies=is_graph,
        live=not is_graph,
        obstacle="it has dependencies, which an endless stream has not: use it in an experiment" if is_graph else "",
        in_use=False,
    )


def _describe_upload(entry: Entry, used: set[str]) -> WorkloadLine:
    return WorkloadLine(
        **asdict(entry), spec=entry.spec, kind="upload", live=not entry.obstacle, in_use=entry.pinned_spec in used
    )


async def _find_upload(manager: RaceManager, name: str) -> Entry:
    if name in PRESETS:
        raise UnknownNameError(f"'{name}' is a preset, which is no file: hms generate {name} writes one")
    return await asyncio.to_thread(manager.library.entry, name)


async def _receive_upload(manager: RaceManager, name: str, body: AsyncIterator[bytes]) -> Entry:
    """Write the body to a temporary file, check it, and move it into the library."""
    if name in PRESETS:
        raise ConflictError(f"'{name}' is the name of a preset: choose another name")
    library = manager.library
    await asyncio.to_thread(library.require_room, name)
    with library.receive() as path:
        try:
            with path.open("wb") as file:
                async for part in body:
                    await asyncio.to_thread(file.write, part)
        except ClientDisconnect:
            raise InputError(f"the upload of '{name}' broke off: send it again") from None
        except OSError as error:
            raise ConflictError(f"'{name}' cannot be stored ({error.strerror}): free space on the server") from None
        return await _read_in_time(manager, name, lambda: library.keep(name, path))


async def _read_in_time(manager: RaceManager, name: str, read: Callable[[], T]) -> T:
    """Read a file in a thread, a few at a time; one that takes too long makes room for others."""
    try:
        async with manager.reading, asyncio.timeout(READ_SECONDS):
            return await asyncio.to_thread(read)
    except TimeoutError:
        raise ConflictError(f"'{name}' takes longer than {READ_SECONDS:g} s to read: leave out some of it") from None


async def _find_shape(manager: RaceManager, name: str) -> WorkloadShape:
    """Return the statistics of a workload on the present cluster; `UnknownNameError` if there is none."""
    snapshot = manager.snapshot()
    gpus = int(snapshot.settings["num_gpus"]) if snapshot else manager.settings.num_gpus
    if name in PRESETS:
        line, key = _describe_preset(name), f"shape:{name}:{gpus}"
    else:
        entry = await asyncio.to_thread(manager.library.entry, name)
        line, key = _describe_upload(entry, set(await find_uses(manager))), f"shape:{entry.sha256}:{gpus}"
    shape = await manager.cache.get(key)
    if shape is None:
        shape = await _read_in_time(manager, name, lambda: _compute_shape(manager, line, Cluster.default(gpus)))
        await manager.cache.set(key, shape, SHAPE_CACHE_SECONDS)
    return WorkloadShape.model_validate({**line.model_dump(), "num_gpus": gpus, **orjson.loads(shape)})


def _compute_shape(manager: RaceManager, line: WorkloadLine, cluster: Cluster) -> bytes:
    if line.kind == "upload":
        tasks = manager.library.tasks(line.spec)
    else:
        tasks = WorkloadGenerator(0).generate_preset(line.name, SHAPE_TASKS, cluster=cluster)
    return encode_json({"tasks": len(tasks), **asdict(compute_shape(tasks, cluster))})
