"""ContinuousSimulation executes commands between blocks, calls every sink in order, and can be replayed."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.core import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.learning.insight import ForestInsight
from hybrid_scheduler.live import ContinuousSimulation, LiveSettings, RaceEvent, Replay
from hybrid_scheduler.live.simulation import EXPLANATIONS_PER_SECOND, MAX_TIME_SHARE, ExplanationLimiter
from hybrid_scheduler.schedulers.explain import Explanation

FAST = ("round_robin", "greedy", "eft")


def wait_until(true: Callable[[], bool], patience: float = 300.0) -> None:
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


@pytest.fixture
def live() -> Iterator[ContinuousSimulation]:
    simulation = ContinuousSimulation(LiveSettings(schedulers=FAST, pace=None))
    yield simulation
    simulation.stop()


class History:
    """A sink that keeps every finish time, id and change."""

    def __init__(self) -> None:
        self.finish: dict[str, list[float]] = {}
        self.ids: list[int] = []
        self.changes: list[dict[str, Any]] = []
        self.by_task: dict[tuple[str, int], list[float]] = {}  # what is known of each; nothing while it waits

    def __call__(self, block: RaceEvent) -> None:
        self.changes += [each.change for each in block.changes]
        started = {name: each.placements for name, each in block.started.items()}
        for placed in (block.placed.placements if block.placed else {}, block.restarted, started):
            for name, each in placed.items():
                self.finish.setdefault(name, []).extend(each.finish.tolist())
                for task_id, end in zip(each.tasks.task_id.tolist(), each.finish.tolist(), strict=True):
                    self.by_task.setdefault((name, task_id), []).extend([] if math.isnan(end) else [end])
        if block.placed:
            self.ids += block.placed.tasks.task_id.tolist()


def test_it_runs_pauses_resumes_and_stops(live: ContinuousSimulation) -> None:
    seen: list[str] = []
    live.state_listeners.append(seen.append)
    live.start()
    wait_until(lambda: live.snapshot().tasks_processed > 100)
    live.pause()
    wait_until(lambda: not live._lock.locked())
    live.change(load=0.5)  # executed by the race's thread, so the last block has ended
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


def test_commands_from_many_threads_are_all_executed_and_logged(live: ContinuousSimulation) -> None:
    live.start()
    loads = [0.5 + number / 100 for number in range(20)]
    threads = [threading.Thread(target=live.change, kwargs={"load": load}) for load in loads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.change["load"] for each in live.log) == loads
    assert [each.at_task for each in live.log] == sorted(each.at_task for each in live.log)


def test_a_wrong_command_changes_nothing_and_the_race_continues(live: ContinuousSimulation) -> None:
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
    history = History()
    live = ContinuousSimulation(LiveSettings(schedulers=FAST, pace=None), [history])
    live.start()
    wait_until(lambda: live.snapshot().tasks_processed > 500)
    live.stop()
    assert history.ids == list(range(live.race.stream.number))


def test_a_race_with_all_kinds_of_commands_is_replayed_bit_for_bit() -> None:
    kept, again = History(), History()
    first = LiveSettings(schedulers=(*FAST, "least_increase"), seed=7, pace=None)
    live = ContinuousSimulation(first, [kept])
    live.start()
    for command in (
        lambda: live.change(load=1.5),
        lambda: live.change(failed_gpus=(1,)),
        lambda: live.change(pace=1000.0),
        lambda: live.submit(Task(0, 2000.0, 0.8, 100.0)),
        lambda: live.change(failed_gpus=(), num_gpus=6),
        lambda: live.change(preset="cpu_friendly", schedulers=("eft", "oracle", "least_increase")),
    ):
        count = live.snapshot().tasks_processed
        wait_until(lambda count=count: live.snapshot().tasks_processed > count + 30)  # type: ignore[misc]  # the checker cannot infer a lambda with a default
        command()
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
        assert np.array_equal(again.finish[name], finish, equal_nan=True), name  # NaN: waited then
    assert replayed.snapshot().schedulers[0].utilisation == live.snapshot().schedulers[0].utilisation


def test_learners_that_train_in_the_background_are_repeatable() -> None:
    first = LiveSettings(schedulers=("hybrid_ml", "rl_agent"), seed=3, pace=None, load=1.2)
    finishes = []
    for _ in range(2):
        history = History()
        live = ContinuousSimulation(first, [history])
        live.step(150)
        live.change(energy_weight=0.9)
        live.step(60)
        forest = live.snapshot().schedulers[0].insight
        live.stop()
        finishes.append(history.finish)
        assert isinstance(forest, ForestInsight)
        assert forest.version > 0
    for name, finish in finishes[0].items():
        assert np.array_equal(finish, finishes[1][name], equal_nan=True), name


EXPLANATION = {"eft": Explanation(1.0, 1, "a rule", (), {})}


class Clock:
    """A clock that is set by hand; an explanation takes `takes` seconds."""

    def __init__(self) -> None:
        self.now, self.takes = 0.0, 0.0

    def __call__(self) -> float:
        return self.now

    def explain(self) -> dict[str, Explanation]:
        self.now += self.takes
        return EXPLANATION


def test_a_policy_whose_explanation_raises_races_all_the_same(tmp_path: Path) -> None:
    policy = tmp_path / "silent.py"
    policy.write_text(
        "from hybrid_scheduler.schedulers.scheduler import Scheduler\n"
        "class Silent(Scheduler):\n"
        "    def choose(self, task, view):\n        return 0.0, 0\n"
        "    def evidence(self, task, view):\n        raise ZeroDivisionError('no evidence')\n"
    )
    live = ContinuousSimulation(LiveSettings(schedulers=("eft", f"{policy}:Silent")))
    blocks: list[RaceEvent] = []
    live.sinks.append(blocks.append)
    live.step(3)
    live.stop()
    for block in blocks:
        assert block.placed is not None
        assert block.placed.explanations["eft"].rule
        assert "ZeroDivisionError: no evidence" in block.placed.explanations[f"{policy}:Silent"].rule


def test_at_the_default_pace_every_task_is_explained_and_at_full_speed_one_of_a_block() -> None:
    for settings, explained in (({}, 20), ({"pace": 100.0}, 4), ({"pace": None}, 1)):
        live = ContinuousSimulation(LiveSettings(schedulers=("eft",), **settings))
        blocks: list[Any] = []
        live.sinks.append(blocks.append)
        live.step(20)
        live.stop()
        assert len([block for block in blocks if block.placed.explanations]) == explained


@pytest.mark.parametrize("max_queue", [None, 10_000, 3])
def test_what_nobody_watches_is_placed_in_long_blocks_without_explanations_and_just_the_same(
    max_queue: int | None,
) -> None:
    settings = LiveSettings(schedulers=("random", "eft", "least_increase"), load=1.2, max_queue=max_queue)
    placed: list[dict[tuple[str, int], list[float]]] = []
    for watched in (True, False):
        live, ends, explained = ContinuousSimulation(settings), History(), list[bool]()
        live.watched = watched
        live.sinks += [ends, lambda event: explained.append(bool(event.placed and event.placed.explanations))]  # noqa: B023  # called in this turn
        while live.race.stream.number < 120:
            live._advance(live._choose_block())
        live.stop()
        assert len(explained) == (3 if not watched and max_queue != 3 else 120)
        assert any(explained) == watched
        placed.append(ends.by_task)
    assert placed[0] == placed[1]


def test_a_race_with_time_to_spare_explains_every_task_at_the_default_pace() -> None:
    clock = Clock()
    limiter, clock.takes = ExplanationLimiter(clock), 0.02
    for _ in range(500):
        assert limiter.explain(clock.explain, is_busy=False) == EXPLANATION
        clock.now += 0.03  # and so 20 a second


def test_explanations_are_limited_even_if_they_take_no_time() -> None:
    clock = Clock()
    limiter = ExplanationLimiter(clock)
    explained = 0
    for _ in range(10_000):
        explained += bool(limiter.explain(clock.explain, is_busy=True))
        clock.now += 0.001
    assert explained == pytest.approx(10 * EXPLANATIONS_PER_SECOND, rel=0.15)


@pytest.mark.parametrize("takes", [0.004, 0.05])
def test_a_busy_race_spends_a_small_share_of_its_time_on_explanations(takes: float) -> None:
    clock = Clock()
    limiter, clock.takes = ExplanationLimiter(clock), takes
    spent = 0.0
    while clock.now < 100.0:
        spent += takes if limiter.explain(clock.explain, is_busy=True) else 0.0
        clock.now += 0.002
    assert 0.8 * MAX_TIME_SHARE < spent / clock.now < 1.1 * MAX_TIME_SHARE


def test_no_snapshot_shows_a_task_that_observers_have_not_seen(live: ContinuousSimulation) -> None:
    seen: list[int] = []
    live.observers.append(lambda event: seen.extend(event.placed.tasks.task_id.tolist() if event.placed else ()))
    live.sinks.append(lambda _: time.sleep(0.001))  # snapshots are taken while sinks are still busy
    live.start()
    while (processed := live.snapshot().tasks_processed) < 5000:
        assert len(seen) >= processed


def test_a_race_that_need_not_be_repeatable_waits_for_no_learner_and_cannot_be_replayed() -> None:
    settings = LiveSettings(schedulers=("hybrid_ml",), pace=None, repeatable=False)
    live = ContinuousSimulation(settings)
    live.step(300)
    live.stop()
    with pytest.raises(InputError, match="not waited for"):
        Replay(settings, live.log)
    with pytest.raises(InputError, match="REPEATABLE"):
        settings.with_changes(repeatable=True)


def test_a_simulated_race_does_not_load_the_runtime() -> None:
    code = (
        "import sys\n"
        "from hybrid_scheduler.live import ContinuousSimulation, LiveSettings\n"
        "live = ContinuousSimulation(LiveSettings(schedulers=('eft',)))\n"
        "live.step(3)\n"
        "sys.exit(any(name.startswith('hybrid_scheduler.runtime') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
