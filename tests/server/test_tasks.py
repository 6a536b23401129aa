"""Tasks by hand, pages of tasks, and everything about one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from served import QUICK, Service, serving

TASK = {"size": 2500.0, "compute_intensity": 0.8, "memory_required": 200.0}
UNUSABLE = (
    "{}",
    "[]",
    "null",
    '{"size": 1',
    '{"size": NaN, "compute_intensity": 0.5, "memory_required": 1}',
    '{"size": Infinity, "compute_intensity": 0.5, "memory_required": 1}',
    '{"size": 1e400, "compute_intensity": 0.5, "memory_required": 1}',
    '{"size": 0, "compute_intensity": 0.5, "memory_required": 1}',
    '{"size": 10000000, "compute_intensity": 0.5, "memory_required": 1}',
    '{"size": "12", "compute_intensity": 0.5, "memory_required": 1}',
    '{"size": 12, "compute_intensity": true, "memory_required": 1}',
    '{"size": 12, "compute_intensity": 1.5, "memory_required": 1}',
    '{"size": 12, "compute_intensity": 0.5, "memory_required": -1}',
    '{"size": 12, "compute_intensity": 0.5, "memory_required": 1, "color": "red"}',
    '{"size": 12, "compute_intensity": 0.5, "memory_required": 1, "task_id": -1}',
)
pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def service(url: str) -> AsyncIterator[Service]:
    async with serving(url) as service:
        yield service


async def by_hand(service: Service, **changed: Any) -> dict[str, Any]:
    answer = await service.client.post("/api/tasks", json=TASK | changed)
    assert answer.status_code == 201, answer.text
    outcome: dict[str, Any] = answer.json()
    return outcome


async def test_every_scheduler_decides_about_a_task_by_hand_and_says_why(service: Service) -> None:
    await service.step(300)
    outcome = await by_hand(service)
    assert set(outcome["decisions"]) == set(QUICK)
    assert outcome["task"] | TASK == outcome["task"]
    for name, verdict in outcome["decisions"].items():
        result, reason = verdict["result"], verdict["explanation"]
        assert result["scheduler_name"] == name
        assert result["turnaround_time"] == pytest.approx(result["finish_time"] - outcome["task"]["arrival_time"])
        assert (result["device"], result["gpu_fraction"]) == (reason["device"], reason["gpu_fraction"])
        assert [each["device"] for each in reason["candidates"] if each["chosen"]] == [reason["device"]]
        assert [each["device_name"] for each in reason["candidates"]] == ["cpu", "gpu0", "gpu1", "gpu2", "gpu3"]
        assert reason["why"]


async def test_the_earliest_finish_is_the_candidate_with_the_earliest_finish(service: Service) -> None:
    await service.step(300)
    verdict = (await by_hand(service))["decisions"]["eft"]
    candidates = verdict["explanation"]["candidates"]
    best = min(candidates, key=lambda each: each["finish"])
    assert best["chosen"]
    assert verdict["result"]["finish_time"] == pytest.approx(best["finish"])
    arrival = verdict["result"]["finish_time"] - verdict["result"]["turnaround_time"]
    for each in candidates:
        assert each["finish"] == pytest.approx(arrival + each["wait"] + each["predicted_time"])
        assert each["energy"] > 0
        assert each["cost"] > 0


async def test_a_blind_scheduler_predicts_nothing(service: Service) -> None:
    await service.step(10)
    reason = (await by_hand(service))["decisions"]["greedy"]["explanation"]
    assert {each["predicted_time"] for each in reason["candidates"]} == {None}
    assert "predicts no times" in reason["why"]


async def test_a_task_by_hand_is_there_at_once_and_is_stored_as_it_was_told(service: Service) -> None:
    await service.step(20)
    outcome = await by_hand(service, task_id=7)
    assert (outcome["your_id"], outcome["task"]["task_id"]) == (7, 20)
    at_once = await service.get("/api/tasks/20")
    await service.flush()
    stored = await service.get("/api/tasks/20")
    assert at_once == stored
    told = [outcome["decisions"][each["scheduler_name"]]["result"] for each in stored["results"]]
    assert stored["results"] == told
    assert stored["attempts"] == dict.fromkeys(QUICK, 1)


async def test_a_task_too_large_for_every_gpu_goes_to_the_cpu(service: Service) -> None:
    await service.step(5)
    outcome = await by_hand(service, memory_required=1e9)
    results = {name: each["result"] for name, each in outcome["decisions"].items()}
    assert {each["device"] for each in results.values()} == {0}
    assert (results["greedy"]["status"], results["eft"]["status"]) == (1, 0)  # greedy wanted a GPU


async def test_a_task_before_a_full_queue_is_rejected_and_has_no_times(service: Service) -> None:
    await service.step(200, load=50.0, max_queue=1)
    outcome = await by_hand(service)
    results = [each["result"] for each in outcome["decisions"].values()]
    assert {(each["device"], each["status"], each["finish_time"]) for each in results} == {(-1, 5, None)}
    await service.flush()
    assert (await service.get("/api/tasks/200"))["fastest"] is None


async def test_without_a_simulation_a_task_is_refused(service: Service) -> None:
    answer = await service.client.post("/api/tasks", json=TASK)
    assert answer.status_code == 409
    assert "/api/simulation/start" in answer.json()["error"]["message"]


async def test_a_body_that_cannot_be_used_is_refused_in_one_shape(service: Service) -> None:
    for body in UNUSABLE:
        answer = await service.client.post("/api/tasks", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 422, body
        assert answer.json()["error"]["message"]


async def test_pages_hold_every_task_once(service: Service) -> None:
    await service.step(25)
    found: list[int] = []
    after = None
    while True:
        page = await service.get("/api/tasks", limit=10, **({} if after is None else {"after": after}))
        found += [each["task_id"] for each in page["tasks"]]
        if (after := page["next"]) is None:
            break
    assert found == list(range(25))


async def test_before_any_run_the_page_is_empty(service: Service) -> None:
    assert await service.get("/api/tasks") == {"run_id": None, "tasks": [], "next": None}
    assert await service.refused("/api/tasks/0") == 404


async def test_what_is_not_there_is_not_found(service: Service) -> None:
    await service.step(3)
    assert await service.refused("/api/tasks", run=999) == 404
    assert await service.refused("/api/tasks/3") == 404
    assert await service.refused("/api/tasks/1", run=999) == 404
    assert await service.refused("/api/tasks", after="x") == 422
    assert await service.refused("/api/tasks", after=2**80) == 422
    assert await service.refused("/api/tasks", limit=0) == 422


async def test_a_run_that_ended_can_be_asked_about_later(service: Service) -> None:
    await service.step(4)
    await service.manager.stop()
    await service.step(2)
    first = await service.get("/api/tasks", run=1)
    now = await service.get("/api/tasks")
    assert [len(first["tasks"]), len(now["tasks"])] == [4, 2]
    assert (await service.get("/api/tasks/3", run=1))["run_id"] == 1


async def test_every_attempt_of_a_task_is_told_after_its_gpu_failed(service: Service) -> None:
    await service.step(200, load=5.0)
    await service.manager.change({"failed_gpus": (0, 1)})
    await service.flush()
    again = [each for each in await service.get("/api/history/comparative", limit=5000) if each["attempt"] == 2]
    assert again
    audit = await service.get(f"/api/tasks/{again[0]['task_id']}")
    name = again[0]["scheduler_name"]
    assert audit["attempts"][name] == 2
    first, second = (each for each in audit["results"] if each["scheduler_name"] == name)
    assert first["device"] in (1, 2)
    assert second["device"] not in (1, 2)


MEASURED = {"scheduler_name": "my_cluster", "gpu_fraction": 0.75, "actual_time": 0.5, "waiting_time": 0.25}


async def test_a_result_measured_elsewhere_stands_beside_the_others(service: Service) -> None:
    await service.step(3)
    answer = await service.client.post("/api/tasks/1/results", json=MEASURED)
    assert answer.status_code == 201, answer.text
    audit = await service.get("/api/tasks/1")
    (found,) = (each for each in audit["results"] if each["measured"])
    assert found == answer.json()
    assert found["finish_time"] == pytest.approx(audit["task"]["arrival_time"] + 0.75)
    assert len(audit["results"]) == len(QUICK) + 1


async def test_a_result_is_taken_once_and_only_for_a_task_that_is_stored(service: Service) -> None:
    assert (await service.client.post("/api/tasks/0/results", json=MEASURED)).status_code == 404
    await service.step(3)
    statuses = [
        (await service.client.post(f"/api/tasks/{task}/results", json=MEASURED | changed)).status_code
        for task, changed in ((2, {}), (2, {}), (2, {"attempt": 2}), (3, {}), (1, {"actual_time": 0}))
    ]
    assert statuses == [201, 409, 201, 404, 422]
