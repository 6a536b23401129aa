"""Faults: what is acknowledged stays, what cannot go on says so, and goes on by itself when it can."""

from __future__ import annotations

import asyncio
import shutil
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from hybrid_scheduler.storage.recorder import RecorderOptions
from hybrid_scheduler.storage.store import Store
from live_server import DEADLINE, Process, Watcher, live, until
from services import Postgres, Redis

pytestmark = pytest.mark.asyncio
TASK = {"size": 1000.0, "compute_intensity": 0.5, "memory_required": 100.0}


async def ready(address: str, tasks: int) -> dict[str, Any]:
    """Wait for a process to have passed so many tasks."""
    async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as client, asyncio.timeout(DEADLINE):
        while True:
            status: dict[str, Any] = (await client.get("/api/status")).json()
            if status["tasks_processed"] >= tasks:
                return status
            await asyncio.sleep(0.05)


async def test_killed_in_mid_run_nothing_acknowledged_is_lost_and_the_run_goes_on(url: str, tmp_path: Path) -> None:
    with Process(tmp_path, url) as process:
        address = await asyncio.to_thread(lambda: process.address)
        run_id = (await ready(address, 50))["run_id"]
        async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as client:
            stored = [
                (await client.get("/api/tasks", params={"run": run_id, "limit": 1000})).json() for _ in range(3)
            ]
        process.end(signal.SIGKILL)
    acknowledged = [task["task_id"] for task in stored[-1]["tasks"]]
    with Process(tmp_path, url, "--resume") as process:  # at once: it sees that the one before is dead
        address = await asyncio.to_thread(lambda: process.address)
        status = await ready(address, 100)
        assert status["run_id"] == run_id
        assert process.end(signal.SIGTERM) == -signal.SIGTERM
        assert "interrupted" in "".join(process.lines)
    store = await Store.open(url)
    try:
        run = await store.run(run_id)
        tasks = [each["task_id"] for each in await store.tasks_page(run_id, limit=100_000)]
        rows = [row async for block in store.export(run_id) for row in block]
    finally:
        await store.close()
    assert run.status == "finished"
    assert set(acknowledged) <= set(tasks)
    assert tasks == list(range(len(tasks)))
    assert len(rows) == 4 * len(tasks)


async def test_killed_right_after_an_answer_the_task_and_the_change_are_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    task = {"size": 1000.0, "compute_intensity": 0.5, "memory_required": 100.0}
    tasks, loads = list[int](), list[float]()
    with Process(tmp_path, url) as process:
        address = await asyncio.to_thread(lambda: process.address)
        run_id = (await ready(address, 1))["run_id"]
        async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as client:
            for number in range(1, 11):
                tasks.append((await client.post("/api/tasks", json=task)).json()["task"]["task_id"])
                change = await client.patch("/api/simulation/settings", json={"load": number / 20})
                loads.append(change.json()["change"]["load"])
        process.end(signal.SIGKILL)
    store = await Store.open(url)
    try:
        stored = {each["task_id"] for each in await store.tasks_page(run_id, limit=100_000)}
        changes = [each["change"].get("load") for each in await store.settings_changes(run_id)]
    finally:
        await store.close()
    assert set(tasks) <= stored
    assert [each for each in changes if each is not None] == loads


async def test_killed_after_it_left_an_uploaded_file_the_run_goes_on_for_the_file_is_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    trace = "size,compute_intensity,memory_required,arrival_time\n9,0.5,1,0\n9,0.5,1,1\n"
    with Process(tmp_path, url, DATA_DIR=str(tmp_path)) as process:
        address = await asyncio.to_thread(lambda: process.address)
        run_id = (await ready(address, 1))["run_id"]
        async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as client:
            sent = await client.post("/api/workloads", params={"name": "trace.csv"}, content=trace)
            assert sent.status_code == 201
            for preset in ("upload:trace.csv", "mixed"):
                changed = await client.patch("/api/simulation/settings", json={"preset": preset})
                assert changed.status_code == 200
            refused = await client.delete("/api/workloads/trace.csv")
            assert (refused.status_code, "stop the run" in refused.text) == (409, True)
        process.end(signal.SIGKILL)
    with Process(tmp_path, url, DATA_DIR=str(tmp_path), RESUME="true") as process:
        address = await asyncio.to_thread(lambda: process.address)
        assert (await ready(address, 1))["run_id"] == run_id


