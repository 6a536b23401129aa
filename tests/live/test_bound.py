"""The bound of an endless stream is certified and tight, and no scheduler ends before it, whatever is changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.live.bound import LiveBound
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.settings import LiveSettings
from instances import TWO_NODES, workload

SCHEDULERS = ("eft", "oracle", "round_robin", "price")


CHANGES = st.one_of(
    st.builds(lambda load: {"load": load}, st.sampled_from([0.3, 0.9, 1.5, 3.0])),
    st.builds(lambda number: {"num_gpus": number}, st.integers(0, 4)),
    st.builds(lambda gpus: {"failed_gpus": tuple(gpus)}, st.sets(st.integers(0, 3))),
    st.builds(lambda names: {"schedulers": tuple(names)}, st.sets(st.sampled_from(SCHEDULERS), min_size=1)),
    st.builds(lambda most: {"max_queue": most}, st.sampled_from([None, 1, 5, 20])),
    st.builds(lambda preset: {"preset": preset}, st.sampled_from(["mixed", "cpu_friendly", "gpu_friendly"])),
    st.builds(
        lambda number, gpus: {"num_gpus": number, "failed_gpus": tuple(gpus)},
        st.integers(2, 4),
        st.sets(st.integers(0, 1)),
    ),
)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(CHANGES, st.integers(1, 30)), max_size=6), st.integers(0, 100))
def test_no_scheduler_ends_before_the_bound(changes: list[tuple[dict[str, Any], int]], seed: int) -> None:
    race = LiveRace(LiveSettings(schedulers=("eft", "oracle"), load=1.5, seed=seed))
    race.advance(60)
    check_bound(race)
    for change, tasks in changes:
        known = race.settings
        if any(gpu >= change.get("num_gpus", known.num_gpus) for gpu in change.get("failed_gpus", ())):
            continue
        race.change(known.with_changes(**change))
        for _ in range(2):
            race.advance(tasks)
            check_bound(race)
    race.close()


def check_bound(race: LiveRace) -> None:
    for each in race.snapshot("running", 0.0, "").schedulers:
        assert each.makespan_over_bound >= 1.0 - 1e-9, (each.name, race.settings)


def test_a_late_lane_is_bounded_by_its_own_tasks() -> None:
    race = LiveRace(LiveSettings(schedulers=("round_robin",), load=3.0))
    race.advance(500)
    race.change(race.settings.with_changes(schedulers=("round_robin", "eft")))
    race.advance(200)
    late = race.lanes["eft"]
    assert late.bound.seconds < race.bound.seconds
    assert 1.0 <= late.totals.makespan / late.bound.seconds < 1.2


def test_a_lane_that_rejects_tasks_is_bounded_by_those_it_took() -> None:
    race = LiveRace(LiveSettings(schedulers=("eft",), load=3.0, max_queue=5))
    for _ in range(40):
        race.advance(10)
    lane = race.lanes["eft"]
    assert lane.totals.rejected > 0
    assert lane.bound.seconds < race.bound.seconds
    assert 1.0 <= lane.totals.makespan / lane.bound.seconds < 1.5


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


def test_no_scheduler_beats_the_bound_while_gpus_fail_and_come_back() -> None:
    live = LiveRace(LiveSettings(schedulers=("round_robin", "random", "greedy", "eft", "oracle"), load=1.2))
    for failed in ((), (0, 1), (), (0, 1, 2, 3), (3,)):
        live.change(live.settings.with_changes(failed_gpus=failed))
        for _ in range(20):
            live.advance(10)
        for state in live.snapshot("running", 0.0, "").schedulers:
            assert state.makespan_over_bound >= 1 - 1e-9
