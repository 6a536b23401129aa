"""Why, for any of the last tasks: kept, counted, and told before the database knows of the task."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from hybrid_scheduler.live import ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.simulation import Asking, Block
from hybrid_scheduler.server import feed
from hybrid_scheduler.server.feed import Feed
from served import QUICK, Service, serving

TASK = {"size": 2500.0, "compute_intensity": 0.8, "memory_required": 200.0}
pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def service(url: str) -> AsyncIterator[Service]:
    async with serving(url) as service:
        yield service


async def test_a_task_of_the_stream_tells_why_and_what_was_expected(service: Service) -> None:
    await service.step(20)
    for number in (0, 7, 19):
        audit = await service.get(f"/api/tasks/{number}")
        assert set(audit["explanations"]) == set(QUICK)
        results = {each["scheduler_name"]: each for each in audit["results"]}
        for name, reason in audit["explanations"].items():
            assert (reason["gpu_fraction"], reason["device"]) == (
                results[name]["gpu_fraction"],
                results[name]["device"],
            )
            assert [each["device_name"] for each in reason["candidates"]] == ["cpu", "gpu0", "gpu1", "gpu2", "gpu3"]
            if name in ("eft", "oracle"):
                assert reason["expected_finish"] == pytest.approx(results[name]["finish_time"])
                assert reason["expected_time"] == pytest.approx(results[name]["actual_time"])
            else:
                assert (reason["expected_time"], reason["expected_finish"]) == (None, None)


async def test_a_task_by_hand_keeps_its_reasons(service: Service) -> None:
    await service.step(3)
    outcome = (await service.client.post("/api/tasks", json=TASK)).json()
    audit = await service.get(f"/api/tasks/{outcome['task']['task_id']}")
    assert audit["explanations"] == {name: each["explanation"] for name, each in outcome["decisions"].items()}


async def test_a_task_that_nobody_asked_about_has_no_reasons(service: Service) -> None:
    await service.step(200)  # in blocks of ten, of which the first is explained
    assert (await service.get("/api/tasks/10"))["explanations"]
    assert (await service.get("/api/tasks/11"))["explanations"] == {}


async def test_a_task_of_another_run_has_no_reasons_of_this_one(service: Service) -> None:
    await service.step(4)
    await service.manager.stop()
    await service.step(4)
    assert (await service.get("/api/tasks/3", run=1))["explanations"] == {}
    assert (await service.get("/api/tasks/3"))["explanations"]


async def test_a_task_that_is_not_stored_yet_is_told_as_it_will_be_stored(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: Any) -> list[Any]:
        return []

    await service.step(150)
    stored = [await service.get(f"/api/tasks/{number}") for number in (0, 77, 149)]
    monkeypatch.setattr(service.manager.store, "tasks_page", none)  # as if nothing had been written
    assert [await service.get(f"/api/tasks/{number}") for number in (0, 77, 149)] == stored
    assert await service.refused("/api/tasks/150") == 404


async def test_names_of_devices_are_those_of_the_time_of_the_decision(service: Service) -> None:
    await service.step(2)
    await service.manager.change({"num_gpus": 1})
    reason = (await service.get("/api/tasks/1"))["explanations"]["eft"]
    assert [each["device_name"] for each in reason["candidates"]] == ["cpu", "gpu0", "gpu1", "gpu2", "gpu3"]


def blocks_of(count: int, pace: float) -> list[Block]:
    blocks: list[Block] = []
    live = ContinuousSimulation(LiveSettings(schedulers=("eft",), pace=pace), [blocks.append])
    live._asking = Asking(clock=lambda: 0.0)  # asking takes no time, however busy the machine is
    live.step(count)
    live.stop()
    return blocks


async def test_of_many_explained_tasks_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "EXPLAINED", 5)
    monkeypatch.setattr(feed, "RECENT", 10)
    told = Feed()
    for block in blocks_of(20, 20.0):
        told(block)
    found = {number: told.recall(number) for number in range(20)}
    assert [number for number, each in found.items() if each and each.reasons] == list(range(10, 20))  # in blocks
    assert list(told._explained) == list(range(15, 20))


async def test_reasons_outlive_the_last_tasks() -> None:
    told = Feed()
    told._recent = feed.Tail(20)
    for block in blocks_of(100, 200.0):  # ten blocks of ten
        told(block)
    kept = [number for number in range(100) if told.recall(number) is not None]
    assert kept == [*range(0, 80, 10), *range(80, 100)]


async def test_records_are_marked_where_reasons_are_kept() -> None:
    told = Feed()
    for block in blocks_of(40, 200.0):
        told(block)
    assert [each.task_id for each in told.news().records if each.explained] == [0, 10, 20, 30]
