"""A run as a file: every row, every value, one block at a time."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyarrow import parquet

from hybrid_scheduler.server.routes import runs
from hybrid_scheduler.server.routes.runs import COLUMNS, ByteStream, export_run
from hybrid_scheduler.storage.rows import Batch, ResultRows, TaskRows
from hybrid_scheduler.storage.store import EXPORT_COLUMNS, Store
from served import QUICK, serving
from stored import MEASURES, expected_keys, make_batch, new_run

pytestmark = pytest.mark.asyncio
FORMS = pytest.mark.parametrize("form", ["csv", "parquet"])


async def parts_of(store: Store, run_id: int, form: str, block: int = 7) -> list[bytes]:
    return [part async for part in export_run(store, run_id, form, {"run": str(run_id)}, block)]


def read(form: str, data: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(data)) if form == "csv" else pd.read_parquet(io.BytesIO(data))


async def rows_of(store: Store, run_id: int) -> list[dict[str, Any]]:
    return [dict(zip(EXPORT_COLUMNS, row, strict=True)) async for block in store.export(run_id) for row in block]


@FORMS
async def test_every_row_and_value_comes_back(store: Store, form: str) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 40))
    other = await new_run(store)
    await store.write(make_batch(other, 0, 5))
    table = read(form, b"".join(await parts_of(store, run_id, form)))
    assert list(table.columns) == list(EXPORT_COLUMNS)
    keys = list(zip(table.task_id, table.scheduler_name, table.attempt, strict=True))
    assert keys == expected_keys(0, 40)
    expected = pd.DataFrame(await rows_of(store, run_id))
    for name in EXPORT_COLUMNS:
        values = list(map(json.loads, table[name])) if name == "dependencies" else list(table[name])
        assert values == list(expected[name]), name


@FORMS
async def test_what_does_not_apply_is_empty_and_parents_are_a_list(store: Store, form: str) -> None:
    run_id, nan = await new_run(store), float("nan")
    tasks = TaskRows([1, 2], [1.0, 2.0], [0.5, 0.5], [3.0, 4.0], [0.1, 1 / 3], [[], [1]])
    measures: dict[str, Any] = {name: [0.1, nan] for name in MEASURES}
    results = ResultRows("a", [1, 2], [0.5, nan], [0, -1], [0, 5], **measures)
    await store.write(Batch(run_id, (tasks,), (results,)))
    table = read(form, b"".join(await parts_of(store, run_id, form)))
    assert list(table.finish_time.isna()) == [False, True]
    assert list(map(json.loads, table.dependencies)) == [[], [1]]
    assert list(table.arrival_time) == [0.1, 1 / 3]  # to the last bit
    assert list(table.device) == [0, -1]


@FORMS
async def test_a_run_without_tasks_has_its_columns(store: Store, form: str) -> None:
    table = read(form, b"".join(await parts_of(store, await new_run(store), form)))
    assert list(table.columns) == list(EXPORT_COLUMNS)
    assert len(table) == 0


@FORMS
async def test_bytes_leave_block_by_block(store: Store, form: str) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 500))
    parts = await parts_of(store, run_id, form, block=50)
    assert len(parts) == 21  # 1000 rows, and the end
    ends = len(parts[-1])  # of Parquet, the list of its parts
    assert max(map(len, parts[1:-1])) * 10 < sum(map(len, parts)) - ends


@FORMS
async def test_tasks_that_arrive_meanwhile_are_left_out(store: Store, form: str) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 20))
    parts: list[bytes] = []
    async for part in export_run(store, run_id, form, block=6):
        if not parts:
            await store.write(make_batch(run_id, 20, 30))
        parts.append(part)
    table = read(form, b"".join(parts))
    assert list(table.task_id.unique()) == list(range(20))


async def test_a_parquet_file_says_what_it_is(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 3))
    found = parquet.read_schema(io.BytesIO(b"".join(await parts_of(store, run_id, "parquet"))))
    assert found.equals(COLUMNS)
    assert found.metadata[b"run"] == str(run_id).encode()


async def test_an_outlet_keeps_nothing_that_was_taken() -> None:
    outlet = ByteStream()
    outlet.write(b"abc")
    assert (outlet.drain(), outlet.drain(), outlet.tell()) == (b"abc", b"", 3)


async def test_many_exports_take_turns_and_all_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    active, most, lock, write = 0, 0, threading.Lock(), runs._write_block

    def count(*arguments: Any) -> bytes:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        try:
            return write(*arguments)
        finally:
            with lock:
                active -= 1

    monkeypatch.setattr(runs, "_write_block", count)
    async with serving(f"sqlite:///{tmp_path}/hms.db") as service:
        await service.step(300)
        path = f"/api/runs/{service.manager.run_id}/export"
        answers = await asyncio.gather(*(service.client.get(path) for _ in range(10)))
    assert most <= 2
    assert {len(answer.content.splitlines()) for answer in answers} == {300 * len(QUICK) + 1}
