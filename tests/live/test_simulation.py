"""ContinuousSimulation: takes orders between blocks, tells every sink in order, and can be played again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.core import Task
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning.insight import ForestInsight
from hybrid_scheduler.live import Block, ContinuousSimulation, LiveSettings, Replay

FAST = ("round_robin", "greedy", "eft")


def wait_until(true: Callable[[], bool], patience: float = 30.0) -> None:
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)


@pytest.fixture
def live() -> Iterator[ContinuousSimulation]:
    simulation = ContinuousSimulation(LiveSettings(schedulers=FAST, pace=None))
    yield simulation
    simulation.stop()


class Keeper:
    """A sink that keeps every finish time."""

    def __init__(self) -> None:
        self.finish: dict[str, list[float]] = {}
        self.ids: list[int] = []
        self.changes: list[dict[str, Any]] = []

    def __call__(self, block: Block) -> None:
        self.changes += [each.change for each in block.changes]
        for placed in (block.placed.placements if block.placed else {}, block.restarted):
            for name, each in placed.items():
                self.finish.setdefault(name, []).extend(each.finish.tolist())
        if block.placed:
            self.ids += block.placed.tasks.task_id.tolist()


def test_it_runs_pauses_goes_on_and_stops(live: ContinuousSimulation) -> None:
    seen: list[str] = []
    live.on_state.append(seen.append)
    live.start()
    wait_until(lambda: live.snapshot().tasks_processed > 100)
    live.pause()
    wait_until(lambda: not live._lock.locked())
    live.change(load=0.5)  # is carried out by the race's thread, so it has come to rest
    count = live.snapshot().tasks_processed
    live.step(3)
    assert live.snapshot().tasks_processed == count + 3
    live.resume()
    wait_until(lambda: live.snapshot().tasks_processed > count + 100)
    live.stop()
    assert seen == ["running", "paused", "running", "stopped"]
    with pytest.raises(SchedulerError, match="stopped: start a new one"):
        live.change(load=1.0)


def test_the_pace_is_kept_in_wall_time() -> None:
    live = ContinuousSimulation(LiveSettings(schedulers=("eft",), pace=50.0))
    live.start()
    begin = time.monotonic()
    wait_until(lambda: live.snapshot().tasks_processed >= 50)
    took = time.monotonic() - begin
    live.stop()
    assert took > 0.5  # it does not run ahead; how far it lags is the machine's affair


def test_orders_from_many_threads_are_all_carried_out_and_logged(live: ContinuousSimulation) -> None:
    live.start()
    loads = [0.5 + number / 100 for number in range(20)]
    threads = [threading.Thread(target=live.change, kwargs={"load": load}) for load in loads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.change["load"] for each in live.log) == loads
    assert [each.at_task for each in live.log] == sorted(each.at_task for each in live.log)


def test_a_wrong_order_changes_nothing_and_the_race_goes_on(live: ContinuousSimulation) -> None:
    live.start()
    with pytest.raises(SchedulerError, match="GPU 9 cannot fail"):
        live.change(failed_gpus=(9,))
    with pytest.raises(SchedulerError, match="pause it before stepping"):
        live.step()
    assert live.log == []
    count = live.snapshot().tasks_processed
    wait_until(lambda: live.snapshot().tasks_processed > count)


def test_a_policy_that_raises_fails_the_simulation_with_its_message(tmp_path: Any) -> None:
    policy = tmp_path / "broken.py"
    policy.write_text("def choose(task, view):\n    return 2.0, 0\n")
    live = ContinuousSimulation(LiveSettings(schedulers=(f"{policy}:choose",)))
    live.start()
    wait_until(lambda: live.state == "failed")
    assert "gpu_fraction 2" in live.error
    assert live.snapshot().error == live.error
    with pytest.raises(SchedulerError, match="failed: start a new one"):
        live.submit(Task(0, 100.0, 0.5, 10.0))
    live.stop()


def test_every_sink_sees_every_task_once_and_in_order() -> None:
    keeper = Keeper()
    live = ContinuousSimulation(LiveSettings(schedulers=FAST, pace=None), [keeper])
    live.start()
    wait_until(lambda: live.snapshot().tasks_processed > 500)
    live.stop()
    assert keeper.ids == list(range(live.race.stream.number))


def test_a_race_with_all_kinds_of_orders_is_played_again_to_the_last_bit() -> None:
    kept, again = Keeper(), Keeper()
    first = LiveSettings(schedulers=FAST, seed=7, pace=None)
    live = ContinuousSimulation(first, [kept])
    live.start()
    for order in (
        lambda: live.change(load=1.5),
        lambda: live.change(failed_gpus=(1,)),
        lambda: live.change(pace=1000.0),
        lambda: live.submit(Task(0, 2000.0, 0.8, 100.0)),
        lambda: live.change(failed_gpus=(), num_gpus=6),
        lambda: live.change(preset="cpu_friendly", schedulers=("eft", "oracle")),
    ):
        count = live.snapshot().tasks_processed
        wait_until(lambda count=count: live.snapshot().tasks_processed > count + 30)  # type: ignore[misc]  # the checker cannot infer a lambda with a default
        order()
    live.pause()
    live.step(7)
    until = live.snapshot().tasks_processed
    live.stop()
    replayed = Replay(first, live.log, [again]).run(until)
    assert again.ids[:until] == kept.ids[:until]
    assert {name: len(each) for name, each in again.finish.items()} == {
        name: len(each) for name, each in kept.finish.items()
    }
    for name, finish in kept.finish.items():
        assert np.array_equal(again.finish[name], finish), name
    assert replayed.snapshot().schedulers[0].utilisation == live.snapshot().schedulers[0].utilisation


def test_learners_in_a_live_race_are_repeatable_though_they_learn_in_another_process() -> None:
    first = LiveSettings(schedulers=("hybrid_ml", "rl_agent"), seed=3, pace=None, load=1.2)
    finishes = []
    for _ in range(2):
        keeper = Keeper()
        live = ContinuousSimulation(first, [keeper])
        live.step(150)
        live.change(energy_weight=0.9)
        live.step(60)
        forest = live.snapshot().schedulers[0].insight
        live.stop()
        finishes.append(keeper.finish)
        assert isinstance(forest, ForestInsight)
        assert forest.version > 0
    assert finishes[0] == finishes[1]
