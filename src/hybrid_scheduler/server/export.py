"""A run as a file: rows of the store in blocks, turned into CSV or Parquet as they come.

One block is in memory at a time, however long the run is; every block is turned into bytes in a thread, so that the
event loop goes on.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import csv, parquet

from hybrid_scheduler.storage.statements import EXPORTED
from hybrid_scheduler.storage.store import Store

BLOCK = 5000  # rows; a row group of Parquet
_WHOLE = {"task_id": pa.int64(), "attempt": pa.int16(), "device": pa.int32(), "status": pa.int16()}
_OTHER = {"scheduler_name": pa.string(), "measured": pa.bool_(), "dependencies": pa.string()}
COLUMNS = pa.schema([(name, (_WHOLE | _OTHER).get(name, pa.float64())) for name in EXPORTED])
"""The columns of an export; `dependencies` is a JSON list."""
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


class Writer(Protocol):
    """What turns tables into bytes."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what comes at the end."""


class Outlet(io.RawIOBase):
    """A file of which only what was written since the last look is kept."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        """Say that this is a file to write to."""
        return True

    def write(self, data: Any) -> int:
        """Take bytes."""
        part = bytes(data)
        self._parts.append(part)
        self._length += len(part)
        return len(part)

    def tell(self) -> int:
        """Return how many bytes have been written so far: Parquet notes where its parts begin."""
        return self._length

    def drain(self) -> bytes:
        """Return what was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


async def export(
    store: Store, run_id: int, form: str, about: Mapping[str, str] | None = None, block: int = BLOCK
) -> AsyncIterator[bytes]:
    """Return a run as a file, bit by bit; tasks that arrive meanwhile are left out, or it might never end."""
    outlet = Outlet()
    columns = COLUMNS.with_metadata(dict(about or {}))
    writer = await asyncio.to_thread(_WRITERS[form], outlet, columns)
    last = await store.last_task(run_id)
    async for rows in store.export(run_id, block):
        wanted = [row for row in rows if row[0] <= last]
        yield await asyncio.to_thread(_written, writer, outlet, wanted, columns)
        if len(wanted) < len(rows):
            break
    await asyncio.to_thread(writer.close)
    yield outlet.drain()


def _written(writer: Writer, outlet: Outlet, rows: Sequence[Sequence[Any]], columns: pa.Schema) -> bytes:
    if rows:
        writer.write_batch(table_of(rows, columns))
    return outlet.drain()


def table_of(rows: Sequence[Sequence[Any]], columns: pa.Schema = COLUMNS) -> pa.RecordBatch:
    """Turn rows of an export into columns."""
    values = dict(zip(EXPORTED, zip(*rows, strict=True), strict=True))
    values["dependencies"] = tuple(map(json.dumps, values["dependencies"]))
    return pa.record_batch([pa.array(values[field.name], field.type) for field in columns], schema=columns)


def _csv(outlet: Outlet, columns: pa.Schema) -> Writer:
    writer: Writer = csv.CSVWriter(pa.PythonFile(outlet, "w"), columns)
    return writer


def _parquet(outlet: Outlet, columns: pa.Schema) -> Writer:
    writer: Writer = parquet.ParquetWriter(pa.PythonFile(outlet, "w"), columns, compression="zstd")
    return writer


_WRITERS: dict[str, Callable[[Outlet, pa.Schema], Writer]] = {"csv": _csv, "parquet": _parquet}
