"""The race of a server: a resumed run continues exactly, a measured one is marked as measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import RaceManager
from live_server import build_settings, live, until

pytestmark = pytest.mark.asyncio
REAL = {"backend": "local", "devices": "cpu,gpu=emulated:slowdown=1", "schedulers": "round_robin,eft"}


async def first_half(manager: RaceManager) -> None:
    await manager.change({"pace": 100.0})
    await manager.step(37)
    await manager.change({"failed_gpus": [0, 1], "load": 3.0})
    await manager.step(5)
    await manager.submit(Task(0, 2000.0, 0.9, 50.0))


async def second_half(manager: RaceManager) -> None:
    await manager.change({"failed_gpus": []})
    await manager.step(40)
    await manager.change({"failed_gpus": [3]})
    await manager.step(10)


async def results(manager: RaceManager, run_id: int) -> list[tuple[Any, ...]]:
    return [tuple(row) async for block in manager.store.export(run_id) for row in block]


async def test_a_resumed_run_stores_what_an_unbroken_one_stores(url: str, tmp_path: Any) -> None:
    unbroken = RaceManager(build_settings(f"sqlite:///{tmp_path}/other.db"))
    await unbroken.open()
    run_id = await unbroken.start(paused=True)
    await first_half(unbroken)
    await second_half(unbroken)
    await unbroken.stop()
    expected = await results(unbroken, run_id)
    changes = await unbroken.store.settings_changes(run_id)
    await unbroken.close()

    broken = RaceManager(build_settings(url))
    await broken.open()
    run_id = await broken.start(paused=True)
    await first_half(broken)
    await broken.flush()
    await broken.ownership.release()  # what is left of a server that died
    await broken.ownership.stop_renewing()
    await broken.recorder.close()
    await broken.store.close()

    after = RaceManager(build_settings(url))
    await after.open()
    assert (await after.store.run(run_id)).status == "interrupted"
    await after.resume_run(run_id, paused=True)
    assert [await after.find_task(task) is not None for task in (0, 42, 43)] == [True, True, False]
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
        settings = build_settings(
            f"sqlite:///{tmp_path}/{broken}.db", schedulers=("hybrid_ml", "eft"), data_dir=tmp_path
        )
        manager = RaceManager(settings)
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


async def test_a_measured_race_is_served_and_stored_as_measured(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", **REAL) as server:
        client, manager = server.client, server.manager
        assert (await client.get("/api/status")).json()["measured"] is True  # before it is started, too
        started = await client.post("/api/simulation/start", params={"paused": True})
        assert started.status_code == 200, started.text
        await client.post("/api/simulation/step", json={"tasks": 5})

        refused = await client.patch("/api/simulation/settings", json={"num_gpus": 2})
        assert refused.status_code == 400
        assert "num_gpus stays 1" in refused.json()["error"]["message"]
        made = (
            await client.post("/api/tasks", json={"size": 900, "compute_intensity": 0.9, "memory_required": 5})
        ).json()
        assert made["decisions"]["eft"]["result"]["measured"] is True
        names = {each["device_name"] for each in made["decisions"]["eft"]["explanation"]["candidates"]}
        assert names == {"cpu", "gpu0 (emulated)"}

        async with server.watch() as watcher:
            await manager.send_frame()
            frame = await watcher.next("simulation_update")
        assert frame["measured"] is True
        assert all(each["measured"] for each in frame["records"])
        assert [each["name"] for each in frame["devices"]] == ["cpu", "gpu0 (emulated)"]
        assert (frame["settings"]["backend"], frame["settings"]["num_gpus"]) == ("local", 1)

        await client.post("/api/simulation/stop")
        rows = (await client.get("/api/tasks/3")).json()["results"]
        assert [each["measured"] for each in rows] == [True, True]
        line = (await client.get("/api/runs")).json()["runs"][0]
        assert (line["measured"], line["tasks"], line["num_gpus"]) == (True, 6, 1)
        again = await client.post(f"/api/runs/{line['id']}/resume")
        assert again.status_code == 409
        assert "what really ran cannot be played again" in again.json()["error"]["message"]


async def test_a_server_that_is_to_resume_says_that_a_measured_run_cannot_be(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    before = RaceManager(build_settings(url))
    await before.open()
    stored = {"backend": "local", "devices": "emulated", "schedulers": ["eft"]}
    run_id = await before.store.begin_run("live", 0, {}, stored, "a server that died/1/x")
    await before.close()
    async with live(url, autostart=True, resume=True) as server:
        manager = server.manager
        await until(lambda: manager.run_id is not None)
        assert manager.run_id != run_id
        with pytest.raises(ConflictError, match="under way"):
            await manager.resume_run(run_id)
        assert (await manager.store.run(run_id)).status == "interrupted"
