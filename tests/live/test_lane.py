"""Running work as columns: what is busy, what waits, what a failure takes away."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.live.lane import INITIAL_CAPACITY, RunningWork
from instances import workload


def place_workload(name: str = "oracle", tasks: int = 400) -> Placements:
    return VirtualMultiGPU().run(workload("mixed", tasks, load=1.5), registry.schedulers.create(name))


def running_work(*blocks: Placements) -> RunningWork:
    work = RunningWork()
    for block in blocks:
        work.add(block)
    return work


def test_busy_seconds_are_those_of_the_placements() -> None:
    block = place_workload()
    assert running_work(block).busy_seconds(0.0, block.makespan, 5) == pytest.approx(block.busy)
    halves = running_work(block).busy_seconds(0.0, 2.0, 5) + running_work(block).busy_seconds(2.0, block.makespan, 5)
    assert halves == pytest.approx(block.busy)


def test_what_has_not_begun_waits() -> None:
    block = place_workload()
    starts = np.concatenate([block.gpu_start[block.gpu >= 0], block.cpu_start[block.cpu >= 0]])
    assert running_work(block).count_waiting(3.0) == (starts > 3.0).sum()


def test_old_work_is_forgotten_and_recent_work_is_not() -> None:
    blocks = [place_workload(tasks=INITIAL_CAPACITY) for _ in range(3)]
    work = running_work(*blocks)
    moment = blocks[0].makespan - 1.0
    before = work.busy_seconds(moment, blocks[0].makespan, 5)
    work.forget_before(moment)
    assert work.busy_seconds(moment, blocks[0].makespan, 5) == pytest.approx(before)
    assert work.busy_seconds(0.0, 1.0, 5).sum() < running_work(*blocks).busy_seconds(0.0, 1.0, 5).sum()


def test_a_failed_device_removes_all_work_of_its_tasks() -> None:
    block, now = place_workload(), 2.0
    work = running_work(block)
    lost = {int(block.tasks.task_id[interval.row]) for interval in work.remove_unfinished({2}, now)}
    hit = (block.gpu == 2) & (block.gpu_start + block.gpu_seconds > now)
    assert lost == set(block.tasks.task_id[hit].tolist())
    assert work.busy_seconds(now, block.makespan, 5)[2] == 0
    cpu = np.where(hit, 0.0, block.cpu_seconds)
    assert work.busy_seconds(0.0, block.makespan, 5)[0] == pytest.approx(cpu.sum())


def test_devices_can_be_renumbered_and_dropped() -> None:
    block = place_workload()
    work = running_work(block)
    work.renumber([0, -1, 1, 2, 3])
    assert work.busy_seconds(0.0, block.makespan, 4) == pytest.approx(block.busy[[0, 2, 3, 4]])
