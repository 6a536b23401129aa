"""Frames have as many digits as can be seen, REST has all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from hybrid_scheduler.live import ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.simulation import RaceEvent
from hybrid_scheduler.live.snapshot import build_task_records
from hybrid_scheduler.server import websocket
from hybrid_scheduler.server.encoding import encode_json, round_figure, round_figures, round_time
from hybrid_scheduler.server.feed import Feed
from hybrid_scheduler.server.schemas.messages import schema

MOMENTS = ("start", "finish", "arrival_time")


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from numbers(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each, name)
    elif isinstance(value, float):
        yield name, value


def test_figures_have_six_digits_and_moments_four_decimals() -> None:
    values = (0.0, 1234567.8, 0.000123456789, -2.5, math.inf)
    assert [round_figure(each) for each in values] == [0.0, 1234570.0, 0.000123457, -2.5, math.inf]
    assert round_time(1234567.890123) == 1234567.8901
    assert math.isnan(round_figure(math.nan))
    assert math.isnan(round_time(math.nan))


def test_what_is_no_number_stays_as_it_is() -> None:
    assert round_figures({"a": [1, "x", None, True, 1.23456789], "b": (2**60,)}) == {
        "a": [1, "x", None, True, 1.23457],
        "b": [2**60],
    }


@pytest.fixture(scope="module")
def race() -> tuple[dict[str, Any], list[RaceEvent]]:
    """A frame as it is sent, and the blocks that it is made of."""
    feed, blocks = Feed(), list[RaceEvent]()
    live = ContinuousSimulation(LiveSettings(schedulers=("eft", "greedy"), pace=200.0), [feed, blocks.append])
    live.step(90)
    frame = websocket.build_update(1, live.snapshot(), feed.news(), live.analysis())
    live.stop()
    return orjson.loads(encode_json(frame)), blocks


def test_no_figure_of_a_frame_has_digits_that_nobody_can_see(race: tuple[dict[str, Any], list[RaceEvent]]) -> None:
    frame, _ = race
    seen = [
        pair for name in ("records", "latest_results", "schedulers", "comparison") for pair in numbers(frame[name])
    ]
    assert len(seen) > 1000
    for name, value in seen:
        assert value == (round(value, 4) if name in MOMENTS else float(f"{value:.6g}")), name


def test_records_of_a_frame_are_the_exact_ones_rounded(race: tuple[dict[str, Any], list[RaceEvent]]) -> None:
    frame, blocks = race
    exact = [record for block in blocks if block.placed for record in build_task_records(block.placed)][-50:]
    assert [each["task_id"] for each in frame["records"]] == [each.task_id for each in exact]
    for short, record in zip(frame["records"], orjson.loads(encode_json(exact)), strict=True):
        for (name, rough), (_, value) in zip(numbers(short), numbers(record), strict=True):
            assert rough == pytest.approx(value, rel=1e-5, abs=1e-4 if name in MOMENTS else 0.0), name
    assert frame["latest_results"] == frame["records"][-1]["results"]


def test_the_settings_of_a_frame_are_described() -> None:
    made = schema()["$defs"]
    assert made["SimulationUpdate"]["properties"]["settings"] == {"$ref": "#/$defs/LiveSettings"}
    assert {"load", "pace", "failed_gpus"} <= set(made["LiveSettings"]["properties"])
