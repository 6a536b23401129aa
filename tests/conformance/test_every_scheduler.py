"""What every registered scheduler must do, plug-ins included."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import critical_path_bound, lower_bound, verify_bound
from hybrid_scheduler.bounds.turnaround import turnaround_bound
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN, WAITING
from hybrid_scheduler.core.simulator import ESTIMATED, VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.learning.model_files import check_manifest, read_manifest
from hybrid_scheduler.schedulers.explain import explain
from hybrid_scheduler.schedulers.scheduler import Scheduler, plans_batches
from hybrid_scheduler.studies.compare import run_lanes
from instances import CLUSTERS, TWO_NODES, instances, workload

PLUGIN = f"{Path(__file__).with_name('coin_flip.py')}:CoinFlip"
NAMES = [*sorted(registry.schedulers.table), PLUGIN]
COLUMNS = ("gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "ready", "finish", "status")
COVERED = [
    ("mixed", "default"),
    ("bursty", "two GPUs"),
    ("cpu_friendly", "no GPU"),
    ("cholesky", "no GPU"),
    ("mixed", "several nodes and classes"),
    ("layered", "several nodes and classes"),
]
"""Every preset and every cluster; any others are drawn below."""
every_scheduler = pytest.mark.parametrize("name", NAMES, ids=lambda name: name.rpartition(":")[2])


def run(name: str, tasks: Tasks, cluster: Cluster, *, interpreted: bool = False, mode: str = "queued") -> Placements:
    machine = VirtualMultiGPU(cluster=cluster, mode=mode)
    return machine.run(tasks, registry.schedulers.create(name, seed=7), interpreted=interpreted)


def assert_same(one: Placements, other: Placements) -> None:
    for column in COLUMNS:
        assert np.array_equal(getattr(one, column), getattr(other, column), equal_nan=True), column


@every_scheduler
@pytest.mark.parametrize(("preset", "cluster"), COVERED)
def test_makes_a_valid_schedule(name: str, preset: str, cluster: str) -> None:
    load = None if preset in ("layered", "cholesky") else 1.1
    check_schedule(run(name, workload(preset, 60, load=load), CLUSTERS[cluster]))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(instance=instances())
def test_all_make_valid_schedules_of_the_same_tasks_no_shorter_than_the_bounds_compiled_and_interpreted_alike(
    instance: tuple[Tasks, Cluster],
) -> None:
    """On any instance; it and its bounds, which take longer than a run, are computed once for all of them."""
    tasks, cluster = instance
    can_run = rejections(tasks, class_times(tasks, cluster), cluster) == RAN
    bound = lower_bound(tasks, cluster)
    assert verify_bound(bound, tasks, cluster)
    least = {whole: turnaround_bound(tasks, cluster, whole=whole, iterations=10).mean for whole in (False, True)}
    for name in NAMES:
        note(name)  # printed if it fails
        placements = run(name, tasks, cluster)
        check_schedule(placements)
        assert np.array_equal(placements.ran, can_run)
        assert_same(placements, run(name, tasks, cluster, interpreted=True))
        assert bound.makespan <= placements.makespan * (1 + 1e-9)
        if can_run.any():
            mean = placements.turnaround[placements.ran].mean()
            assert least[not placements.split.any()] <= mean * (1 + 1e-9)


@every_scheduler
def test_isolated_race_has_no_waiting(name: str) -> None:
    tasks = workload("mixed", 60, load=3.0)
    placements = run(name, tasks, TWO_NODES, mode="isolated")
    check_schedule(placements, queued=False)
    assert np.allclose(placements.waiting[placements.ran], 0.0, atol=1e-9)
    assert critical_path_bound(tasks, TWO_NODES).makespan <= placements.makespan * (1 + 1e-9)


@every_scheduler
def test_gives_the_same_placements_twice(name: str) -> None:
    tasks = workload("long_tail", 80)
    assert_same(run(name, tasks, Cluster.default()), run(name, tasks, Cluster.default()))


def test_neither_the_order_of_lanes_nor_the_hash_seed_matters() -> None:
    """In this process from first to last, in another one with another hash seed from last to first."""
    code = (
        "import sys; from hybrid_scheduler.studies.compare import run_lanes;"
        "from hybrid_scheduler.core import Cluster; from hybrid_scheduler.workloads import WorkloadGenerator;"
        "tasks = WorkloadGenerator(1).generate_preset('mixed', 120, load=1.2);"
        "raced = run_lanes(tasks, sys.argv[1:], Cluster.default(), seed=3);"
        "sys.stdout.write(' '.join(raced[name][0].finish.tobytes().hex() for name in sys.argv[1:]))"
    )
    there = subprocess.run(
        [sys.executable, "-c", code, *NAMES[::-1]],
        env={**os.environ, "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split(" ")
    here = run_lanes(workload("mixed", 120), NAMES, Cluster.default(), seed=3)
    assert there[::-1] == [here[name][0].finish.tobytes().hex() for name in NAMES]


@every_scheduler
def test_a_policy_that_claims_not_to_know_the_times_never_sees_them(name: str) -> None:
    scheduler = registry.schedulers.create(name, seed=1)
    if name != PLUGIN:
        assert registry.schedulers.table[name].clairvoyant == ("yes" if scheduler.clairvoyant else "no")
    if not scheduler.clairvoyant:
        tasks = workload("mixed", 60)
        fake = np.full((len(tasks), 2), 1.0)
        fake[:, 1] = np.linspace(0.1, 3.0, len(tasks))
        machine = VirtualMultiGPU(mode="isolated")
        other = machine.step(tasks, registry.schedulers.create(name, seed=1), times=fake)
        assert np.array_equal(machine.step(tasks, scheduler).gpu_fraction, other.gpu_fraction)


def run_blocks(scheduler: Scheduler, tasks: Tasks, size: int) -> Floats:
    """Return when tasks end that come in blocks; queues persist from one to the next."""
    lane, finish = Lane(scheduler, VirtualMultiGPU()), np.full(len(tasks), np.nan)
    found = [lane.run_on(tasks.part(first, first + size)) for first in range(0, len(tasks), size)]
    if lane.stream is not None:
        lane.stream.start_until(np.inf)
        found.append(lane.stream.collect())
    for part in (part for progress in found for part in progress if part is not None):
        started = part.status != WAITING
        finish[part.tasks.task_id[started]] = part.finish[started]
    return finish


@every_scheduler
@given(seed=st.integers(0, 1000))
@settings(max_examples=5, deadline=None)
def test_blocks_do_not_change_what_task_by_task_policies_do(name: str, seed: int) -> None:
    schedulers = [registry.schedulers.create(name, seed=seed) for _ in range(2)]
    if not schedulers[0].batch_mode:  # else its size is part of what they know
        tasks = workload("mixed", 90, seed=seed, load=1.2)
        whole, parts = (run_blocks(each, tasks, size) for each, size in zip(schedulers, (90, 30), strict=True))
        assert np.array_equal(whole, parts)
        assert np.isfinite(whole).all()


@every_scheduler
def test_explains_its_decision_without_being_changed_by_the_question(name: str) -> None:
    tasks, machine = workload("mixed", 30), VirtualMultiGPU()
    scheduler = registry.schedulers.create(name, seed=3)
    times = class_times(tasks, machine.cluster)
    scheduler.prepare(tasks, times if scheduler.clairvoyant else np.full((1, 2), np.nan), machine.view)
    seen = times[0] if scheduler.clairvoyant else np.full(2, np.nan)
    task = TaskView(0, tasks.size[0], tasks.compute_intensity[0], tasks.memory_required[0], 0.0, 1.0, 0.0, seen)
    view = machine.view if scheduler.clairvoyant else machine.view._replace(ended=np.zeros((2, 4)))
    explanation = explain(scheduler, task, view)
    assert explanation == explain(scheduler, task, view) or not scheduler.clairvoyant
    assert [each.device for each in explanation.candidates if each.chosen] == [explanation.device]
    assert len(explanation.candidates) == 5
    if name != PLUGIN:
        assert explanation.rule == registry.schedulers.table[name].summary
    if scheduler.clairvoyant:
        assert np.allclose([each.seconds for each in explanation.candidates], times[0, [0, 1, 1, 1, 1]])
    decided = run(name, tasks, machine.cluster).decision(0)
    if not plans_batches(scheduler) and not scheduler.stochastic:
        assert (explanation.gpu_fraction, explanation.device) == tuple(decided)


@pytest.mark.parametrize("name", [each.name for each in registry.schedulers if each.kind == "learner"])
def test_a_learner_is_saved_with_a_manifest_and_tells_about_itself(name: str, tmp_path: Path) -> None:
    learner = registry.schedulers.create(name, seed=1)
    Lane(learner, VirtualMultiGPU()).run(workload("mixed", 150))
    file = tmp_path / "models" / "learner.model"
    learner.save(file)
    check_manifest(read_manifest(file), file, name)
    loaded = registry.schedulers.create(f"{name}:model={file}", seed=1)
    check_schedule(VirtualMultiGPU().run(workload("mixed", 50, seed=2), loaded))
    assert learner.insight


@every_scheduler
def test_traits_are_true(name: str) -> None:
    tasks, machine = workload("mixed", 80), VirtualMultiGPU()
    scheduler = registry.schedulers.create(name, seed=1)
    placements = machine.run(tasks, scheduler)
    if not scheduler.splits:
        assert set(np.unique(placements.gpu_fraction)) <= {0.0, 1.0}
    if not scheduler.stochastic and not scheduler.learn_every:
        assert_same(placements, machine.run(tasks, registry.schedulers.create(name, seed=2)))


# --- what a non-clairvoyant policy can see --------------------------------------------------------------------------


class Spy(Scheduler):
    """Not clairvoyant; keeps everything that it is shown, by the time at which it is shown."""

    clairvoyant = False

    def __init__(self) -> None:
        self.shown: list[tuple[float, tuple[Any, ...]]] = []
        self.count = 0

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        assert np.isnan(times).all()
        assert np.isnan(tasks.duration_estimate).all()
        assert not tasks.measured
        assert not tasks.expected

    def see(self, now: float, *values: Any) -> None:
        flat = (each for value in values for each in (value if isinstance(value, tuple) else (value,)))
        self.shown.append((now, tuple(np.array(each, np.float64).tolist() for each in flat if each is not None)))

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        self.see(task.ready_time, task, view)
        self.count += 1
        device = self.count % len(view.free)
        return (0.6 if view.kind[device] == GPU and self.count % 3 == 0 else float(view.kind[device])), device


class OrderingSpy(Spy):
    """The same with queues that it orders, last come, first served."""

    def key(self, task: TaskView, view: View, device: int) -> float:
        return -task.ready_time


class StealingSpy(OrderingSpy):
    """The same with queues from which idle devices steal."""

    def steal(self, task: TaskView, view: View, device: int, victim: int) -> float:
        self.see(float(view.running_end[device]), task, view, device, victim)
        return 1.0


class PickingSpy(Spy):
    """The same where idle devices pick what waits in common."""

    def pick(self, waiting: Any, device: int, view: View) -> int:
        rows, ready = waiting.row.copy(), waiting.ready_time[waiting.row]
        self.see(waiting.now, rows, waiting.running, ready, waiting.times, view, device)
        fitting = waiting.memory_required[waiting.row] <= view.memory[device]
        return int(np.argmax(fitting)) if fitting.any() else -1


SPIES = [Spy, OrderingSpy, StealingSpy, PickingSpy]
every_spy = pytest.mark.parametrize("kind", SPIES)


def run_spied(kind: type[Spy], tasks: Tasks, times: Floats, cluster: Cluster, block: int) -> tuple[Spy, Placements]:
    """Run a spy in one block, or on an endless stream cut into blocks."""
    spy, machine = kind(), VirtualMultiGPU(cluster=cluster, backlog=ESTIMATED)
    if block == len(tasks):
        return spy, machine.step(tasks, spy, times=times)
    lane = Lane(spy, machine)
    for first in range(0, len(tasks), block):
        lane.run_on(tasks.part(first, first + block), times[first : first + block])
    whole = VirtualMultiGPU(cluster=cluster, backlog=ESTIMATED).step(tasks, kind(), times=times)
    return spy, whole  # however it is cut


@pytest.mark.parametrize("block", [60, 7])
@every_spy
@pytest.mark.parametrize("factor", [0.3, 5.0])
def test_nothing_shows_how_long_a_task_takes_before_it_has_ended(kind: type[Spy], block: int, factor: float) -> None:
    """Two worlds that differ in the seconds of one task look alike until it has ended in one of them."""
    tasks = workload("mixed", 60, load=2.5)
    times = class_times(tasks, TWO_NODES)
    for row in (3, 17, 40):
        other = times.copy()
        other[row] *= factor
        worlds = [run_spied(kind, tasks, each, TWO_NODES, block) for each in (times, other)]
        ends = [placed.gpu_start[row] + placed.gpu_seconds[row] for _, placed in worlds]
        ends += [placed.cpu_start[row] + placed.cpu_seconds[row] for _, placed in worlds]
        seen = [[what for now, what in spy.shown if now < np.nanmin(ends)] for spy, _ in worlds]
        assert str(seen[0]) == str(seen[1])  # NaN is like NaN
        assert len(seen[0]) > row or block < 60


@every_spy
def test_differences_of_the_backlog_give_no_seconds_away(kind: type[Spy]) -> None:
    tasks = workload("mixed", 200, load=2.5)
    times = class_times(tasks, TWO_NODES)
    spy, placed = run_spied(kind, tasks, times, TWO_NODES, 200)
    first_end = np.fmin(placed.gpu_start + placed.gpu_seconds, placed.cpu_start + placed.cpu_seconds)
    for (_, one), (now, other) in pairwise(spy.shown):
        pairs = zip(_numbers(one), _numbers(other), strict=False)
        steps = {round(abs(a - b), 9) for a, b in pairs}
        assert not steps & {round(each, 9) for each in times[~(first_end <= now)].ravel()}


def _numbers(shown: tuple[Any, ...]) -> list[float]:
    values = [each for value in shown if isinstance(value, list) for each in np.ravel(value).tolist()]
    return [each for each in values if np.isfinite(each)]


def test_a_clairvoyant_policy_sees_the_true_backlog_as_before() -> None:
    tasks = workload("mixed", 40, load=2.5)
    spy = type("Seer", (Spy,), {"clairvoyant": True, "prepare": Scheduler.prepare})()
    placed = VirtualMultiGPU(cluster=TWO_NODES).run(tasks, spy)
    ends = placed.finish[~placed.split]
    shown = {each for _, what in spy.shown for each in _numbers(what)}
    assert len(set(ends[:20].tolist()) & shown) > 10
