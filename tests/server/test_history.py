"""What is stored, for charts."""

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


async def test_before_any_run_both_histories_are_empty(service: Service) -> None:
    assert await service.get("/api/full_history") == []
    assert await service.get("/api/history/comparative") == []


async def test_the_full_history_is_the_latest_thousand_examples_newest_first(service: Service) -> None:
    await service.step(1010)
    records = await service.get("/api/full_history")
    assert [each["task_id"] for each in records] == list(range(1009, 9, -1))
    assert all(0 <= each["optimal_gpu_fraction"] <= 1 and each["optimal_time"] > 0 for each in records)


async def test_the_comparative_history_has_one_result_of_every_scheduler(service: Service) -> None:
    await service.step(30)
    rows = await service.get("/api/history/comparative", limit=10)
    assert [each["task_id"] for each in rows] == [29] * 5 + [28] * 5
    assert {each["scheduler_name"] for each in rows[:5]} == set(QUICK)
    audit = await service.get("/api/tasks/29")
    task, result = audit["task"], rows[0]
    assert {name: result[name] for name in task} == task


async def test_a_limit_out_of_range_or_an_unknown_run_is_refused(service: Service) -> None:
    for limit in (0, -1, 5001, "many"):
        assert await service.refused("/api/history/comparative", limit=limit) == 422
    assert await service.refused("/api/history/comparative", run=5) == 404
