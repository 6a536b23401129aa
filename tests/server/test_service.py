"""Health, metrics, the description of the interface, and trained models."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from hybrid_scheduler.learning.model_files import save_model
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from live_server import DEADLINE, QUICK, live, until
from served import Service, serving
from stored import new_run

pytestmark = pytest.mark.asyncio


async def test_health_names_every_part_with_its_latency(url: str, redis_url: str) -> None:
    async with live(url, redis_url=redis_url, autostart=True) as served:
        async with asyncio.timeout(DEADLINE):  # a busy machine may keep Redis from answering in time
            while (health := await served.get("/api/health"))["state"] != "ok":
                await asyncio.sleep(0.05)
        assert health["store"]["kind"] == url.partition("+")[0]
        assert health["cache"]["kind"] == "redis"
        assert health["engine"]["kind"] == "running"
        assert health["store"]["milliseconds"] > 0
        assert health["cache"]["milliseconds"] > 0


async def test_metrics_can_be_read_and_add_up(url: str) -> None:
    async with live(url, autostart=True) as served, served.watch() as client:
        await served.until_tasks(20)
        await client.next("simulation_update")
        await served.post("/api/pause")
        await served.get("/api/status")
        await served.manager.flush()
        text = (await served.client.get("/api/metrics")).text
        families = {each.name: each for each in text_string_to_metric_families(text)}
        last = served.manager.snapshot()
        assert last is not None
        tasks = families["hms_tasks"].samples[0].value
        assert tasks == last.tasks_processed
        placed = {each.labels["scheduler"]: each.value for each in families["hms_placements"].samples}
        assert placed == dict.fromkeys(QUICK, tasks)
        assert families["hms_clients"].samples[0].value == 1
        # of every task: itself, an example, and a result of each scheduler
        assert families["hms_recorder_rows"].samples[0].value == tasks * (2 + len(QUICK))
        assert families["hms_recorder_pending"].samples[0].value == 0
        routes = {each.labels["route"] for each in families["hms_http_seconds"].samples}
        assert {"/api/status", "/api/pause"} <= routes
        assert families["hms_frames"].samples[0].value > 0
        health = await served.get("/api/health")
        assert families["hms_database_bytes"].samples[0].value == health["database_bytes"] > 0


async def test_the_interface_is_described_completely(tmp_path: Any) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db") as served:
        described = await served.get("/api/openapi.json")
        for path, operations in described["paths"].items():
            for method, operation in operations.items():
                where = f"{method} {path}"
                assert operation["summary"], where
                assert operation["description"], where
                assert operation["tags"], where
                assert {"422", "429", "503"} <= set(operation["responses"]), where
                assert ("security" in operation) == (method != "get"), where
                error = operation["responses"]["422"]["content"]["application/json"]["schema"]["$ref"]
                assert error.endswith("/ErrorAnswer"), where


async def test_the_page_is_there_while_the_simulation_is_still_starting(tmp_path: Any) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db") as served, served.manager.starting:  # as while models are trained
        assert (await served.client.get("/")).status_code == 200
        assert (await served.get("/api/status"))["state"] == "none"
        assert (await served.get("/api/health"))["engine"]["state"] == "none"


@pytest_asyncio.fixture
async def service(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path / "cache"))
    async with serving(url) as service:
        yield service


def keep_model(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_model({}, folder / "forest.pkl", kind="forest", features=("size",), training={"rows": 5})
    return folder / "forest.pkl"


async def test_models_of_runs_and_files_are_listed(service: Service) -> None:
    keep_model(Path("models"))
    run_id = await new_run(service.manager.store)
    number = await service.manager.store.add_model("hybrid_ml", "models/a.pkl", "ab12", {"r2": 0.9}, run_id)
    answer = await service.get("/api/models")
    (stored,) = answer["stored"]
    assert (stored["id"], stored["run_id"], stored["training"]) == (number, run_id, {"r2": 0.9})
    (file,) = answer["files"]
    assert (file["folder"], file["file"], file["kind"], file["intact"]) == ("models", "forest.pkl", "forest", True)
    assert answer["problems"] == []


async def test_an_exchanged_file_is_not_intact(service: Service) -> None:
    keep_model(Path("models")).write_bytes(b"something else")
    assert [each["intact"] for each in (await service.get("/api/models"))["files"]] == [False]


async def test_a_torn_manifest_hides_only_its_own_folder(service: Service) -> None:
    keep_model(Path("models"))
    Path("models/forest.pkl.json").write_text("{")
    keep_model(Path("cache/models"))
    answer = await service.get("/api/models")
    assert len(answer["files"]) == len(answer["problems"]) == 1
    assert "forest.pkl.json" in answer["problems"][0]


async def test_the_models_of_learners_are_saved_when_a_run_ends(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    async with serving(url, schedulers=("hybrid_ml", "eft"), data_dir=tmp_path) as service:
        await service.step(60)
        run_id = service.manager.run_id
        await service.manager.stop()
        (kept,) = (await service.get("/api/models"))["stored"]
    assert (kept["run_id"], kept["scheduler_name"]) == (run_id, "hybrid_ml")
    assert Path(kept["path"]).is_file()
    assert HybridML(model=kept["path"]).is_trained


async def test_health_finds_a_damaged_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.race.CHECK_SECONDS", 0.05)
    file = tmp_path / "hms.db"
    async with live(f"sqlite:///{file}", autostart=True) as served:
        await served.until_tasks(300)
        await served.post("/api/simulation/stop")
        assert (await served.get("/api/health"))["state"] == "ok"
        with sqlite3.connect(file) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
        with file.open("r+b") as opened:
            opened.seek(8 * 4096)
            opened.write(b"\xff" * 4096 * 10)
        await until(lambda: served.manager.damage)
        assert "age 1" in served.manager.damage  # it names the page, not the heading that SQLite puts above
        answer = await served.client.get("/api/health")
        assert (answer.status_code, answer.json()["state"]) == (503, "down")
        assert "damaged" in answer.json()["store"]["message"]
