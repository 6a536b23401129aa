"""A lane on real devices turns tasks into measured placements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import NO_PARENT, RAN
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.registry import schedulers
from hybrid_scheduler.runtime.backend import Backend
from hybrid_scheduler.runtime.devices import build_cluster, parse_devices
from hybrid_scheduler.runtime.dispatcher import Dispatcher
from hybrid_scheduler.runtime.executor import create_backend, create_policy
from hybrid_scheduler.runtime.jobs import Job
from hybrid_scheduler.runtime.lane import ExecutionLane, MeasuredComparison, Pace, SchedulerRun
from hybrid_scheduler.schedulers.scheduler import from_function
from hybrid_scheduler.studies.compare import Comparison
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.source import Source

DEVICES = "cpu=emulated:slowdown=1,gpu=emulated:slowdown=1"


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    created = create_backend("local", parse_devices(DEVICES))
    yield created
    created.close()


@pytest.mark.parametrize("policy", ["eft", "min_min", "hybrid_ml"])
def test_a_lane_turns_tasks_into_measured_placements(policy: str, backend: Backend) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 60, rate=400)
    with ExecutionLane(create_policy(policy, backend, 0), backend, Pace(scale=0.01)) as lane:
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
        assert (start[1:] >= end[:-1] - 1e-9).all(), "a device ran two tasks at once"
    assert placed.makespan >= tasks.arrival_time.max()


def test_a_policy_decides_before_the_clock_starts_because_its_loop_may_have_to_be_compiled(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 5)
    events: list[str] = []
    submit = Dispatcher.submit

    def record_submit(dispatcher: Dispatcher, job: Job) -> None:
        events.append("submitted")
        submit(dispatcher, job)

    def choose(task: TaskView, view: View) -> tuple[float, int]:
        events.append("decided")
        return 1.0, 1

    with ExecutionLane(from_function(choose), backend, Pace(scale=0.01)) as lane:
        monkeypatch.setattr(Dispatcher, "submit", record_submit)
        assert (lane.run(tasks).status == RAN).all()
    assert events[0] == "decided"
    assert "submitted" in events


def test_children_wait_for_their_parents(backend: Backend) -> None:
    tasks = WorkloadGenerator(3).generate_preset("fork_join", 40)
    with ExecutionLane(create_policy("eft", backend, 0), backend, Pace(scale=0.01)) as lane:
        placed = lane.run(tasks)
    assert (placed.status != NO_PARENT).all()
    for row in range(len(tasks)):
        parents = tasks.edges.neighbours(row)
        assert (placed.finish[parents] <= placed.start[row]).all()


@pytest.mark.parametrize(
    ("eft", "greedy", "says"),
    [
        ((1.0, 1.1, 1.05), (1.5, 1.6, 1.4), "eft is ahead of greedy by 27% at least, 3 runs each"),
        ((1.0, 1.3, 1.1), (1.2, 1.4, 1.25), "no ranking: within the noise of 3 runs each eft, greedy are equal"),
        ((1.0,), (9.0,), "no ranking: 1 runs each cannot tell a difference from noise"),
    ],
)
def test_a_ranking_within_the_noise_of_the_repeats_is_refused(
    eft: tuple[float, ...], greedy: tuple[float, ...], says: str
) -> None:
    devices = parse_devices("emulated")
    comparison = Comparison(
        source=Source.of("mixed", 10), schedulers=("eft", "greedy"), cluster=build_cluster(devices)
    )
    seed = comparison.seeds[0]
    real = MeasuredComparison(replace(comparison, seeds=(seed,)), devices, repeats=len(eft))
    machine = VirtualMultiGPU(cluster=comparison.cluster)
    placed = Lane(schedulers.create("eft"), machine).run(comparison.source.tasks(seed, comparison.cluster))
    for spec, makespans in (("eft", eft), ("greedy", greedy)):
        real.runs[seed, spec] = SchedulerRun(placed, 0, 0, makespans=makespans)
    assert real.describe_ranking(["eft", "greedy"]).startswith(says)
