"""The live race: every change keeps the schedule right, no task is lost, and explanations agree with placements."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.core import Placements, Task
from hybrid_scheduler.core.placements import QUEUE_FULL, RAN, WAITING
from hybrid_scheduler.live import LiveSettings
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.settings import DEFAULT_SCHEDULERS
from hybrid_scheduler.live.snapshot import PlacedBlock
from ordered_policies import SHORTEST_WAITING

FAST = ("round_robin", "random", "greedy", "eft", "oracle")


def create_race(**settings: Any) -> LiveRace:
    return LiveRace(LiveSettings(**{"schedulers": FAST, **settings}))


def advance(live: LiveRace, tasks: int) -> list[PlacedBlock]:
    return [live.advance(10) for _ in range(tasks // 10)]


def busy_spans(placed: list[Placements]) -> dict[int, list[tuple[float, float]]]:
    found: dict[int, list[tuple[float, float]]] = {}
    for each in placed:
        for device, start, seconds in (
            (each.gpu, each.gpu_start, each.gpu_seconds),
            (each.cpu, each.cpu_start, each.cpu_seconds),
        ):
            for row in np.flatnonzero(device >= 0):
                found.setdefault(int(device[row]), []).append((start[row], start[row] + seconds[row]))
    return found


def test_every_lane_gets_the_same_endless_stream() -> None:
    blocks = advance(create_race(), 500)
    ids = np.concatenate([block.tasks.task_id for block in blocks])
    arrivals = np.concatenate([block.tasks.arrival_time for block in blocks])
    assert np.array_equal(ids, np.arange(500))
    assert (np.diff(arrivals) >= 0).all()
    for block in blocks:
        assert all(placed.tasks is block.tasks for placed in block.placements.values())


@pytest.mark.parametrize(("name", "value"), [("load", 0.5), ("load", 2.0), ("rate", 100.0)])
def test_the_stream_has_the_rate_of_the_settings(name: str, value: float) -> None:
    live = create_race(**{"schedulers": ("eft",), "load": None, name: value})
    for _ in range(400):
        live.stream.take(10)
    wanted = value if name == "rate" else live.stream.rate
    assert live.stream.number / live.stream.now == pytest.approx(wanted, rel=0.02)


def test_a_new_rate_counts_from_the_next_block() -> None:
    live = create_race(load=None, rate=10.0)
    advance(live, 200)
    now = live.stream.now
    live.change(live.settings.with_changes(rate=1000.0))
    advance(live, 200)
    assert live.stream.now - now == pytest.approx(0.2, rel=0.05)


def test_a_shift_of_the_workload_changes_the_tasks_at_once() -> None:
    live = create_race(preset="gpu_friendly")
    advance(live, 50)
    live.change(live.settings.with_changes(preset="cpu_friendly"))
    (block,) = advance(live, 10)
    assert (block.tasks.memory_required >= 2000).all()


def test_tasks_of_a_failed_gpu_are_placed_again_and_none_is_lost() -> None:
    live = create_race(load=1.5)
    before = advance(live, 300)
    now, gpu = live.stream.now, 2
    restarted = live.change(live.settings.with_changes(failed_gpus=(gpu - 1,)))
    for name in FAST:
        own = [block.placements[name] for block in before]
        lost = {
            int(each.tasks.task_id[row])
            for each in own
            for row in np.flatnonzero((each.gpu == gpu) & (each.gpu_start + each.gpu_seconds > now))
        }
        assert live.lanes[name].totals.restarts == len(lost)
        if lost:
            assert set(restarted[name].tasks.task_id.tolist()) == lost
            assert (restarted[name].gpu != gpu).all()
            assert (restarted[name].start >= now).all()
    assert len(restarted) >= 3


def test_nothing_is_placed_on_a_failed_gpu_until_it_is_back() -> None:
    live = create_race(failed_gpus=(1,))
    for block in advance(live, 200):
        assert all((placed.gpu != 2).all() for placed in block.placements.values())
    live.change(live.settings.with_changes(failed_gpus=()))
    used = np.concatenate([block.placements["eft"].gpu for block in advance(live, 200)])
    assert (used == 2).any()
    assert live.lanes["eft"].utilisation(live.stream.now)[2] > 0


def test_with_all_gpus_failed_the_cpu_does_everything() -> None:
    live = create_race(failed_gpus=(0, 1, 2, 3))
    for block in advance(live, 50):
        assert all((placed.gpu_fraction == 0).all() for placed in block.placements.values())


@pytest.mark.parametrize("failed", [(), (0,)])
def test_no_device_does_two_things_at_once_after_changes(failed: tuple[int, ...]) -> None:
    live = create_race(schedulers=("eft", "round_robin"), load=1.5)
    placed: dict[str, list[Placements]] = {"eft": [], "round_robin": []}
    for gpus in (4, 6, 3, 4):
        live.change(live.settings.with_changes(num_gpus=gpus, failed_gpus=()))
        for block in advance(live, 100):
            for name in placed:
                placed[name].append(block.placements[name])
    for own in placed.values():
        for busy in busy_spans(own).values():
            busy.sort()
            assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(busy))
    live.change(live.settings.with_changes(failed_gpus=failed))
    advance(live, 50)


ORDERED = ("eft", "least_increase", SHORTEST_WAITING)


class Results:
    """What a race says of every task: the placement by scheduler, task and attempt, each of them once."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int, int], tuple[float, float, int, float]] = {}

    def add(self, name: str, placed: Placements, attempt: Any) -> None:
        attempts = np.broadcast_to(attempt, len(placed)).tolist()
        for row in np.flatnonzero(placed.status != WAITING).tolist():
            key = (name, int(placed.tasks.task_id[row]), attempts[row])
            assert key not in self.rows
            values = (placed.start[row], placed.finish[row], int(placed.device[row]), placed.turnaround[row])
            self.rows[key] = values

    def advance(self, live: LiveRace, tasks: int, size: int) -> None:
        for _ in range(tasks // size):
            for name, placed in live.advance(size).placements.items():
                self.add(name, placed, 1)
            self.add_started(live)

    def change(self, live: LiveRace, **values: Any) -> None:
        for name, placed in live.change(live.settings.with_changes(**values)).items():
            ids = placed.tasks.task_id.tolist()
            self.add(name, placed, [1 + sum((name, task, n) in self.rows for n in range(1, 4)) for task in ids])
        self.add_started(live)

    def add_started(self, live: LiveRace) -> None:
        for name, (placed, attempt) in live.take_started().items():
            self.add(name, placed, attempt)


def test_ordered_queues_persist_through_changes_and_every_start_is_told_once_whatever_the_block() -> None:
    told = []
    for size in (10, 50):
        live, results = create_race(schedulers=ORDERED, load=1.3), Results()
        results.advance(live, 300, size)
        results.change(live, failed_gpus=(1, 2))
        results.advance(live, 100, size)
        results.change(live, failed_gpus=(), num_gpus=6)
        results.advance(live, 100, size)
        results.change(live, num_gpus=3, schedulers=ORDERED[:2])
        results.advance(live, 100, size)
        told.append(results.rows)
        for state in live.snapshot("running", 0.0, "").schedulers:
            lane = live.lanes[state.name]
            started = {key[1]: row for key, row in results.rows.items() if key[0] == state.name}  # last attempts
            outlook = lane.outlook()
            ends = {task: row[3] for task, row in started.items()}
            if outlook is not None:
                ends |= dict(zip(outlook.tasks.task_id.tolist(), outlook.turnaround.tolist(), strict=True))
            assert set(ends) == set(range(600))
            assert state.mean_turnaround == pytest.approx(np.mean(list(ends.values())))
            assert state.tasks == 600
            assert state.restarts == sum(1 for name, _, attempt in results.rows if name == state.name and attempt > 1)
            assert state.makespan_over_bound >= 1.0
    assert told[0] == told[1]
    starts = [row[0] for (name, _, _), row in sorted(told[0].items()) if name == "least_increase"]
    assert starts != sorted(starts)


def test_a_win_is_counted_once_nobody_else_can_have_ended_the_task_first() -> None:
    live, results = create_race(schedulers=ORDERED, load=1.2), Results()
    results.advance(live, 500, 20)
    ends = np.array([[results.rows.get((name, task, 1), (0, np.nan))[1] for task in range(500)] for name in ORDERED])
    known = np.where(np.isnan(ends), np.inf, ends)
    decided = ~np.isnan(ends).any(axis=0) | (known.min(axis=0) <= live.stream.now)
    wins = np.bincount(known.argmin(axis=0)[decided], minlength=3)
    assert not decided.all()
    assert [live.lanes[name].totals.wins for name in ORDERED] == wins.tolist()
    assert 1400 < np.sum(live.analysis().wins) <= 3 * 500  # of every pair, but for ties


def test_a_full_ordered_queue_rejects_tasks_until_it_has_got_shorter() -> None:
    live = create_race(schedulers=ORDERED[1:], load=3.0, max_queue=20)
    advance(live, 600)
    for lane in live.lanes.values():
        assert 0 < lane.totals.rejected < 500
        assert lane.totals.tasks + lane.totals.rejected == 600
        assert lane.count_waiting(live.stream.now) < 40


def test_schedulers_come_and_go_while_the_others_stay() -> None:
    live = create_race(schedulers=("eft", "greedy"))
    advance(live, 100)
    live.change(live.settings.with_changes(schedulers=("eft", "oracle")))
    advance(live, 100)
    tasks = {state.name: state.tasks for state in live.snapshot("running", 0.0, "").schedulers}
    assert tasks == {"eft": 200, "oracle": 100}


def test_a_full_queue_rejects_tasks_and_counts_them() -> None:
    live = create_race(schedulers=("greedy",), load=3.0, max_queue=20)
    blocks = advance(live, 500)
    states = np.concatenate([block.placements["greedy"].status for block in blocks])
    totals = live.lanes["greedy"].totals
    assert totals.rejected == (states == QUEUE_FULL).sum() > 0
    assert totals.tasks + totals.rejected == 500
    assert live.lanes["greedy"].work.count_waiting(live.stream.now) < 40


def test_a_policy_that_rejects_tasks_is_saturated_though_its_backlog_has_stopped_growing() -> None:
    live = create_race(schedulers=("greedy", "eft"), load=0.9, max_queue=100)
    advance(live, 3000)
    saturated = {state.name: state.saturated for state in live.snapshot("running", 0.0, "").schedulers}
    assert live.lanes["greedy"].totals.rejected > 0
    assert saturated == {"greedy": True, "eft": False}


def test_a_policy_whose_queue_keeps_growing_is_saturated_and_a_stable_one_is_not() -> None:
    live = create_race(load=0.9)
    advance(live, 2000)
    saturated = {state.name: state.saturated for state in live.snapshot("running", 0.0, "").schedulers}
    assert saturated == {"round_robin": True, "random": True, "greedy": True, "eft": False, "oracle": False}


def test_a_submitted_task_is_placed_by_all_and_explained() -> None:
    live = create_race(schedulers=("eft", "greedy"))
    advance(live, 50)
    placed = live.submit(Task(task_id=0, size=3000.0, compute_intensity=0.9, memory_required=50.0))
    assert placed.tasks.task_id.tolist() == [50]
    assert set(placed.explanations) == {"eft", "greedy"}
    candidates = placed.explanations["eft"].candidates
    chosen = [each for each in candidates if each.chosen]
    assert chosen[0].finish == pytest.approx(placed.placements["eft"].finish[0])
    assert chosen[0].finish == min(each.finish for each in candidates)


def test_totals_and_window_agree_with_the_placements() -> None:
    live = create_race(schedulers=("eft",))
    own = [block.placements["eft"] for block in advance(live, 600)]
    (state,) = live.snapshot("running", 0.0, "").schedulers
    turnaround = np.concatenate([each.turnaround for each in own])
    assert state.mean_turnaround == pytest.approx(turnaround.mean())
    assert state.window.p99_turnaround == pytest.approx(np.quantile(turnaround, 0.99))
    assert state.energy == pytest.approx(sum(each.energy.sum() for each in own))
    assert state.makespan == max(each.makespan for each in own)
    assert state.turnaround_cdf[-1] == pytest.approx(turnaround.max())


def test_the_analysis_counts_wins_and_finds_where_gpus_are_faster() -> None:
    live = create_race(schedulers=("eft", "greedy"))
    advance(live, 1000)
    analysis = live.analysis()
    assert analysis.tasks == 1000
    assert analysis.wins[0][1] > analysis.wins[1][0]
    assert analysis.wins[0][0] == 0
    assert sum(analysis.size_counts) == 1000
    intense, light = (np.array([row[k] for row in analysis.gpu_wins], float) for k in (-1, 0))
    assert np.nanmean(intense) > np.nanmean(light)
    assert np.allclose(np.diag(analysis.correlation), 1.0)


ALL_SCHEDULERS = (*DEFAULT_SCHEDULERS, "eft", "price", "min_min", "least_increase")


@pytest.fixture
def _learners_train_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process for a learner: it takes seconds, and where it trains is not asked."""
    monkeypatch.setattr("hybrid_scheduler.live.lane.TRAINING_LAG", 0)


@pytest.mark.usefixtures("_learners_train_here")
@pytest.mark.parametrize("size", [1, 10])
def test_an_explanation_agrees_with_the_placement(size: int) -> None:
    race = LiveRace(LiveSettings(schedulers=ALL_SCHEDULERS, load=1.2))
    for _ in range(60 // size):
        tasks = race.stream.take(size)
        explanations = race.explain(tasks)
        placed = race.place(tasks, explanations)
        for name, each in placed.placements.items():
            assert each.status[0] in (RAN, WAITING)
            assert (explanations[name].gpu_fraction, explanations[name].device) == each.decision(0), name
            assert [one.device for one in explanations[name].candidates if one.chosen] == [explanations[name].device]
        for name in ("eft", "oracle"):  # clairvoyant
            assert explanations[name].expected_finish == pytest.approx(placed.placements[name].finish[0])
            assert explanations[name].expected_time == pytest.approx(placed.placements[name].execution[0])
        assert np.isfinite(explanations["hybrid_ml"].expected_time)
        for name in ("round_robin", "random", "greedy", "rl_agent"):  # they predict no times
            assert np.isnan(explanations[name].expected_time)
            assert np.isnan(explanations[name].expected_finish)
    race.close()


@pytest.mark.usefixtures("_learners_train_here")
def test_explaining_changes_nothing() -> None:
    finishes = []
    for explain in (False, True):
        race = LiveRace(LiveSettings(schedulers=ALL_SCHEDULERS, load=1.2, seed=5))
        kept = []
        for _ in range(25):
            tasks = race.stream.take(7)
            placed = race.place(tasks, race.explain(tasks) if explain else None)
            finishes_now = {name: each.placements for name, each in race.take_started().items()}
            kept.append(
                [
                    (name, str(each.finish))
                    for part in (placed.placements, finishes_now)
                    for name, each in part.items()
                ]
            )
        race.close()
        finishes.append(kept)
    assert finishes[0] == finishes[1]


def test_a_task_that_does_not_fit_is_explained_by_the_device_its_scheduler_chose() -> None:
    race = LiveRace(LiveSettings(schedulers=("greedy",)))
    (tasks,) = [race.stream.take(1)]
    tasks.memory_required[:] = 1e6
    reason = race.explain(tasks)["greedy"]
    assert reason.device in race.settings.cluster.gpus
    assert race.place(tasks).placements["greedy"].gpu[0] == -1


def test_a_gpu_that_has_failed_is_no_candidate() -> None:
    race = LiveRace(LiveSettings(schedulers=("eft", "greedy", "round_robin"), failed_gpus=(1,)))
    explanations = race.explain(race.stream.take(1))
    for each in explanations.values():
        assert [candidate.device for candidate in each.candidates] == [0, 1, 3, 4]
