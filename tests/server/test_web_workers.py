"""Several web workers serve one simulation through Redis."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live.snapshot import TaskRecord
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.web_workers import SNAPSHOT
from hybrid_scheduler.server.websocket import is_update
from hybrid_scheduler.settings import load_settings
from live_server import live, until

pytestmark = pytest.mark.asyncio
TASK = {"size": 1000.0, "compute_intensity": 0.5, "memory_required": 100.0}


async def test_a_worker_shows_and_controls_the_simulation_of_another_process(url: str, redis_url: str) -> None:
    async with live(url, redis_url=redis_url) as engine, live(url, redis_url=redis_url, role="web") as worker:
        assert (await worker.get("/api/status"))["state"] == "none"
        begun = await worker.post("/api/simulation/start", {"seed": 3})
        assert (begun["state"], begun["run_id"]) == ("running", engine.manager.run_id)
        assert worker.manager.simulation is None

        async with engine.watch() as one, worker.watch() as other:
            assert (await one.next())["stream"] == (await other.next())["stream"]
            first = await one.next("simulation_update")
            same = await other.next("simulation_update")
            while same["seq"] < first["seq"]:
                same = await other.next("simulation_update")
            while first["seq"] < same["seq"]:
                first = await one.next("simulation_update")
            assert first == same

        assert (await worker.post("/api/simulation/pause"))["state"] == "paused"
        passed = (await worker.post("/api/simulation/step", {"tasks": 7}))["tasks_processed"]
        assert passed == (await engine.get("/api/status"))["tasks_processed"]
        outcome = await worker.post("/api/tasks", TASK, 201)
        assert outcome["task"]["task_id"] == passed
        changed = await worker.client.patch("/api/simulation/settings", json={"failed_gpus": [1]})
        assert changed.json()["settings"]["failed_gpus"] == [1]
        assert (await worker.get("/api/comparison"))["tasks_processed"] == passed + 1
        for path, body, status in (
            ("/api/simulation/start", {}, 409),
            ("/api/simulation/step", {"tasks": 0}, 422),
            ("/api/simulation/resume", {"run_id": 99}, 409),
        ):
            assert (await worker.post(path, body, status))["error"]["message"]
        wrong = await worker.client.patch("/api/simulation/settings", json={"preset": "mixd"})
        assert (wrong.status_code, "did you mean 'mixed'?" in wrong.text) == (400, True)
        assert (await worker.post("/api/simulation/stop"))["state"] == "stopped"
        assert (await worker.get("/api/health"))["state"] == "ok"


async def test_a_worker_tells_why_as_the_process_does_that_runs_the_simulation(url: str, redis_url: str) -> None:
    shared = {"redis_url": redis_url, "frame_seconds": 60.0}  # so only orders make frames
    async with live(url, **shared) as engine, live(url, **shared, role="web") as worker:
        await worker.client.post("/api/simulation/start?paused=true", json={"pace": 20.0})
        await worker.post("/api/simulation/step", {"tasks": 12})
        by_hand = (await worker.post("/api/tasks", TASK, 201))["task"]["task_id"]
        seq = engine.manager.hub.seq
        for number in (0, 11, by_hand):
            audit = await worker.get(f"/api/tasks/{number}")
            assert audit["explanations"]
            assert audit == await engine.get(f"/api/tasks/{number}")
        assert not [each for number, each in engine.manager.hub._ring if number > seq and is_update(each)]
        missing = await worker.client.get("/api/tasks/999")
        assert missing.status_code == 404


async def test_a_stored_task_is_shown_though_nobody_runs_the_simulation(
    url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.web_workers.QUERY_SECONDS", 0.2)
    async with live(url, redis_url=redis_url, role="web") as worker:
        async with live(url, redis_url=redis_url) as engine:
            await engine.client.post("/api/simulation/start?paused=true", json={"pace": 20.0})
            await engine.post("/api/simulation/step", {"tasks": 3})
            await until(lambda: worker.manager.run_id is not None)
        audit = await worker.get("/api/tasks/2")
        assert (audit["task"]["task_id"], audit["explanations"]) == (2, {})


async def test_a_worker_without_an_engine_says_so(url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.web_workers.COMMAND_SECONDS", 0.2)
    async with live(url, redis_url=redis_url, role="web") as worker:
        refused = await worker.post("/api/simulation/start", {}, 503)
        assert "did not answer" in refused["error"]["message"]


async def test_a_worker_that_comes_back_catches_up_by_cursor(url: str, redis_url: str) -> None:
    async with (
        live(url, redis_url=redis_url, autostart=True) as engine,
        live(url, redis_url=redis_url, role="web") as worker,
    ):
        await until(lambda: len(worker.manager.hub._ring) > 2)  # it need not have seen the first messages
        async with engine.watch() as client:
            stream = (await client.next())["stream"]
        cursor = worker.manager.hub.seq - 2
        async with worker.watch(f"?cursor={cursor}&stream={stream}") as client:
            await client.next("hello")
            assert (await client.next())["seq"] == cursor + 1


async def test_a_worker_needs_redis() -> None:
    with pytest.raises(InputError, match="ROLE=web needs Redis"):
        load_settings(role="web", redis_url="")


async def test_what_went_through_json_is_the_same_again() -> None:
    from hybrid_scheduler.live import ContinuousSimulation, LiveSettings

    simulation = ContinuousSimulation(LiveSettings(schedulers=("eft", "greedy"), load=30.0, max_queue=1))
    simulation.step(30)
    seen = simulation.snapshot()
    again = SNAPSHOT.validate_json(encode_json(seen))
    assert encode_json(again.schedulers) == encode_json(seen.schedulers)  # NaN equals itself there
    assert again.devices == seen.devices
    assert seen.latest is not None
    assert again.latest is not None
    rejected: Any = again.latest.results["eft"]
    assert math.isnan(rejected.finish) == math.isnan(seen.latest.results["eft"].finish)
    assert isinstance(again.latest, TaskRecord)
    simulation.stop()
