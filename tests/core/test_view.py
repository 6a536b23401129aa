"""The index of the devices: whoever asks it decides as if it had looked at all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Placements, Tasks, simulator
from hybrid_scheduler.core.clocks import build_estimated_clocks, build_exact_clocks
from hybrid_scheduler.core.compiler import interpret_loop
from hybrid_scheduler.core.device_index import add_device_index, end_of, find_cheapest, note_free
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import build_view, least_loaded_cpu, least_loaded_gpu
from hybrid_scheduler.workloads.noise import Noise
from instances import TWO_NODES, clusters, instances, workload

LEARNERS = ("hybrid_ml:order=fifo:n_estimators=2", "rl_agent:order=fifo:online=false")
POLICIES = ("eft", "greedy", "oracle", "price", "spt", "dmdas", *LEARNERS)
COLUMNS = ("gpu_fraction", "gpu", "cpu", "gpu_start", "cpu_start", "ready", "finish", "status")
LENGTHS = (0.1, 0.2, 0.3, 0.7, 1000.0)
"""Sums of these are often equal but for rounding, and equal after another sum."""
quick = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def run(monkey: pytest.MonkeyPatch, least: int, name: str, tasks: Tasks, machine: VirtualMultiGPU) -> Placements:
    monkey.setattr(simulator, "INDEXED_DEVICES", least)
    machine.reset()
    return Lane(registry.schedulers.create(name, seed=3), machine).run(tasks)


def assert_same_with_and_without(
    name: str,
    tasks: Tasks,
    cluster: Cluster,
    mode: str = "queued",
    backlog: str = simulator.ESTIMATED,
    compiled: bool = False,
) -> None:
    """Compare placements; interpreted unless told otherwise, for a loop with the index takes seconds to compile."""
    machine = VirtualMultiGPU(cluster=cluster, mode=mode, backlog=backlog)
    with pytest.MonkeyPatch.context() as monkey:
        bind = (lambda *_: None) if compiled else (lambda loop, _, bound, *__: interpret_loop(loop, bound))
        monkey.setattr(simulator, "interpret_while_cheap", bind)
        indexed, scanned = (run(monkey, least, name, tasks, machine) for least in (0, 10**9))
    for column in COLUMNS:
        assert np.array_equal(getattr(indexed, column), getattr(scanned, column), equal_nan=True), column


@pytest.mark.parametrize("name", POLICIES)
@quick
@given(instance=instances(), mode=st.sampled_from(simulator.MODES))
def test_placements_are_the_same_with_and_without_it(name: str, instance: tuple[Tasks, Cluster], mode: str) -> None:
    assert_same_with_and_without(name, *instance, mode)


@pytest.mark.parametrize("name", POLICIES)
@quick
@given(seed=st.integers(0, 2**32), nodes=st.integers(1, 3), energy=st.sampled_from([0.0, 0.6, 1.0]))
def test_ties_are_broken_alike_however_they_come_about(name: str, seed: int, nodes: int, energy: float) -> None:
    generator = np.random.default_rng(seed)
    classes = (DeviceClass("cpu", kind="cpu"), DeviceClass("a"), DeviceClass("b"))
    cluster = Cluster(classes, tuple(Node({"cpu": 2, "a": 3, "b": 4}) for _ in range(nodes)))
    measured = {each.name: generator.choice(LENGTHS, 60) for each in classes}
    arrival = np.cumsum(generator.choice([0.0, 0.1, 0.3], 60))
    tasks = Tasks.build(np.ones(60), np.ones(60), np.ones(60), arrival_time=arrival, measured=measured)
    assert_same_with_and_without(f"{name}:energy_weight={energy}" if name in LEARNERS else name, tasks, cluster)


@pytest.mark.parametrize("name", ["eft", "greedy", "oracle", "price", "rl_agent:order=fifo:online=false"])
@pytest.mark.parametrize("backlog", simulator.BACKLOGS)
@pytest.mark.parametrize("load", [0.7, 1.5])
def test_ends_that_are_estimated_are_the_same_with_and_without_it(name: str, backlog: str, load: float) -> None:
    """Estimates that are wrong by half: many devices are overdue at every decision, with long and short queues."""
    classes = TWO_NODES.classes
    node = Node({each.name: 2 if each.kind == "cpu" else 9 for each in classes})
    cluster = Cluster(classes, (node,))
    tasks = workload("mixed", 200, load=load * len(cluster.devices) / len(TWO_NODES.devices))
    noisy = Noise({"ratio": np.array([0.7])}, "assumed").apply(tasks, cluster, 5)
    for each in (tasks, noisy):
        assert_same_with_and_without(name, each, cluster, backlog=backlog, compiled=name == "eft")


def test_a_learner_that_has_learnt_durations_decides_alike() -> None:
    assert_same_with_and_without("hybrid_ml:order=fifo:n_estimators=10", workload("mixed", 250, load=1.5), TWO_NODES)


@pytest.mark.parametrize("name", POLICIES)
def test_gpus_that_fail_and_come_back_are_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By compiled loops, so that every policy is compiled with the index."""
    tasks, ends = workload("mixed", 90, load=2.0), []
    for least in (0, 10**9):
        monkeypatch.setattr(simulator, "INDEXED_DEVICES", least)
        machine, policy = VirtualMultiGPU(cluster=TWO_NODES), registry.schedulers.create(name, seed=3)
        gpus = machine.view.gpus.tolist()
        parts = [machine.step(tasks.part(0, 30), policy)]
        for gpu in gpus[:-1]:
            machine.fail(gpu)
        parts.append(machine.step(tasks.part(30, 60), policy))
        used = np.concatenate([parts[-1].gpu[parts[-1].gpu >= 0], [gpus[-1]]])
        assert set(used.tolist()) == {gpus[-1]}
        machine.restore(gpus[0], float(tasks.arrival_time[60]))
        parts.append(machine.step(tasks.part(60, 90), policy))
        ends.append(np.concatenate([part.finish for part in parts]))
    assert np.array_equal(ends[0], ends[1], equal_nan=True)