async def test_killed_in_one_process_namespace_the_run_goes_on_in_another(tmp_path: Path) -> None:
    assert shutil.which("unshare"), "install util-linux: a container's process ids are those of its own namespace"
    namespace = "unshare --pid --fork --kill-child"  # needs root, or user namespaces
    url = f"sqlite:///{tmp_path}/hms.db"
    with Process(tmp_path, url, WITHIN=namespace) as process:
        address = await asyncio.to_thread(lambda: process.address)
        run_id = (await ready(address, 50))["run_id"]
        with Process(tmp_path, url, WITHIN=namespace, RESUME="true") as standby:
            waiting = await asyncio.to_thread(lambda: standby.address)
            async with httpx.AsyncClient(base_url=waiting, timeout=DEADLINE) as client:
                assert (await client.get("/api/status")).json()["state"] == "none"
            process.end(signal.SIGKILL)
            assert (await ready(waiting, 60))["run_id"] == run_id
            standby.end(signal.SIGKILL)
    with Process(tmp_path, url, WITHIN=namespace, RESUME="true") as process:
        address = await asyncio.to_thread(lambda: process.address)
        assert (await ready(address, 70))["run_id"] == run_id


async def test_a_database_that_goes_away_halts_the_simulation_until_it_is_back(
    postgres: Postgres, postgres_url: str
) -> None:
    async with live(postgres_url, autostart=True) as served, served.watch() as client:
        await served.until_tasks(20)
        postgres.stop()
        try:
            told = await notified(client, "error")
            assert "rows wait to be stored" in told
            await until(lambda: _state(served) == "paused")
            assert (await served.client.get("/api/health")).status_code == 503
            status = await served.get("/api/status")
            assert "rows wait to be stored" in status["error"]
            for path, body in (("resume", None), ("step", None)):
                refused = await served.post(f"/api/simulation/{path}", body, 503)
                assert refused["error"]["kind"] == "unavailable"
            assert (await served.client.post("/api/tasks", json=TASK)).status_code == 503
        finally:
            postgres.start()
        assert "the database is back" in await notified(client, "info", "back")
        await until(lambda: _state(served) == "running")
        await served.until_tasks(status["tasks_processed"] + 10)
        assert (await served.get("/api/health"))["state"] == "ok"
        ended = await served.post("/api/simulation/stop")
        tasks = await served.manager.store.tasks_page(ended["run_id"], limit=100_000)
        assert [each["task_id"] for each in tasks] == list(range(ended["tasks_processed"]))


async def test_a_run_that_ends_while_the_database_is_away_is_ended_when_it_is_back(
    postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.lifecycle.STORE_TIMEOUT", 0.5)
    monkeypatch.setattr("hybrid_scheduler.server.lifecycle.RETRY_SECONDS", 0.05)
    async with live(postgres_url, autostart=True) as served, served.watch() as client:
        await served.until_tasks(20)
        postgres.stop()
        try:
            refused = await served.post("/api/simulation/stop", None, 503)
            assert "the end is stored when it is back" in refused["error"]["message"]
            assert _state(served) == "stopped"
        finally:
            postgres.start()
        await notified(client, "info", "the end of run")
        ended = await served.get("/api/status")
        assert (await served.manager.store.run(ended["run_id"])).status == "finished"
        assert await served.manager.store.last_task(ended["run_id"]) == ended["tasks_processed"] - 1
        assert (await served.post("/api/simulation/start"))["state"] == "running"


async def test_who_pauses_while_the_database_is_away_stays_paused(postgres: Postgres, postgres_url: str) -> None:
    async with live(postgres_url, autostart=True) as served, served.watch() as client:
        await served.until_tasks(5)
        postgres.stop()
        try:
            await notified(client, "error")
            await until(lambda: _state(served) == "paused")
            await served.post("/api/pause")
        finally:
            postgres.start()
        await notified(client, "info", "back")
        assert _state(served) == "paused"
        assert (await served.post("/api/resume"))["state"] == "running"


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("PRAGMA max_page_count = 45", "is full: free some space"),
        ("PRAGMA query_only = ON", "is read-only: make the file"),
    ],
    ids=["full disk", "read-only"],
)
async def test_a_disk_that_takes_nothing_halts_the_simulation_with_a_clear_error(
    tmp_path: Path, harm: str, words: str
) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served, served.watch() as client:
        await served.until_tasks(10)
        harmed = [True]
        engine = served.manager.store.engine.sync_engine

        def on_use(connection: Any, *_: Any) -> None:
            cursor = connection.cursor()
            heal = ("PRAGMA query_only = OFF", "PRAGMA max_page_count = 1000000")
            for pragma in (harm,) if harmed[0] else heal:
                cursor.execute(pragma)
            cursor.close()

        event.listen(engine, "checkout", on_use)
        told = await notified(client, "error")
        assert words in told
        await until(lambda: _state(served) == "paused")
        assert words in (await served.get("/api/status"))["error"]
        harmed[0] = False
        await notified(client, "info", "back")
        await until(lambda: _state(served) == "running")
        ended = await served.post("/api/simulation/stop")
        assert await served.manager.store.last_task(ended["run_id"]) == ended["tasks_processed"] - 1


