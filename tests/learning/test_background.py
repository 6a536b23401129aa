"""Training in the background gives the same models as in the foreground, only later; a dead process is reported."""

from __future__ import annotations

import copy
import importlib
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning import background as learning
from hybrid_scheduler.learning.background import AS_READY, MAX_BEHIND, BackgroundProcess, TrainingLoop
from hybrid_scheduler.learning.forest import ForestModels, ForestTrainer, ShareObservation
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from hybrid_scheduler.schedulers.scheduler import Scheduler
from instances import workload
from real_tasks import Counter


def new_trainer() -> ForestTrainer:
    return ForestTrainer(interval=20, window=200, n_estimators=5, max_depth=4, tolerance=0.0, seed=1)


def blocks(count: int) -> list[ShareObservation]:
    tasks = workload("mixed", 20 * count)
    placements = VirtualMultiGPU().run(tasks, HybridML(online=False))
    whole = ShareObservation.from_placements(placements)
    return [
        ShareObservation(whole.rows[k : k + 20], whole.times[k : k + 20], whole.cluster, True)
        for k in range(0, 20 * count, 20)
    ]


@pytest.fixture
def background() -> Iterator[BackgroundProcess]:
    process = BackgroundProcess(Counter())
    yield process
    process.close()


def test_a_background_trainer_learns_what_one_in_the_foreground_does() -> None:
    here, rows = new_trainer(), np.array([[1000.0, 0.5, 100.0, 0.1, 0.005]])
    background = BackgroundProcess(new_trainer())
    for number, seen in enumerate(blocks(4), start=1):
        expected = here.train(seen)
        assert background.submit(seen) == number
        learnt = background.wait_for(number)
        assert isinstance(expected, ForestModels)
        assert learnt.retrains == number
        assert learnt.share.predict(rows) == expected.share.predict(rows)
    background.close()


def test_updates_are_collected_up_to_an_observation_even_if_more_are_there(background: BackgroundProcess) -> None:
    for seen in range(3):
        background.submit(seen)
    background.wait_for(0)
    while len(background._updates) < 3:
        time.sleep(0.01)
    assert background.wait_for(2) == 2
    assert background.latest() == 3
    assert background.latest() is None


def test_a_trainer_that_dies_is_reported(background: BackgroundProcess) -> None:
    background._process.kill()
    with pytest.raises(SchedulerError, match="training process ended with code -9"):
        background.wait_for(background.submit(1))
    with pytest.raises(SchedulerError, match="background=0"):
        background.submit(1)


def test_a_process_started_ahead_is_taken_by_its_trainer_and_by_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "LOADED_BY", {"hybrid_ml": (ForestTrainer.__module__, "json.tool")})
    learning.start_trainers_ahead(["greedy", "hybrid_ml", "hybrid_ml"])
    [(_, ahead)] = learning._ahead.values()
    other = BackgroundProcess(Counter())
    mine = BackgroundProcess(new_trainer())
    assert (mine._process is ahead, other._process is ahead, learning._ahead) == (True, False, {})
    [seen] = blocks(1)
    learnt, expected = mine.wait_for(mine.submit(seen)), new_trainer().train(seen)
    assert isinstance(expected, ForestModels)
    assert learnt.share.predict(seen.rows).tolist() == expected.share.predict(seen.rows).tolist()
    mine.close()
    other.close()


def test_a_process_that_was_started_too_long_ahead_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "LOADED_BY", {"hybrid_ml": (Counter.__module__,)})
    learning.start_trainers_ahead(["hybrid_ml"])
    [(_, ahead)] = learning._ahead.values()
    monkeypatch.setattr(learning, "AHEAD_SECONDS", 0.0)
    late = BackgroundProcess(Counter())
    assert late._process is not ahead
    assert ahead.wait() == -signal.SIGKILL
    assert late.wait_for(late.submit(0)) == 1
    late.close()


def test_delayed_updates_come_after_exactly_so_many_tasks() -> None:
    training = TrainingLoop(Counter(), delay=40)
    updates = [training.train(seen, 20) for seen in range(5)]
    training.close()
    assert updates == [None, None, 1, 2, 3]


def test_updates_that_come_when_ready_tell_how_many_tasks_they_came_later() -> None:
    training = TrainingLoop(Counter(), delay=AS_READY)
    assert training.lag == 0
    training.train(0, 20)
    process = training._process
    assert process is not None
    updates = []
    for seen in (1, 2):  # each update is there when the next observation is made
        while process.behind:
            time.sleep(0.01)
        updates.append(training.train(seen, 20))
    training.close()
    assert updates == [1, 2]
    assert training.lag == 20
    assert TrainingLoop(Counter(), delay=40).lag == 40


class Loading:
    """Loads a module when it is warmed up, and tells whether one is loaded where it trains."""

    def warm_up(self) -> None:
        """Load the module."""
        importlib.import_module("json.tool")

    def train(self, observation: str) -> bool:
        """Look for the module."""
        return observation in sys.modules


def test_a_warm_process_has_loaded_what_the_first_fit_needs() -> None:
    training = TrainingLoop(Loading(), delay=1)
    training.warm_up()
    assert training.train("json.tool", 0) is None
    assert training.train("json.tool", 1) is True
    training.close()
    foreground = TrainingLoop(Loading(), delay=0)
    foreground.warm_up()
    assert foreground._process is None


def test_a_trainer_that_was_warmed_up_has_learnt_nothing() -> None:
    cold, warm = new_trainer(), new_trainer()
    warm.warm_up()
    assert warm.models is None
    [seen] = blocks(1)
    models = [each.train(seen) for each in (cold, warm)]
    shares = [each.share.predict(seen.rows).tolist() for each in models if isinstance(each, ForestModels)]
    assert len(shares) == 2
    assert shares[0] == shares[1]


@pytest.mark.parametrize("kind", [HybridML, RLAgent])
def test_a_copy_of_a_policy_that_trains_in_the_background_decides_alike(kind: type[HybridML] | type[RLAgent]) -> None:
    policy: Scheduler = kind(background=-1, seed=3)
    machine = VirtualMultiGPU()
    Lane(policy, machine).run(workload("mixed", 100))
    twin = copy.deepcopy(policy)
    policy.close()
    policy.learn_every = twin.learn_every = 0
    tasks = workload("mixed", 50, seed=9)
    one, two = (VirtualMultiGPU().run(tasks, each).finish for each in (policy, twin))
    twin.close()
    assert np.array_equal(one, two)


class Waiting:
    """A trainer that waits for a file before it trains."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def train(self, observation: int) -> int:
        """Return the observation, once it may."""
        while not self._path.exists():
            time.sleep(0.005)
        return observation


def test_a_trainer_that_is_not_waited_for_drops_what_it_has_no_time_for(tmp_path: Path) -> None:
    loop = TrainingLoop(Waiting(tmp_path / "go"), AS_READY)
    assert [loop.train(number, 1) for number in range(100)] == [None] * 100
    assert loop._process is not None
    assert loop._process.behind == MAX_BEHIND
    (tmp_path / "go").touch()
    while (update := loop._process.latest()) != MAX_BEHIND - 1:
        assert update is None or update < MAX_BEHIND
        time.sleep(0.005)
    while loop.train(100, 1) != 100:
        time.sleep(0.005)
    loop.close()
