"""Learning beside the decisions: the same knowledge as here and now, only later; a dead pupil is not silent."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator

import numpy as np
import pytest

from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning.background import BackgroundProcess, TrainingLoop
from hybrid_scheduler.learning.forest import ForestModels, ForestTrainer, ShareObservation
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import RLAgent
from hybrid_scheduler.schedulers.scheduler import Scheduler
from instances import workload


def lessons() -> ForestTrainer:
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
def beside() -> Iterator[BackgroundProcess]:
    pupil = BackgroundProcess(lessons())
    yield pupil
    pupil.close()


def test_a_twin_learns_what_the_pupil_here_would_learn(beside: BackgroundProcess) -> None:
    here, rows = lessons(), np.array([[1000.0, 0.5, 100.0, 0.1, 0.005]])
    for number, seen in enumerate(blocks(4), start=1):
        expected = here.train(seen)
        assert beside.submit(seen) == number
        learnt = beside.wait_for(number)
        assert isinstance(expected, ForestModels)
        assert learnt.retrains == number
        assert learnt.share.predict(rows) == expected.share.predict(rows)


def test_knowledge_is_taken_up_to_a_block_even_if_more_is_there(beside: BackgroundProcess) -> None:
    for seen in blocks(3):
        beside.submit(seen)
    beside.wait_for(0)
    while len(beside._updates) < 3:
        time.sleep(0.01)
    assert beside.wait_for(2).retrains == 2
    assert beside.latest().retrains == 3
    assert beside.latest() is None


def test_a_trainer_that_dies_is_reported(beside: BackgroundProcess) -> None:
    beside._process.kill()
    with pytest.raises(SchedulerError, match="training process ended with code -9"):
        beside.wait_for(beside.submit(blocks(1)[0]))
    with pytest.raises(SchedulerError, match="background=0"):
        beside.submit(blocks(1)[0])


def test_delayed_knowledge_comes_after_just_so_many_tasks() -> None:
    study = TrainingLoop(lessons(), background=40)
    answers = [study.train(seen, 20) for seen in blocks(5)]
    study.close()
    assert [None if each is None else each.retrains for each in answers] == [None, None, 1, 2, 3]


@pytest.mark.parametrize("kind", [HybridML, RLAgent])
def test_learning_a_fixed_number_of_tasks_later_is_repeatable(kind: type[HybridML] | type[RLAgent]) -> None:
    tasks = workload("mixed", 200, load=2.0)
    finishes = []
    for _ in range(2):
        policy = kind(background=50, seed=3)
        finishes.append(Lane(policy, VirtualMultiGPU()).run(tasks).finish)
        policy.close()
    assert np.array_equal(finishes[0], finishes[1])
    assert not np.array_equal(finishes[0], Lane(kind(seed=3), VirtualMultiGPU()).run(tasks).finish)


@pytest.mark.parametrize("kind", [HybridML, RLAgent])
def test_a_copy_of_a_policy_that_learns_beside_decides_alike(kind: type[HybridML] | type[RLAgent]) -> None:
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
