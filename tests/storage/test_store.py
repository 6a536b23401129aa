"""What goes into the store comes out of it, once, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, insert

from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Task, Tasks
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.storage.database import ClaimedError, RefusedError, take_lock
from hybrid_scheduler.storage.rows import Batch, ResultRows, SettingsChange, TaskRows
from hybrid_scheduler.storage.store import EXPORT_COLUMNS, MAX_CLAIM, Store
from hybrid_scheduler.storage.tables import claims
from stored import expected_keys, make_batch, make_results, make_tasks, new_run, stored_keys

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


async def test_a_run_is_named_and_loses_its_name(store: Store) -> None:
    run_id = await store.begin_run("comparison", 0, {}, {}, title="first")
    assert (await store.run(run_id)).title == "first"
    for title in ("a night of long tails", None):
        await store.rename_run(run_id, title)
        assert (await store.run(run_id)).title == title


async def test_progress_is_noted_and_stays_at_the_end_unless_it_is_given(store: Store) -> None:
    run_id = await store.begin_run("comparison", 0, {}, {}, progress={"done": 0})
    before = await store.run(run_id)
    assert before.progress == {"done": 0}
    await store.note_progress(run_id, {"done": 3})
    noted = await store.run(run_id)
    assert noted.progress == {"done": 3}
    assert noted.heartbeat_at >= before.heartbeat_at
    await store.end_run(run_id, "failed")
    assert (await store.run(run_id)).progress == {"done": 3}
    await store.end_run(run_id, "failed", progress={"done": 3, "error": "why"})
    assert (await store.run(run_id)).progress == {"done": 3, "error": "why"}


async def test_what_is_not_there_cannot_be_changed(store: Store) -> None:
    for work in (store.rename_run(7, "x"), store.note_progress(7, {}), store.delete_run(7)):
        with pytest.raises(InputError, match="run 7 is not in this database"):
            await work


async def test_a_deleted_run_takes_all_with_it_and_leaves_the_others(store: Store) -> None:
    gone, kept = await new_run(store), await new_run(store)
    for run_id in (gone, kept):
        await store.write(make_batch(run_id, 0, 30, SettingsChange(3, 1.0, {"load": 0.5})))
    await store.add_model("hybrid_ml", "a.model", "00", {}, gone)
    await store.delete_run(gone)
    with pytest.raises(InputError, match=f"run {gone} is not in this database"):
        await store.run(gone)
    assert await stored_keys(store, gone) == []
    assert await store.settings_changes(gone) == []
    assert await stored_keys(store, kept) == expected_keys(0, 30)
    assert len(await store.settings_changes(kept)) == 1
    assert [each["run_id"] for each in await store.models()] == [None]
    assert {each["run_id"] for each in await store.training_data()} == {kept}


async def test_runs_are_listed_by_kind_and_those_that_go_on_apart(store: Store) -> None:
    live, first = await new_run(store), await store.begin_run("comparison", 0, {}, {})
    second = await store.begin_run("comparison", 0, {}, {})
    assert [each.id for each in await store.runs()] == [second, first, live]
    assert [each.id for each in await store.runs(kind="comparison")] == [second, first]
    assert [each.id for each in await store.runs(second, kind="comparison")] == [first]
    assert [each.id for each in await store.active_runs("comparison")] == [first, second]
    await store.end_run(first)
    assert [each.id for each in await store.active_runs("comparison")] == [second]


async def test_tasks_of_several_runs_are_counted_at_once(store: Store) -> None:
    first, empty, other = await new_run(store), await new_run(store), await new_run(store)
    await store.write(make_batch(first, 0, 30))
    await store.write(make_batch(other, 5, 8))
    assert await store.last_tasks([first, empty, other]) == {first: 29, other: 7}
    assert await store.last_tasks([]) == {}


async def test_a_comparison_needs_no_claim_to_go_on(store: Store) -> None:
    live, comparison = await new_run(store, "gone"), await store.begin_run("comparison", 0, {}, {}, "gone")
    assert await store.mark_interrupted() == [live]
    assert (await store.run(comparison)).status == "running"


# --- claims ----------------------------------------------------------------------------------------------------


async def test_a_second_server_is_refused_and_told_who_the_first_is(store: Store) -> None:
    await store.claim("alpha:1", ttl=60)
    with pytest.raises(ClaimedError, match="run by 'alpha:1': stop it there") as refusal:
        await store.claim("beta:2", ttl=60)
    assert refusal.value.owner == "alpha:1"
    assert 50 < refusal.value.seconds_left <= 60


async def test_of_many_that_claim_at_once_one_wins(url: str) -> None:
    stores = [await Store.open(url, patience=120.0) for _ in range(5)]
    outcomes = await asyncio.gather(
        *(store.claim(f"server:{number}", 60) for number, store in enumerate(stores)), return_exceptions=True
    )
    assert sum(each is None for each in outcomes) == 1
    assert sum(isinstance(each, ClaimedError) for each in outcomes) == 4
    for store in stores:
        await store.close()


async def test_a_claim_made_while_another_server_waits_holds(url: str) -> None:
    """The one that waits must not take the later end of the claim for that of a clock set back."""
    first, second = [await Store.open(url, patience=120.0) for _ in range(2)]
    async with first.engine.begin() as connection:
        await take_lock(connection)
        waiting = asyncio.create_task(second.claim("beta:2", MAX_CLAIM))
        await asyncio.sleep(0.2)  # it has read the time by now if it reads it before it waits
        expiry = datetime.now(UTC) + timedelta(seconds=MAX_CLAIM)
        await connection.execute(insert(claims).values(name="simulation", owner="alpha:1", expires_at=expiry))
    with pytest.raises(ClaimedError, match="alpha:1"):
        await waiting
    for store in (first, second):
        await store.close()


async def test_the_owner_may_renew_its_claim(store: Store) -> None:
    await store.claim("alpha:1", ttl=0.0)
    await store.claim("alpha:1", ttl=60)
    with pytest.raises(ClaimedError):
        await store.claim("beta:2", ttl=60)


async def test_a_claim_that_is_not_renewed_ends(store: Store) -> None:
    await store.claim("alpha:1", ttl=0.0)
    await store.claim("beta:2", ttl=60)
    with pytest.raises(ClaimedError, match="beta:2"):
        await store.claim("alpha:1", ttl=60)


async def test_a_released_claim_is_free_at_once(store: Store) -> None:
    await store.claim("alpha:1", ttl=60)
    await store.release("beta:2")  # not its claim: nothing happens
    with pytest.raises(ClaimedError):
        await store.claim("beta:2", ttl=60)
    await store.release("alpha:1")
    await store.claim("beta:2", ttl=60)


async def test_runs_of_a_dead_owner_are_interrupted_and_others_go_on(store: Store) -> None:
    await store.claim("dead:1", ttl=0.0)
    left, ended = await new_run(store, "dead:1"), await new_run(store, "dead:1")
    await store.end_run(ended)
    await store.claim("alive:2", ttl=60)
    running = await new_run(store, "alive:2")
    assert await store.mark_interrupted() == [left]
    assert [(await store.run(run)).status for run in (left, ended, running)] == ["interrupted", "finished", "running"]
    assert await store.mark_interrupted() == []


async def test_an_interrupted_run_says_when_its_owner_was_last_alive_and_can_be_resumed(store: Store) -> None:
    run_id = await new_run(store, "dead:1")
    await store.claim("dead:1", ttl=0.0)
    alive = (await store.run(run_id)).heartbeat_at
    await store.mark_interrupted()
    assert (await store.run(run_id)).ended_at == alive
    await store.resume_run(run_id, "alive:2")
    resumed = await store.run(run_id)
    assert (resumed.status, resumed.owner, resumed.ended_at) == ("running", "alive:2", None)


# --- rows ------------------------------------------------------------------------------------------------------


async def test_tasks_come_back_in_pages(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 5))
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
    await store.write(make_batch(run_id, 0, 3))
    await store.write(Batch(run_id, results=(make_results("greedy", 1, 2, attempt=2),)))
    results = await store.task_results(run_id, 1)
    assert [(r["scheduler_name"], r["attempt"]) for r in results] == [("greedy", 1), ("greedy", 2), ("oracle", 1)]
    assert (results[0]["start_time"], results[0]["finish_time"], results[0]["measured"]) == (1.0, 1.1, False)
    assert results[0]["execution_cost"] == pytest.approx(1.6)


async def test_placements_are_stored_as_they_are_and_what_does_not_apply_is_empty(store: Store) -> None:
    nowhere = {"cpu": float("inf"), "gpu": float("inf")}
    tasks = Tasks.from_iterable([Task(5, 10.0, 0.9, 100.0), Task(7, 10.0, 0.1, 100.0, measured=nowhere)])
    placements = VirtualMultiGPU(4).run(tasks, EarliestFinish(), interpreted=True)
    run_id = await new_run(store)
    await store.write(Batch(run_id, (TaskRows.from_tasks(tasks),), (ResultRows.from_placements("eft", placements),)))
    ran, rejected = (await store.task_results(run_id, 5))[0], (await store.task_results(run_id, 7))[0]
    assert ran["finish_time"] == placements.finish[0]
    assert ran["energy_consumption"] == placements.energy[0]
    assert ran["device"] == placements.decision(0).device
    assert (rejected["finish_time"], rejected["actual_time"], rejected["device"]) == (None, None, -1)
    assert rejected["status"] == placements.status[1] > 1


async def test_dependencies_are_stored_as_ids(store: Store) -> None:
    tasks = Tasks.from_iterable([Task(3, 1.0, 0.5, 1.0), Task(4, 1.0, 0.5, 1.0, dependencies=(3,))])
    run_id = await new_run(store)
    await store.write(Batch(run_id, (TaskRows.from_tasks(tasks),)))
    assert [task["dependencies"] for task in await store.tasks_page(run_id)] == [[], [3]]


async def test_history_is_the_latest_results_with_their_tasks(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(await new_run(store), 0, 50))
    await store.write(make_batch(run_id, 0, 10))
    latest = await store.history(run_id, limit=3)
    assert [(r["task_id"], r["scheduler_name"]) for r in latest] == [(9, "oracle"), (9, "greedy"), (8, "oracle")]
    assert (latest[0]["size"], latest[0]["turnaround_time"]) == (9.5, pytest.approx(9.4))


async def test_training_data_is_the_newest_of_all_runs(store: Store) -> None:
    for first in (0, 10):
        await store.write(make_batch(await new_run(store), first, first + 5))
    examples = await store.training_data(limit=7)
    assert [each["task_id"] for each in examples] == [14, 13, 12, 11, 10, 4, 3]
    assert (examples[0]["optimal_gpu_fraction"], examples[0]["optimal_time"]) == (0.5, 15.0)


async def test_settings_changes_come_back_in_the_order_they_were_made(store: Store) -> None:
    run_id = await new_run(store)
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    changes = [SettingsChange(n, n * 1.5, {"rate": n, "gpus": [1, 2]}, moment) for n in (4, 4, 9)]
    await store.write(make_batch(run_id, 0, 10, *changes))
    found = await store.settings_changes(run_id)
    assert [(each["at_task"], each["at_time"]) for each in found] == [(4, 6.0), (4, 6.0), (9, 13.5)]
    assert (found[2]["change"], found[2]["created_at"]) == ({"rate": 9, "gpus": [1, 2]}, moment)


async def test_an_export_has_every_result_once_in_order_of_its_key(store: Store) -> None:
    run_id = await new_run(store)
    for first in (20, 0, 10):
        await store.write(make_batch(run_id, first, first + 10))
    blocks = [block async for block in store.export(run_id, block=7)]
    assert max(map(len, blocks)) == 7
    assert [tuple(row[:3]) for block in blocks for row in block] == expected_keys(0, 30)
    assert blocks[0][0]._fields == EXPORT_COLUMNS


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
    batch = make_batch(run_id, 0, 10, SettingsChange(0, 0.0, {"rate": 1}))
    for _ in range(2):
        await store.write(batch)
    assert await stored_keys(store, run_id) == expected_keys(0, 10)
    assert len(await store.settings_changes(run_id)) == 1
    assert len(await store.training_data()) == 10


async def test_rows_that_are_there_already_are_left_as_they_are(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 10))
    await store.write(make_batch(run_id, 5, 15))  # as a resumed run may do
    assert await stored_keys(store, run_id) == expected_keys(0, 15)
    assert len(await store.tasks_page(run_id)) == 15


async def test_a_batch_is_stored_wholly_or_not_at_all(store: Store) -> None:
    run_id = await new_run(store)
    batch = make_batch(run_id, 0, 10)
    orphan = make_results("greedy", 99, 100)  # a result of a task that is nowhere
    with pytest.raises(RefusedError, match="store their tasks first"):
        await store.write(replace(batch, results=(*batch.results, orphan)))
    assert await store.tasks_page(run_id) == []
    await store.write(batch)
    assert await stored_keys(store, run_id) == expected_keys(0, 10)


async def test_a_batch_of_a_run_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(RefusedError, match="run 5 is not in this database"):
        await store.write(make_batch(5, 0, 1))


async def test_a_task_with_a_missing_number_is_refused(store: Store) -> None:
    run_id = await new_run(store)
    with pytest.raises(RefusedError):
        await store.write(Batch(run_id, (replace(make_tasks(0, 2), size=[1.0, float("nan")]),)))


async def test_a_number_that_does_not_fit_is_refused(store: Store) -> None:
    run_id = await new_run(store)
    with pytest.raises(RefusedError, match="correct their values"):
        await store.write(Batch(run_id, (replace(make_tasks(0, 1), task_id=[2**63]),)))
    await store.write(make_batch(run_id, 0, 1))
    assert await stored_keys(store, run_id) == expected_keys(0, 1)


async def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="column 'size' has 3 values, expected 2"):
        replace(make_tasks(0, 2), size=np.ones(3))


# --- retention -------------------------------------------------------------------------------------------------


async def test_pruning_keeps_the_newest_tasks_with_all_that_hangs_on_them(store: Store) -> None:
    run_id, other = await new_run(store), await new_run(store)
    for run in (run_id, other):
        await store.write(make_batch(run, 0, 50))
    assert await store.prune(run_id, keep_tasks=12, chunk=10) == 38
    assert await stored_keys(store, run_id) == expected_keys(38, 50)
    assert await stored_keys(store, other) == expected_keys(0, 50)
    assert len(await store.training_data()) == 50 + 12


async def test_pruning_a_short_run_deletes_nothing(store: Store) -> None:
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 5))
    assert await store.prune(run_id, keep_tasks=5) == 0
    assert await store.prune(run_id, keep_tasks=0) == 5


# --- speed -----------------------------------------------------------------------------------------------------


async def test_every_question_is_answered_from_an_index(sqlite_store: Store) -> None:
    store, asked = sqlite_store, list[tuple[str, Any]]()
    run_id = await new_run(store)
    await store.write(make_batch(run_id, 0, 50))

    def note(_c: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        asked.append((statement, parameters))

    event.listen(store.engine.sync_engine, "before_cursor_execute", note)
    await store.runs(after=5)
    await store.run(run_id)
    await store.tasks_page(run_id, after=3)
    await store.task_results(run_id, 3)
    await store.history(run_id)
    await store.training_data()
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


async def test_the_number_of_a_deleted_run_is_never_given_again(store: Store) -> None:
    numbers = [await new_run(store) for _ in range(3)]
    for run_id in reversed(numbers):
        await store.delete_run(run_id)
    assert await new_run(store) == max(numbers) + 1
    assert await new_run(store) == max(numbers) + 2


async def test_only_the_newest_checkpoints_of_a_run_are_kept(store: Store) -> None:
    run_id, other = await new_run(store), await new_run(store)
    await store.add_checkpoint(other, 5, 0, b"other")
    for at_task in (10, 20, 30):
        await store.add_checkpoint(run_id, at_task, 1, bytes([at_task]))
    kept = await store.checkpoints(run_id)
    assert [(each.at_task, each.changes, each.state) for each in kept] == [(30, 1, b"\x1e"), (20, 1, b"\x14")]
    assert len(await store.checkpoints(other)) == 1
    await store.delete_run(run_id)
    assert await store.checkpoints(run_id) == []


async def test_a_claim_from_before_the_clock_was_set_back_holds_nobody_up(store: Store) -> None:
    await store.claim("before/1/a", 3600.0)  # as if it had been made an hour later
    await store.claim("after/2/b", 15.0)
    with pytest.raises(ClaimedError):
        await store.claim("third/3/c", 15.0)
