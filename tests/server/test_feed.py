"""The live feed keeps the last tasks and their explanations."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_scheduler.core.placements import WAITING
from hybrid_scheduler.live import ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.simulation import ExplanationLimiter, RaceEvent
from hybrid_scheduler.live.snapshot import TaskResult
from hybrid_scheduler.server import feed as feed_module
from hybrid_scheduler.server.feed import Feed


def run_race(count: int, pace: float, **settings: Any) -> list[RaceEvent]:
    blocks: list[RaceEvent] = []
    live = ContinuousSimulation(LiveSettings(pace=pace, **settings), [blocks.append])
    live._limiter = ExplanationLimiter(clock=lambda: 0.0)  # explaining takes no time, however busy the machine is
    live.step(count)
    live.stop()
    return blocks


def test_of_many_explained_tasks_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "EXPLAINED", 5)
    monkeypatch.setattr(feed_module, "RECENT", 10)
    feed = Feed()
    for block in run_race(20, 20.0, schedulers=("eft",)):
        feed(block)
    found = {number: feed.find_task(number) for number in range(20)}
    explained = [number for number, each in found.items() if each and each.explanations]
    assert explained == list(range(10, 20))  # whole blocks
    assert list(feed._explained) == list(range(15, 20))


def test_explanations_outlive_the_last_tasks() -> None:
    feed = Feed()
    feed._recent = feed_module.Tail(20)
    for block in run_race(100, 200.0, schedulers=("eft",)):  # ten blocks of ten
        feed(block)
    kept = [number for number in range(100) if feed.find_task(number) is not None]
    assert kept == [*range(0, 80, 10), *range(80, 100)]


def test_records_are_marked_where_explanations_are_kept() -> None:
    feed = Feed()
    for block in run_race(40, 200.0, schedulers=("eft",)):
        feed(block)
    assert [each.task_id for each in feed.news().records if each.explained] == [0, 10, 20, 30]


def test_a_task_that_is_shown_while_it_waits_is_shown_again_once_it_has_started() -> None:
    feed = Feed()
    shown: dict[int, dict[str, TaskResult]] = {}
    spans: list[tuple[str, int]] = []
    for block in run_race(200, 100.0, schedulers=("eft", "least_increase"), load=1.5):
        feed(block)
        news = feed.news()
        shown |= {record.task_id: dict(record.results) for record in news.records}
        for update in news.updates:
            assert all(shown[update.task_id][name].status == WAITING for name in update.results)
            shown[update.task_id] |= update.results
        spans += [(each.scheduler, each.task_id) for each in news.spans]
    waiting = {task for task, results in shown.items() if results["least_increase"].status == WAITING}
    assert 0 < len(waiting) < 60
    assert sorted(spans) == sorted(
        (name, task)
        for task in range(200)
        for name in ("eft", "least_increase")
        if name == "eft" or task not in waiting
    )
    for task, results in shown.items():
        found = feed.find_task(task)
        assert found is not None
        for name, result in results.items():
            assert found.record.results[name].status == result.status
            if result.status != WAITING:
                assert found.record.results[name].finish == pytest.approx(result.finish, abs=1e-4)
