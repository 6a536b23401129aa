"""Measures of shared clusters, on schedules small enough to be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core.job_metrics import (
    JOB_MEASURES,
    jain_index,
    measure_allocation,
    measure_jobs,
    measure_users,
)
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.schedule import Schedule, schedule_jobs


def run(jobs: Jobs, machines: Machines) -> Schedule:
    return schedule_jobs(jobs, machines, registry.job_orders.create("fcfs"), interpreted=True)


@pytest.fixture(name="schedule")
def two_users() -> Schedule:
    """Two jobs of one user in a row, and a short one of another behind them, on two processors."""
    jobs = Jobs.build(
        seconds=[20, 20, 2],
        cpu_milli=[2000, 1000, 2000],
        user=[0, 0, 1],
        deadline=[np.inf, 30, 99],
        arrival=[0, 0, 0],
    )
    return run(jobs, Machines.pool(2))


def test_every_measure_is_as_computed_by_hand(schedule: Schedule) -> None:
    measures = measure_jobs(schedule, bound=21.0, turnaround_bound=17.0)
    assert set(measures) == set(JOB_MEASURES)
    assert schedule.start.tolist() == [0, 20, 40]
    assert measures["bounded_slowdown"] == pytest.approx((1 + 2 + 4.2) / 3)
    assert measures["mean_waiting"] == 20
    assert measures["turnaround_over_bound"] == pytest.approx((20 + 40 + 42) / 3 / 17)
    assert measures["makespan"] == 42
    assert measures["makespan_over_bound"] == 2
    assert measures["utilisation"] == pytest.approx((40 + 20 + 4) / 84)
    assert measures["deadline_misses"] == 0.5
    assert measures["worst_user"] == pytest.approx(4.2)
    assert measures["jain_index"] == pytest.approx((1.5 + 4.2) ** 2 / (2 * (1.5**2 + 4.2**2)))
    # Two users with a processor each: the first job would take 40 s there, the second 20 s, the third 4 s.
    assert measures["finish_time_fairness"] == pytest.approx(42 / 4)
    assert measures["rejected"] == 0


def test_the_threshold_of_the_bounded_slowdown_can_be_chosen(schedule: Schedule) -> None:
    assert measure_jobs(schedule, threshold=1.0)["bounded_slowdown"] == pytest.approx((1 + 2 + 21) / 3)


def test_users_have_their_own_figures(schedule: Schedule) -> None:
    users = measure_users(schedule)
    assert users["0"]["jobs"] == 2
    assert users["0"]["deadline_misses"] == 1.0
    assert users["0"]["finish_time_fairness"] == pytest.approx((20 / 40 + 2) / 2)
    own = {"jobs": 1, "bounded_slowdown": 4.2, "mean_waiting": 40, "deadline_misses": 0.0}
    assert users["1"] == pytest.approx({**own, "finish_time_fairness": 42 / 4, "share": 4 / 64})


def test_jains_index_is_1_if_all_have_the_same_and_1_over_n_if_one_has_all() -> None:
    assert jain_index(np.array([3.0, 3.0, 3.0])) == pytest.approx(1.0)
    assert jain_index(np.array([5.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)


def test_allocated_gpus_count_shares() -> None:
    machines = Machines.build([9000], gpus=[2], model=("T4",))
    jobs = Jobs.build(seconds=[np.inf] * 2, cpu_milli=[1000] * 2, gpus=[1, 1], gpu_milli=[600, 1000])
    assert measure_allocation(run(jobs, machines)) == pytest.approx(0.8)


def test_jobs_that_fit_no_machine_are_counted() -> None:
    measures = measure_jobs(run(Jobs.build(seconds=[5], cpu_milli=[9000]), Machines.pool(2)))
    assert measures["rejected"] == 1
    assert np.isnan(measures["bounded_slowdown"])