async def test_a_database_that_is_slower_than_the_race_slows_it_down_and_loses_nothing(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", pace="none") as served:
        served.manager.recorder.options = RecorderOptions(limit_rows=120, commit_rows=60)
        await served.post("/api/simulation/start")
        await served.until_tasks(500)
        assert _state(served) == "running"
        ended = await served.post("/api/simulation/stop")
        tasks = await served.manager.store.tasks_page(ended["run_id"], limit=100_000)
        assert [each["task_id"] for each in tasks] == list(range(ended["tasks_processed"]))


async def test_a_redis_that_goes_away_is_no_error_to_anyone(
    tmp_path: Path, redis_server: Redis, redis_url: str
) -> None:
    async with (
        live(
            f"sqlite:///{tmp_path}/hms.db", redis_url=redis_url, autostart=True, rate_limit="100000/minute"
        ) as served,
        served.watch() as client,
    ):
        await served.until_tasks(5)
        redis_server.stop()
        try:
            before = (await client.next("simulation_update"))["tasks_processed"]
            while (await client.next("simulation_update"))["tasks_processed"] < before + 20:
                continue
            assert (await served.get("/api/health"))["cache"]["state"] == "degraded"
            assert (await served.post("/api/pause"))["state"] == "paused"
            assert (await served.post("/api/resume"))["state"] == "running"
        finally:
            redis_server.start()
        async with asyncio.timeout(DEADLINE):
            while (await served.get("/api/health"))["cache"]["state"] != "ok":
                await asyncio.sleep(0.05)
        await client.next("simulation_update")


async def test_two_servers_on_one_database_do_not_run_one_simulation_twice(url: str) -> None:
    async with live(url, autostart=True) as first, live(url) as second:
        refused = await second.post("/api/simulation/start", None, 409)
        assert "is run by" in refused["error"]["message"]
        assert (await second.get("/api/health"))["store"]["state"] == "ok"
        run_id = first.manager.run_id
        assert run_id is not None
        await first.until_tasks(10)
        await first.manager.flush()
        assert await second.manager.store.last_task(run_id) is not None  # it still reads
        assert (await second.manager.store.run(run_id)).status == "running"
        await first.post("/api/simulation/stop")
        assert (await second.post("/api/simulation/start"))["state"] == "running"
        refused = await first.post("/api/simulation/start", None, 409)
        assert "is run by" in refused["error"]["message"]


async def test_a_server_that_lost_its_claim_stops(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served, served.watch() as client:
        await served.until_tasks(5)
        served.manager._on_lost("the simulation of this database is run by 'another'")
        assert "is run by 'another'" in await notified(client, "error")
        await until(lambda: _state(served) == "stopped")


async def notified(client: Watcher, level: str, words: str = "") -> str:
    """Return the next notification of a level that has some words in it."""
    while True:
        told = await client.next("notification")
        if told["level"] == level and words in told["message"]:
            return str(told["message"])


def _state(served: Any) -> str:
    return str(served.manager.simulation.state)
