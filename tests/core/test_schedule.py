"""Schedules of shared clusters: nothing is given away twice, gangs start together, reservations are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.core.job_loop import EASY, Phases
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.schedule import Schedule, schedule_jobs
from hybrid_scheduler.errors import InputError, SchedulerError
from job_checks import check_jobs, check_stints, draw_batch, draw_pods, schedule_easy

ORDERS = sorted(name for name in registry.job_orders.table if not registry.job_orders.create(name).preempts)
FITS = sorted(registry.fits.table)
UNPLANNED = ["none", "easy"]
Seeds = st.integers(0, 10_000)


def interpret(jobs: Jobs, machines: Machines, order: str, backfill: str = "none", fit: str = "best") -> Schedule:
    rule = registry.fits.create(fit)
    return schedule_jobs(jobs, machines, registry.job_orders.create(order), backfill, rule, interpreted=True)


@settings(max_examples=25, deadline=None)
@given(
    seed=Seeds,
    order=st.sampled_from(ORDERS),
    fit=st.sampled_from(FITS),
    backfill=st.sampled_from(["none", "easy"]),
    speeds=st.booleans(),
)
def test_pods_hold_what_they_asked_for_and_nothing_is_given_away_twice(
    seed: int, order: str, fit: str, backfill: str, speeds: bool
) -> None:
    jobs, machines = draw_pods(seed, speeds=speeds)
    schedule = interpret(jobs, machines, order, backfill, fit)
    check_jobs(schedule)
    check_stints(schedule)
    assert np.array_equal(schedule.ran, ~schedule.rejected), "whatever fits runs at last"


@settings(max_examples=25, deadline=None)
@given(seed=Seeds, order=st.sampled_from(ORDERS), backfill=st.sampled_from(["none", "easy", "conservative"]))
def test_rigid_jobs_hold_their_width_and_all_run(seed: int, order: str, backfill: str) -> None:
    schedule = interpret(*draw_batch(seed), order, backfill)
    check_jobs(schedule)
    assert schedule.ran.all()


@settings(max_examples=30, deadline=None)
@given(seed=Seeds, kind=st.sampled_from(["batch", "pods", "speeds"]), order=st.sampled_from(ORDERS))
def test_backfilling_never_delays_the_reservation_of_the_head(seed: int, kind: str, order: str) -> None:
    drawn = draw_batch(seed) if kind == "batch" else draw_pods(seed, speeds=kind == "speeds")
    schedule = interpret(*drawn, order, "easy")
    promised = np.isfinite(schedule.reserved)
    assert np.all(schedule.start[promised] <= schedule.reserved[promised])


@settings(max_examples=20, deadline=None)
@given(seed=Seeds)
def test_conservative_backfilling_delays_nobodys_reservation(seed: int) -> None:
    schedule = interpret(*draw_batch(seed), "fcfs", "conservative")
    promised = np.isfinite(schedule.reserved)
    assert promised.any()
    assert np.all(schedule.start[promised] <= schedule.reserved[promised])


@settings(max_examples=20, deadline=None)
@given(seed=Seeds)
def test_easy_backfilling_is_what_a_slow_program_finds(seed: int) -> None:
    jobs, machines = draw_batch(seed)
    assert np.array_equal(interpret(jobs, machines, "fcfs", "easy").start, schedule_easy(jobs, 16))


@settings(max_examples=40, deadline=None)
@given(seed=Seeds, order=st.sampled_from(ORDERS), backfill=st.sampled_from(["none", "easy", "conservative"]))
def test_jobs_that_take_longer_than_requested_stop_nobody_for_ever(seed: int, order: str, backfill: str) -> None:
    jobs, machines = draw_batch(seed)
    factor = np.random.default_rng(seed).choice([0.1, 0.5, 1.0, 3.0], len(jobs))
    schedule = interpret(jobs.with_requested(jobs.seconds * factor), machines, order, backfill)
    check_jobs(schedule)
    assert schedule.ran.all()


@settings(max_examples=10, deadline=None)
@given(seed=Seeds)
def test_without_backfilling_nobody_overtakes_who_came_first(seed: int) -> None:
    start = interpret(*draw_batch(seed), "fcfs").start
    assert np.all(np.diff(start) >= 0)


@pytest.mark.parametrize("fit", FITS)
def test_compiled_and_interpreted_runs_are_the_same_bit_for_bit(fit: str) -> None:
    for seed, backfill in ((1, "none"), (2, "easy")):
        jobs, machines = draw_pods(seed, 80)
        slow = interpret(jobs, machines, "fair_share", backfill, fit)
        fast = schedule_jobs(
            jobs, machines, registry.job_orders.create("fair_share"), backfill, registry.fits.create(fit)
        )
        assert np.array_equal(slow.start, fast.start, equal_nan=True)
        assert np.array_equal(slow.entries.node, fast.entries.node)
        assert np.array_equal(slow.entries.gpu, fast.entries.gpu)


@pytest.mark.parametrize("order", ORDERS)
def test_compiled_and_interpreted_orders_are_the_same_bit_for_bit(order: str) -> None:
    jobs, machines = draw_batch(3, 120)
    for backfill in ("none", "easy", "conservative"):
        fast = schedule_jobs(jobs, machines, registry.job_orders.create(order), backfill)
        assert np.array_equal(interpret(jobs, machines, order, backfill).start, fast.start)


def test_a_head_that_waits_keeps_its_place_unless_it_may_be_overtaken() -> None:
    jobs = Jobs.build(seconds=[10, 50, 1], arrival=[0, 1, 2], cpu_milli=[3000, 4000, 4000])
    order, machines = registry.job_orders.create("sjf"), Machines.pool(4)
    kept = schedule_jobs(jobs, machines, order, interpreted=True)
    overtaken = schedule_jobs(jobs, machines, order, keep_head=False, interpreted=True)
    assert kept.start.tolist() == [0, 10, 60]
    assert overtaken.start.tolist() == [0, 11, 10]


def test_an_order_may_change_its_mind_while_jobs_wait() -> None:
    jobs = Jobs.build(seconds=[10, 50, 1, 2], arrival=[0, 1, 2, 12], cpu_milli=[3000, 4000, 4000, 1000])
    order, machines = registry.job_orders.create("fcfs"), Machines.pool(4)
    phases = Phases(np.array([2.0]), jobs.seconds[None, :], np.array([EASY]), np.array([False]))
    for interpreted in (True, False):
        shortest = schedule_jobs(jobs, machines, order, phases=phases, interpreted=interpreted)
        assert shortest.start.tolist() == [0, 11, 10, 61], "from 2 s on the shortest goes first"
    assert schedule_jobs(jobs, machines, order, interpreted=True).start.tolist() == [0, 10, 60, 61]
    assert order.keys(jobs).static.tolist() == [0] * 4, "the keys of the order stay what they are"


@settings(max_examples=15, deadline=None)
@given(seed=Seeds, moments=st.lists(st.floats(0, 500), min_size=1, max_size=3))
def test_who_changes_the_order_gives_nothing_away_twice(seed: int, moments: list[float]) -> None:
    jobs, machines = draw_pods(seed)
    count = len(moments)
    keys = np.random.default_rng(seed).random((count, len(jobs)))
    phases = Phases(np.sort(moments), keys, np.arange(count) % 2, np.arange(count) % 3 == 0)
    order = registry.job_orders.create("fcfs")
    schedule = schedule_jobs(jobs, machines, order, "easy", phases=phases, interpreted=True)
    check_jobs(schedule)
    assert np.array_equal(schedule.ran, ~schedule.rejected)


def test_a_gang_spans_nodes_only_if_it_may() -> None:
    machines = Machines.build([4000, 4000], gpus=[2, 2], model=("T4", "T4"))
    jobs = Jobs.build(seconds=[5, 5], gpus=[3, 3], span=[False, True])
    schedule = interpret(jobs, machines, "fcfs")
    assert schedule.rejected.tolist() == [True, False]
    check_jobs(schedule)
    assert sorted(schedule.entries.node[3:6].tolist()) == [0, 0, 1]


def test_a_job_runs_as_fast_as_on_the_slowest_of_its_gpus() -> None:
    machines = Machines.build([4000, 4000], gpus=[1, 1], model=("T4", "V100"))
    speeds = {"V100": 1.0, "T4": 0.25}
    jobs = Jobs.build(seconds=[5, 5], arrival=[0, 100], gpus=[2, 1], span=[True, False], accepts=[speeds] * 2)
    assert interpret(jobs, machines, "fcfs", fit="first").finish.tolist() == [20, 120]


def test_two_shares_meet_on_one_gpu_and_a_third_that_does_not_fit_waits() -> None:
    machines = Machines.build([9000], gpus=[1], model=("T4",))
    jobs = Jobs.build(seconds=[5, 5, 5], cpu_milli=[1000] * 3, gpus=[1] * 3, gpu_milli=[600, 400, 100])
    assert interpret(jobs, machines, "fcfs").start.tolist() == [0, 0, 5]


def test_fair_share_serves_whose_user_has_had_least() -> None:
    jobs = Jobs.build(seconds=[10] * 4, arrival=[0, 1, 1, 1], cpu_milli=[1000] * 4, user=[0, 0, 0, 1])
    assert interpret(jobs, Machines.pool(1), "fair_share").start.tolist() == [0, 20, 30, 10]


def test_the_earliest_deadline_goes_first() -> None:
    jobs = Jobs.build(seconds=[10] * 3, arrival=[0, 1, 1], cpu_milli=[1000] * 3, deadline=[50, 99, 40])
    assert interpret(jobs, Machines.pool(1), "edf").start.tolist() == [0, 20, 10]


def test_where_nobody_waits_a_pod_without_room_is_turned_away() -> None:
    jobs = Jobs.build(seconds=[np.inf] * 3, arrival=[0, 1, 2], cpu_milli=[1000, 1000, 500])
    order = registry.job_orders.create("fcfs")
    schedule = schedule_jobs(jobs, Machines.pool(1), order, waits=False, interpreted=True)
    assert schedule.ran.tolist() == [True, False, False]
    assert schedule.turned_away.sum() == 2


def test_users_that_ask_for_less_than_they_need_are_not_interrupted() -> None:
    jobs = Jobs.build(seconds=[10, 10], arrival=[0, 1], requested=[2, 2], cpu_milli=[1000, 1000])
    assert interpret(jobs, Machines.pool(1), "sjf", "easy").start.tolist() == [0, 10]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seconds": [0.0]}, "seconds is 0, expected seconds above 0"),
        ({"gpus": [2], "gpu_milli": [500]}, "shares never span devices"),
        ({"gpu_milli": [1200], "gpus": [1]}, "1 to 1000 thousandths"),
        ({"cpu_milli": [0]}, "a core or a GPU to ask for"),
        ({"cpu_milli": [1.5]}, "a whole number"),
        ({"arrival": [-1.0]}, "seconds, 0 or more"),
        ({"weight": [0.0]}, "a number above 0"),
        ({"arrival": [0.0, 1.0]}, "one value a job"),
        ({"accepts": []}, "give them for each"),
        ({"accepts": [{"T4": 0.0}], "gpus": [1]}, "speed is 0, expected a number above 0"),
    ],
)
def test_bad_jobs_are_refused_in_one_line(change: dict[str, list[float]], says: str) -> None:
    columns = {"seconds": [1.0], "cpu_milli": [1000], **change}
    with pytest.raises(InputError, match=says) as refused:
        Jobs.build(**columns)  # type: ignore[arg-type]  # on purpose
    assert "\n" not in str(refused.value)


def test_bad_machines_and_rules_are_refused() -> None:
    jobs, machines = draw_pods(0)
    order = registry.job_orders.create("fcfs")
    with pytest.raises(SchedulerError, match="unknown backfilling 'esay': did you mean 'easy'"):
        schedule_jobs(jobs, machines, order, "esay")
    with pytest.raises(InputError, match="take easy or none"):
        schedule_jobs(jobs, machines, order, "conservative")
    with pytest.raises(InputError, match="there is no machine"):
        Machines.build([])
    with pytest.raises(InputError, match="a pool of 0 processors"):
        Machines.pool(0)


def test_jobs_come_in_order_of_arrival_whatever_their_rows_were() -> None:
    jobs = Jobs.build(seconds=[1, 2, 3], arrival=[5, 0, 2], cpu_milli=[WHOLE] * 3)
    assert jobs.seconds.tolist() == [2, 3, 1]
    assert jobs.job_id.tolist() == [1, 2, 0]
    assert replace(jobs, user=np.array([0, 1, 1])).users.tolist() == [0, 1]
