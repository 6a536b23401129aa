"""Experiments: asked for, run beside the race, cancelled, kept; and nothing is lost silently."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.server import jobs
from hybrid_scheduler.storage.store import Store
from hybrid_scheduler.studies.compare import Comparison, compare
from hybrid_scheduler.workloads.source import Source
from live_server import DEADLINE, live
from served import Service, serving

pytestmark = pytest.mark.asyncio
SMALL: dict[str, Any] = {
    "schedulers": ["greedy", "eft"],
    "workload": "long_tail",
    "tasks": 60,
    "seeds": 3,
    "num_gpus": 2,
}
ENDLESS: dict[str, Any] = {"schedulers": ["round_robin"], "workload": "mixed", "tasks": 100_000, "seeds": 30}
LINES = b"size,compute_intensity,memory_required,arrival_time\n" + b"".join(
    b"%d,0.%d,%d,%d\n" % (100 + 50 * row, row % 10, 10 + row, row) for row in range(50)
)


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(f"sqlite:///{tmp_path}/hms.db", data_dir=tmp_path / "data") as service:
        yield service


@pytest_asyncio.fixture
async def either(url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """The service on either database."""
    async with serving(url, data_dir=tmp_path / "data") as service:
        yield service


async def ask(service: Service, status: int = 201, **values: Any) -> dict[str, Any]:
    answer = await service.client.post("/api/experiments", json=values)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def until(service: Service, number: int, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(DEADLINE):
        while not wanted(found := await service.get(f"/api/experiments/{number}")):
            await asyncio.sleep(0.02)
    return dict(found)


async def ended(service: Service, number: int) -> dict[str, Any]:
    return await until(service, number, lambda each: each["state"] not in ("queued", "running"))


async def test_an_experiment_gives_what_the_same_comparison_gives(either: Service) -> None:
    service = either
    asked = await ask(service, **SMALL, title="small")
    assert (asked["title"], asked["load"], asked["seeds"], asked["of"]) == ("small", 0.9, [0, 1, 2], 3)
    done = await ended(service, asked["id"])
    assert (done["state"], done["done"], done["error"]) == ("finished", 3, "")
    source = Source("long_tail", 60, None, 0.9)
    result = compare(Comparison(source, ("greedy", "eft"), Cluster.default(2), seeds=(0, 1, 2)))
    best = result.ranking("mean_turnaround")[0]
    assert done["headline"]["scheduler"] == best
    assert done["headline"]["mean_turnaround"] == pytest.approx(result.interval(best, "mean_turnaround").mean)
    run = await service.get(f"/api/runs/{asked['id']}")
    assert (run["kind"], run["status"], run["tasks"]) == ("comparison", "finished", 180)
    stored = [each["measures"]["eft"]["makespan"] for each in run["summary"]["seeds"]]
    assert stored == result.values("eft", "makespan")
    assert (await service.get("/api/runs"))["runs"][0]["headline"] == done["headline"]


async def test_a_tie_is_called_a_tie(service: Service) -> None:
    same = ["oracle", "oracle:step=0.05"]  # which is what it does by default
    asked = await ask(service, **{**SMALL, "schedulers": same})
    headline = (await ended(service, asked["id"]))["headline"]
    assert {headline["scheduler"], *headline["tied"]} == set(same)


async def test_one_runs_at_a_time_and_others_wait_in_order(service: Service) -> None:
    first, second, third = [(await ask(service, **SMALL))["id"] for _ in range(3)]
    page = await service.get("/api/experiments")
    assert [each["id"] for each in page["experiments"]] == [third, second, first]
    states = {each["id"]: (each["state"], each["ahead"]) for each in page["experiments"]}
    assert states[third] == ("queued", page["waiting"] - 1)
    ends = [(await ended(service, number))["ended_at"] for number in (first, second, third)]
    assert ends == sorted(ends)
    assert (await service.get("/api/experiments", limit=2))["next"] == second


async def test_the_queue_is_bounded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_QUEUED", 2)
    for _ in range(2):
        await ask(service, **ENDLESS)
    refused = await ask(service, 409, **SMALL)
    assert refused["error"]["message"] == "2 experiments are queued already: cancel one or wait for one to end"


async def test_what_runs_and_what_waits_can_be_cancelled(service: Service) -> None:
    running, waiting = (await ask(service, **ENDLESS))["id"], (await ask(service, **SMALL))["id"]
    await until(service, running, lambda each: each["state"] == "running" and each["done"] > 0)
    for number in (waiting, running):
        answer = await service.client.delete(f"/api/experiments/{number}")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
        assert (await service.client.delete(f"/api/experiments/{number}")).status_code == 409
    assert (await service.get("/api/experiments"))["waiting"] == 0
    assert (await ended(service, (await ask(service, **SMALL))["id"]))["state"] == "finished"


async def test_what_is_cancelled_at_once_does_not_run(service: Service) -> None:
    number = (await ask(service, **ENDLESS))["id"]
    assert (await service.client.delete(f"/api/experiments/{number}")).json()["state"] == "cancelled"


async def test_an_experiment_whose_process_dies_has_failed_and_the_next_one_runs(service: Service) -> None:
    number = (await ask(service, **ENDLESS))["id"]
    await until(service, number, lambda each: each["done"] > 0)
    process = service.manager.jobs._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    failed = await ended(service, number)
    assert (failed["state"], failed["error"]) == (
        "failed",
        "its process ended with code -9: see the log of the server",
    )
    assert (await ended(service, (await ask(service, **SMALL))["id"]))["state"] == "finished"


async def test_an_error_of_the_comparison_is_told_in_one_line(service: Service, tmp_path: Path) -> None:
    await service.client.post("/api/workloads", params={"name": "t"}, content=LINES)
    blocker = (await ask(service, **ENDLESS))["id"]
    number = (await ask(service, schedulers=["eft"], workload="upload:t", seeds=1))["id"]
    (tmp_path / "data" / "workloads" / "t" / "tasks").write_bytes(LINES + b"\n")
    await service.client.delete(f"/api/experiments/{blocker}")
    failed = await ended(service, number)
    assert failed["state"] == "failed"
    assert "is not the file that was compared (its SHA-256 differs): restore it" in failed["error"]


async def test_an_uploaded_graph_is_compared_and_cannot_be_deleted_meanwhile(service: Service) -> None:
    graph = (
        b"task_id,size,compute_intensity,memory_required,dependencies\n1,900,0.5,1,\n2,900,0.5,1,1\n3,9,0.5,1,1;2\n"
    )
    await service.client.post("/api/workloads", params={"name": "graph"}, content=graph)
    blocker = (await ask(service, **ENDLESS))["id"]
    asked = await ask(service, schedulers=["heft", "eft"], workload="upload:graph", seeds=[4, 2])
    assert asked["workload"].startswith("upload:graph@")
    assert (await service.client.delete("/api/workloads/graph")).status_code == 409
    await service.client.delete(f"/api/experiments/{blocker}")
    done = await ended(service, asked["id"])
    assert (done["state"], done["error"], done["seeds"]) == ("finished", "", [4, 2])
    assert (await service.client.delete("/api/workloads/graph")).status_code == 200


@pytest.mark.parametrize(
    ("status", "values", "why"),
    [
        (422, {"schedulers": []}, "schedulers"),
        (422, {"schedulers": ["nobody"]}, "nobody"),
        (422, {"schedulers": ["./policy.py:choose"]}, "is no scheduler of this server"),
        (422, {"schedulers": ["hybrid_ml:model=/etc/passwd"]}, "is no scheduler of this server"),
        (422, {"seeds": 31}, "seeds"),
        (422, {"seeds": []}, "seeds"),
        (422, {"mode": "other"}, "mode"),
        (422, {"tasks": 0}, "tasks"),
        (422, {"num_gpus": 65}, "num_gpus"),
        (422, {"title": "  "}, "title"),
        (400, {"schedulers": ["eft", "eft"]}, "a scheduler is named twice"),
        (400, {"schedulers": ["eft:nothing=1"]}, "nothing"),
        (400, {"seeds": [1, 1]}, "a seed is named twice: name each once"),
        (400, {"load": 0.5, "rate": 1.0}, "both a load and a rate"),
        (400, {"workload": "mixxed"}, "did you mean 'mixed'"),
        (400, {"workload": "upload:none"}, "there is no workload 'none'"),
        (400, {"workload": "/etc/passwd"}, "unknown preset"),
    ],
)
async def test_what_cannot_be_compared_is_refused_at_once(
    service: Service, status: int, values: dict[str, Any], why: str
) -> None:
    refused = await ask(service, status, **{**SMALL, **values})
    assert why in str(refused["error"])
    assert (await service.get("/api/experiments"))["experiments"] == []


async def test_a_file_is_refused_where_it_does_not_fit(service: Service) -> None:
    graph = (
        b"task_id,size,compute_intensity,memory_required,dependencies\n1,900,0.5,1,\n2,900,0.5,1,1\n3,9,0.5,1,1;2\n"
    )
    await service.client.post("/api/workloads", params={"name": "graph"}, content=graph)
    for values, why in (({"tasks": 2}, "cannot be cut"), ({"load": 0.5}, "arrive at once")):
        refused = await ask(service, 400, schedulers=["eft"], workload="upload:graph", seeds=1, **values)
        assert why in refused["error"]["message"]


async def test_what_a_dead_server_left_is_interrupted_and_what_a_living_one_runs_is_not(url: str) -> None:
    store = await Store.open(url)
    settings = {**SMALL, "seeds": [0], "load": 0.9, "rate": None, "mode": "queued"}
    machine = desk_owner()
    dead = await store.begin_run(
        "comparison", 0, {}, settings, f"{machine}/999999999/dead", None, {"state": "queued"}
    )
    alive = await store.begin_run("comparison", 0, {}, settings, "elsewhere/1/abcd", None, {"state": "running"})
    async with serving(url) as service:
        assert (await service.get(f"/api/experiments/{dead}"))["state"] == "interrupted"
        assert (await service.get(f"/api/experiments/{alive}"))["state"] == "running"
        assert (await service.client.delete(f"/api/experiments/{alive}")).status_code == 409
    await store.close()


def desk_owner() -> str:
    from hybrid_scheduler.server.lifecycle import machine_name

    return machine_name()


async def test_a_server_that_ends_leaves_its_experiments_interrupted(url: str, tmp_path: Path) -> None:
    async with serving(url, data_dir=tmp_path) as service:
        number = (await ask(service, **ENDLESS))["id"]
        await until(service, number, lambda each: each["done"] > 0)
        process = service.manager.jobs._process
        assert process is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    async with serving(url, data_dir=tmp_path) as service:
        left = await service.get(f"/api/experiments/{number}")
        assert left["state"] == "interrupted"
        assert left["done"] > 0


async def test_a_live_run_is_no_experiment(service: Service) -> None:
    await service.start()
    assert await service.refused("/api/experiments/1") == 404
    assert (await service.client.delete("/api/experiments/1")).status_code == 404
    assert await service.refused("/api/experiments/99") == 404


async def test_runs_are_renamed_and_deleted_but_not_the_current_one(either: Service) -> None:
    service = either
    await service.step(20)
    named = await service.client.patch("/api/runs/1", json={"title": "first light"})
    assert named.json()["title"] == "first light"
    assert (await service.client.delete("/api/runs/1")).status_code == 409
    await service.manager.stop()
    assert (await service.client.delete("/api/runs/1")).status_code == 409  # it is still the one that is shown
    ended_line = (await service.get("/api/runs"))["runs"][0]
    assert (ended_line["title"], ended_line["tasks"]) == ("first light", 20)
    assert ended_line["headline"]["scheduler"] in ended_line["schedulers"]
    assert ended_line["duration"] > 0
    await service.start()
    deleted = await service.client.delete("/api/runs/1")
    assert (deleted.status_code, deleted.json()) == (200, {"removed": "run 1"})
    assert [each["id"] for each in (await service.get("/api/runs"))["runs"]] == [2]
    assert (await service.client.patch("/api/runs/1", json={"title": "x"})).status_code == 404
    assert (await service.client.patch("/api/runs/2", json={})).status_code == 422
    assert (await service.client.patch("/api/runs/2", json={"title": None})).json()["title"] is None


async def test_a_web_worker_hands_experiments_on(url: str, redis_url: str, tmp_path: Path) -> None:
    shared: dict[str, Any] = {"redis_url": redis_url, "data_dir": tmp_path}
    async with live(url, **shared) as engine, live(url, **shared, role="web") as worker:
        sent = await worker.client.post("/api/workloads", params={"name": "t"}, content=LINES)
        assert sent.status_code == 201
        assert (await engine.get("/api/workloads"))["workloads"][0]["spec"] == "upload:t"
        asked = await worker.post("/api/experiments", {**ENDLESS, "schedulers": ["search"]}, 201)
        refused = await worker.post("/api/experiments", {**SMALL, "workload": "upload:none"}, 400)
        assert "there is no workload 'none'" in refused["error"]["message"]
        gone = await worker.client.delete(f"/api/experiments/{asked['id']}")
        assert (gone.status_code, gone.json()["state"]) == (200, "cancelled")
        begun = await worker.post("/api/simulation/start", {"preset": "upload:t"})
        assert begun["state"] == "running"
        assert (await worker.client.delete("/api/workloads/t")).status_code == 409
        await worker.post("/api/simulation/stop")