@quick
@given(cluster=clusters(), seed=st.integers(0, 2**32))
def test_it_finds_the_first_device_of_a_class_that_ends_earliest_and_the_least_loaded_ones(
    cluster: Cluster, seed: int
) -> None:
    generator, view = np.random.default_rng(seed), build_view(cluster)
    indexed = add_device_index(view, build_exact_clocks(view.free))
    index = indexed.device_index
    assert index is not None
    for _ in range(30):
        device = int(generator.integers(len(view.free)))
        ready, seconds = float(generator.choice(LENGTHS)), float(generator.choice(LENGTHS))
        view.free[device] += generator.choice(LENGTHS)
        note_free(index, indexed, device)
        for kind in np.unique(view.device_class).tolist():
            own = np.flatnonzero(view.device_class == kind)
            ends = np.maximum(ready, view.free[own]) + seconds
            assert find_cheapest(index, kind, ready, end_of, (seconds,)) == (own[np.argmin(ends)], ends.min())
        assert least_loaded_gpu(indexed) == least_loaded_gpu(view)
        assert least_loaded_cpu(indexed) == least_loaded_cpu(view)


def test_an_endless_stream_keeps_it_from_block_to_block_and_for_its_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, seen = workload("mixed", 300, load=2.0), []
    for least in (0, 10**9):
        monkeypatch.setattr(simulator, "INDEXED_DEVICES", least)
        lane = Lane(registry.schedulers.create("spt"), VirtualMultiGPU(cluster=TWO_NODES))
        for first in range(0, 300, 50):
            lane.run_on(tasks.part(first, first + 50))
        assert lane.stream is not None
        view = lane.stream.view_at(float(tasks.arrival_time[-1]))
        assert (view.device_index is not None) == (least == 0)
        seen.append((lane.stream.outlook().finish, view.free, least_loaded_gpu(view)))
    for one, other in zip(*seen, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("name", ["eft", "spt"])
def test_a_cluster_that_decides_on_few_tasks_at_a_time_may_go_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator, "INDEXED_DEVICES", 0)
    tasks, policy = workload("mixed", 60, load=2.0), registry.schedulers.create(name)
    expected = VirtualMultiGPU(cluster=TWO_NODES).run(tasks, policy, interpreted=True).finish
    monkeypatch.delattr(simulator, "add_device_index")
    machine = VirtualMultiGPU(cluster=TWO_NODES, indexed=False)
    assert np.array_equal(machine.run(tasks, policy, interpreted=True).finish, expected)


def test_where_data_moves_or_ordered_queues_are_estimated_there_is_none() -> None:
    """All else would be wrong: the answer of the index would be as old as the last task that a device got."""
    policy, view = registry.schedulers.create("eft"), build_view(Cluster.default(gpus=100))
    exact, estimated = build_exact_clocks(view.free), build_estimated_clocks(view.free)
    assert simulator.index_devices(view, policy, exact).device_index is not None
    assert simulator.index_devices(view, policy, estimated).device_index is not None
    assert simulator.index_devices(view, policy, None).device_index is None
    moving = view._replace(arrives=np.zeros(101))
    assert simulator.index_devices(moving, policy, exact).device_index is None
    few = build_view(Cluster.default())
    assert simulator.index_devices(few, policy, exact).device_index is None
    assert simulator.index_devices(view, registry.schedulers.create("gcmu"), exact).device_index is None
