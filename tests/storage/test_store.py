"""What goes into the store comes out of it, once, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Task, Tasks
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.storage.database import RefusedError
from hybrid_scheduler.storage.rows import Batch, ResultRows, SettingsChange, TaskRows
from hybrid_scheduler.storage.statements import EXPORTED
from hybrid_scheduler.storage.store import Store
from stored import batch_of, keys_of, new_run, results_of, stored_keys, tasks_of

pytestmark = pytest.mark.asyncio


# --- runs ------------------------------------------------------------------------------------------------------


async def test_a_run_is_running_until_it_ends(store: Store) -> None:
    run_id = await new_run(store, "here:1")
    begun = await store.run(run_id)
    assert (begun.status, begun.seed, begun.owner, begun.ended_at) == ("running", 42, "here:1", None)
    assert (begun.cluster, begun.settings, begun.summary) == ({"gpus": 2}, {"rate": 5.0}, None)
    await store.end_run(run_id, "finished", {"makespan": 12.5})
    ended = await store.run(run_id)
    assert (ended.status, ended.summary) == ("finished", {"makespan": 12.5})
    assert ended.ended_at is not None
    assert begun.started_at <= ended.ended_at


async def test_moments_come_back_as_utc(store: Store) -> None:
    begun = await store.run(await new_run(store))
    assert begun.started_at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - begun.started_at) < timedelta(minutes=1)


async def test_runs_come_in_pages_newest_first(store: Store) -> None:
    ids = [await new_run(store) for _ in range(5)]
    first = await store.runs(limit=3)
    rest = await store.runs(after=first[-1].id, limit=3)
    assert [run.id for run in (*first, *rest)] == ids[::-1]


async def test_a_run_that_is_not_there_is_named(store: Store) -> None:
    for question in (store.run(77), store.end_run(77), store.resume_run(77)):
        with pytest.raises(InputError, match="run 77 is not in this database"):
            await question


async def test_a_mistyped_status_is_answered_with_the_known_ones(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'finished'"):
        await store.end_run(await new_run(store), "finnished")


async def test_the_database_answers_a_ping(store: Store) -> None:
    assert await store.ping() > 0


# --- rows ------------------------------------------------------------------------------------------------------


async def test_tasks_come_back_in_pages(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(batch_of(run_id, 0, 5))
    first = await store.tasks_page(run_id, limit=3)
    rest = await store.tasks_page(run_id, after=first[-1]["task_id"], limit=3)
    assert [task["task_id"] for task in (*first, *rest)] == [0, 1, 2, 3, 4]
    assert rest[0] == {
        "run_id": run_id,
        "task_id": 3,
        "size": 3.5,
        "compute_intensity": 0.25,
        "memory_required": 100.0,
        "arrival_time": 6.0,
        "dependencies": [],
    }
    assert await store.last_task(run_id) == 4


async def test_a_run_without_tasks_has_no_last_task(store: Store) -> None:
    assert await store.last_task(await new_run(store)) is None


async def test_the_results_of_a_task_are_those_of_every_scheduler_and_attempt(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(batch_of(run_id, 0, 3))
    await store.write(Batch(run_id, results=(results_of("greedy", 1, 2, attempt=2),)))
    results = await store.results_of(run_id, 1)
    assert [(r["scheduler_name"], r["attempt"]) for r in results] == [("greedy", 1), ("greedy", 2), ("oracle", 1)]
    assert (results[0]["start_time"], results[0]["finish_time"], results[0]["measured"]) == (1.0, 1.1, False)
    assert results[0]["execution_cost"] == pytest.approx(1.6)


async def test_placements_are_stored_as_they_are_and_what_does_not_apply_is_empty(store: Store) -> None:
    nowhere = {"cpu": float("inf"), "gpu": float("inf")}
    tasks = Tasks.of([Task(5, 10.0, 0.9, 100.0), Task(7, 10.0, 0.1, 100.0, measured=nowhere)])
    placements = VirtualMultiGPU(4).run(tasks, EarliestFinish(), interpreted=True)
    run_id = await new_run(store)
    await store.write(Batch(run_id, (TaskRows.of(tasks),), (ResultRows.of("eft", placements),)))
    ran, rejected = (await store.results_of(run_id, 5))[0], (await store.results_of(run_id, 7))[0]
    assert ran["finish_time"] == placements.finish[0]
    assert ran["energy_consumption"] == placements.energy[0]
    assert ran["device"] == placements.decision(0).device
    assert (rejected["finish_time"], rejected["actual_time"], rejected["device"]) == (None, None, -1)
    assert rejected["status"] == placements.status[1] > 1


async def test_dependencies_are_stored_as_ids(store: Store) -> None:
    tasks = Tasks.of([Task(3, 1.0, 0.5, 1.0), Task(4, 1.0, 0.5, 1.0, dependencies=(3,))])
    run_id = await new_run(store)
    await store.write(Batch(run_id, (TaskRows.of(tasks),)))
    assert [task["dependencies"] for task in await store.tasks_page(run_id)] == [[], [3]]


async def test_history_is_the_latest_results_with_their_tasks(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(batch_of(await new_run(store), 0, 50))
    await store.write(batch_of(run_id, 0, 10))
    latest = await store.history(run_id, limit=3)
    assert [(r["task_id"], r["scheduler_name"]) for r in latest] == [(9, "oracle"), (9, "greedy"), (8, "oracle")]
    assert (latest[0]["size"], latest[0]["turnaround_time"]) == (9.5, pytest.approx(9.4))


async def test_training_data_is_the_newest_of_all_runs(store: Store) -> None:
    for first in (0, 10):
        await store.write(batch_of(await new_run(store), first, first + 5))
    examples = await store.training(limit=7)
    assert [each["task_id"] for each in examples] == [14, 13, 12, 11, 10, 4, 3]
    assert (examples[0]["optimal_gpu_fraction"], examples[0]["optimal_time"]) == (0.5, 15.0)


async def test_settings_changes_come_back_in_the_order_they_were_made(store: Store) -> None:
    run_id = await new_run(store)
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    changes = [SettingsChange(n, n * 1.5, {"rate": n, "gpus": [1, 2]}, moment) for n in (4, 4, 9)]
    await store.write(batch_of(run_id, 0, 10, *changes))
    found = await store.settings_changes(run_id)
    assert [(each["at_task"], each["at_time"]) for each in found] == [(4, 6.0), (4, 6.0), (9, 13.5)]
    assert (found[2]["change"], found[2]["created_at"]) == ({"rate": 9, "gpus": [1, 2]}, moment)


async def test_an_export_has_every_result_once_in_order_of_its_key(store: Store) -> None:
    run_id = await new_run(store)
    for first in (20, 0, 10):
        await store.write(batch_of(run_id, first, first + 10))
    blocks = [block async for block in store.export(run_id, block=7)]
    assert max(map(len, blocks)) == 7
    assert [tuple(row[:3]) for block in blocks for row in block] == keys_of(0, 30)
    assert blocks[0][0]._fields == EXPORTED


async def test_models_are_listed_newest_first(store: Store) -> None:
    run_id = await new_run(store)
    await store.add_model("rl_agent", "models/a.pt", "aa", {"episodes": 3})
    await store.add_model("hybrid_ml", "models/b.npz", "bb", {"rows": 1000}, run_id)
    newest, oldest = await store.models()
    assert (newest["scheduler_name"], newest["run_id"], newest["training"]) == ("hybrid_ml", run_id, {"rows": 1000})
    assert (oldest["path"], oldest["run_id"]) == ("models/a.pt", None)


# --- once and wholly -------------------------------------------------------------------------------------------


async def test_a_batch_that_is_written_twice_is_stored_once(store: Store) -> None:
    run_id = await new_run(store)
    batch = batch_of(run_id, 0, 10, SettingsChange(0, 0.0, {"rate": 1}))
    for _ in range(2):
        await store.write(batch)
    assert await stored_keys(store, run_id) == keys_of(0, 10)
    assert len(await store.settings_changes(run_id)) == 1
    assert len(await store.training()) == 10


async def test_rows_that_are_there_already_are_left_as_they_are(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(batch_of(run_id, 0, 10))
    await store.write(batch_of(run_id, 5, 15))  # as a resumed run may do
    assert await stored_keys(store, run_id) == keys_of(0, 15)
    assert len(await store.tasks_page(run_id)) == 15


async def test_a_batch_is_stored_wholly_or_not_at_all(store: Store) -> None:
    run_id = await new_run(store)
    batch = batch_of(run_id, 0, 10)
    orphan = results_of("greedy", 99, 100)  # a result of a task that is nowhere
    with pytest.raises(RefusedError, match="store their tasks first"):
        await store.write(replace(batch, results=(*batch.results, orphan)))
    assert await store.tasks_page(run_id) == []
    await store.write(batch)
    assert await stored_keys(store, run_id) == keys_of(0, 10)


async def test_a_batch_of_a_run_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(RefusedError, match="run 5 is not in this database"):
        await store.write(batch_of(5, 0, 1))


async def test_a_task_with_a_missing_number_is_refused(store: Store) -> None:
    run_id = await new_run(store)
    with pytest.raises(RefusedError):
        await store.write(Batch(run_id, (replace(tasks_of(0, 2), size=[1.0, float("nan")]),)))


async def test_a_number_that_does_not_fit_is_refused(store: Store) -> None:
    run_id = await new_run(store)
    with pytest.raises(RefusedError, match="correct their values"):
        await store.write(Batch(run_id, (replace(tasks_of(0, 1), task_id=[2**63]),)))
    await store.write(batch_of(run_id, 0, 1))
    assert await stored_keys(store, run_id) == keys_of(0, 1)


async def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="column 'size' has 3 values, expected 2"):
        replace(tasks_of(0, 2), size=np.ones(3))


# --- retention -------------------------------------------------------------------------------------------------


async def test_pruning_keeps_the_newest_tasks_with_all_that_hangs_on_them(store: Store) -> None:
    run_id, other = await new_run(store), await new_run(store)
    for run in (run_id, other):
        await store.write(batch_of(run, 0, 50))
    assert await store.prune(run_id, keep_tasks=12, chunk=10) == 38
    assert await stored_keys(store, run_id) == keys_of(38, 50)
    assert await stored_keys(store, other) == keys_of(0, 50)
    assert len(await store.training()) == 50 + 12


async def test_pruning_a_short_run_deletes_nothing(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(batch_of(run_id, 0, 5))
    assert await store.prune(run_id, keep_tasks=5) == 0
    assert await store.prune(run_id, keep_tasks=0) == 5


# --- speed -----------------------------------------------------------------------------------------------------


async def test_every_question_is_answered_from_an_index(sqlite_store: Store) -> None:
    store, asked = sqlite_store, list[tuple[str, Any]]()
    run_id = await new_run(store)
    await store.write(batch_of(run_id, 0, 50))

    def note(_c: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        asked.append((statement, parameters))

    event.listen(store.engine.sync_engine, "before_cursor_execute", note)
    await store.runs(after=5)
    await store.run(run_id)
    await store.tasks_page(run_id, after=3)
    await store.results_of(run_id, 3)
    await store.history(run_id)
    await store.training()
    await store.settings_changes(run_id)
    await store.models()
    await store.mark_interrupted()
    await store.claim("me", 5)
    await store.prune(run_id, 10, chunk=10)
    assert [block async for block in store.export(run_id, block=5)]
    event.remove(store.engine.sync_engine, "before_cursor_execute", note)
    for statement, parameters in asked:
        async with store.engine.connect() as connection:
            plan = (await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)).all()
        steps = [step[-1] for step in plan]
        ordered = any("ORDER BY" in step for step in steps)
        walks = [s for s in steps if s.startswith("SCAN") and "LIMIT" not in statement and "CONSTANT" not in s]
        assert not ordered, (statement, steps)
        assert not walks, (statement, steps)
