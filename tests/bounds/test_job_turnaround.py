"""The turnaround bound of shared clusters: no schedule beats it, and a wrong certificate is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.job_turnaround import job_turnaround_bound, verify_job_turnaround_bound
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from job_checks import draw_batch, draw_pods


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["batch", "pods", "speeds"]),
    order=st.sampled_from(["sjf", "saf", "las"]),
)
def test_no_schedule_has_a_smaller_mean_turnaround_and_the_certificate_holds(
    seed: int, kind: str, order: str
) -> None:
    jobs, machines = draw_batch(seed) if kind == "batch" else draw_pods(seed, speeds=kind == "speeds")
    bound = job_turnaround_bound(jobs, machines)
    assert verify_job_turnaround_bound(bound, jobs, machines)
    schedule = registry.job_orders.create(order).run(jobs, machines, "easy", interpreted=True)
    assert np.nanmean(schedule.finish - jobs.arrival) >= bound.mean * (1 - 1e-12)


def test_jobs_as_wide_as_the_machine_meet_the_bound_shortest_first() -> None:
    jobs = Jobs.build(seconds=[30, 10, 20], cpu_milli=[4000] * 3, arrival=[5] * 3)
    bound = job_turnaround_bound(jobs, Machines.pool(4))
    assert bound.mean == pytest.approx((10 + 30 + 60) / 3)
    assert bound.prices == {"cores": 1 / 4000}


def test_jobs_that_never_wait_are_bounded_by_their_own_seconds_where_they_are_fastest() -> None:
    machines = Machines.build([9000] * 2, gpus=[4, 4], model=("T4", "V100"))
    jobs = Jobs.build(seconds=[30, 10], gpus=[1, 1], accepts=[{"T4": 0.5, "V100": 2.0}, ["T4"]])
    bound = job_turnaround_bound(jobs, machines)
    assert bound.mean == pytest.approx((15 + 10) / 2)
    assert not bound.prices


def test_certificates_that_prove_less_are_refused() -> None:
    jobs, machines = Jobs.build(seconds=[30, 10, 20], cpu_milli=[4000] * 3), Machines.pool(4)
    bound = job_turnaround_bound(jobs, machines)
    for wrong in (
        replace(bound, mean=bound.mean * 1.001),
        replace(bound, prices={"cores": 1 / 3000}),
        replace(bound, prices={"cores": -1 / 4000}),
        replace(bound, prices={}),
    ):
        assert not verify_job_turnaround_bound(wrong, jobs, machines)
    assert verify_job_turnaround_bound(bound, jobs, machines)
    wide = jobs.select(np.array([0]))
    assert job_turnaround_bound(wide, Machines.pool(2)).mean == 0.0, "jobs that fit nowhere are not counted"
