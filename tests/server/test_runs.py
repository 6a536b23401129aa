"""Runs: lists, details, resuming, histories, figures with intervals, and comparisons of runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.metrics import bootstrap, bootstrap_paired, bootstrap_unpaired
from hybrid_scheduler.server.job_process import summarize_result
from hybrid_scheduler.storage.rows import Batch
from hybrid_scheduler.studies.compare import Comparison, compare
from hybrid_scheduler.workloads.source import Source
from served import QUICK, Service, serving
from stored import make_results, make_tasks

pytestmark = pytest.mark.asyncio
NAMES = ("greedy", "eft", "oracle")


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(f"sqlite:///{tmp_path}/hms.db", data_dir=tmp_path / "data") as service:
        yield service


@pytest_asyncio.fixture
async def either(url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """The service on either database, for tests of what is stored."""
    async with serving(url, data_dir=tmp_path / "data") as service:
        yield service


async def test_runs_are_listed_newest_first_page_by_page(either: Service) -> None:
    assert await either.get("/api/runs") == {"runs": [], "next": None}
    for _ in range(3):
        await either.start()
        await either.manager.stop()
    first = await either.get("/api/runs", limit=2)
    second = await either.get("/api/runs", limit=2, after=first["next"])
    assert [each["id"] for each in first["runs"] + second["runs"]] == [3, 2, 1]
    assert second["next"] is None
    assert [each["current"] for each in first["runs"]] == [True, False]


async def test_a_run_tells_its_settings_its_changes_and_its_end(either: Service) -> None:
    await either.step(10)
    await either.manager.change({"load": 1.5})
    await either.step(5)
    during = await either.get("/api/runs/1")
    assert (during["status"], during["ended_at"], during["summary"], during["last_task"]) == (
        "running",
        None,
        None,
        14,
    )
    assert during["settings"]["schedulers"] == list(QUICK)
    changes = [each["change"] for each in during["changes"] if "load" in each["change"]]
    assert changes == [{"load": 1.5}]
    await either.manager.stop()
    after = await either.get("/api/runs/1")
    assert after["status"] == "finished"
    assert after["summary"]["snapshot"]["tasks_processed"] == 15


async def test_a_run_that_is_not_there_is_not_found(either: Service) -> None:
    for path in ("/api/runs/1", "/api/runs/1/export"):
        assert await either.refused(path) == 404
    assert (await either.client.post("/api/runs/1/resume")).status_code == 404
    assert await either.refused(f"/api/runs/{2**63}") == 422


async def test_a_stopped_run_can_go_on(either: Service) -> None:
    await either.step(12)
    assert (await either.client.post("/api/runs/1/resume")).status_code == 409  # it is under way
    await either.manager.stop()
    answer = await either.client.post("/api/runs/1/resume")
    assert (answer.status_code, answer.json()) == (200, {"run_id": 1})
    await either.manager.pause()
    await either.manager.step(3)
    await either.flush()
    tasks = (await either.get("/api/tasks", run=1))["tasks"]
    assert [each["task_id"] for each in tasks] == list(range(len(tasks)))
    assert len(tasks) >= 15


@pytest.mark.parametrize(
    ("form", "media"), [("csv", "text/csv; charset=utf-8"), ("parquet", "application/vnd.apache.parquet")]
)
async def test_an_export_is_a_file_to_download(either: Service, form: str, media: str) -> None:
    await either.step(10)
    answer = await either.client.get("/api/runs/1/export", params={"format": form})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media
    assert answer.headers["content-disposition"] == f'attachment; filename="run-1.{form}"'
    assert answer.content[:4] == (b"PAR1" if form == "parquet" else b'"tas')


async def test_an_unknown_format_is_refused(service: Service) -> None:
    await service.step(2)
    assert await service.refused("/api/runs/1/export", format="xlsx") == 422


async def test_before_any_run_both_histories_are_empty(either: Service) -> None:
    assert await either.get("/api/full_history") == []
    assert await either.get("/api/history/comparative") == []


async def test_the_full_history_is_the_latest_thousand_examples_newest_first(either: Service) -> None:
    await either.step(1010)
    records = await either.get("/api/full_history")
    assert [each["task_id"] for each in records] == list(range(1009, 9, -1))
    assert all(0 <= each["optimal_gpu_fraction"] <= 1 and each["optimal_time"] > 0 for each in records)


async def test_the_comparative_history_has_one_result_of_every_scheduler(either: Service) -> None:
    await either.step(30)
    rows = await either.get("/api/history/comparative", limit=10)
    assert [each["task_id"] for each in rows] == [29] * 5 + [28] * 5
    assert {each["scheduler_name"] for each in rows[:5]} == set(QUICK)
    audit = await either.get("/api/tasks/29")
    task, result = audit["task"], rows[0]
    assert {name: result[name] for name in task} == task


async def test_a_limit_out_of_range_or_an_unknown_run_is_refused(service: Service) -> None:
    for limit in (0, -1, 5001, "many"):
        assert await service.refused("/api/history/comparative", limit=limit) == 422
    assert await service.refused("/api/history/comparative", run=5) == 404


async def compared(service: Service, seeds: int = 4, gpus: int = 2, workload: str = "mixed") -> int:
    """Store a comparison as the desk does; return its number."""
    result = compare(
        Comparison(Source(workload, 40, None, 0.9), NAMES, Cluster.default(gpus), seeds=tuple(range(seeds)))
    )
    settings = {"schedulers": list(NAMES), "workload": workload, "load": 0.9, "rate": None, "num_gpus": gpus}
    settings |= {"tasks": 40, "seeds": list(range(seeds)), "mode": "queued"}
    store = service.manager.store
    run_id = await store.begin_run("comparison", 0, {}, settings)
    await store.end_run(run_id, "finished", summarize_result(result), {"state": "", "done": seeds, "of": seeds})
    return run_id


def by_name(figures: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["scheduler"]: row["estimates"] for row in figures["schedulers"]}


async def test_a_comparison_has_intervals_over_its_seeds(either: Service) -> None:
    number = await compared(either)
    figures = await either.get(f"/api/runs/{number}/figures")
    assert (figures["method"], figures["seeds"], figures["tasks"]) == ("seeds", [0, 1, 2, 3], 40)
    assert figures["explanation"] == "95 % bootstrap intervals over 4 seeds"
    stored = (await either.get(f"/api/runs/{number}"))["summary"]["seeds"]
    for name in NAMES:
        for measure, per_task in (("mean_turnaround", 1), ("makespan_over_bound", 1), ("energy", 40)):
            values = [seed["measures"][name][measure] / per_task for seed in stored]
            shown = by_name(figures)[name]["energy_per_task" if measure == "energy" else measure]
            wanted = bootstrap(values)
            assert (shown["mean"], shown["low"], shown["high"], shown["n"]) == pytest.approx(
                (wanted.mean, wanted.low, wanted.high, 4)
            )
    means = [row["estimates"]["mean_turnaround"]["mean"] for row in figures["schedulers"]]
    assert means == sorted(means)
    assert {each["name"] for each in figures["measures"]} == set(by_name(figures)["eft"])


async def test_one_seed_has_no_interval(service: Service) -> None:
    figures = await service.get(f"/api/runs/{await compared(service, seeds=1)}/figures")
    shown = by_name(figures)["eft"]["makespan"]
    assert (shown["low"], shown["high"], shown["n"]) == (None, None, 1)
    assert figures["explanation"] == "one seed, so there is no interval"


async def test_a_live_run_has_intervals_over_batches(either: Service) -> None:
    await either.step(200)
    figures = await either.get("/api/runs/1/figures")
    assert (figures["method"], figures["tasks"], figures["kind"]) == ("batch_means", 200, "live")
    assert figures["explanation"].startswith(
        "95 % bootstrap intervals over the means of 20 batches, the first 1 dropped"
    )
    rows = (await either.get("/api/history/comparative", run=1, limit=5000))[::-1]
    for name in QUICK:
        own = [row for row in rows if row["scheduler_name"] == name]
        turnaround = np.array([row["turnaround_time"] for row in own]).reshape(20, 10)[1:]
        shown = by_name(figures)[name]
        wanted = bootstrap(turnaround.mean(axis=1).tolist())
        assert (shown["mean_turnaround"]["mean"], shown["mean_turnaround"]["high"]) == pytest.approx(
            (wanted.mean, wanted.high)
        )
        assert shown["p95_turnaround"]["mean"] == pytest.approx(turnaround.max(axis=1).mean())
        assert shown["makespan_over_bound"]["mean"] >= 1.0
        assert shown["makespan"]["n"] == 1
        assert shown["decision_seconds"]["mean"] > 0
    await either.manager.stop()
    after = by_name(await either.get("/api/runs/1/figures"))
    assert after["eft"]["makespan"] == by_name(figures)["eft"]["makespan"]


async def test_an_interrupted_run_has_the_figures_of_its_rows(either: Service) -> None:
    store = either.manager.store
    run_id = await store.begin_run("live", 0, {}, {"schedulers": ["greedy"], "preset": "mixed"})
    await store.write(Batch(run_id, (make_tasks(0, 100),), (make_results("greedy", 0, 100),)))
    await store.mark_interrupted()
    shown = by_name(await either.get(f"/api/runs/{run_id}/figures"))["greedy"]
    assert shown["mean_turnaround"]["n"] == 19
    assert shown["mean_turnaround"]["mean"] == pytest.approx(np.arange(5, 100).mean() + 0.4)
    assert "makespan" not in shown


async def test_what_has_no_figures_yet_says_so(either: Service) -> None:
    store = either.manager.store
    live = await store.begin_run("live", 0, {}, {"schedulers": ["greedy"]})
    waiting = await store.begin_run("comparison", 0, {}, {"seeds": [0]}, progress={"state": "queued"})
    for number, why in ((live, "has no stored results yet"), (waiting, f"experiment {waiting} is queued")):
        answer = await either.client.get(f"/api/runs/{number}/figures")
        assert answer.status_code == 409
        assert why in answer.json()["error"]["message"]
    assert await either.refused("/api/runs/99/figures") == 404


async def test_the_same_seeds_and_tasks_are_compared_in_pairs(service: Service) -> None:
    one, two = await compared(service, gpus=2), await compared(service, gpus=2)
    found = await service.get("/api/compare", runs=f"{one},{two}")
    assert found["baseline"] == one
    assert [each["run_id"] for each in found["runs"]] == [one, two]
    exact = [each for each in found["differences"] if each["measure"] != "decision_seconds"]
    assert len(exact) == len(NAMES) * 8
    assert all(each["paired"] and each["mean"] == each["low"] == each["high"] == 0.0 for each in exact)
    assert not any(each["differs"] for each in exact)
    assert found["notes"] == []


async def test_other_seeds_or_tasks_are_compared_apart(service: Service) -> None:
    one, two, three = await compared(service), await compared(service, gpus=4), await compared(service, seeds=3)
    found = await service.get("/api/compare", runs=f"{one},{two},{three}")
    assert not any(each["paired"] for each in found["differences"])
    assert {each["run_id"] for each in found["differences"]} == {two, three}
    assert "the runs have different numbers of GPUs" in found["notes"]
    first, other = found["runs"][0], found["runs"][1]
    row = next(
        each
        for each in found["differences"]
        if (each["run_id"], each["scheduler"], each["measure"]) == (two, "eft", "makespan")
    )
    before = by_name(first)["eft"]["makespan"]["mean"]
    assert row["mean"] == pytest.approx(by_name(other)["eft"]["makespan"]["mean"] - before)
    assert row["relative"] == pytest.approx(row["mean"] / before)
    assert row["differs"] == (row["low"] > 0 or row["high"] < 0)


async def test_a_live_run_beside_a_comparison_says_that_they_are_measured_differently(service: Service) -> None:
    await service.step(60)
    number = await compared(service)
    found = await service.get("/api/compare", runs=f"1,{number}")
    assert any("measured differently" in each for each in found["notes"])
    assert {each["scheduler"] for each in found["differences"]} == {"greedy", "eft", "oracle"}
    alone = [each for each in found["differences"] if each["measure"] == "makespan"]
    assert all(each["low"] is None and not each["differs"] for each in alone)


@pytest.mark.parametrize(
    ("runs", "status"),
    [("1", 400), ("1,1", 400), ("1,2,3,4,5,6,7,8,9", 400), ("", 422), ("1,x", 422), ("1,", 422), ("1,99", 404)],
)
async def test_what_cannot_be_compared_is_refused(service: Service, runs: str, status: int) -> None:
    await compared(service, seeds=1)
    assert await service.refused("/api/compare", runs=runs) == status


async def test_the_difference_of_unrelated_samples_is_wider_than_that_of_pairs() -> None:
    drawn = np.random.default_rng(0)
    luck = drawn.normal(10.0, 3.0, 20)
    ours, theirs = (luck + 1.0).tolist(), luck.tolist()
    together, apart = bootstrap_paired(ours, theirs), bootstrap_unpaired(ours, theirs)
    assert together.mean == pytest.approx(apart.mean) == pytest.approx(1.0)
    assert together.high - together.low < 0.01
    assert apart.low < 0 < apart.high
    many = bootstrap_unpaired(drawn.normal(2.0, 1.0, 400).tolist(), drawn.normal(0.0, 1.0, 400).tolist())
    half = 1.96 * np.sqrt(2 / 400)
    assert (many.high - many.low) / 2 == pytest.approx(half, rel=0.1)
    assert bootstrap_unpaired([1.0], [3.0, 4.0]).low == -2.5
