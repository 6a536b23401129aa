"""Why: a scheduler is asked before it decides, says what it then does, and the race never notices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.live import Block, ContinuousSimulation, LiveSettings
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.settings import SIX
from hybrid_scheduler.live.simulation import A_SECOND, SHARE, Asking
from hybrid_scheduler.schedulers.explain import Explanation

ALL = (*SIX, "eft", "price", "min_min")
REASON = {"eft": Explanation(1.0, 1, "a rule", (), {})}


class Clock:
    """A clock that is set by hand; asking takes as long as it is told."""

    def __init__(self) -> None:
        self.now, self.takes = 0.0, 0.0

    def __call__(self) -> float:
        return self.now

    def answer(self) -> dict[str, Explanation]:
        self.now += self.takes
        return REASON


@pytest.mark.parametrize("size", [1, 10])
def test_what_a_scheduler_says_is_what_it_then_does(size: int) -> None:
    race = LiveRace(LiveSettings(schedulers=ALL, load=1.2))
    for _ in range(60 // size):
        tasks = race.stream.take(size)
        reasons = race.explain(tasks)
        placed = race.place(tasks, reasons)
        for name, each in placed.placements.items():
            assert each.status[0] == RAN
            assert (reasons[name].gpu_fraction, reasons[name].device) == each.decision(0), name
            assert [one.device for one in reasons[name].candidates if one.chosen] == [reasons[name].device]
        for name in ("eft", "oracle"):  # they know the true times
            assert reasons[name].expected_finish == pytest.approx(placed.placements[name].finish[0])
            assert reasons[name].expected_time == pytest.approx(placed.placements[name].execution[0])
        assert np.isfinite(reasons["hybrid_ml"].expected_time)
        for name in ("round_robin", "random", "greedy", "rl_agent"):  # they predict no times
            assert np.isnan(reasons[name].expected_time)
            assert np.isnan(reasons[name].expected_finish)
    race.close()


def test_asking_leaves_no_trace() -> None:
    finishes = []
    for ask in (False, True):
        race = LiveRace(LiveSettings(schedulers=ALL, load=1.2, seed=5))
        kept = []
        for _ in range(25):
            tasks = race.stream.take(7)
            placed = race.place(tasks, race.explain(tasks) if ask else None)
            kept.append({name: each.finish.tolist() for name, each in placed.placements.items()})
        race.close()
        finishes.append(kept)
    assert finishes[0] == finishes[1]


def test_a_task_that_does_not_fit_is_explained_by_where_its_scheduler_wanted_it() -> None:
    race = LiveRace(LiveSettings(schedulers=("greedy",)))
    (tasks,) = [race.stream.take(1)]
    tasks.memory_required[:] = 1e6
    reason = race.explain(tasks)["greedy"]
    assert reason.device in race.settings.cluster.gpus
    assert race.place(tasks).placements["greedy"].gpu[0] == -1


def test_who_cannot_say_why_races_all_the_same(tmp_path: Path) -> None:
    policy = tmp_path / "silent.py"
    policy.write_text(
        "from hybrid_scheduler.schedulers.scheduler import Scheduler\n"
        "class Silent(Scheduler):\n"
        "    def choose(self, task, view):\n        return 0.0, 0\n"
        "    def scores(self, task, view):\n        raise ZeroDivisionError('never asked that')\n"
    )
    live = ContinuousSimulation(LiveSettings(schedulers=("eft", f"{policy}:Silent")))
    blocks: list[Block] = []
    live.sinks.append(blocks.append)
    live.step(3)
    live.stop()
    for block in blocks:
        assert block.placed is not None
        assert block.placed.reasons["eft"].rule
        assert "ZeroDivisionError: never asked that" in block.placed.reasons[f"{policy}:Silent"].rule


def test_at_the_usual_pace_every_task_is_explained_and_at_full_speed_one_of_a_block() -> None:
    for settings, explained in (({}, 20), ({"pace": 100.0}, 4), ({"pace": None}, 1)):
        live = ContinuousSimulation(LiveSettings(schedulers=("eft",), **settings))
        blocks: list[Any] = []
        live.sinks.append(blocks.append)
        live.step(20)
        live.stop()
        assert len([block for block in blocks if block.placed.reasons]) == explained


def test_a_race_with_time_to_spare_may_always_ask_at_the_usual_pace() -> None:
    clock = Clock()
    asking, clock.takes = Asking(clock), 0.02
    for _ in range(500):
        assert asking.ask(clock.answer, hurried=False) == REASON
        clock.now += 0.03  # and so 20 a second


def test_there_is_an_end_to_questions_even_if_they_cost_nothing() -> None:
    clock = Clock()
    asking = Asking(clock)
    answers = 0
    for _ in range(10_000):
        answers += bool(asking.ask(clock.answer, hurried=True))
        clock.now += 0.001
    assert answers == pytest.approx(10 * A_SECOND, rel=0.15)


@pytest.mark.parametrize("takes", [0.004, 0.05])
def test_a_hurried_race_gives_a_small_share_of_its_time_to_questions(takes: float) -> None:
    clock = Clock()
    asking, clock.takes = Asking(clock), takes
    spent = 0.0
    while clock.now < 100.0:
        spent += takes if asking.ask(clock.answer, hurried=True) else 0.0
        clock.now += 0.002
    assert 0.8 * SHARE < spent / clock.now < 1.1 * SHARE


def test_a_gpu_that_has_failed_is_no_candidate() -> None:
    race = LiveRace(LiveSettings(schedulers=("eft", "greedy", "round_robin"), failed_gpus=(1,)))
    reasons = race.explain(race.stream.take(1))
    for each in reasons.values():
        assert [candidate.device for candidate in each.candidates] == [0, 1, 3, 4]
