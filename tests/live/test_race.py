"""The live race: every change keeps the schedule right, no task is lost, and explanations agree with placements."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.core import Placements, Task
from hybrid_scheduler.core.placements import QUEUE_FULL, RAN
from hybrid_scheduler.live import LiveSettings
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.records import PlacedBlock
from hybrid_scheduler.live.settings import DEFAULT_SCHEDULERS

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
    advance(live, 4000)
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
    assert live.lanes["greedy"].queue_length(live.stream.now) < 40


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
    placed, explanations = live.submit(Task(task_id=0, size=3000.0, compute_intensity=0.9, memory_required=50.0))
    assert placed.tasks.task_id.tolist() == [50]
    assert set(explanations) == {"eft", "greedy"}
    chosen = [each for each in explanations["eft"].candidates if each.chosen]
    assert chosen[0].finish == pytest.approx(placed.placements["eft"].finish[0])
    assert chosen[0].finish == min(each.finish for each in explanations["eft"].candidates)


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


ALL_SCHEDULERS = (*DEFAULT_SCHEDULERS, "eft", "price", "min_min")


@pytest.mark.parametrize("size", [1, 10])
def test_an_explanation_agrees_with_the_placement(size: int) -> None:
    race = LiveRace(LiveSettings(schedulers=ALL_SCHEDULERS, load=1.2))
    for _ in range(60 // size):
        tasks = race.stream.take(size)
        explanations = race.explain(tasks)
        placed = race.place(tasks, explanations)
        for name, each in placed.placements.items():
            assert each.status[0] == RAN
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


def test_explaining_changes_nothing() -> None:
    finishes = []
    for explain in (False, True):
        race = LiveRace(LiveSettings(schedulers=ALL_SCHEDULERS, load=1.2, seed=5))
        kept = []
        for _ in range(25):
            tasks = race.stream.take(7)
            placed = race.place(tasks, race.explain(tasks) if explain else None)
            kept.append({name: each.finish.tolist() for name, each in placed.placements.items()})
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
