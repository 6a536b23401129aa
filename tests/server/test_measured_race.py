"""The service with real devices: what is served and stored says that it was measured, and nothing pretends."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import Manager
from live_server import live, settings_of, until

pytestmark = pytest.mark.asyncio
REAL = {"backend": "local", "devices": "cpu,gpu=emulated:slowdown=1", "schedulers": "round_robin,eft"}


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
    before = Manager(settings_of(url))
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
