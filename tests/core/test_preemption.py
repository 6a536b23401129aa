"""Least attained service: interrupted work is neither lost nor done twice, and short jobs need not be announced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.core.job_metrics import measure_jobs
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.preemption import schedule_by_service
from hybrid_scheduler.core.schedule import schedule_jobs
from hybrid_scheduler.errors import InputError
from job_checks import check_stints, check_work, draw_batch, draw_pods


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), pods=st.booleans(), cost=st.sampled_from([0.0, 2.5]))
def test_interrupted_work_is_neither_lost_nor_done_twice(seed: int, pods: bool, cost: float) -> None:
    jobs, machines = (draw_pods if pods else draw_batch)(seed)
    found = schedule_by_service(jobs, machines, thresholds=(20.0, 90.0), cost=cost, interpreted=True)
    ran = found.ran
    assert np.array_equal(ran, ~found.rejected)
    if cost:
        check_work(found, cost)
    else:
        assert np.allclose(found.served[ran], jobs.seconds[ran])
    assert np.all((found.finish - found.start)[ran] >= found.served[ran] - 1e-6)
    assert np.array_equal(found.free.cpu, machines.cpu_milli), "all was given back"
    assert np.all(found.free.gpu == 1000)
    check_stints(found)


def test_a_short_job_interrupts_a_long_one_that_has_had_enough() -> None:
    jobs = Jobs.build(seconds=[100, 10], arrival=[0, 50], cpu_milli=[1000, 1000])
    found = schedule_by_service(jobs, Machines.pool(1), thresholds=(30.0,), cost=5.0, interpreted=True)
    assert found.start.tolist() == [0, 50]
    assert found.finish.tolist() == [115, 60]
    assert found.interruptions.tolist() == [1, 0]


def test_nobody_is_interrupted_in_vain() -> None:
    jobs = Jobs.build(seconds=[100, 100, 10], arrival=[0, 0, 50], cpu_milli=[1000, 1000, 2000])
    found = schedule_by_service(jobs, Machines.pool(2), thresholds=(80.0,), cost=5.0, interpreted=True)
    assert found.interruptions.tolist() == [1, 1, 0]
    assert found.start[2] == 80, "at 50 nobody had had enough; at 80 both have, and both must go"


def test_compiled_and_interpreted_runs_are_the_same_bit_for_bit() -> None:
    jobs, machines = draw_pods(5, 80)
    slow, fast = (
        schedule_by_service(jobs, machines, thresholds=(20.0,), interpreted=interpreted)
        for interpreted in (True, False)
    )
    assert np.array_equal(slow.finish, fast.finish, equal_nan=True)
    assert np.array_equal(slow.interruptions, fast.interruptions)


def test_it_helps_where_nobody_knows_how_long_jobs_take() -> None:
    jobs, machines = draw_batch(2, 150)
    blind = replace(jobs, requested=np.full(len(jobs), 1000.0))
    order = registry.job_orders.create("sjf")
    without = measure_jobs(schedule_jobs(blind, machines, order, "easy", interpreted=True))
    served = schedule_by_service(blind, machines, thresholds=(100.0, 400.0), cost=1.0, interpreted=True)
    assert measure_jobs(served)["bounded_slowdown"] < without["bounded_slowdown"]


def test_bad_costs_and_thresholds_are_refused() -> None:
    jobs, machines = draw_batch(0)
    with pytest.raises(InputError, match="costs -1 s"):
        schedule_by_service(jobs, machines, cost=-1.0)
    with pytest.raises(InputError, match="each larger than the one before"):
        schedule_by_service(jobs, machines, thresholds=(5.0, 5.0))
