"""A run as a file: every row, every value, one block at a time."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyarrow import parquet

from hybrid_scheduler.server.heavy_reads import HeavyReads
from hybrid_scheduler.server.routes.runs import COLUMNS, ByteStream, export_run
from hybrid_scheduler.storage.rows import Batch, ResultRows, TaskRows
from hybrid_scheduler.storage.store import EXPORT_COLUMNS, Store
from live_server import DEADLINE, until
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
    active, most, export = 0, 0, Store.export

    async def count(store: Store, run_id: int, block: int) -> AsyncIterator[Any]:
        nonlocal active, most
        blocks = export(store, run_id, block)
        while True:
            active += 1
            most = max(most, active)
            rows = await anext(blocks, None)
            active -= 1
            if rows is None:
                return
            yield rows

    monkeypatch.setattr(Store, "export", count)
    async with serving(f"sqlite:///{tmp_path}/hms.db") as service:
        await service.step(300)
        path = f"/api/runs/{service.manager.run_id}/export"
        answers = await asyncio.gather(*(service.client.get(path) for _ in range(10)))
    assert most <= 2
    assert {len(answer.content.splitlines()) for answer in answers} == {300 * len(QUICK) + 1}


async def test_while_the_rows_of_an_export_are_built_others_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, begun, export = threading.Event(), threading.Event(), Store.export

    async def stall(store: Store, run_id: int, block: int) -> AsyncIterator[Any]:
        begun.set()
        released.wait(DEADLINE)  # as busy as a thread can be
        async for rows in export(store, run_id, block):
            yield rows

    monkeypatch.setattr(Store, "export", stall)
    async with serving(f"sqlite:///{tmp_path}/hms.db") as service:
        await service.step(20)
        exported = asyncio.create_task(service.client.get(f"/api/runs/{service.manager.run_id}/export"))
        await until(begun.is_set)
        assert (await service.get("/api/health"))["state"] == "ok"
        assert not exported.done()
        released.set()
        assert len((await exported).content.splitlines()) == 20 * len(QUICK) + 1


async def test_a_reader_that_leaves_in_mid_export_ends_it(tmp_path: Path) -> None:
    reads = HeavyReads(f"sqlite:///{tmp_path}/hms.db")
    closed = threading.Event()

    async def count(_: Store) -> AsyncGenerator[int, None]:
        try:
            for number in range(1, 1000):
                await asyncio.sleep(0)
                yield number
        finally:
            closed.set()

    async def leave() -> None:
        async for number in reads.stream(count):
            if number == 3:
                return

    await asyncio.create_task(leave())
    gc.collect()  # drops the iterator, which a task that was cut off leaves behind
    await until(closed.is_set)
    await reads.close()
