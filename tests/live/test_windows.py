"""Turnaround certified along the stream: nobody is below the bound of the last tasks, nor below their fronts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.bounds.turnaround import turnaround_bound, verify_turnaround_bound
from hybrid_scheduler.live import LiveSettings
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.snapshot import CertifiedFigures, CertifiedWindow, SchedulerFigures, Snapshot
from ordered_policies import SHORTEST_WAITING

LANES = ("eft", "oracle", "least_increase", SHORTEST_WAITING)


def run_race(count: int, block: int = 25, **settings: Any) -> LiveRace:
    live = LiveRace(LiveSettings(**{"schedulers": LANES, **settings}))
    advance(live, count, block)
    return live


def advance(live: LiveRace, count: int, block: int = 25) -> None:
    for _ in range(count // block):
        live.advance(block)


def look(live: LiveRace) -> Snapshot:
    return live.snapshot("running", 0.0, "")


def least_turnaround(front: list[list[float]], measure: float) -> float:
    """Return the height of a front at some joules or dollars per task."""
    points = np.array(front)
    return float(np.interp(measure, points[:, 1], points[:, 0], left=np.inf))


def check_certificate(window: CertifiedWindow, state: SchedulerFigures, own: CertifiedFigures) -> None:
    """Check that a scheduler is not below what is proved."""
    bound = window.mean_turnaround_split if own.splits else window.mean_turnaround
    assert state.turnaround_over_bound == pytest.approx(own.mean_turnaround / bound)
    assert state.turnaround_over_bound >= 1.0
    fronts = {
        "energy": window.energy_front_split if own.splits else window.energy_front,
        "cost": window.cost_front_split if own.splits else window.cost_front,
    }
    for name, front in fronts.items():
        measure = getattr(own, name)
        assert own.mean_turnaround >= least_turnaround(front, measure * (1 + 1e-9)) * (1 - 1e-9), (state.name, name)


@pytest.mark.parametrize("load", [0.9, 2.0])
def test_nobody_is_below_the_bound_or_the_fronts_whatever_happens_to_the_devices(load: float) -> None:
    live = run_race(150, load=load)
    live.change(live.settings.with_changes(failed_gpus=(0, 2)))
    advance(live, 150)
    live.change(live.settings.with_changes(failed_gpus=()))
    advance(live, 50)
    seen = look(live)
    window = seen.certified_window
    assert window is not None
    assert (window.first_task, window.tasks) == (0, 300)
    assert window.mean_turnaround_split <= window.mean_turnaround
    for state in seen.schedulers:
        assert state.certified is not None
        assert state.certified.splits == (state.name == "oracle")
        check_certificate(window, state, state.certified)


def test_the_figures_are_those_of_the_window_and_what_waits_counts_as_if_no_more_came() -> None:
    live = LiveRace(LiveSettings(schedulers=LANES[2:3], load=1.5))
    blocks = [live.advance(25) for _ in range(5)]
    window, lane = live.windows.find_shown(), live.lanes["least_increase"]
    assert window is not None
    assert np.array_equal(window.tasks.task_id, np.arange(100))
    turnaround = np.concatenate([block.placements["least_increase"].turnaround for block in blocks])
    assert np.isnan(turnaround[:100]).any()
    for placed in (live.take_started()["least_increase"].placements, lane.outlook()):
        assert placed is not None
        turnaround[placed.tasks.task_id] = placed.turnaround
    (state,) = look(live).schedulers
    assert state.certified is not None
    assert state.certified.mean_turnaround == pytest.approx(turnaround[:100].mean())
    bound = turnaround_bound(window.tasks, window.cluster)
    assert verify_turnaround_bound(bound, window.tasks, window.cluster)
    shown = look(live).certified_window
    assert shown is not None
    assert shown.mean_turnaround == pytest.approx(bound.mean, rel=0.05)  # with fewer steps


def test_what_is_shown_depends_on_the_tasks_and_not_on_who_looks_when() -> None:
    watched, other = (LiveRace(LiveSettings(schedulers=("eft",), pace=20.0)) for _ in range(2))
    for _ in range(31):
        watched.advance(10)
        look(watched)
    other.advance(10)
    advance(other, 300, 100)
    assert look(watched).certified_window == look(other).certified_window
    assert look(other).schedulers[0].certified == look(watched).schedulers[0].certified


def test_a_cluster_of_another_size_begins_anew_and_who_rejects_tasks_is_not_compared() -> None:
    live = run_race(150, schedulers=("eft", "greedy"), load=3.0, max_queue=30)
    seen = look(live)
    rejects = {state.name: state.rejected > 0 for state in seen.schedulers}
    assert any(rejects.values())
    for state in seen.schedulers:
        assert (state.certified is None) == rejects[state.name]
        assert np.isnan(state.turnaround_over_bound) == rejects[state.name]
    live.change(live.settings.with_changes(num_gpus=6))
    advance(live, 100)
    assert look(live).certified_window is None
    advance(live, 50)
    again = look(live).certified_window
    assert again is not None
    assert (again.first_task, again.tasks) == (150, 100)
