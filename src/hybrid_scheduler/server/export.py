"""Export of a run as CSV or Parquet, streamed.

One block of rows is in memory at a time, however long the run is; each is encoded in a thread, not on the event loop.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from hybrid_scheduler.storage.store import EXPORT_COLUMNS, Store

BLOCK_ROWS = 5000  # also the row group of Parquet
_INTEGERS = {"task_id": pa.int64(), "attempt": pa.int16(), "device": pa.int32(), "status": pa.int16()}
_OTHERS = {"scheduler_name": pa.string(), "measured": pa.bool_(), "dependencies": pa.string()}
COLUMNS = pa.schema([(name, (_INTEGERS | _OTHERS).get(name, pa.float64())) for name in EXPORT_COLUMNS])
"""The columns of an export; `dependencies` is a JSON list."""
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


class ByteStream(io.RawIOBase):
    """A file to write to that keeps only what has not been drained yet."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        """Return True, as for any output file."""
        return True

    def write(self, data: Any) -> int:
        """Append bytes."""
        part = bytes(data)
        self._parts.append(part)
        self._length += len(part)
        return len(part)

    def tell(self) -> int:
        """Return the number of bytes written so far, from which Parquet knows its offsets."""
        return self._length

    def drain(self) -> bytes:
        """Return what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


async def export_run(
    store: Store, run_id: int, form: str, metadata: Mapping[str, str] | None = None, block: int = BLOCK_ROWS
) -> AsyncIterator[bytes]:
    """Yield a run as the parts of a file; tasks that arrive meanwhile are left out, or it might never end."""
    stream = ByteStream()
    columns = COLUMNS.with_metadata(dict(metadata or {}))
    writer = await asyncio.to_thread(_OPENERS[form], stream, columns)
    last = await store.last_task(run_id)
    async for rows in store.export(run_id, block):
        known = [row for row in rows if row[0] <= last]
        yield await asyncio.to_thread(_write_block, writer, stream, known, columns)
        if len(known) < len(rows):
            break
    await asyncio.to_thread(writer.close)
    yield stream.drain()


def _write_block(writer: Any, stream: ByteStream, rows: Sequence[Sequence[Any]], columns: pa.Schema) -> bytes:
    if rows:
        writer.write_batch(build_batch(rows, columns))
    return stream.drain()


def build_batch(rows: Sequence[Sequence[Any]], columns: pa.Schema = COLUMNS) -> pa.RecordBatch:
    """Return rows of an export as a record batch."""
    values = dict(zip(EXPORT_COLUMNS, zip(*rows, strict=True), strict=True))
    values["dependencies"] = tuple(map(json.dumps, values["dependencies"]))
    return pa.record_batch([pa.array(values[field.name], field.type) for field in columns], schema=columns)


def _open_csv(stream: ByteStream, columns: pa.Schema) -> Any:
    return csv.CSVWriter(pa.PythonFile(stream, "w"), columns)


def _open_parquet(stream: ByteStream, columns: pa.Schema) -> Any:
    return parquet.ParquetWriter(pa.PythonFile(stream, "w"), columns, compression="zstd")


_OPENERS = {"csv": _open_csv, "parquet": _open_parquet}
