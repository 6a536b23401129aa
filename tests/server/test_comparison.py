"""The race at this moment."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import pytest
import pytest_asyncio

from hybrid_scheduler import registry
from hybrid_scheduler.server import dependencies
from hybrid_scheduler.server.schemas.race import RankBy
from served import QUICK, Service, serving

PICTURES = (
    "/api/comparison",
    "/api/utilization",
    "/api/matrix/wins",
    "/api/matrix/correlation",
    "/api/distribution/sizes",
    "/api/heatmap",
)
pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(f"sqlite:///{tmp_path}/hms.db") as service:
        yield service


async def test_without_a_simulation_there_is_nothing_to_compare(service: Service) -> None:
    for path in PICTURES:
        assert await service.refused(path) == 409


async def test_the_table_of_schedulers_says_who_races(service: Service) -> None:
    before = await service.get("/api/schedulers")
    assert [each["name"] for each in before] == list(registry.schedulers.table)
    assert not any(each["racing"] for each in before)
    await service.start()
    after = await service.get("/api/schedulers")
    assert {each["name"] for each in after if each["racing"]} == set(QUICK)


async def test_the_table_of_schedulers_says_how_each_is_called_and_drawn(service: Service) -> None:
    spec = "hybrid_ml:retrain_interval=10"
    table = {each["name"]: each for each in await service.get("/api/schedulers", also=spec)}
    assert list(table) == [*registry.schedulers.table, spec]
    assert (table["search"]["label"], table["search"]["kind"]) == ("Search", "clairvoyant search")
    assert table[spec]["label"] == "Hybrid ML (retrain_interval=10)"
    assert table[spec]["style"]["dark"] == table["hybrid_ml"]["style"]["dark"]
    assert table[spec]["style"]["marker"] != table["hybrid_ml"]["style"]["marker"]


async def test_the_ranking_is_sorted_by_what_was_asked_for(service: Service) -> None:
    await service.step(400)
    for by in get_args(RankBy):
        answer = await service.get("/api/comparison", by=by)
        figures = [each["window"][by] for each in answer["ranking"]]
        assert figures == sorted(figures)
        assert [each["rank"] for each in answer["ranking"]] == [1, 2, 3, 4, 5]
        ratios = [each["over_best"] for each in answer["ranking"]]
        assert ratios == pytest.approx([figure / figures[0] for figure in figures])


async def test_the_comparison_is_what_the_race_says_of_itself(service: Service) -> None:
    await service.step(400)
    answer, snapshot = await service.get("/api/comparison"), service.manager.snapshot()
    assert snapshot is not None
    assert (answer["state"], answer["tasks_processed"]) == ("paused", 400)
    assert answer["bound"] == pytest.approx(snapshot.bound)
    totals = {each["name"]: each["energy"] for each in answer["ranking"]}
    assert totals == pytest.approx({each.name: each.energy for each in snapshot.schedulers})
    assert all(each["makespan_over_bound"] >= 1 for each in answer["ranking"])
    assert sum(each["wins"] for each in answer["ranking"]) == 400


async def test_an_unknown_figure_is_refused(service: Service) -> None:
    await service.step(2)
    assert await service.refused("/api/comparison", by="beauty") == 422


async def test_answers_are_kept_for_a_moment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "CACHE_SECONDS", 60.0)
    await service.step(5)
    first = (await service.client.get("/api/comparison")).content
    await service.step(5)
    assert (await service.client.get("/api/comparison")).content == first
    assert (await service.get("/api/comparison", by="cost"))["tasks_processed"] == 10


async def test_another_run_gets_answers_of_its_own(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "CACHE_SECONDS", 60.0)
    await service.step(5)
    await service.get("/api/comparison")
    await service.manager.stop()
    await service.step(3)
    assert (await service.get("/api/comparison"))["tasks_processed"] == 3


async def test_wins_and_losses_add_up(service: Service) -> None:
    await service.step(300)
    answer = await service.get("/api/matrix/wins")
    size = len(answer["schedulers"])
    for a in range(size):
        for b in range(size):
            won, lost = answer["wins"][a][b], answer["wins"][b][a]
            assert won + lost <= answer["tasks"]
            assert answer["share"][a][b] == (won / (won + lost) if won + lost else None)


async def test_the_pictures_are_about_the_same_tasks(service: Service) -> None:
    await service.step(300)
    sizes, heat = await service.get("/api/distribution/sizes"), await service.get("/api/heatmap")
    correlation = await service.get("/api/matrix/correlation")
    assert sum(sizes["counts"]) == sizes["tasks"] == heat["tasks"] == correlation["tasks"]
    assert len(sizes["edges"]) == len(sizes["counts"]) + 1
    for picture in (heat["best_gpu_share"], heat["gpu_wins"]):
        assert [len(picture), len(picture[0])] == [len(heat["size_edges"]) - 1, len(heat["intensity_edges"]) - 1]
        assert all(cell is None or 0 <= cell <= 1 for row in picture for cell in row)
    matrix = correlation["correlation"]
    assert len(matrix) == len(correlation["features"])
    for a, row in enumerate(matrix):
        assert row[a] == 1
        assert all(math.isclose(cell, matrix[b][a]) and abs(cell) <= 1 for b, cell in enumerate(row))


async def test_a_failed_gpu_does_not_count_as_idle(service: Service) -> None:
    await service.step(200)
    await service.manager.change({"failed_gpus": (0, 1, 2, 3)})
    answer = await service.get("/api/utilization")
    assert [each["failed"] for each in answer["devices"]] == [False, True, True, True, True]
    assert {each["gpu"] for each in answer["schedulers"]} == {None}
    assert all(0 <= each["cpu"] <= 1 for each in answer["schedulers"])
    assert {each["name"]: len(each["utilisation"]) for each in answer["schedulers"]} == dict.fromkeys(QUICK, 5)
