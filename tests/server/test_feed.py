"""The live feed keeps the last tasks and their explanations."""

from __future__ import annotations

import pytest

from hybrid_scheduler.live import ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.simulation import ExplanationLimiter, RaceEvent
from hybrid_scheduler.server import feed
from hybrid_scheduler.server.feed import Feed


def blocks_of(count: int, pace: float) -> list[RaceEvent]:
    blocks: list[RaceEvent] = []
    live = ContinuousSimulation(LiveSettings(schedulers=("eft",), pace=pace), [blocks.append])
    live._limiter = ExplanationLimiter(clock=lambda: 0.0)  # asking takes no time, however busy the machine is
    live.step(count)
    live.stop()
    return blocks


async def test_of_many_explained_tasks_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "EXPLAINED", 5)
    monkeypatch.setattr(feed, "RECENT", 10)
    told = Feed()
    for block in blocks_of(20, 20.0):
        told(block)
    found = {number: told.find_task(number) for number in range(20)}
    assert [number for number, each in found.items() if each and each.explanations] == list(
        range(10, 20)
    )  # in blocks
    assert list(told._explained) == list(range(15, 20))


async def test_reasons_outlive_the_last_tasks() -> None:
    told = Feed()
    told._recent = feed.Tail(20)
    for block in blocks_of(100, 200.0):  # ten blocks of ten
        told(block)
    kept = [number for number in range(100) if told.find_task(number) is not None]
    assert kept == [*range(0, 80, 10), *range(80, 100)]


async def test_records_are_marked_where_reasons_are_kept() -> None:
    told = Feed()
    for block in blocks_of(40, 200.0):
        told(block)
    assert [each.task_id for each in told.news().records if each.explained] == [0, 10, 20, 30]
