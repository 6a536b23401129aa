"""Shared clusters over REST: a simulation says who held what when, and the same request gets the same answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hybrid_scheduler.core.spot import LEAVE, NOTICE, RETURN, build_departures
from hybrid_scheduler.server.routes.clusters import list_absences
from hybrid_scheduler.studies.jobs import JobStudy, run_jobs, save_jobs
from served import Service, serving

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(f"sqlite:///{tmp_path}/hms.db", data_dir=tmp_path / "data") as service:
        yield service


async def test_a_run_has_nodes_jobs_and_a_stint_for_every_gpu(service: Service) -> None:
    run = await service.get("/api/clusters/run", workload="training_jobs", order="las", jobs=20, seed=3, spot=0.5)
    assert run["policy"] == "las"
    assert sum(node["gpus"] for node in run["nodes"]) == 128
    assert {node["model"] for node in run["nodes"]} == {"A100", "T4", "V100"}
    for row, job in enumerate(run["jobs"]):
        own = [each for each in run["stints"] if each["job"] == row]
        assert len(own) == job["gpus"] * (job["interruptions"] + 1)
        assert all(0 <= each["gpu"] < run["nodes"][each["node"]]["gpus"] for each in own)
        assert max(each["end"] for each in own) == pytest.approx(job["finish"], rel=1e-5)
    assert run["absences"]
    assert run["measures"]["makespan_over_bound"] >= 1
    assert run == await service.get(
        "/api/clusters/run", workload="training_jobs", order="las", jobs=20, seed=3, spot=0.5
    )


async def test_jobs_without_gpus_hold_cores(service: Service) -> None:
    run = await service.get("/api/clusters/run", workload="cluster_batch", order="sjf", jobs=10)
    assert run["policy"] == "sjf+easy"
    assert {each["gpu"] for each in run["stints"]} == {None}


async def test_what_can_be_simulated_is_listed_and_nothing_else_is_taken(service: Service) -> None:
    options = await service.get("/api/clusters")
    queues = {each["name"]: each["queue"] for each in options["orders"]}
    assert queues["fcfs"]
    assert not queues["max_min_fairness"]
    assert "hybrid_ml" not in queues, "there is no past to learn from"
    assert await service.refused("/api/clusters/run", order="fcsf") == 400
    assert await service.refused("/api/clusters/run", workload="/etc/passwd") == 400
    assert await service.refused("/api/clusters/run", jobs=options["most_jobs"] + 1) == 422


async def test_larger_runs_come_in_pages_that_together_hold_every_stint(service: Service) -> None:
    wanted = {"workload": "cluster_batch", "jobs": 450}
    whole = [await service.get("/api/clusters/run", **wanted, page=page) for page in range(3)]
    assert [(run["page"], run["pages"], run["total_jobs"]) for run in whole] == [(page, 3, 450) for page in range(3)]
    assert [run["begin"] for run in whole[1:]] == [run["end"] for run in whole[:-1]]
    jobs = {run["jobs"][each["job"]]["job"] for run in whole for each in run["stints"]}
    assert jobs == set(range(450))
    for run in whole:
        assert all(each["begin"] < run["end"] and each["end"] > run["begin"] for each in run["stints"])
    assert len({str(run["measures"]) for run in whole}) == 1, "measures are those of the whole run"
    assert await service.get("/api/clusters/run", **wanted, page=9) == whole[2]


async def test_kept_runs_are_listed_and_shown_again(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "jobs"
    study = JobStudy.read(
        ["training_jobs"], orders=("fcfs", "las"), backfilling=("easy",), window_jobs=20, seeds=(3, 4)
    )
    result = run_jobs(study)
    folder.mkdir(parents=True)
    save_jobs(result, folder / "mine", ["hms", "jobs"])
    save_jobs(result, folder / "bad", ["hms", "jobs"])
    (folder / "bad" / "result.json").write_text("{", encoding="utf-8")
    (folder / "empty").mkdir()
    [kept] = (await service.get("/api/clusters"))["kept"]
    expected = {"name": "mine", "source": "training_jobs", "policies": ["fcfs+easy", "las"]}
    assert kept == {**expected, "windows": ["seed 3", "seed 4"]}
    shown = await service.get("/api/clusters/run", kept="mine", policy="las", window=1)
    assert shown["policy"] == "las"
    assert shown["title"].startswith("training_jobs, seed 4: 20 jobs on 16 nodes")
    slowdown = result.values("las", "bounded_slowdown")[1]
    assert shown["measures"]["bounded_slowdown"] == pytest.approx(slowdown, rel=1e-6)
    for wrong in ({"kept": "../mine"}, {"kept": "mine", "policy": "sjf"}, {"kept": "mine", "window": 2}):
        assert await service.refused("/api/clusters/run", **wrong) == 400


async def test_absences_end_with_the_run() -> None:
    lines = [
        (1.0, 0, NOTICE),
        (2.0, 0, LEAVE),
        (3.0, 0, RETURN),
        (8.0, 0, NOTICE),
        (9.0, 0, LEAVE),
        (10.0, 0, RETURN),
    ]
    assert list_absences(build_departures(lines), 5.0) == [{"node": 0, "notice": 1.0, "leave": 2.0, "back": 3.0}]
