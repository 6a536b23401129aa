"""Shares as columns: what is busy, what waits, what a failure takes away."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.live.lane import ROOM, Shares
from instances import workload


def placed(name: str = "oracle", tasks: int = 400) -> Placements:
    return VirtualMultiGPU().run(workload("mixed", tasks, load=1.5), registry.schedulers.create(name))


def of(*blocks: Placements) -> Shares:
    shares = Shares()
    for block in blocks:
        shares.add(block)
    return shares


def test_busy_seconds_are_those_of_the_placements() -> None:
    block = placed()
    assert of(block).busy(0.0, block.makespan, 5) == pytest.approx(block.busy)
    halves = of(block).busy(0.0, 2.0, 5) + of(block).busy(2.0, block.makespan, 5)
    assert halves == pytest.approx(block.busy)


def test_what_has_not_begun_waits() -> None:
    block = placed()
    starts = np.concatenate([block.gpu_start[block.gpu >= 0], block.cpu_start[block.cpu >= 0]])
    assert of(block).waiting(3.0) == (starts > 3.0).sum()


def test_old_shares_are_forgotten_and_recent_ones_are_not() -> None:
    blocks = [placed(tasks=ROOM) for _ in range(3)]
    shares = of(*blocks)
    moment = blocks[0].makespan - 1.0
    before = shares.busy(moment, blocks[0].makespan, 5)
    shares.forget(moment)
    assert shares.busy(moment, blocks[0].makespan, 5) == pytest.approx(before)
    assert shares.busy(0.0, 1.0, 5).sum() < of(*blocks).busy(0.0, 1.0, 5).sum()


def test_a_lost_device_takes_all_shares_of_its_tasks_along() -> None:
    block, now = placed(), 2.0
    shares = of(block)
    lost = {int(block.tasks.task_id[share.row]) for share in shares.lose({2}, now)}
    hit = (block.gpu == 2) & (block.gpu_start + block.gpu_seconds > now)
    assert lost == set(block.tasks.task_id[hit].tolist())
    assert shares.busy(now, block.makespan, 5)[2] == 0
    cpu = np.where(hit, 0.0, block.cpu_seconds)
    assert shares.busy(0.0, block.makespan, 5)[0] == pytest.approx(cpu.sum())


def test_devices_can_be_renumbered_and_dropped() -> None:
    block = placed()
    shares = of(block)
    shares.renumber([0, -1, 1, 2, 3])
    assert shares.busy(0.0, block.makespan, 4) == pytest.approx(block.busy[[0, 2, 3, 4]])
