"""Ordered queues and late binding: waiting tasks overtake each other, nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks import check_schedule, spans_of
from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.late_binding import Running, Waiting
from hybrid_scheduler.core.placements import RAN, concatenate_placements
from hybrid_scheduler.core.simulator import OrderedStream, VirtualMultiGPU
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import PolicyError
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.schedulers.oracle import Oracle
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.noise import parse_noise
from instances import instances, machines, workload
from ordered_policies import FifoEft, FifoOracle, ShortestWaiting

COLUMNS = ("gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "ready", "finish", "status")
quick = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


class Restless(ShortestWaiting):
    """Late binding that aborts whatever ends earlier on an idle device, of the same class too."""

    @compiled
    def spoliate(self, running: Running, device: int, view: View) -> int:
        for other in range(len(running.row)):
            row = running.row[other]
            if row >= 0 and running.memory_required[row] <= view.memory[device]:
                start = max(running.now, running.arrives[other]) if len(running.arrives) > 0 else running.now
                if start + running.times[row, view.device_class[device]] < view.running_end[other]:
                    return other
        return -1


class Thief(FifoEft):
    """Earliest finish with queues that are robbed of whatever starts earlier on an idle device."""

    @compiled
    def steal(self, task: TaskView, view: View, device: int, victim: int) -> float:
        return float(view.running_end[victim] - view.running_end[device] + 1e-9)


class Idle(Scheduler):
    """Never takes a task."""

    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        return -1


class Greedy(ShortestWaiting):
    """Takes over what nobody runs."""

    def spoliate(self, running: Running, device: int, view: View) -> int:
        return device


class Beyond(Scheduler):
    """Takes a task that is not there."""

    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        return waiting.length


def run(tasks: Tasks, cluster: Cluster, scheduler: Scheduler, *, interpreted: bool = False) -> Placements:
    return VirtualMultiGPU(cluster=cluster).run(tasks, scheduler, interpreted=interpreted)


def assert_same(one: Placements, other: Placements) -> None:
    for column in COLUMNS:
        assert np.array_equal(getattr(one, column), getattr(other, column), equal_nan=True), column
    for lost, also_lost in zip(one.lost_runs, other.lost_runs, strict=True):
        assert np.array_equal(lost, also_lost)


def assert_work_conserving(placements: Placements) -> None:
    """Check that no device is idle while a task waits that it could run."""
    tasks, first = placements.tasks, placements.start.copy()
    np.minimum.at(first, placements.lost_runs.row, placements.lost_runs.start)
    memory, kind = placements.cluster.per_device("memory"), placements.cluster.class_index
    for device in range(len(memory)):
        spans = spans_of(placements, device)
        fits = np.isfinite(placements.times[:, kind[device]]) & (tasks.memory_required <= memory[device])
        for row in np.flatnonzero(fits & (placements.status == RAN)):
            cut = np.clip(spans, placements.ready[row], first[row])
            assert (cut[:, 1] - cut[:, 0]).sum() >= first[row] - placements.ready[row] - 1e-9, (device, row)


@quick
@given(instance=instances())
def test_first_come_first_served_through_ordered_queues_is_bit_identical(instance: tuple[Tasks, Cluster]) -> None:
    tasks, cluster = instance
    assert_same(run(tasks, cluster, EarliestFinish()), run(tasks, cluster, FifoEft(), interpreted=True))
    assert_same(run(tasks, cluster, Oracle()), run(tasks, cluster, FifoOracle(), interpreted=True))


@quick
@given(instance=instances())
def test_what_waits_runs_or_is_stolen_makes_a_valid_schedule_to_the_same_bits_compiled_and_interpreted(
    instance: tuple[Tasks, Cluster],
) -> None:
    tasks, cluster = instance
    fifo = run(tasks, cluster, EarliestFinish())
    for policy in (ShortestWaiting, Restless, Thief):
        placements = run(tasks, cluster, policy(), interpreted=True)
        check_schedule(placements)
        assert np.array_equal(placements.ran, fifo.ran)
        if policy is not ShortestWaiting:  # late binding without aborts is compiled for the policies below
            assert_same(placements, run(tasks, cluster, policy()))


@quick
@given(instance=instances())
def test_no_device_is_idle_while_a_task_waits_that_it_could_run(instance: tuple[Tasks, Cluster]) -> None:
    tasks, cluster = instance
    if tasks.edges.megabytes.any():
        return  # a device that waits for data is not idle
    for name in ("gcmu", "maxweight", "heteroprio", "work_stealing", "work_stealing:victim=random"):
        assert_work_conserving(run(tasks, cluster, registry.schedulers.create(name)))


def test_a_run_that_is_taken_over_counts_where_it_was_begun_and_where_it_ended() -> None:
    """The GPU (1) ends a at 3 and takes b over from the CPU (0), which was to end it at 10; c waits for b."""
    tasks, cluster = machines(np.array([[30.0, 3.0], [10.0, 2.0], [1.0, 4.0]]))
    graph = replace(tasks, edges=edges_from_ids([0, 1, 2], [[], [], [1]]))
    placements = run(graph, cluster, registry.schedulers.create("heteroprio"))
    assert placements.device.tolist() == [1, 1, 0]
    assert placements.start.tolist() == [0.0, 3.0, 5.0]
    assert placements.finish.tolist() == [3.0, 5.0, 6.0]
    assert placements.lost.tolist() == [0.0, 3.0, 0.0]
    assert placements.busy.tolist() == [4.0, 5.0]
    cpu, gpu = cluster.per_device("watts")
    assert placements.energy.tolist() == [3 * gpu, 2 * gpu + 3 * cpu, cpu]
    assert placements.waiting.tolist() == [0.0, 3.0, 0.0]
    check_schedule(placements)
    pair = run(tasks.part(0, 2), cluster, registry.schedulers.create("heteroprio"))
    joined = concatenate_placements([pair.part(0, 1), pair.part(1, 2)], pair.tasks)
    assert joined.lost.tolist() == [0.0, 3.0]
    assert joined.busy.tolist() == [3.0, 5.0]


def test_an_idle_device_takes_the_shortest_waiting_task() -> None:
    seconds = np.array([5.0, 4.0, 1.0, 3.0])
    tasks, cluster = machines(np.column_stack([seconds, np.full(4, 1000.0)]))
    late = tasks.with_arrival_times([0.0, 1.0, 2.0, 3.0])
    assert run(late, cluster, registry.schedulers.create("spt")).finish.tolist() == [5.0, 13.0, 6.0, 9.0]


def test_equal_keys_keep_the_order_of_arrival() -> None:
    tasks, cluster = machines(np.full((30, 1), 1.0))
    placements = run(tasks.with_arrival_times(np.arange(30) / 100), cluster, registry.schedulers.create("spt"))
    assert np.all(np.diff(placements.start) > 0)


@pytest.mark.parametrize("name", ["spt", "least_increase"])
def test_no_task_starts_before_a_shorter_one_that_waits_on_the_same_device(name: str) -> None:
    tasks = workload("mixed", 400, load=2.0)
    placements = run(tasks, Cluster.default(), registry.schedulers.create(name))
    for device in range(5):
        rows = np.flatnonzero(placements.device == device)
        rows = rows[np.argsort(placements.start[rows])]
        seconds = placements.execution[rows]
        for position, row in enumerate(rows):
            waited = tasks.arrival_time[rows[position + 1 :]] < placements.start[row]
            assert np.all(seconds[position + 1 :][waited] >= seconds[position])


def test_ageing_bounds_the_wait_of_a_long_task_that_short_ones_overtake() -> None:
    """On one device that is always busy with short tasks, shortest first never starts the long one before the end."""
    count = 4000
    seconds = np.full((count, 1), 0.01)
    seconds[5] = 1.0
    tasks, cluster = machines(seconds)
    stream = tasks.with_arrival_times(np.maximum(np.arange(count) - 10, 0) * 0.00999)
    starved = run(stream, cluster, registry.schedulers.create("least_increase"))
    aged = run(stream, cluster, registry.schedulers.create("srpt_age"))
    assert starved.start[5] == starved.start.max()
    assert aged.turnaround[5] < 0.5 * starved.turnaround[5]


def busy_stream(seed: int, count: int = 800) -> tuple[Tasks, Cluster]:
    """Return short tasks that keep one device busy, and a few long ones among them."""
    generator = np.random.default_rng(seed)
    seconds = np.where(generator.random(count) < 0.01, generator.uniform(0.05, 0.3, count), 0.01)
    tasks, cluster = machines(seconds[:, None])
    return tasks.with_arrival_times(np.maximum(np.arange(count) - 10, 0) * 0.00999), cluster


def late_overtakings(placements: Placements, ageing: float) -> int:
    """Count how often a task was overtaken by one that came when its wait should have protected it.

    A task of s seconds has moved up by s after s · (most that wait per device) / ageing seconds, and those that come
    later stand behind it.
    """
    arrival, start, seconds = placements.tasks.arrival_time, placements.start, placements.execution
    waiting = ((arrival < arrival[:, None]) & (start > arrival[:, None])).sum(axis=1)
    most = max(waiting.max() / len(placements.cluster.devices), 1.0)
    overtaken = (placements.device[:, None] == placements.device) & (start[:, None] > start)
    return int((overtaken & (arrival > (arrival + seconds * most / ageing)[:, None] + 1e-9)).sum())


@quick
@given(seed=st.integers(0, 2**32))
def test_with_ageing_nobody_starves(seed: int) -> None:
    aged = registry.schedulers.create("srpt_age")
    assert late_overtakings(run(*busy_stream(seed), aged), 0.7) == 0
    crowd = workload("mixed", 300, seed=seed, load=3.0)
    assert late_overtakings(run(crowd, Cluster.default(), aged), 0.7) == 0


def test_without_ageing_a_long_task_starves() -> None:
    assert late_overtakings(run(*busy_stream(1), registry.schedulers.create("least_increase")), 0.7) > 0


def test_with_expected_times_the_order_follows_them_and_the_clock_the_actual_ones() -> None:
    tasks, cluster = workload("mixed", 300, load=1.5), Cluster.default()
    noisy = parse_noise("0.4").apply(tasks, cluster, seed=3)
    for name in ("spt", "least_increase"):
        placements = run(noisy, cluster, registry.schedulers.create(name))
        check_schedule(placements)
        assert_same(placements, run(noisy, cluster, registry.schedulers.create(name), interpreted=True))


@pytest.mark.parametrize(
    ("policy", "says"),
    [(Idle, "left task \\d+ waiting"), (Beyond, "picked a task that"), (Greedy, "aborted a run that")],
)
def test_a_pick_that_cannot_be_is_refused_in_one_line(policy: type[Scheduler], says: str) -> None:
    policy.name = policy.__name__.lower()
    with pytest.raises(PolicyError, match=says):
        run(workload("mixed", 20), Cluster.default(), policy())


def test_a_learner_learns_while_tasks_of_earlier_blocks_still_wait() -> None:
    tasks, cluster = workload("mixed", 200, load=2.0), Cluster.default()
    ordered = OrderedStream(VirtualMultiGPU(cluster=cluster), tasks, registry.schedulers.create("spt"))
    waiting = [int(np.isnan(ordered.advance(last).finish).sum()) for last in (50, 100, 200)]
    assert waiting[0] > 0
    assert waiting[-1] == 0
    assert_same(ordered.placements, run(tasks, cluster, registry.schedulers.create("spt")))
