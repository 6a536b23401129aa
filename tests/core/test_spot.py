"""Spot nodes leave and return: nobody is there meanwhile, and no work is lost that could be saved, or done twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.core.spot import LEAVE, NOTICE, RETURN, Departures, Spot, build_departures
from hybrid_scheduler.errors import InputError
from job_checks import check_stints, check_work, draw_pods

ORDERS = ("fcfs", "sjf", "wfp3", "fair_share", "las", "max_min_fairness:period=10", "min_makespan:period=10")
Seeds = st.integers(0, 10_000)


def run(jobs: Jobs, machines: Machines, order: str, departures: Departures, backfill: str = "none") -> Schedule:
    found: Schedule = registry.job_orders.create(order).run(
        jobs, machines, backfill, departures=departures, interpreted=True
    )
    return found


def ask(order: str, cost: float) -> str:
    """Return the order with a price of checkpoints, by its own name for it."""
    name = "cost" if registry.job_orders.create(order).preempts else "checkpoint"
    return f"{order}:{name}={cost:g}"


@settings(max_examples=40, deadline=None)
@given(seed=Seeds, order=st.sampled_from(ORDERS), backfill=st.sampled_from(["none", "easy"]), saves=st.booleans())
def test_interrupted_work_is_neither_lost_nor_done_twice(seed: int, order: str, backfill: str, saves: bool) -> None:
    jobs, machines = draw_pods(seed, 30)
    departures = Spot(0.6, stay=40.0, away=15.0, notice=3.0).draw(jobs, machines, seed)
    cost = 2.0 if saves else 5.0
    found = run(jobs, machines, ask(order, cost), departures, backfill)
    assert np.array_equal(found.ran, ~found.rejected), "all run at last"
    check_stints(found, departures)
    check_work(found, cost)
    if saves and not registry.job_orders.create(order).preempts:
        assert found.kept is not None
        for row in np.flatnonzero(found.ran & (found.kept.lost > 0)).tolist():
            assert found.interruptions[row] > 1, "only who is interrupted while it is restarted loses that time"


def test_a_job_goes_on_where_it_was_saved_or_begins_anew() -> None:
    jobs, machines = Jobs.build(seconds=[100], cpu_milli=[1000]), Machines.build([1000])
    away = build_departures([(50, 0, NOTICE), (60, 0, LEAVE), (80, 0, RETURN)], notice=10)
    assert run(jobs, machines, "fcfs", away).finish.tolist() == [180]
    assert run(jobs, machines, "fcfs:checkpoint=5", away).finish.tolist() == [125]
    assert run(jobs, machines, "fcfs:checkpoint=11", away).finish.tolist() == [180], "the notice is too short"
    assert run(jobs, machines, "las:cost=5", away).finish.tolist() == [125]


def test_nobody_is_sent_to_a_node_that_is_about_to_leave() -> None:
    jobs, machines = Jobs.build(seconds=[10], arrival=[55], cpu_milli=[1000]), Machines.build([1000, 1000])
    away = build_departures([(50, 0, NOTICE), (70, 0, LEAVE), (80, 0, RETURN)], notice=20)
    assert run(jobs, machines, "fcfs", away).list_stints().node.tolist() == [1]


def test_a_gang_on_several_nodes_goes_when_one_of_them_does() -> None:
    machines = Machines.build([1000, 1000, 1000], gpus=[1, 1, 1], model=("T4",) * 3)
    jobs = Jobs.build(seconds=[100], gpus=[2], span=[True])
    away = build_departures([(30, 0, NOTICE), (30, 0, LEAVE), (500, 0, RETURN)])
    found = run(jobs, machines, "fcfs", away)
    assert found.finish.tolist() == [130]
    assert sorted(found.list_stints().node.tolist()) == [0, 1, 1, 2]


@pytest.mark.parametrize("order", ["sjf", "las", "max_min_fairness:period=40"])
def test_compiled_and_interpreted_runs_are_the_same_bit_for_bit(order: str) -> None:
    jobs, machines = draw_pods(3, 60, speeds=True)
    departures = Spot(0.5, stay=60.0, away=20.0, notice=30.0).draw(jobs, machines, 1)
    policy = registry.job_orders.create(order)
    slow, fast = (policy.run(jobs, machines, departures=departures, interpreted=each) for each in (True, False))
    assert slow.interruptions.sum() > 0
    assert np.array_equal(slow.finish, fast.finish, equal_nan=True)
    assert np.array_equal(slow.list_stints().gpu, fast.list_stints().gpu)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"share": 0.0}, "share of spot nodes is 0"),
        ({"stay": 0.0}, "stay is 0 s"),
        ({"notice": -1.0}, "notice is -1"),
    ],
)
def test_bad_spot_nodes_are_refused(change: dict[str, float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Spot(**{"share": 0.5, **change})


def test_plans_for_ever_and_jobs_without_end_are_refused_on_spot_nodes() -> None:
    jobs, away = Jobs.build(seconds=[1.0], cpu_milli=[1000]), build_departures([])
    with pytest.raises(InputError, match="take easy or none"):
        run(jobs, Machines.pool(1), "fcfs", away, "conservative")
