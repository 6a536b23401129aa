"""The live race: every change keeps the schedule right, nothing is lost, and the bound holds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core import Cluster, Placements, Task
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.placements import QUEUE_FULL
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.live import LiveSettings
from hybrid_scheduler.live.bound import LiveBound
from hybrid_scheduler.live.race import LiveRace, Placed
from instances import TWO_NODES, workload

FAST = ("round_robin", "random", "greedy", "eft", "oracle")


def race(**settings: Any) -> LiveRace:
    return LiveRace(LiveSettings(**{"schedulers": FAST, **settings}))


def advance(live: LiveRace, tasks: int) -> list[Placed]:
    return [live.advance(10) for _ in range(tasks // 10)]


def spans(placed: list[Placements]) -> dict[int, list[tuple[float, float]]]:
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
    blocks = advance(race(), 500)
    ids = np.concatenate([block.tasks.task_id for block in blocks])
    arrivals = np.concatenate([block.tasks.arrival_time for block in blocks])
    assert np.array_equal(ids, np.arange(500))
    assert (np.diff(arrivals) >= 0).all()
    for block in blocks:
        assert all(placed.tasks is block.tasks for placed in block.placements.values())


@pytest.mark.parametrize(("name", "value"), [("load", 0.5), ("load", 2.0), ("rate", 100.0)])
def test_the_stream_has_the_rate_that_was_asked_for(name: str, value: float) -> None:
    live = race(**{"schedulers": ("eft",), "load": None, name: value})
    advance(live, 4000)
    wanted = value if name == "rate" else live.stream.rate
    assert live.stream.number / live.stream.now == pytest.approx(wanted, rel=0.02)


def test_a_new_rate_counts_from_the_next_block() -> None:
    live = race(load=None, rate=10.0)
    advance(live, 200)
    now = live.stream.now
    live.change(live.settings.changed(rate=1000.0))
    advance(live, 200)
    assert live.stream.now - now == pytest.approx(0.2, rel=0.05)


def test_a_shift_of_the_workload_changes_the_tasks_at_once() -> None:
    live = race(preset="gpu_friendly")
    advance(live, 50)
    live.change(live.settings.changed(preset="cpu_friendly"))
    (block,) = advance(live, 10)
    assert (block.tasks.memory_required >= 2000).all()


@pytest.mark.parametrize("preset", ["mixed", "long_tail", "bursty"])
@pytest.mark.parametrize("load", [0.6, 1.5])
def test_the_moving_bound_is_never_above_the_certified_one_and_close_to_it(preset: str, load: float) -> None:
    cluster = Cluster.default()
    tasks = workload(preset, 1500, load=load)
    live = LiveBound(cluster)
    times = class_times(tasks, cluster)
    for first in range(0, 1500, 100):
        live.add(tasks.arrival_time[first : first + 100], times[first : first + 100])
    certified = lower_bound(tasks, cluster).makespan
    assert live.seconds <= certified * (1 + 1e-9)
    assert live.seconds >= 0.98 * certified


def test_the_moving_bound_holds_for_many_classes() -> None:
    tasks = workload("mixed", 800, load=1.5)
    live = LiveBound(TWO_NODES)
    live.add(tasks.arrival_time, class_times(tasks, TWO_NODES))
    certified = lower_bound(tasks, TWO_NODES).makespan
    assert 0.8 * certified <= live.seconds <= certified * (1 + 1e-9)


def test_nobody_beats_the_bound_even_while_gpus_fail_and_come_back() -> None:
    live = race(load=1.2)
    for failed in ((), (0, 1), (), (0, 1, 2, 3), (3,)):
        live.change(live.settings.changed(failed_gpus=failed))
        advance(live, 200)
        for state in live.snapshot("running", 0.0, "").schedulers:
            assert state.makespan_over_bound >= 1 - 1e-9


def test_a_gpu_that_fails_throws_its_tasks_back_and_none_is_lost() -> None:
    live = race(load=1.5)
    before = advance(live, 300)
    now, gpu = live.stream.now, 2
    restarted = live.change(live.settings.changed(failed_gpus=(gpu - 1,)))
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
    live = race(failed_gpus=(1,))
    for block in advance(live, 200):
        assert all((placed.gpu != 2).all() for placed in block.placements.values())
    live.change(live.settings.changed(failed_gpus=()))
    used = np.concatenate([block.placements["eft"].gpu for block in advance(live, 200)])
    assert (used == 2).any()
    assert live.lanes["eft"].utilisation(live.stream.now)[2] > 0


def test_with_all_gpus_failed_the_cpu_does_everything() -> None:
    live = race(failed_gpus=(0, 1, 2, 3))
    for block in advance(live, 50):
        assert all((placed.gpu_fraction == 0).all() for placed in block.placements.values())


@pytest.mark.parametrize("failed", [(), (0,)])
def test_no_device_does_two_things_at_once_after_changes(failed: tuple[int, ...]) -> None:
    live = race(schedulers=("eft", "round_robin"), load=1.5)
    placed: dict[str, list[Placements]] = {"eft": [], "round_robin": []}
    for gpus in (4, 6, 3, 4):
        live.change(live.settings.changed(num_gpus=gpus, failed_gpus=()))
        for block in advance(live, 100):
            for name in placed:
                placed[name].append(block.placements[name])
    for own in placed.values():
        for busy in spans(own).values():
            busy.sort()
            assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(busy))
    live.change(live.settings.changed(failed_gpus=failed))
    advance(live, 50)


def test_schedulers_come_and_go_while_the_others_stay() -> None:
    live = race(schedulers=("eft", "greedy"))
    advance(live, 100)
    live.change(live.settings.changed(schedulers=("eft", "oracle")))
    advance(live, 100)
    tasks = {state.name: state.tasks for state in live.snapshot("running", 0.0, "").schedulers}
    assert tasks == {"eft": 200, "oracle": 100}


def test_a_full_queue_turns_tasks_away_and_counts_them() -> None:
    live = race(schedulers=("greedy",), load=3.0, max_queue=20)
    blocks = advance(live, 500)
    states = np.concatenate([block.placements["greedy"].status for block in blocks])
    totals = live.lanes["greedy"].totals
    assert totals.rejected == (states == QUEUE_FULL).sum() > 0
    assert totals.tasks + totals.rejected == 500
    assert live.lanes["greedy"].queue_length(live.stream.now) < 40


def test_a_policy_that_turns_tasks_away_is_saturated_though_its_backlog_has_stopped_growing() -> None:
    live = race(schedulers=("greedy", "eft"), load=0.9, max_queue=100)
    advance(live, 3000)
    saturated = {state.name: state.saturated for state in live.snapshot("running", 0.0, "").schedulers}
    assert live.lanes["greedy"].totals.rejected > 0
    assert saturated == {"greedy": True, "eft": False}


def test_a_policy_whose_queue_keeps_growing_is_told_apart_from_a_stable_one() -> None:
    live = race(load=0.9)
    advance(live, 2000)
    saturated = {state.name: state.saturated for state in live.snapshot("running", 0.0, "").schedulers}
    assert saturated == {"round_robin": True, "random": True, "greedy": True, "eft": False, "oracle": False}


def test_a_task_by_hand_is_placed_by_all_and_explained() -> None:
    live = race(schedulers=("eft", "greedy"))
    advance(live, 50)
    placed, reasons = live.submit(Task(task_id=0, size=3000.0, compute_intensity=0.9, memory_required=50.0))
    assert placed.tasks.task_id.tolist() == [50]
    assert set(reasons) == {"eft", "greedy"}
    chosen = [each for each in reasons["eft"].candidates if each.chosen]
    assert chosen[0].finish == pytest.approx(placed.placements["eft"].finish[0])
    assert chosen[0].finish == min(each.finish for each in reasons["eft"].candidates)


def test_totals_and_window_agree_with_the_placements() -> None:
    live = race(schedulers=("eft",))
    own = [block.placements["eft"] for block in advance(live, 600)]
    (state,) = live.snapshot("running", 0.0, "").schedulers
    turnaround = np.concatenate([each.turnaround for each in own])
    assert state.mean_turnaround == pytest.approx(turnaround.mean())
    assert state.window.p99_turnaround == pytest.approx(np.quantile(turnaround, 0.99))
    assert state.energy == pytest.approx(sum(each.energy.sum() for each in own))
    assert state.makespan == max(each.makespan for each in own)
    assert state.turnaround_cdf[-1] == pytest.approx(turnaround.max())


def test_the_analysis_counts_wins_and_finds_where_gpus_win() -> None:
    live = race(schedulers=("eft", "greedy"))
    advance(live, 1000)
    pictures = live.analysis()
    assert pictures.tasks == 1000
    assert pictures.wins[0][1] > pictures.wins[1][0]
    assert pictures.wins[0][0] == 0
    assert sum(pictures.size_counts) == 1000
    intense, light = (np.array([row[k] for row in pictures.gpu_wins], float) for k in (-1, 0))
    assert np.nanmean(intense) > np.nanmean(light)
    assert np.allclose(np.diag(pictures.correlation), 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedulers": ()}, "no scheduler"),
        ({"schedulers": ("eft", "eft")}, "twice"),
        ({"schedulers": ("etf",)}, "eft"),
        ({"preset": "cholesky"}, "dependencies"),
        ({"preset": "mxied"}, "mixed"),
        ({"load": 0.0}, "load is 0"),
        ({"load": None}, "either"),
        ({"energy_weight": 2.0}, "energy_weight"),
        ({"num_gpus": -1}, "num_gpus"),
        ({"failed_gpus": (4,)}, "GPU 4"),
        ({"pace": 0.0}, "pace"),
        ({"max_queue": 0}, "max_queue"),
        ({"seed": -1}, "seed"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SchedulerError, match=message):
        LiveSettings(**settings)


def test_an_unknown_setting_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(SchedulerError, match="did you mean 'pace'"):
        LiveSettings().changed(pase=3.0)
