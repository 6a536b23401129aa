"""A run that was interrupted goes on as if nothing had happened."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.server.race import Manager
from live_server import live, settings_of

pytestmark = pytest.mark.asyncio


async def first_half(manager: Manager) -> None:
    await manager.change({"pace": 100.0})
    await manager.step(37)
    await manager.change({"failed_gpus": [0, 1], "load": 3.0})
    await manager.step(5)
    await manager.submit(Task(0, 2000.0, 0.9, 50.0))


async def second_half(manager: Manager) -> None:
    await manager.change({"failed_gpus": []})
    await manager.step(40)
    await manager.change({"failed_gpus": [3]})
    await manager.step(10)


async def results(manager: Manager, run_id: int) -> list[tuple[Any, ...]]:
    return [tuple(row) async for block in manager.store.export(run_id) for row in block]


async def test_a_resumed_run_stores_what_an_unbroken_one_stores(url: str, tmp_path: Any) -> None:
    unbroken = Manager(settings_of(f"sqlite:///{tmp_path}/other.db"))
    await unbroken.open()
    run_id = await unbroken.start(paused=True)
    await first_half(unbroken)
    await second_half(unbroken)
    await unbroken.stop()
    expected = await results(unbroken, run_id)
    changes = await unbroken.store.settings_changes(run_id)
    await unbroken.close()

    broken = Manager(settings_of(url))
    await broken.open()
    run_id = await broken.start(paused=True)
    await first_half(broken)
    await broken.flush()
    await broken.ownership.release()  # what is left of a server that died
    await broken.ownership.quiet()
    await broken.recorder.close()
    await broken.store.close()

    after = Manager(settings_of(url))
    await after.open()
    assert (await after.store.run(run_id)).status == "interrupted"
    await after.resume_run(run_id, paused=True)
    assert [await after.recall(task) is not None for task in (0, 42, 43)] == [True, True, False]
    await second_half(after)
    await after.stop()
    assert await results(after, run_id) == expected
    log = await after.store.settings_changes(run_id)
    keys = ("at_task", "at_time", "change")
    assert [[each[key] for key in keys] for each in log] == [[each[key] for key in keys] for each in changes]
    assert (await after.store.run(run_id)).status == "finished"
    await after.close()


async def test_a_run_is_resumed_over_rest_and_only_if_it_can_be(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    async with live(url, autostart=True) as served:
        await served.until_tasks(10)
        running = await served.post("/api/simulation/resume", {"run_id": served.manager.run_id}, 409)
        assert "under way" in running["error"]["message"]
        ended = await served.post("/api/simulation/stop")
        again = await served.post("/api/simulation/resume", {"run_id": ended["run_id"]})
        assert again["run_id"] == ended["run_id"]
        assert again["tasks_processed"] >= ended["tasks_processed"]
        await served.until_tasks(ended["tasks_processed"] + 10)
        last = await served.post("/api/simulation/stop")
        assert await served.manager.store.last_task(last["run_id"]) == last["tasks_processed"] - 1


async def test_a_run_with_a_learner_goes_on_as_if_it_had_not_been_interrupted(tmp_path: Any) -> None:
    stored = []
    for broken in (False, True):
        settings = settings_of(
            f"sqlite:///{tmp_path}/{broken}.db", schedulers=("hybrid_ml", "eft"), data_dir=tmp_path
        )
        manager = Manager(settings)
        await manager.open()
        run_id = await manager.start({"pace": 200.0, "load": 1.2}, paused=True)
        await manager.step(150)
        if broken:
            await manager.stop()
            await manager.resume_run(run_id, paused=True)
        await manager.step(150)
        await manager.stop()
        stored.append(await results(manager, run_id))
        await manager.close()
    assert stored[0] == stored[1]
