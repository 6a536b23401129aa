"""What learners tell about themselves, and what anybody else may tell without doing harm."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from hybrid_scheduler.learning.insight import AgentHistory, AgentInsight, ForestHistory, ForestInsight, OtherInsight
from hybrid_scheduler.live import ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.snapshot import Analysis, Snapshot, history_of, insight_of
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.server.messages import Pictures
from hybrid_scheduler.server.relay import revive
from hybrid_scheduler.server.schemas import race as schemas
from hybrid_scheduler.server.schemas.race import SchedulerFigures


class Endless(dict[str, Any]):
    """A dictionary that holds itself."""

    def __init__(self) -> None:
        self["me"] = self


class Odd(Scheduler):
    """A policy that tells something."""

    def __init__(self, told: Any) -> None:
        self.insight, self.history = told, ["anything"]


class Raising(Scheduler):
    """A policy that cannot tell."""

    @property
    def insight(self) -> None:
        raise KeyError("nothing known")


def test_learners_tell_how_they_stand_and_it_survives_json() -> None:
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

    again: Snapshot = revive(Snapshot, orjson.loads(to_bytes(snapshot)))
    pictures: Analysis = revive(Analysis, orjson.loads(to_bytes(analysis)))
    assert [each.insight for each in again.schedulers] == [forest, agent, None]
    assert pictures.histories == analysis.histories
    shown = Pictures.model_validate(asdict(analysis)).histories
    assert {name: len(each.points) for name, each in shown.items()} == {
        "hybrid_ml": len(fits.points),
        "rl_agent": len(lessons.points),
    }
    assert isinstance(SchedulerFigures.model_validate(asdict(snapshot.schedulers[0])).insight, schemas.ForestInsight)


@pytest.mark.parametrize(
    "told",
    [
        {"a": np.float32(0.5), "b": np.arange(3), "c": float("nan"), "d": None, "e": True},
        {"deep": {"a": {"b": {"c": {"d": 1}}}}},
        {1: {2, 3}, (4, 5): object()},
        {"large": 2**80, "beyond": 10**400},
        {"text": "\ud800", "long": "x" * 100_000, "\ud800": 1},
        {str(number): list(range(10_000)) for number in range(1000)},
        Endless(),
        "a text",
        [1, 2, 3],
        7,
    ],
)
def test_whatever_a_plug_in_tells_can_be_shown_and_is_short(told: Any) -> None:
    insight = insight_of(Odd(told))
    assert isinstance(insight, OtherInsight)
    assert len(to_bytes(insight)) < 20_000
    assert revive(OtherInsight, orjson.loads(to_bytes(insight))).kind == "other"
    assert history_of(Odd(told)) is None


def test_plain_figures_of_a_plug_in_come_through_as_they_are() -> None:
    told = {"rate": 0.25, "name": "x", "losses": [1.0, 2.0], "inner": {"a": 1}}
    assert insight_of(Odd(told)) == OtherInsight(values=told)


def test_a_plug_in_that_cannot_tell_says_so() -> None:
    assert insight_of(Raising()) == OtherInsight(values={"error": "KeyError: 'nothing known'"})


def test_who_tells_nothing_has_no_insight() -> None:
    assert insight_of(Scheduler()) is None
    assert history_of(Scheduler()) is None


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
