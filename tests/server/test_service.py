"""Health, metrics, and the description of the interface."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from live_server import QUICK, live, until

pytestmark = pytest.mark.asyncio


async def test_health_names_every_part_with_its_latency(url: str, redis_url: str) -> None:
    async with live(url, redis_url=redis_url, autostart=True) as served:
        health = await served.get("/api/health")
        assert health["state"] == "ok"
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
    async with live(f"sqlite:///{tmp_path}/hms.db") as served, served.manager.order:  # as while models are trained
        assert (await served.client.get("/")).status_code == 200
        assert (await served.get("/api/status"))["state"] == "none"
        assert (await served.get("/api/health"))["engine"]["state"] == "none"


async def test_log_lines_reach_those_who_watch(tmp_path: Any) -> None:
    from loguru import logger

    async with live(f"sqlite:///{tmp_path}/hms.db") as served, served.watch() as client:
        await until(lambda: served.manager.hub.clients)
        logger.warning("mind the gap")
        line = await client.next("log")
        assert (line["level"], line["message"]) == ("WARNING", "mind the gap")


async def test_the_reference_needs_nothing_from_elsewhere(url: str) -> None:
    async with live(url) as served, httpx.AsyncClient(base_url=served.address) as client:
        page = await client.get("/docs")
        paths = (await client.get("/api/openapi.json")).json()["paths"]
    assert "content-security-policy" in page.headers
    assert "<script" not in page.text
    assert "http" not in page.text
    assert all(path in page.text for path in paths)
