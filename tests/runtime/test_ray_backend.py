"""The same on Ray: real nodes, a killed actor, a killed node; every call ends once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import real_tasks
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.runtime.jobs import RemoteTraceback, TaskFuture
from hybrid_scheduler.runtime.objects import StoredObject
from ray_nodes import RayCluster

DEADLINE = 600.0


def test_calls_survive_the_death_of_an_actor_and_of_a_node(ray_cluster: RayCluster, tmp_path: Path) -> None:
    second = ray_cluster.add("--address", ray_cluster.address, "--num-cpus", "0", "--num-gpus", "1")
    devices = "cpu,gpu=emulated:slowdown=1,gpu=emulated:slowdown=1"  # one GPU on each node
    with HybridScheduler("round_robin", "ray", devices, address=ray_cluster.address) as scheduler:
        scheduler.backend.grace_period = 0.5
        assert sorted(scheduler.map(real_tasks.double, range(20))) == list(range(0, 40, 2))
        with pytest.raises(KeyError, match="plum") as raised:
            scheduler.submit(real_tasks.complain, "plum").result(timeout=DEADLINE)
        assert isinstance(raised.value.__cause__, RemoteTraceback)

        one = set(scheduler.map(real_tasks.worker_number, range(8)))
        assert len(one) == 3, "one actor for each device"
        futures = [scheduler.submit(real_tasks.nap, 0.01, number) for number in range(60)]
        futures[5].result(timeout=DEADLINE)
        os.kill(min(one), 9)
        assert [each.result(timeout=DEADLINE) for each in futures] == list(range(60))
        assert scheduler.backend.restarts == 1

        again = scheduler.submit(real_tasks.die_once, str(tmp_path / "mark"))
        assert again.result(timeout=DEADLINE) == "survived"

        futures = [scheduler.submit(real_tasks.nap, 0.01, number) for number in range(100)]
        futures[5].result(timeout=DEADLINE)
        ray_cluster.kill(second)
        assert [each.result(timeout=DEADLINE) for each in futures] == list(range(100))
        rest = scheduler.map(real_tasks.double, range(10), timeout=DEADLINE)
        assert list(rest) == list(range(0, 20, 2)), "the rest of the cluster works on"


def test_large_data_stays_in_the_object_store_of_ray(ray_cluster: RayCluster) -> None:
    with HybridScheduler("eft", "ray", "cpu", address=ray_cluster.address) as scheduler:
        one = scheduler.submit(np.full, 200_000, 1.0)
        two = scheduler.submit(np.add, one, one)
        assert one.exception(DEADLINE) is two.exception(DEADLINE) is None
        assert isinstance(two, TaskFuture)
        stored = two.refer()
        assert isinstance(stored, StoredObject)
        assert stored.place == "node 0"
        every: list[Any] = [two, one, scheduler.scatter(np.ones(200_000))]
        total = scheduler.submit(np.sum, every)
        assert total.result(DEADLINE) == 800_000
        assert scheduler.submit(np.sum, two).result(DEADLINE) == 400_000
        array = np.ones(200_000)
        assert [scheduler.submit(np.sum, array).result(DEADLINE) for _ in range(3)] == [200_000] * 3
        kept = scheduler.submit(np.add, one, 1.0)
        assert kept.exception(DEADLINE) is None
    assert kept.result().mean() == 2.0
