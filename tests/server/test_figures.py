"""Figures of runs and runs side by side are what the definitions say, on stored rows with known values."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.metrics import bootstrap, paired, unpaired
from hybrid_scheduler.server.job_process import summary_of
from hybrid_scheduler.storage.rows import Batch
from hybrid_scheduler.studies.compare import Comparison, compare
from hybrid_scheduler.workloads.source import Source
from served import QUICK, Service, serving
from stored import results_of, tasks_of

pytestmark = pytest.mark.asyncio
NAMES = ("greedy", "eft", "oracle")


@pytest_asyncio.fixture
async def service(url: str, tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(url, data_dir=tmp_path) as service:
        yield service


async def compared(service: Service, seeds: int = 4, gpus: int = 2, workload: str = "mixed") -> int:
    """Store a comparison as the desk does; return its number."""
    result = compare(
        Comparison(Source(workload, 40, None, 0.9), NAMES, Cluster.default(gpus), seeds=tuple(range(seeds)))
    )
    settings = {"schedulers": list(NAMES), "workload": workload, "load": 0.9, "rate": None, "num_gpus": gpus}
    settings |= {"tasks": 40, "seeds": list(range(seeds)), "mode": "queued"}
    store = service.manager.store
    run_id = await store.begin_run("comparison", 0, {}, settings)
    await store.end_run(run_id, "finished", summary_of(result), {"state": "", "done": seeds, "of": seeds})
    return run_id


def by_name(figures: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["scheduler"]: row["estimates"] for row in figures["schedulers"]}


async def test_a_comparison_has_intervals_over_its_seeds(service: Service) -> None:
    number = await compared(service)
    figures = await service.get(f"/api/runs/{number}/figures")
    assert (figures["method"], figures["seeds"], figures["tasks"]) == ("seeds", [0, 1, 2, 3], 40)
    assert figures["explanation"] == "95 % bootstrap intervals over 4 seeds"
    stored = (await service.get(f"/api/runs/{number}"))["summary"]["seeds"]
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


async def test_a_live_run_has_intervals_over_batches(service: Service) -> None:
    await service.step(200)
    figures = await service.get("/api/runs/1/figures")
    assert (figures["method"], figures["tasks"], figures["kind"]) == ("batch_means", 200, "live")
    assert figures["explanation"].startswith(
        "95 % bootstrap intervals over the means of 20 batches, the first 1 dropped"
    )
    rows = (await service.get("/api/history/comparative", run=1, limit=5000))[::-1]
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
    await service.manager.stop()
    after = by_name(await service.get("/api/runs/1/figures"))
    assert after["eft"]["makespan"] == by_name(figures)["eft"]["makespan"]


async def test_an_interrupted_run_has_the_figures_of_its_rows(service: Service) -> None:
    store = service.manager.store
    run_id = await store.begin_run("live", 0, {}, {"schedulers": ["greedy"], "preset": "mixed"})
    await store.write(Batch(run_id, (tasks_of(0, 100),), (results_of("greedy", 0, 100),)))
    await store.mark_interrupted()
    shown = by_name(await service.get(f"/api/runs/{run_id}/figures"))["greedy"]
    assert shown["mean_turnaround"]["n"] == 19
    assert shown["mean_turnaround"]["mean"] == pytest.approx(np.arange(5, 100).mean() + 0.4)
    assert "makespan" not in shown


async def test_what_has_no_figures_yet_says_so(service: Service) -> None:
    store = service.manager.store
    live = await store.begin_run("live", 0, {}, {"schedulers": ["greedy"]})
    waiting = await store.begin_run("comparison", 0, {}, {"seeds": [0]}, progress={"state": "queued"})
    for number, why in ((live, "has no stored results yet"), (waiting, f"experiment {waiting} is queued")):
        answer = await service.client.get(f"/api/runs/{number}/figures")
        assert answer.status_code == 409
        assert why in answer.json()["error"]["message"]
    assert await service.refused("/api/runs/99/figures") == 404


async def test_the_same_seeds_and_tasks_are_compared_in_pairs(service: Service) -> None:
    one, two = await compared(service, gpus=2), await compared(service, gpus=2)
    found = await service.get("/api/compare", runs=f"{one},{two}")
    assert found["baseline"] == one
    assert [each["run_id"] for each in found["runs"]] == [one, two]
    exact = [each for each in found["differences"] if each["measure"] != "decision_seconds"]
    assert len(exact) == len(NAMES) * 7
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
    together, apart = paired(ours, theirs), unpaired(ours, theirs)
    assert together.mean == pytest.approx(apart.mean) == pytest.approx(1.0)
    assert together.high - together.low < 0.01
    assert apart.low < 0 < apart.high
    many = unpaired(drawn.normal(2.0, 1.0, 400).tolist(), drawn.normal(0.0, 1.0, 400).tolist())
    half = 1.96 * np.sqrt(2 / 400)
    assert (many.high - many.low) / 2 == pytest.approx(half, rel=0.1)
    assert unpaired([1.0], [3.0, 4.0]).low == -2.5
