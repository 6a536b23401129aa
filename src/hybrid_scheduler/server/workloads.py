"""What the service tells about workloads, uploaded ones and presets alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import datetime

import orjson
from starlette.requests import ClientDisconnect

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.schemas.workloads import WorkloadLine, WorkloadShape
from hybrid_scheduler.workloads.generator import PRESETS, WorkloadGenerator
from hybrid_scheduler.workloads.library import Entry, is_upload, name_of
from hybrid_scheduler.workloads.statistics import shape_of

SHAPE_TASKS = 2000  # of a preset
SHAPE_KEPT = 3600.0  # seconds; a file of the same SHA-256 has the same shape


def preset_line(name: str) -> WorkloadLine:
    """Describe a preset in a list."""
    kind = PRESETS[name]
    graph = kind.graph is not None
    return WorkloadLine(
        name=name,
        spec=name,
        kind="preset",
        format=None,
        summary=kind.summary,
        tasks=SHAPE_TASKS,
        bytes=None,
        sha256=None,
        uploaded_at=None,
        duration=None,
        dependencies=graph,
        live=not graph,
        obstacle="it has dependencies, which an endless stream has not: use it in an experiment" if graph else "",
        in_use=False,
    )


def entry_line(entry: Entry, used: set[str]) -> WorkloadLine:
    """Describe an uploaded file in a list."""
    return WorkloadLine(
        name=entry.name,
        spec=entry.spec,
        kind="upload",
        format=entry.format,
        summary="",
        tasks=entry.tasks,
        bytes=entry.bytes,
        sha256=entry.sha256,
        uploaded_at=datetime.fromisoformat(entry.uploaded_at),
        duration=entry.duration,
        dependencies=entry.dependencies,
        live=not entry.obstacle,
        obstacle=entry.obstacle,
        in_use=entry.name in used,
    )


async def used_files(manager: Manager) -> set[str]:
    """Return the uploaded files that the live race or an experiment needs."""
    specs = [str(run.settings.get("workload", "")) for run in await manager.store.unfinished("comparison")]
    snapshot = manager.snapshot()
    if snapshot is not None and snapshot.state not in ("stopped", "failed"):
        specs.append(snapshot.settings["preset"])
    return {name_of(spec) for spec in specs if is_upload(spec)}


async def received(manager: Manager, name: str, body: AsyncIterator[bytes]) -> Entry:
    """Take a file as it arrives, look at it, and keep it if it can be used."""
    if name in PRESETS:
        raise ConflictError(f"'{name}' is the name of a preset: choose another name")
    library = manager.library
    await asyncio.to_thread(library.require_room, name)
    with library.receiving() as place:
        try:
            with place.open("wb") as file:
                async for part in body:
                    await asyncio.to_thread(file.write, part)
        except ClientDisconnect:
            raise InputError(f"the upload of '{name}' broke off: send it again") from None
        except OSError as error:
            raise ConflictError(f"'{name}' cannot be stored ({error.strerror}): free space on the server") from None
        async with manager.reading:
            return await asyncio.to_thread(library.keep, name, place)


async def shape(manager: Manager, name: str) -> WorkloadShape:
    """Return the shape of a workload for the cluster of the moment; `UnknownNameError` if there is none."""
    snapshot = manager.snapshot()
    gpus = int(snapshot.settings["num_gpus"]) if snapshot else manager.settings.num_gpus
    if name in PRESETS:
        line, key = preset_line(name), f"shape:{name}:{gpus}"
    else:
        entry = await asyncio.to_thread(manager.library.entry, name)
        line, key = entry_line(entry, await used_files(manager)), f"shape:{entry.sha256}:{gpus}"
    kept = await manager.cache.get(key)
    if kept is None:
        async with manager.reading:
            kept = await asyncio.to_thread(_measured, manager, line, Cluster.default(gpus))
        await manager.cache.set(key, kept, SHAPE_KEPT)
    return WorkloadShape.model_validate({**line.model_dump(), "num_gpus": gpus, **orjson.loads(kept)})


def _measured(manager: Manager, line: WorkloadLine, cluster: Cluster) -> bytes:
    tasks: Tasks = (
        manager.library.tasks(line.spec)
        if line.kind == "upload"
        else WorkloadGenerator(0).generate_preset(line.name, SHAPE_TASKS, cluster=cluster)
    )
    return to_bytes({"tasks": len(tasks), **asdict(shape_of(tasks, cluster))})


async def require_known(manager: Manager, name: str) -> Entry:
    """Return an uploaded file; a preset has none."""
    if name in PRESETS:
        raise UnknownNameError(f"'{name}' is a preset, which is no file: hms generate {name} writes one")
    return await asyncio.to_thread(manager.library.entry, name)
