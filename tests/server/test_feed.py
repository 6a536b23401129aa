"""The live feed keeps the last tasks and their explanations."""

from __future__ import annotations

import pytest

from hybrid_scheduler.live import ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.simulation import ExplanationLimiter, RaceEvent
from hybrid_scheduler.server import feed as feed_module
from hybrid_scheduler.server.feed import Feed


def run_race(count: int, pace: float) -> list[RaceEvent]:
    blocks: list[RaceEvent] = []
    live = ContinuousSimulation(LiveSettings(schedulers=("eft",), pace=pace), [blocks.append])
    live._limiter = ExplanationLimiter(clock=lambda: 0.0)  # explaining takes no time, however busy the machine is
    live.step(count)
    live.stop()
    return blocks


def test_of_many_explained_tasks_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "EXPLAINED", 5)
    monkeypatch.setattr(feed_module, "RECENT", 10)
    feed = Feed()
    for block in run_race(20, 20.0):
        feed(block)
    found = {number: feed.find_task(number) for number in range(20)}
    explained = [number for number, each in found.items() if each and each.explanations]
    assert explained == list(range(10, 20))  # whole blocks
    assert list(feed._explained) == list(range(15, 20))


def test_explanations_outlive_the_last_tasks() -> None:
    feed = Feed()
    feed._recent = feed_module.Tail(20)
    for block in run_race(100, 200.0):  # ten blocks of ten
        feed(block)
    kept = [number for number in range(100) if feed.find_task(number) is not None]
    assert kept == [*range(0, 80, 10), *range(80, 100)]


def test_records_are_marked_where_explanations_are_kept() -> None:
    feed = Feed()
    for block in run_race(40, 200.0):
        feed(block)
    assert [each.task_id for each in feed.news().records if each.explained] == [0, 10, 20, 30]
