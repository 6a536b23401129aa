"""Learning from measurement: policies on learnt times come close to the best fixed assignment of the same tasks."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
import pytest

from benchmarks.killed_workers import stress
from benchmarks.learnt_throughput import shares_of_the_best
from hybrid_scheduler.core.placements import NO_PARENT, RAN
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import devices_of
from hybrid_scheduler.runtime.dispatcher import Dispatcher
from hybrid_scheduler.runtime.executor import made_backend, made_policy
from hybrid_scheduler.runtime.jobs import Job
from hybrid_scheduler.runtime.lane import ExecutionLane, Pace
from hybrid_scheduler.schedulers.scheduler import from_function
from hybrid_scheduler.workloads import WorkloadGenerator

TWO = "cpu=emulated:slowdown=1,gpu=emulated:slowdown=1"


def test_once_times_are_learnt_devices_are_given_work_as_in_the_best_assignment() -> None:
    """By the seconds that the tasks ask for: what the clock says of it, which is speed, is in the benchmarks."""
    shares = [share.assigned for share in shares_of_the_best("sufferage", 100, 5)]
    assert median(shares[2:]) >= 0.95, shares


def test_tasks_are_accounted_for_while_workers_are_killed() -> None:
    account = stress(900, every=0.6)
    assert account.adds_up, str(account)
    assert account.killed >= 1
    assert account.restarts == account.killed


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    made = made_backend("local", devices_of(TWO))
    yield made
    made.close()


@pytest.mark.parametrize("policy", ["eft", "min_min", "hybrid_ml"])
def test_a_lane_turns_tasks_into_measured_placements(policy: str, backend: Backend) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 60, rate=400)
    with ExecutionLane(made_policy(policy, backend, 0), backend, Pace(scale=0.01)) as lane:
        placed = lane.run(tasks)
    assert placed.measured
    assert (placed.status == RAN).all()
    assert np.array_equal(placed.tasks.task_id, tasks.task_id)
    assert (placed.start >= placed.tasks.arrival_time).all()
    assert (placed.execution > 0).all()
    for device in range(2):
        on = (placed.gpu == device) | (placed.cpu == device)
        order = np.argsort(placed.start[on])
        start, end = placed.start[on][order], placed.finish[on][order]
        assert (start[1:] >= end[:-1] - 1e-9).all(), "a device did two things at once"
    assert placed.makespan >= tasks.arrival_time.max()


def test_a_policy_is_asked_before_the_clock_starts_for_its_loop_may_have_to_be_compiled(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 5)
    heard: list[str] = []
    submit = Dispatcher.submit

    def listened(dispatcher: Dispatcher, job: Job) -> None:
        heard.append("submitted")
        submit(dispatcher, job)

    def choose(task: TaskView, view: View) -> tuple[float, int]:
        heard.append("asked")
        return 1.0, 1

    with ExecutionLane(from_function(choose), backend, Pace(scale=0.01)) as lane:
        monkeypatch.setattr(Dispatcher, "submit", listened)
        assert (lane.run(tasks).status == RAN).all()
    assert heard[0] == "asked"
    assert "submitted" in heard


def test_children_wait_for_their_parents(backend: Backend) -> None:
    tasks = WorkloadGenerator(3).generate_preset("fork_join", 40)
    with ExecutionLane(made_policy("eft", backend, 0), backend, Pace(scale=0.01)) as lane:
        placed = lane.run(tasks)
    assert (placed.status != NO_PARENT).all()
    for row in range(len(tasks)):
        parents = tasks.edges.of(row)
        assert (placed.finish[parents] <= placed.start[row]).all()
