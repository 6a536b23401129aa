"""Tasks without end: queues persist from block to block, and every task is handed out once, when it has started."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import WAITING, concatenate_placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.stream import SMALLEST, EndlessStream
from hybrid_scheduler.core.tasks import concatenate_tasks
from hybrid_scheduler.schedulers.least_increase import LeastIncrease
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.noise import parse_noise
from instances import workload
from ordered_policies import FifoOracle, ShortestWaiting

POLICIES: dict[str, Callable[[], Scheduler]] = {
    "ordered": lambda: registry.schedulers.create("least_increase"),
    "split": FifoOracle,
    "late binding": ShortestWaiting,
}


def run_blocks(stream: EndlessStream, tasks: Tasks, size: int) -> list[Placements]:
    """Return what the stream hands out for blocks of a size."""
    out = []
    for first in range(0, len(tasks), size):
        block = tasks.part(first, min(first + size, len(tasks)))
        stream.append(block)
        stream.advance(len(block))
        placed, earlier = stream.collect(block)
        assert earlier is not None
        out += [placed.select(placed.status != WAITING), earlier]
    return out


def join(parts: list[Placements], cluster: Cluster) -> Placements:
    """Return placements in order of their tasks."""
    whole = concatenate_placements(parts, concatenate_tasks([each.tasks for each in parts]))
    return whole.select(np.argsort(whole.tasks.task_id))


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_blocks_of_any_size_give_the_schedule_of_the_whole(policy: str, noisy: bool) -> None:
    tasks, cluster = workload("mixed", 350, load=1.1), Cluster.default()
    if noisy:
        tasks = parse_noise("0.4").apply(tasks, cluster, seed=3)
    expected = VirtualMultiGPU(cluster=cluster).run(tasks, POLICIES[policy]())
    for size in (1, 7, 100):
        stream = EndlessStream(VirtualMultiGPU(cluster=cluster), POLICIES[policy]())
        handed_out = run_blocks(stream, tasks, size)
        waiting, outlook = stream.waiting, stream.outlook()
        assert waiting > 0
        assert len(stream._rows["size"]) < max(SMALLEST + 1, 4 * (waiting + size))  # not all tasks
        stream.start_until(np.inf)
        last = stream.collect().earlier
        assert last is not None
        whole = join([*handed_out, last], cluster)
        assert np.array_equal(whole.tasks.task_id, tasks.task_id)  # each of them once
        for name in ("finish", "gpu", "cpu", "gpu_fraction", "gpu_start", "cpu_start"):
            assert np.array_equal(getattr(whole, name), getattr(expected, name), equal_nan=True), name
        if policy != "late binding":  # which has to guess what its scheduler would pick
            assert np.array_equal(outlook.finish, last.finish)
        assert outlook.ran.all()


class Remembering(LeastIncrease):
    """Keeps what it may learn from."""

    learn_every = 10

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[Placements] = []

    def learn(self, placements: Placements) -> None:
        self._kept.append(placements)


def test_a_learner_sees_the_ends_of_tasks_that_waited_when_it_got_them() -> None:
    tasks, policy = workload("mixed", 500, load=1.3), Remembering()
    expected = VirtualMultiGPU().run(tasks, LeastIncrease())
    lane = Lane(policy, VirtualMultiGPU())
    for first in range(0, 500, 50):
        lane.run_on(tasks.part(first, first + 50))
    assert lane.stream is not None
    waiting = set(lane.stream.outlook().tasks.task_id.tolist())
    assert len(policy._kept) == 50
    for each in policy._kept:
        for task, finish in zip(each.tasks.task_id.tolist(), each.finish.tolist(), strict=True):
            assert np.isnan(finish) if task in waiting else finish == expected.finish[task]


@pytest.mark.parametrize("policy", POLICIES)
def test_what_waits_for_a_gpu_that_fails_waits_elsewhere_and_a_larger_cluster_keeps_the_queues(policy: str) -> None:
    tasks, machine = workload("mixed", 600, load=1.5), VirtualMultiGPU()
    stream = EndlessStream(machine, POLICIES[policy]())
    parts = run_blocks(stream, tasks.part(0, 300), 30)
    now = float(tasks.arrival_time[299])
    machine.fail(2)
    back = stream.take_back({2}, now)
    stream.use_machine(machine)
    assert len(back) > 0 or policy == "late binding"
    if len(back):
        stream.append(back, ready=now)
        stream.advance(len(back))
    third: Any = stream.collect(back).block
    assert np.all(third.gpu != 2)
    parts += [third.select(third.ran), *run_blocks(stream, tasks.part(300, 450), 30)]
    now, larger = float(tasks.arrival_time[449]), VirtualMultiGPU(num_gpus=6)
    larger.take_over(machine, now)
    stream.use_machine(larger)
    parts += run_blocks(stream, tasks.part(450, 600), 30)
    stream.start_until(np.inf)
    last = stream.collect().earlier
    assert last is not None
    ids = np.concatenate([each.tasks.task_id for each in (*parts, last)])
    assert np.array_equal(np.sort(ids), np.arange(600))
    for device in range(7):
        spans = sorted(
            (start[row], start[row] + seconds[row])
            for each in (*parts, last)
            for place, start, seconds in (
                (each.gpu, each.gpu_start, each.gpu_seconds),
                (each.cpu, each.cpu_start, each.cpu_seconds),
            )
            for row in np.flatnonzero(place == device)
        )
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert spans
