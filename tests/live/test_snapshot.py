"""What learners report about themselves, and that a plug-in may report anything without doing harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from hybrid_scheduler.learning.insight import AgentHistory, AgentInsight, ForestHistory, ForestInsight, OtherInsight
from hybrid_scheduler.live import ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.snapshot import Analysis, Snapshot, read_history, read_insight
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.server.encoding import encode_json


class Recursive(dict[str, Any]):
    """A dictionary that holds itself."""

    def __init__(self) -> None:
        self["me"] = self


class Odd(Scheduler):
    """A policy with an insight."""

    def __init__(self, reported: Any) -> None:
        self.insight, self.history = reported, ["anything"]


class Raising(Scheduler):
    """A policy whose insight raises."""

    @property
    def insight(self) -> None:
        raise KeyError("nothing known")


def test_learners_report_their_training_and_it_survives_json() -> None:
    live = ContinuousSimulation(LiveSettings(schedulers=("hybrid_ml", "rl_agent", "eft"), load=1.2, pace=None))
    live.step(300)
    live.change(preset="cpu_friendly")
    live.step(200)
    snapshot, analysis = live.snapshot(), live.analysis()
    live.stop()
    forest, agent, none = (each.insight for each in snapshot.schedulers)
    assert isinstance(forest, ForestInsight)
    assert isinstance(agent, AgentInsight)
    assert none is None
    fits, lessons = analysis.histories["hybrid_ml"], analysis.histories["rl_agent"]
    assert isinstance(fits, ForestHistory)
    assert isinstance(lessons, AgentHistory)
    assert list(analysis.histories) == ["hybrid_ml", "rl_agent"]

    assert (forest.beside, forest.version, forest.last_retrain) == (True, len(fits.points), fits.points[-1].task)
    assert sum(forest.feature_importance.values()) == pytest.approx(1.0)
    assert 0 <= forest.share_mae <= 1
    assert forest.seconds_tested == 500
    assert forest.seconds_mae > 0
    assert "drift" in {each.reason for each in fits.points}
    assert [each.task for each in fits.points] == sorted(each.task for each in fits.points)
    assert all(each.seconds > 0 and each.tested > 0 and each.samples > 0 for each in fits.points)

    assert (agent.beside, agent.updates) == (True, agent.version)
    assert 0 < agent.epsilon < 1
    assert (agent.loss, agent.reward < 0) == (lessons.points[-1].loss, True)
    assert agent.steps >= agent.updates > 0
    assert 0 < len(lessons.points) <= 60

    again = TypeAdapter(Snapshot).validate_json(encode_json(snapshot))
    decoded = TypeAdapter(Analysis).validate_json(encode_json(analysis))
    assert [each.insight for each in again.schedulers] == [forest, agent, None]
    assert decoded.histories == analysis.histories


@pytest.mark.parametrize(
    "reported",
    [
        {"a": np.float32(0.5), "b": np.arange(3), "c": float("nan"), "d": None, "e": True},
        {"deep": {"a": {"b": {"c": {"d": 1}}}}},
        {1: {2, 3}, (4, 5): object()},
        {"large": 2**80, "beyond": 10**400},
        {"text": "\ud800", "long": "x" * 100_000, "\ud800": 1},
        {str(number): list(range(10_000)) for number in range(1000)},
        Recursive(),
        "a text",
        [1, 2, 3],
        7,
    ],
)
def test_whatever_a_plug_in_reports_is_shown_and_short(reported: Any) -> None:
    insight = read_insight(Odd(reported))
    assert isinstance(insight, OtherInsight)
    assert len(encode_json(insight)) < 20_000
    assert TypeAdapter(OtherInsight).validate_json(encode_json(insight)).kind == "other"
    assert read_history(Odd(reported)) is None


def test_plain_figures_of_a_plug_in_come_through_as_they_are() -> None:
    reported = {"rate": 0.25, "name": "x", "losses": [1.0, 2.0], "inner": {"a": 1}}
    assert read_insight(Odd(reported)) == OtherInsight(values=reported)


def test_an_insight_that_raises_is_shown_as_an_error() -> None:
    assert read_insight(Raising()) == OtherInsight(values={"error": "KeyError: 'nothing known'"})


def test_a_policy_that_reports_nothing_has_no_insight() -> None:
    assert read_insight(Scheduler()) is None
    assert read_history(Scheduler()) is None


def test_a_plug_in_with_odd_figures_races(tmp_path: Path) -> None:
    policy = tmp_path / "odd.py"
    policy.write_text(
        "from hybrid_scheduler.schedulers.scheduler import Scheduler\n"
        "class Odd(Scheduler):\n"
        "    insight = {'set': {1}, 'nan': float('nan')}\n"
        "    def choose(self, task, view):\n        return 0.0, 0\n"
    )
    live = ContinuousSimulation(LiveSettings(schedulers=(f"{policy}:Odd",)))
    live.step(3)
    insight = live.snapshot().schedulers[0].insight
    live.stop()
    assert isinstance(insight, OtherInsight)
    assert insight.values["set"] == "{1}"
