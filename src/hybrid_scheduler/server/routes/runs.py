"""Runs: list, details, rename, delete, export, resume; and the stored results for charts."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pyarrow import csv, parquet

from hybrid_scheduler.live.simulation import LONG_BLOCKS
from hybrid_scheduler.server.dependencies import JSON, After, Manager, RunId, RunQuery, find_run, resolve_run
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.runs import describe_run, summarize_runs
from hybrid_scheduler.server.schemas import runs as schemas
from hybrid_scheduler.server.schemas.base import COMMAND, Removed, errors
from hybrid_scheduler.server.schemas.tasks import HistoryRow, TrainingRecord
from hybrid_scheduler.storage.store import EXPORT_COLUMNS, Store

HISTORY_TASKS = 1000
BLOCK_ROWS = 5000  # also the row group of Parquet
_INTEGERS = {"task_id": pa.int64(), "attempt": pa.int16(), "device": pa.int32(), "status": pa.int16()}
_OTHERS = {"scheduler_name": pa.string(), "measured": pa.bool_(), "dependencies": pa.string()}
COLUMNS = pa.schema([(name, (_INTEGERS | _OTHERS).get(name, pa.float64())) for name in EXPORT_COLUMNS])
"""The columns of an export; `dependencies` is a JSON list."""
_WRITERS = {"csv": csv.CSVWriter, "parquet": partial(parquet.ParquetWriter, compression="zstd")}
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
router = APIRouter(prefix="/api/runs", tags=["runs"])
history = APIRouter(prefix="/api", tags=["history"])
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {media.partition(";")[0]: _BINARY for media in MEDIA_TYPES.values()}}
}


@router.get("", summary="Runs, newest first", responses=errors())
async def page(
    manager: Manager,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Runs at most.")] = 50,
    kind: Annotated[schemas.RunKind | None, Query(description="Only runs of this kind.")] = None,
) -> schemas.RunPage:
    """Return the runs of this database; an empty page if there is none."""
    lines = await summarize_runs(manager, await manager.store.runs(after, limit, kind))
    return schemas.RunPage(runs=lines, next=lines[-1].id if len(lines) == limit else None)


@router.get("/{run_id}", summary="Everything about a run", responses=errors(404))
async def detail(manager: Manager, run_id: RunId) -> schemas.RunDetail:
    """Return the settings of a run, its changes and its results."""
    run = await find_run(manager, run_id)
    changes, last = await manager.store.settings_changes(run_id), await manager.store.last_task(run_id)
    made = [each for each in changes if LONG_BLOCKS not in each["change"]]  # by people
    return schemas.RunDetail(
        **asdict(run) | describe_run(manager, run, last),
        changes=[schemas.SettingsChange.model_validate(each) for each in made],
        last_task=last,
    )


@router.patch("/{run_id}", summary="Rename a run", responses=errors(*COMMAND, 404))
async def rename(manager: Manager, run_id: RunId, change: schemas.RunChange) -> schemas.RunLine:
    """Name a run, or remove its name."""
    await find_run(manager, run_id)
    await manager.store.rename_run(run_id, change.title)
    return (await summarize_runs(manager, [await find_run(manager, run_id)]))[0]


@router.delete("/{run_id}", summary="Delete a run", responses=errors(*COMMAND, 404))
async def remove(manager: Manager, run_id: RunId) -> Removed:
    """Delete a run that has ended, with all its tasks and results."""
    run = await find_run(manager, run_id)
    if run.status == "running" or run.id == manager.run_id:
        raise ConflictError(
            f"run {run_id} is the current one or running: end it, and start another, before deleting it"
        )
    await manager.store.delete_run(run_id)
    return Removed(removed=f"run {run_id}")


@router.get(
    "/{run_id}/export",
    summary="A run as a file",
    response_class=StreamingResponse,
    responses=_FILES | errors(404, 409),
)
async def download(
    manager: Manager,
    run_id: RunId,
    form: Annotated[schemas.ExportFormat, Query(alias="format", description="CSV or Parquet.")] = "csv",
) -> StreamingResponse:
    """Stream every result of a run with its task, in order of task, scheduler and attempt.

    Of a running one, the file holds what is stored at the time of the request.
    """
    run = await find_run(manager, run_id)
    if run.kind != "live":
        raise ConflictError(f"run {run_id} is a {run.kind}, which keeps no tasks: see /api/runs/{run_id}/figures")
    metadata = {"run": str(run.id), "version": run.version, "seed": str(run.seed)}
    return StreamingResponse(
        manager.heavy.stream(lambda store: export_run(store, run.id, form, metadata, turns=manager.heavy.turns)),
        media_type=MEDIA_TYPES[form],
        headers={"Content-Disposition": f'attachment; filename="run-{run.id}.{form}"', "Cache-Control": "no-store"},
    )


@router.post("/{run_id}/resume", summary="Resume a run", responses=errors(*COMMAND, 404))
async def resume(manager: Manager, run_id: RunId) -> schemas.Resumed:
    """Continue an interrupted or stopped run: it is replayed up to its last task, then runs live."""
    await find_run(manager, run_id)
    return schemas.Resumed(run_id=await manager.resume_run(run_id))


@history.get(
    "/full_history", summary="Latest training records", response_model=list[TrainingRecord], responses=errors()
)
async def full_history(manager: Manager) -> Response:
    """Return the latest 1000 training examples of all runs, newest first; empty before any run."""
    rows = await manager.heavy.read(lambda store: store.training_data(HISTORY_TASKS))
    return Response(encode_json(rows), media_type=JSON)  # rows of the store are not validated again


@history.get(
    "/history/comparative",
    summary="Latest results of all schedulers",
    response_model=list[HistoryRow],
    responses=errors(404),
)
async def comparative(
    manager: Manager,
    limit: Annotated[int, Query(ge=1, le=5000, description="Results; a task has one for each scheduler.")] = 600,
    run: RunQuery = None,
) -> Response:
    """Return the latest results of a run with their tasks, newest task first; empty before any run."""
    run_id = await resolve_run(manager, run)
    rows = [] if run_id is None else await manager.heavy.read(lambda store: store.history(run_id, limit))
    return Response(encode_json(rows), media_type=JSON)


class ByteStream(io.BytesIO):
    """A file to write to that keeps only what has not been drained yet."""

    _drained = 0

    def tell(self) -> int:
        """Return the number of bytes written so far, from which Parquet knows its offsets."""
        return self._drained + super().tell()

    def drain(self) -> bytes:
        """Return what was written since the last call."""
        part = self.getvalue()
        self._drained += len(part)
        self.seek(0)
        self.truncate()
        return part


async def export_run(
    store: Store,
    run_id: int,
    form: str,
    metadata: Mapping[str, str] | None = None,
    block: int = BLOCK_ROWS,
    turns: asyncio.Semaphore | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield a run as the parts of a file; tasks that arrive meanwhile are left out, or it might never end.

    One block of rows is in memory at a time, however long the run is. Many exports take turns, block by block; one
    whose reader is slow holds nobody up. Rows are built and encoded in the event loop: that of `HeavyReads`.
    """
    turns = turns or asyncio.Semaphore(1)
    stream = ByteStream()
    columns = COLUMNS.with_metadata(dict(metadata or {}))
    writer: Any = _WRITERS[form](pa.PythonFile(stream, "w"), columns)
    last = await store.last_task(run_id)
    blocks = store.export(run_id, block)
    while True:
        async with turns:
            rows = await anext(blocks, None) or []  # an empty tuple as the default would be lost in CPython
            if not rows:
                break
            known = [row for row in rows if row[0] <= last]
            part = _write_block(writer, stream, known, columns)
        yield part
        if len(known) < len(rows):
            break
    writer.close()
    yield stream.drain()


def _write_block(writer: Any, stream: ByteStream, rows: Sequence[Sequence[Any]], columns: pa.Schema) -> bytes:
    if rows:
        values = dict(zip(EXPORT_COLUMNS, zip(*rows, strict=True), strict=True))
        values["dependencies"] = tuple(map(json.dumps, values["dependencies"]))
        arrays = [pa.array(values[field.name], field.type) for field in columns]
        writer.write_batch(pa.record_batch(arrays, schema=columns))
    return stream.drain()
