"""Runs: the list, the details, going on with one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from served import QUICK, Service, serving

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def service(url: str) -> AsyncIterator[Service]:
    async with serving(url) as service:
        yield service


async def test_runs_are_listed_newest_first_page_by_page(service: Service) -> None:
    assert await service.get("/api/runs") == {"runs": [], "next": None}
    for _ in range(3):
        await service.start()
        await service.manager.stop()
    first = await service.get("/api/runs", limit=2)
    second = await service.get("/api/runs", limit=2, after=first["next"])
    assert [each["id"] for each in first["runs"] + second["runs"]] == [3, 2, 1]
    assert second["next"] is None
    assert [each["current"] for each in first["runs"]] == [True, False]


async def test_a_run_tells_its_settings_its_changes_and_its_end(service: Service) -> None:
    await service.step(10)
    await service.manager.change({"load": 1.5})
    await service.step(5)
    during = await service.get("/api/runs/1")
    assert (during["status"], during["ended_at"], during["summary"], during["last_task"]) == (
        "running",
        None,
        None,
        14,
    )
    assert during["settings"]["schedulers"] == list(QUICK)
    changes = [each["change"] for each in during["changes"] if "load" in each["change"]]
    assert changes == [{"load": 1.5}]
    await service.manager.stop()
    after = await service.get("/api/runs/1")
    assert after["status"] == "finished"
    assert after["summary"]["snapshot"]["tasks_processed"] == 15


async def test_a_run_that_is_not_there_is_not_found(service: Service) -> None:
    for path in ("/api/runs/1", "/api/runs/1/export"):
        assert await service.refused(path) == 404
    assert (await service.client.post("/api/runs/1/resume")).status_code == 404
    assert await service.refused(f"/api/runs/{2**63}") == 422


async def test_a_stopped_run_can_go_on(service: Service) -> None:
    await service.step(12)
    assert (await service.client.post("/api/runs/1/resume")).status_code == 409  # it is under way
    await service.manager.stop()
    answer = await service.client.post("/api/runs/1/resume")
    assert (answer.status_code, answer.json()) == (200, {"run_id": 1})
    await service.manager.pause()
    await service.manager.step(3)
    await service.flush()
    tasks = (await service.get("/api/tasks", run=1))["tasks"]
    assert [each["task_id"] for each in tasks] == list(range(len(tasks)))
    assert len(tasks) >= 15


@pytest.mark.parametrize(
    ("form", "media"), [("csv", "text/csv; charset=utf-8"), ("parquet", "application/vnd.apache.parquet")]
)
async def test_an_export_is_a_file_to_download(service: Service, form: str, media: str) -> None:
    await service.step(10)
    answer = await service.client.get("/api/runs/1/export", params={"format": form})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media
    assert answer.headers["content-disposition"] == f'attachment; filename="run-1.{form}"'
    assert answer.content[:4] == (b"PAR1" if form == "parquet" else b'"tas')


async def test_an_unknown_format_is_refused(service: Service) -> None:
    await service.step(2)
    assert await service.refused("/api/runs/1/export", format="xlsx") == 422
