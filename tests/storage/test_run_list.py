"""Runs can be named, counted, deleted, and say how far they are."""

from __future__ import annotations

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.rows import SettingsChange
from hybrid_scheduler.storage.store import Store
from stored import batch_of, keys_of, new_run, stored_keys

pytestmark = pytest.mark.asyncio


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
        await store.write(batch_of(run_id, 0, 30, SettingsChange(3, 1.0, {"load": 0.5})))
    await store.add_model("hybrid_ml", "a.model", "00", {}, gone)
    await store.delete_run(gone)
    with pytest.raises(InputError, match=f"run {gone} is not in this database"):
        await store.run(gone)
    assert await stored_keys(store, gone) == []
    assert await store.settings_changes(gone) == []
    assert await stored_keys(store, kept) == keys_of(0, 30)
    assert len(await store.settings_changes(kept)) == 1
    assert [each["run_id"] for each in await store.models()] == [None]
    assert {each["run_id"] for each in await store.training()} == {kept}


async def test_runs_are_listed_by_kind_and_those_that_go_on_apart(store: Store) -> None:
    live, first = await new_run(store), await store.begin_run("comparison", 0, {}, {})
    second = await store.begin_run("comparison", 0, {}, {})
    assert [each.id for each in await store.runs()] == [second, first, live]
    assert [each.id for each in await store.runs(kind="comparison")] == [second, first]
    assert [each.id for each in await store.runs(second, kind="comparison")] == [first]
    assert [each.id for each in await store.unfinished("comparison")] == [first, second]
    await store.end_run(first)
    assert [each.id for each in await store.unfinished("comparison")] == [second]


async def test_tasks_of_several_runs_are_counted_at_once(store: Store) -> None:
    first, empty, other = await new_run(store), await new_run(store), await new_run(store)
    await store.write(batch_of(first, 0, 30))
    await store.write(batch_of(other, 5, 8))
    assert await store.last_tasks([first, empty, other]) == {first: 29, other: 7}
    assert await store.last_tasks([]) == {}


async def test_a_comparison_needs_no_claim_to_go_on(store: Store) -> None:
    live, comparison = await new_run(store, "gone"), await store.begin_run("comparison", 0, {}, {}, "gone")
    assert await store.mark_interrupted() == [live]
    assert (await store.run(comparison)).status == "running"
