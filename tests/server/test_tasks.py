"""Submitted tasks, pages of tasks, audits of one, and the explanations of decisions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hybrid_scheduler.core.placements import WAITING
from hybrid_scheduler.schedulers.explain import Candidate, Explanation
from hybrid_scheduler.server.routes.tasks import describe_decision
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
MEASURED = {"scheduler_name": "my_cluster", "gpu_fraction": 0.75, "actual_time": 0.5, "waiting_time": 0.25}
NAMES = {0: "cpu", 1: "gpu0", 2: "gpu1"}
NAN = float("nan")


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(f"sqlite:///{tmp_path}/hms.db") as service:
        yield service


@pytest_asyncio.fixture
async def either(url: str) -> AsyncIterator[Service]:
    """The service on either database, for tests of what is stored."""
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


async def test_a_task_by_hand_is_there_at_once_and_is_stored_as_it_was_told(either: Service) -> None:
    await either.step(20)
    outcome = await by_hand(either, task_id=7)
    assert (outcome["your_id"], outcome["task"]["task_id"]) == (7, 20)
    at_once = await either.get("/api/tasks/20")
    await either.flush()
    stored = await either.get("/api/tasks/20")
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


async def test_pages_hold_every_task_once(either: Service) -> None:
    await either.step(25)
    found: list[int] = []
    after = None
    while True:
        page = await either.get("/api/tasks", limit=10, **({} if after is None else {"after": after}))
        found += [each["task_id"] for each in page["tasks"]]
        if (after := page["next"]) is None:
            break
    assert found == list(range(25))


async def test_before_any_run_the_page_is_empty(either: Service) -> None:
    assert await either.get("/api/tasks") == {"run_id": None, "tasks": [], "next": None}
    assert await either.refused("/api/tasks/0") == 404


async def test_what_is_not_there_is_not_found(either: Service) -> None:
    await either.step(3)
    assert await either.refused("/api/tasks", run=999) == 404
    assert await either.refused("/api/tasks/3") == 404
    assert await either.refused("/api/tasks/1", run=999) == 404
    assert await either.refused("/api/tasks", after="x") == 422
    assert await either.refused("/api/tasks", after=2**80) == 422
    assert await either.refused("/api/tasks", limit=0) == 422


async def test_a_run_that_ended_can_be_asked_about_later(either: Service) -> None:
    await either.step(4)
    await either.manager.stop()
    await either.step(2)
    first = await either.get("/api/tasks", run=1)
    now = await either.get("/api/tasks")
    assert [len(first["tasks"]), len(now["tasks"])] == [4, 2]
    assert (await either.get("/api/tasks/3", run=1))["run_id"] == 1


async def test_every_attempt_of_a_task_is_told_after_its_gpu_failed(either: Service) -> None:
    await either.step(200, load=5.0)
    await either.manager.change({"failed_gpus": (0, 1)})
    await either.flush()
    again = [each for each in await either.get("/api/history/comparative", limit=5000) if each["attempt"] == 2]
    assert again
    audit = await either.get(f"/api/tasks/{again[0]['task_id']}")
    name = again[0]["scheduler_name"]
    assert audit["attempts"][name] == 2
    first, second = (each for each in audit["results"] if each["scheduler_name"] == name)
    assert first["device"] in (1, 2)
    assert second["device"] not in (1, 2)


async def test_a_result_measured_elsewhere_stands_beside_the_others(either: Service) -> None:
    await either.step(3)
    answer = await either.client.post("/api/tasks/1/results", json=MEASURED)
    assert answer.status_code == 201, answer.text
    audit = await either.get("/api/tasks/1")
    (found,) = (each for each in audit["results"] if each["measured"])
    assert found == answer.json()
    assert found["finish_time"] == pytest.approx(audit["task"]["arrival_time"] + 0.75)
    assert len(audit["results"]) == len(QUICK) + 1


async def test_a_result_is_taken_once_and_only_for_a_task_that_is_stored(either: Service) -> None:
    assert (await either.client.post("/api/tasks/0/results", json=MEASURED)).status_code == 404
    await either.step(3)
    statuses = [
        (await either.client.post(f"/api/tasks/{task}/results", json=MEASURED | changed)).status_code
        for task, changed in ((2, {}), (2, {}), (2, {"attempt": 2}), (3, {}), (1, {"actual_time": 0}))
    ]
    assert statuses == [201, 409, 201, 404, 422]


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
    either: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: Any) -> list[Any]:
        return []

    await either.step(150)
    stored = [await either.get(f"/api/tasks/{number}") for number in (0, 77, 149)]
    monkeypatch.setattr(either.manager.store, "tasks_page", none)  # as if nothing had been written
    assert [await either.get(f"/api/tasks/{number}") for number in (0, 77, 149)] == stored
    assert await either.refused("/api/tasks/150") == 404


async def test_names_of_devices_are_those_of_the_time_of_the_decision(service: Service) -> None:
    await service.step(2)
    await service.manager.change({"num_gpus": 1})
    reason = (await service.get("/api/tasks/1"))["explanations"]["eft"]
    assert [each["device_name"] for each in reason["candidates"]] == ["cpu", "gpu0", "gpu1", "gpu2", "gpu3"]


def seen(*finishes: float, chosen: int, share: float = 1.0, **contributions: float) -> Explanation:
    candidates = tuple(
        Candidate(device, NAN, NAN, NAN, finish, NAN, NAN, None, device == chosen)
        for device, finish in enumerate(finishes)
    )
    return Explanation(share, chosen, "the rule", candidates, contributions)


async def test_the_best_device_is_compared_with_the_next_best() -> None:
    words = describe_decision(seen(14.0, 12.0, 12.5, chosen=1), NAMES, now=10.0)
    assert words == "whole on gpu0: the whole task would end there 2 s from now, 0.5 s before gpu1, the next best"


async def test_a_better_device_that_was_passed_over_is_named() -> None:
    words = describe_decision(seen(14.0, 12.0, 12.5, chosen=0, share=0.0), NAMES, now=10.0)
    assert words == "whole on cpu: the whole task would end there 4 s from now, 2 s after gpu0, which it passes over"


async def test_who_predicts_nothing_has_a_rule() -> None:
    words = describe_decision(seen(NAN, NAN, NAN, chosen=2, share=0.25), NAMES, now=0.0)
    assert words == "25% on gpu1, the rest on a CPU: it predicts no times, its rule is: the rule"


async def test_the_only_device_left_has_no_rival() -> None:
    assert describe_decision(seen(3.0, NAN, chosen=0, share=0.0), NAMES, now=1.0).endswith(
        "2 s from now, and nowhere else"
    )


async def test_the_feature_that_mattered_most_is_named() -> None:
    words = describe_decision(seen(NAN, NAN, chosen=1, size=-0.8, compute_intensity=0.5), NAMES, now=0.0)
    assert words.endswith("; mostly because of size")


async def test_a_task_that_waits_in_an_ordered_queue_says_so_and_is_stored_once_it_has_started(
    either: Service,
) -> None:
    await either.step(80, schedulers=["eft", "least_increase"], load=2.0)
    run_id = either.manager.run_id
    assert run_id is not None
    audits = {task: await either.get(f"/api/tasks/{task}") for task in range(40, 80)}
    results = {task: {each["scheduler_name"]: each for each in audit["results"]} for task, audit in audits.items()}
    waiting = [task for task, each in results.items() if each["least_increase"]["status"] == WAITING]
    assert waiting
    for task in waiting:
        assert results[task]["least_increase"]["device"] >= 0
        assert results[task]["least_increase"]["finish_time"] is None
        assert audits[task]["fastest"] == "eft"
        assert [each["scheduler_name"] for each in await either.manager.store.task_results(run_id, task)] == ["eft"]
    await either.manager.change({"load": 0.1})
    await either.step(40)
    later = await either.get(f"/api/tasks/{waiting[0]}")
    (ended,) = [each for each in later["results"] if each["scheduler_name"] == "least_increase"]
    assert (ended["status"], ended["attempt"]) == (0, 1)
    assert ended["finish_time"] - ended["turnaround_time"] == pytest.approx(later["task"]["arrival_time"])
