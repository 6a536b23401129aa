"""The area bound of shared clusters: no schedule beats it, and a wrong certificate is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.area import area_bound, list_amounts, verify_area_bound
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.schedule import schedule_jobs
from job_checks import draw_batch, draw_pods


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["batch", "pods", "speeds"]))
def test_no_schedule_ends_before_the_bound_and_the_certificate_holds(seed: int, kind: str) -> None:
    jobs, machines = draw_batch(seed) if kind == "batch" else draw_pods(seed, speeds=kind == "speeds")
    bound = area_bound(jobs, machines)
    assert verify_area_bound(bound, jobs, machines)
    order = registry.job_orders.create("sjf")
    schedule = schedule_jobs(jobs, machines, order, "easy", interpreted=True)
    assert np.nanmax(schedule.finish) >= bound.end * (1 - 1e-12)


def test_a_full_machine_meets_the_bound() -> None:
    jobs = Jobs.build(seconds=[10, 10, 10], cpu_milli=[4000, 2000, 2000], arrival=[5, 5, 5])
    bound = area_bound(jobs, Machines.pool(4))
    assert bound.end == pytest.approx(25)
    assert bound.prices == {"cores": 1 / 4000}


def test_jobs_that_accept_two_models_share_one_price_of_both() -> None:
    machines = Machines.build([100_000] * 2, gpus=[1, 3], model=("A10", "T4"))
    jobs = Jobs.build(seconds=[10] * 8, cpu_milli=[1] * 8, gpus=[1] * 8, accepts=[["A10", "T4"]] * 8)
    bound = area_bound(jobs, machines)
    assert bound.end == pytest.approx(20)
    assert bound.prices["gpu A10"] == pytest.approx(bound.prices["gpu T4"])


def test_work_is_priced_where_it_is_cheapest_for_as_long_as_it_runs_there() -> None:
    machines = Machines.build([100_000] * 2, gpus=[1, 1], model=("T4", "V100"))
    jobs = Jobs.build(seconds=[10] * 6, cpu_milli=[1] * 6, gpus=[1] * 6, accepts=[{"T4": 0.5, "V100": 1.0}] * 6)
    assert area_bound(jobs, machines).end == pytest.approx(40)  # 60 s of work, 1.5 a second
    alone = area_bound(jobs.select(slice(0, 1)), machines.select(np.array([True, False])))
    assert (alone.end, alone.row) == (20, 0)


def test_a_long_job_bounds_what_little_work_does_not() -> None:
    jobs = Jobs.build(seconds=[3, 100], cpu_milli=[1000, 1000])
    bound = area_bound(jobs, Machines.pool(9))
    assert (bound.end, bound.row, bound.prices) == (100, 1, {})
    assert verify_area_bound(bound, jobs, Machines.pool(9))


def test_wrong_certificates_are_refused() -> None:
    jobs, machines = draw_batch(1)
    bound = area_bound(jobs, machines)
    assert not verify_area_bound(replace(bound, end=bound.end * 1.01), jobs, machines)
    assert not verify_area_bound(replace(bound, prices={"cores": 2 / 16_000}), jobs, machines)
    assert not verify_area_bound(replace(bound, prices={"cores": -1.0}), jobs, machines)
    assert not verify_area_bound(replace(bound, prices={}, row=0, end=1e9), jobs, machines)


def test_memory_without_a_limit_has_no_price() -> None:
    assert list_amounts(Machines.pool(4)) == {"cores": 4000}
    assert list_amounts(Machines.build([4000], [512], [2], ("T4",))) == {"cores": 4000, "memory": 512, "gpu T4": 2000}
