"""Where tasks carry expected times, schedulers see estimates as of the decision, and never the future."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.simulator import VirtualMultiGPU, reorders, steals_work
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.schedulers.round_robin import RoundRobin
from hybrid_scheduler.schedulers.scheduler import Scheduler
from instances import TWO_NODES, instances, workload

NAMES = sorted(registry.schedulers.table)
DECISION = ("gpu_fraction", "gpu", "cpu")
COLUMNS = (*DECISION, "gpu_start", "cpu_start", "ready", "finish", "status")
some = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
ONE_GPU = Cluster.default(gpus=1)


class Recording(Scheduler):
    """Returns given decisions and records the views that it sees."""

    def __init__(self, decisions: list[tuple[float, int]]) -> None:
        self.decisions = decisions
        self.shown: list[tuple[float, Floats]] = []

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        self.shown.append((task.ready_time, view.free.copy()))
        return self.decisions[len(self.shown) - 1]


def run(name: str, tasks: Tasks, cluster: Cluster, *, interpreted: bool = False) -> Placements:
    machine = VirtualMultiGPU(cluster=cluster)
    return machine.run(tasks, registry.schedulers.create(name, seed=7), interpreted=interpreted)


def noisy(tasks: Tasks, cluster: Cluster, seed: int, spread: float = 0.7) -> Tasks:
    """Return tasks that are expected to take other times than they do."""
    times, generator = class_times(tasks, cluster), np.random.default_rng(seed)
    wrong = times * generator.lognormal(0.0, spread, times.shape)
    return replace(tasks, expected={each.name: wrong[:, k] for k, each in enumerate(cluster.classes)})


def two_at_once(true: list[float], expected: list[float], arrival: list[float]) -> Tasks:
    ones = np.ones(len(true))
    never = np.full(len(true), np.inf)
    return Tasks.build(ones, ones, ones, arrival, measured={"cpu": never, "gpu": true}, expected={"gpu": expected})


def shown_to(tasks: Tasks, cluster: Cluster, decisions: list[tuple[float, int]]) -> list[list[float]]:
    policy = Recording(decisions)
    VirtualMultiGPU(cluster=cluster).run(tasks, policy)
    return [free.tolist() for _, free in policy.shown]


def test_running_work_is_estimated_to_end_as_expected_then_at_any_moment_and_is_known_once_it_has_ended() -> None:
    tasks = two_at_once(true=[5, 1, 1, 1], expected=[2, 3, 1, 1], arrival=[0, 1, 4, 5.5])
    shown = shown_to(tasks, ONE_GPU, [(1.0, 1)] * 4)
    assert [free[1] for free in shown] == [
        0.0,  # nothing there
        2.0,  # the first began at 0 and is expected to take 2
        7.0,  # it should have ended at 2, so it ends now (4), and the second takes 3
        5.0 + 3.0 + 1.0,  # it has ended at 5; the second runs since and is expected to take 3, the third 1
    ]


def test_work_that_ends_early_frees_its_device_early() -> None:
    tasks = two_at_once(true=[1, 1, 1], expected=[9, 9, 9], arrival=[0, 0.5, 1.5])
    assert [free[1] for free in shown_to(tasks, ONE_GPU, [(1.0, 1)] * 3)] == [0.0, 9.0, 10.0]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), gap=st.sampled_from([0.0, 0.02, 0.2]))
def test_beliefs_are_those_of_a_plain_account_of_every_queue(seed: int, gap: float) -> None:
    generator = np.random.default_rng(seed)
    tasks = noisy(workload("mixed", 60, seed=seed), TWO_NODES, seed)
    tasks = tasks.with_arrival_times(np.cumsum(generator.exponential(gap, 60)) if gap else np.zeros(60))
    gpus = generator.choice(TWO_NODES.gpus, 60)
    policy = Recording(
        [(float(share), int(gpu)) for share, gpu in zip(generator.choice([0, 0.4, 1], 60), gpus, strict=True)]
    )
    placed = VirtualMultiGPU(cluster=TWO_NODES).run(tasks, policy)
    for row, (now, free) in enumerate(policy.shown):
        assert free == pytest.approx(estimate_plainly(placed, row, now))


def estimate_plainly(placed: Placements, rows: int, now: float) -> list[float]:
    """Walk all queues from the beginning with nothing but what is known at `now`."""
    index = placed.cluster.class_index
    told = np.column_stack([placed.tasks.expected[each.name] for each in placed.cluster.classes])
    free = np.zeros(len(index))
    for row in range(rows):
        share = placed.gpu_fraction[row]
        parts = [(placed.gpu[row], share, placed.gpu_start[row]), (placed.cpu[row], 1 - share, placed.cpu_start[row])]
        for device, part, start in parts:
            if device < 0:
                continue
            end = start + part * placed.times[row, index[device]]
            expected = part * told[row, index[device]]
            if end <= now:
                free[device] = end
            elif start <= now:
                free[device] = max(now, start + expected)
            else:
                free[device] = max(free[device], placed.ready[row]) + expected
    estimated: list[float] = free.tolist()
    return estimated


@some
@given(instance=instances())
def test_expecting_the_true_times_changes_nothing(instance: tuple[Tasks, Cluster]) -> None:
    tasks, cluster = instance
    times = class_times(tasks, cluster)
    told = replace(tasks, expected={each.name: times[:, k] for k, each in enumerate(cluster.classes)})
    for name in NAMES:
        # The estimated end of an ordered queue leaves out how long its device will wait for data.
        if reorders(registry.schedulers.create(name), tasks) and tasks.edges.megabytes.any():
            continue
        one, other = run(name, replace(tasks, expected={}), cluster), run(name, told, cluster)
        for column in COLUMNS:
            same = np.array_equal(getattr(one, column), getattr(other, column), equal_nan=True)
            assert same, (name, column)


@some
@given(instance=instances(), which=st.integers(0, 24), factor=st.sampled_from([0.2, 3.0]), seed=st.integers(0, 99))
def test_no_decision_depends_on_what_is_still_running(
    instance: tuple[Tasks, Cluster], which: int, factor: float, seed: int
) -> None:
    tasks, cluster = instance
    row, times = which % len(tasks), class_times(tasks, cluster)
    assume((rejections(tasks, times, cluster) == RAN)[row])
    tasks = noisy(tasks, cluster, seed)
    other = times.copy()
    other[row] *= factor
    for name in NAMES:
        one, two = (run_on(name, tasks, cluster, each) for each in (times, other))
        seen = min(first_end(one, row), first_end(two, row))  # until then the two worlds are indistinguishable
        scheduler = registry.schedulers.create(name)
        moves = scheduler.batch_mode or steals_work(scheduler)  # what waits may still go elsewhere
        early = (one.start if moves else one.ready) < seen
        for column in DECISION:
            first, second = getattr(one, column)[early], getattr(two, column)[early]
            assert np.array_equal(first, second, equal_nan=True), (name, column)


def first_end(placed: Placements, row: int) -> float:
    """Return when the first part of a task ends: of a split one, that can be seen before its finish."""
    ends = placed.gpu_start + placed.gpu_seconds, placed.cpu_start + placed.cpu_seconds
    return float(np.fmin(*ends)[row])


def run_on(name: str, tasks: Tasks, cluster: Cluster, times: Floats) -> Placements:
    told = replace(tasks, measured={each.name: times[:, k] for k, each in enumerate(cluster.classes)})
    return run(name, told, cluster)


@pytest.mark.parametrize("name", ["eft", "oracle", "greedy", "round_robin", "hybrid_ml:order=fifo"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), cuts=st.sets(st.integers(1, 89), max_size=6))
def test_beliefs_live_on_from_block_to_block(name: str, seed: int, cuts: set[int]) -> None:
    tasks = noisy(workload("mixed", 90, seed=seed), Cluster.default(), seed)
    whole = VirtualMultiGPU().run(tasks, registry.schedulers.create(name, seed=seed))
    machine, scheduler = VirtualMultiGPU(), registry.schedulers.create(name, seed=seed)
    parts = [machine.step(tasks.part(*pair), scheduler) for pair in pairwise(sorted({0, 90} | cuts))]
    assert np.array_equal(whole.finish, np.concatenate([part.finish for part in parts]))


def test_many_small_blocks_keep_no_more_than_what_is_queued() -> None:
    tasks = noisy(workload("mixed", 1500, load=0.5), Cluster.default(), 1)
    machine, scheduler = VirtualMultiGPU(), registry.schedulers.create("eft")
    for row in range(len(tasks)):
        machine.step(tasks.part(row, row + 1), scheduler)
    assert machine._clocks is not None
    assert machine._clocks.estimates is not None
    assert len(machine._clocks.estimates.following) < 200


def test_blocks_without_expected_times_queue_behind_those_with() -> None:
    first, second = two_at_once([5], [2], [0]), two_at_once([1], [1], [1])
    machine, policy = VirtualMultiGPU(cluster=ONE_GPU), Recording([(1.0, 1)] * 2)
    machine.step(first, policy)
    machine.step(replace(second, expected={}), policy)
    assert [free[1] for _, free in policy.shown] == [0.0, 2.0]
    assert machine.view.free[1] == 6.0


def test_a_device_that_comes_back_is_estimated_to_be_empty() -> None:
    machine, policy = VirtualMultiGPU(cluster=ONE_GPU), Recording([(1.0, 1)] * 2)
    machine.step(two_at_once([5], [20], [0]), policy)
    machine.fail(1)
    machine.restore(1, 3.0)
    machine.step(two_at_once([1], [1], [4]), policy)
    assert policy.shown[1][1][1] == 3.0


def test_a_larger_machine_continues_with_the_estimates_and_a_lost_device_takes_its_work_along() -> None:
    """GPU 1 has run since 0 and should have ended at 2; GPU 2 has one task running and one waiting."""
    old, policy = (
        VirtualMultiGPU(cluster=Cluster.default(gpus=2)),
        Recording([(1.0, 1), (1.0, 2), (1.0, 2), (1.0, 1)]),
    )
    old.step(two_at_once([9, 5, 1], [2, 3, 4], [0, 0, 0]), policy)
    larger, smaller = (VirtualMultiGPU(cluster=Cluster.default(gpus=count)) for count in (3, 1))
    for machine in (larger, smaller):
        machine.take_over(old, 4.0)
    assert larger.view.free.tolist() == [4.0, 9.0, 6.0, 4.0]
    assert larger.view_at(4.5).free.tolist() == [4.0, 4.5, 4.5 + 4.0, 4.0]
    assert larger.view_at(5.5).free.tolist() == [4.0, 5.5, 5.0 + 4.0, 4.0]
    assert smaller.view_at(4.5).free.tolist() == [4.0, 4.5]
    smaller.step(two_at_once([1], [1], [5]), policy)
    assert smaller.view.free[1] == 10.0


def test_a_twin_can_be_asked_without_a_trace() -> None:
    tasks = noisy(workload("mixed", 60, load=2.0), Cluster.default(), 3)
    machine, scheduler = VirtualMultiGPU(), registry.schedulers.create("eft")
    whole = machine.run(tasks, scheduler)
    machine.reset()
    before = machine.step(tasks.part(0, 30), scheduler)
    machine.twin().step(tasks.part(30, 60), scheduler)
    after = machine.step(tasks.part(30, 60), scheduler)
    assert np.array_equal(whole.finish, np.concatenate([before.finish, after.finish]))


def test_batches_form_when_a_device_is_really_free() -> None:
    """The first three wait for an end that comes at 1, not at 9 as expected; then all that wait are one batch."""
    tasks = two_at_once([1, 1, 1, 1], [9, 9, 9, 9], [0, 0.2, 0.4, 0.6])
    batches = []

    class Together(Scheduler):
        def plan(self, batch: Any, view: View) -> tuple[Ints, Floats, Ints]:
            batches.append((batch.ready_time.tolist(), float(view.free[1])))
            return np.arange(len(batch.row)), np.ones(len(batch.row)), np.ones(len(batch.row), np.int64)

    only_gpu = replace(tasks, measured={"gpu": tasks.measured["gpu"], "cpu": np.full(4, np.inf)})
    machine = VirtualMultiGPU(cluster=ONE_GPU)
    machine.view.free[0] = 1e9  # the CPU is never the one that runs out of work
    machine.step(only_gpu, Together())
    assert batches == [([0.0], 0.0), ([0.2, 0.4, 0.6], 1.0)]


class Looking(RoundRobin):
    """Says nothing of its own, and records the clocks that it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[float] = []

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        self.shown.append(float(view.free.max()))
        turn = int(self.turn[0])
        self.turn[0] += 1
        return (1.0, int(view.gpus[turn // 2 % len(view.gpus)])) if turn % 2 == 0 else (0.0, int(self.cpus[0]))


class Peeking(Looking):
    """Says that it does not look, and does."""

    ignores_backlog = True
    choose = Looking.choose


def test_a_policy_that_ignores_the_backlog_is_shown_none_and_one_derived_from_it_is_shown_estimates() -> None:
    tasks, honest, peeking = workload("mixed", 60, load=2.0), Looking(), Peeking()
    machine = VirtualMultiGPU()
    ends = [machine.run(tasks, policy).finish for policy in (honest, peeking, RoundRobin())]
    assert np.isfinite(honest.shown).all()
    assert np.isnan(peeking.shown).all()
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], ends[2])


class Averaging(Looking):
    """Says that it asks for no errors, and looks at what there is."""

    ignores_errors = True

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        self.shown.append(float(view.ended.shape[1]))
        return 0.0, int(self.cpus[0])


def test_errors_that_a_policy_ignores_are_counted_only_where_another_block_may_follow() -> None:
    tasks, policy, machine = workload("mixed", 60, load=2.0), Averaging(), VirtualMultiGPU()
    machine.run(tasks, policy)
    assert set(policy.shown) == {2.0}
    policy.shown.clear()
    machine.step(tasks.with_arrival_times(tasks.arrival_time + 1e6), policy)  # a block that nobody announced
    assert set(policy.shown) == {4.0}
    greedy = registry.schedulers.create("greedy")
    sides = [machine.run(tasks, greedy), VirtualMultiGPU().step(tasks, greedy)]
    for column in COLUMNS:
        assert np.array_equal(getattr(sides[0], column), getattr(sides[1], column), equal_nan=True), column


@pytest.mark.parametrize("name", ["round_robin", "random"])
@some
@given(instance=instances())
def test_nothing_depends_on_estimates_that_nobody_looks_at(name: str, instance: tuple[Tasks, Cluster]) -> None:
    tasks, cluster = instance
    sides = []
    for last in (True, False):
        machine = VirtualMultiGPU(cluster=cluster)
        sides.append(machine.step(tasks, registry.schedulers.create(name, seed=7), interpreted=True, last=last))
    for column in COLUMNS:
        assert np.array_equal(getattr(sides[0], column), getattr(sides[1], column), equal_nan=True), column


def test_estimates_are_kept_where_another_block_may_follow_or_the_loop_looks_itself() -> None:
    tasks = workload("mixed", 20)
    for cluster, last, kept in ((ONE_GPU, True, False), (ONE_GPU, False, True), (TWO_NODES, True, True)):
        machine = VirtualMultiGPU(cluster=cluster)
        machine.step(tasks, RoundRobin(), last=last)
        assert (machine._clocks is not None) == kept
