"""Gavel's policies: shares of time are optimal, and the rounds give everybody what was promised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.time_shares import share_evenly
from hybrid_scheduler.core.job_metrics import measure_jobs
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.rounds import Demand
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.errors import InputError, RowError
from hybrid_scheduler.schedulers.gavel import MaxMinFairness, MinMakespan
from hybrid_scheduler.workloads.job_presets import draw_jobs
from job_checks import check_stints, check_work, draw_batch, draw_pods


def demand(
    speed: list[list[float]],
    amount: list[float],
    weight: list[float] | None = None,
    asked: list[float] | None = None,
) -> Demand:
    ones, asks = np.ones(len(speed)), np.zeros(len(speed)) if asked is None else np.array(asked)
    weights = ones if weight is None else np.array(weight)
    return Demand(np.array(speed), ones, weights, ones, asks, np.array(amount, float))


def run(jobs: Jobs, machines: Machines, order: str) -> Schedule:
    found: Schedule = registry.job_orders.create(order).run(jobs, machines, interpreted=True)
    return found


def test_time_is_shared_so_that_the_slowest_is_as_fast_as_can_be() -> None:
    found = demand([[1.0, 0.5], [1.0, 0.9]], [1, 1])
    share = share_evenly(found, MinMakespan().need(found))
    # The first takes a of the fast device: 0.5 + 0.5 a = 1 - 0.1 a.
    assert share == pytest.approx(np.array([[5 / 6, 1 / 6], [1 / 6, 5 / 6]]), abs=1e-6)


def test_weights_and_widths_count_in_fairness() -> None:
    found = demand([[1.0], [1.0]], [1], weight=[2.0, 1.0])
    assert share_evenly(found, MaxMinFairness().need(found))[:, 0] == pytest.approx([2 / 3, 1 / 3], abs=1e-6)
    wide = demand([[1.0], [1.0]], [4])._replace(width=np.array([4.0, 1.0]))
    # A quarter of the time on four GPUs is as much as all the time on one; what is left goes to who can use it.
    assert share_evenly(wide, MaxMinFairness().need(wide))[:, 0] == pytest.approx([0.75, 1.0], abs=1e-6)


def test_a_job_that_is_wider_than_what_is_there_takes_nothing_from_others() -> None:
    found = demand([[1.0], [1.0]], [2])._replace(width=np.array([4.0, 1.0]))
    assert share_evenly(found, np.ones(2))[:, 0] == pytest.approx([0.0, 1.0])


def test_who_has_a_deadline_gets_the_throughput_that_keeps_it() -> None:
    one = demand([[1.0], [1.0]], [1], asked=[0.8, 0.0])
    assert share_evenly(one, np.ones(2))[:, 0] == pytest.approx([0.8, 0.2], abs=1e-6)
    # The first needs the fast device all the time, so the other is left with the slow one.
    two = demand([[1.0, 0.5], [1.0, 0.9]], [1, 1], asked=[1.0, 0.0])
    assert share_evenly(two, np.ones(2)) == pytest.approx(np.eye(2), abs=1e-6)
    late = demand([[0.5], [0.5]], [1], asked=[np.inf, 0.0])
    assert share_evenly(late, np.ones(2))[:, 0] == pytest.approx([0.5, 0.5], abs=1e-6)


def test_if_not_all_deadlines_can_be_kept_the_heavier_are_and_nobody_strives_in_vain() -> None:
    both = demand([[1.0], [1.0]], [1], weight=[1.0, 3.0], asked=[0.8, 0.8])
    assert share_evenly(both, np.ones(2))[:, 0] == pytest.approx([0.2, 0.8], abs=1e-6)
    # Of three that ask for 0.6 of one device one is kept; the others share the rest evenly.
    three = demand([[1.0]] * 3, [1], weight=[2.0, 1.0, 1.0], asked=[0.6] * 3)
    assert share_evenly(three, np.ones(3))[:, 0] == pytest.approx([0.6, 0.2, 0.2], abs=1e-6)


def test_what_is_left_over_goes_to_the_heavier() -> None:
    # The third is worst off, at 0.1 on its own device; the first two need no more than that.
    found = demand([[1.0, 0.0], [1.0, 0.0], [0.0, 0.1]], [1, 1], weight=[1.0, 2.0, 1.0])
    assert share_evenly(found, np.ones(3)) == pytest.approx(np.array([[0.1, 0], [0.9, 0], [0, 1]]), abs=1e-6)


def test_rounds_keep_a_deadline_that_equal_shares_would_miss() -> None:
    jobs = Jobs.build(seconds=[1000.0, 1000.0], gpus=[1, 1], deadline=[np.inf, 1300.0])
    machines = Machines.build([1000], gpus=[1], model=("T4",))
    finish = {
        each: run(jobs, machines, f"max_min_fairness:period=50:cost=0:deadlines={each}").finish.tolist()
        for each in (1, 0)
    }
    assert finish[1][1] <= 1300
    assert finish[1][0] == 2000, "the device was never idle"
    assert min(finish[0]) > 1800


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), pods=st.booleans(), order=st.sampled_from(["max_min_fairness", "min_makespan"]))
def test_rounds_hold_nothing_twice_and_all_work_is_done_once(seed: int, pods: bool, order: str) -> None:
    jobs, machines = draw_pods(seed, 30) if pods else draw_batch(seed, 30)
    found = run(jobs, machines, f"{order}:period=15:cost=2")
    assert np.array_equal(found.ran, ~found.rejected)
    check_stints(found)
    check_work(found, 2.0)


def test_rounds_give_the_shares_that_were_promised() -> None:
    jobs = Jobs.build(seconds=[1e5, 1e5], gpus=[1, 1], weight=[2.0, 1.0])
    machines = Machines.build([1000], gpus=[1], model=("T4",))
    found = run(jobs, machines, "max_min_fairness:period=100:cost=0")
    lines = found.list_stints()
    until = 60_000
    had = [
        float((np.minimum(lines.end, until) - np.minimum(lines.begin, until))[lines.row == row].sum())
        for row in range(2)
    ]
    assert had[0] / had[1] == pytest.approx(2.0, rel=0.02)


def test_who_gains_most_from_fast_gpus_gets_them() -> None:
    machines = Machines.build([1000, 1000], gpus=[1, 1], model=("V100", "T4"))
    speeds = [{"V100": 1.0, "T4": 0.9}, {"V100": 1.0, "T4": 0.1}]
    jobs = Jobs.build(seconds=[3600, 3600], gpus=[1, 1], accepts=speeds)
    found = run(jobs, machines, "min_makespan:period=60:cost=0")
    assert found.finish.max() < 4200  # first come, first served has the second on the slow GPU: 36,000 s
    assert run(jobs, machines, "fcfs").finish.max() == 36_000


def test_min_makespan_ends_sooner_than_first_come_and_fairness_is_fairer() -> None:
    jobs, machines = draw_jobs("training_jobs", 1, 80)
    now = replace(jobs, arrival=np.zeros(len(jobs)), requested=jobs.seconds, weight=np.ones(len(jobs)))
    reached = {name: measure_jobs(run(now, machines, name)) for name in ("fcfs", "min_makespan", "max_min_fairness")}
    assert reached["min_makespan"]["makespan"] < reached["fcfs"]["makespan"]
    assert reached["max_min_fairness"]["jain_index"] > reached["fcfs"]["jain_index"]


def test_bad_rounds_and_costs_are_refused() -> None:
    jobs, machines = draw_batch(0)
    with pytest.raises(InputError, match="a round takes 30 s, expected more than the 30 s"):
        run(jobs, machines, "min_makespan:period=30")
    with pytest.raises(InputError, match="a checkpoint takes -1 s"):
        run(jobs, machines, "min_makespan:cost=-1")
    with pytest.raises(InputError, match="deadlines is 'no', expected 1 or 0"):
        run(jobs, machines, "min_makespan:deadlines=no")
    endless = Jobs.build(seconds=[1e12], gpus=[1])
    with pytest.raises(InputError, match=r"a job runs 1e\+12 s, more than 200,000 rounds: give period=1000000000"):
        run(endless, Machines.build([1000], gpus=[1], model=("T4",)), "max_min_fairness")
    with pytest.raises(RowError, match=r"seconds is 1e\+300, expected at most 1e\+15"):
        Jobs.build(seconds=[1e300], gpus=[1])
