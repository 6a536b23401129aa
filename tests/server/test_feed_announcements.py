"""The console tells where tasks go; a refit is told to people, but not each of many."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.simulation import ContinuousSimulation
from hybrid_scheduler.server.feed import NOTICE_SECONDS, Announcer
from live_server import live


def test_placements_are_told_once_and_devices_are_called_as_people_call_them() -> None:
    race = ContinuousSimulation(LiveSettings(schedulers=("round_robin", "greedy"), pace=None))
    race.step(3)
    announcer, snapshot = Announcer(), race.snapshot()
    lines = list(announcer.describe_placements(snapshot))
    assert [line.split(" by ")[1] for line in lines] == ["round_robin", "greedy"]
    assert all(line.startswith(("Task 2 assigned to GPU ", "Task 2 assigned to CPU ")) for line in lines)
    assert list(announcer.describe_placements(snapshot)) == []
    race.stop()


def test_a_placement_on_a_device_that_is_gone_since_is_not_told() -> None:
    race = ContinuousSimulation(LiveSettings(schedulers=("round_robin",), pace=None))
    race.step(1)
    while (latest := race.snapshot().latest) is not None and latest.results["round_robin"].device < 2:
        race.step(1)
    race.change(num_gpus=1)
    assert list(Announcer().describe_placements(race.snapshot())) == []
    race.stop()


def test_a_refit_is_told_and_the_next_one_only_after_a_while() -> None:
    race = ContinuousSimulation(LiveSettings(schedulers=("hybrid_ml:model=none",), pace=None))
    seconds = [0.0]
    announcer = Announcer(lambda: seconds[0])
    race.step(5)
    assert announcer.describe_fits(race.snapshot()) == []
    race.step(60)
    (line,) = announcer.describe_fits(race.snapshot())
    assert line.startswith("Model Retrained: hybrid_ml:model=none, fit ")
    assert [announcer.is_due(), announcer.is_due()] == [True, False]
    seconds[0] += NOTICE_SECONDS
    assert announcer.is_due()
    race.stop()


@pytest.mark.asyncio
async def test_the_console_of_a_running_server_shows_placements(tmp_path: Any) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served, served.watch() as client:
        line = await client.next("log")
        while "assigned to" not in line["message"]:
            line = await client.next("log")
        assert (line["level"], line["source"]) == ("DEBUG", "race")
