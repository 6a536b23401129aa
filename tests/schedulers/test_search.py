"""`search` and `optimal`: whole batches, close to what is known to be best, the same every time."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pytest

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.bounds.local_search import find_start_prices, finish_times, search_assignment
from hybrid_scheduler.bounds.makespan import whole_task_bound
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Placements, Tasks
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError
from instances import machines, workload
from workloads.formats.real_data import DATA, needs_data

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def run(name: str, tasks: Tasks, cluster: Cluster | None = None, mode: str = "queued") -> Placements:
    machine = VirtualMultiGPU(cluster=cluster or Cluster.default(), mode=mode)
    return machine.run(tasks, registry.schedulers.create(name))


def known(name: str) -> tuple[Matrix, float]:
    """Return the times of a reference instance and the best makespan on record."""
    with (DATA / "braun_etc" / "rcmax_reference.csv").open() as file:
        best = {row["instance"]: float(row["best_makespan"]) for row in csv.DictReader(file)}
    if name != "cgo17":
        return np.loadtxt(DATA / "braun_etc" / name).reshape(512, 16), best[name]
    with (DATA / "opencl_cpu_gpu_cgo17" / "opencl_cpu_gpu_times.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = [each for each in rows[0] if each.startswith("runtime")]
    return np.array([[float(row[each]) for each in columns] for row in rows]), best[name]


@needs_data
def test_search_is_within_half_a_per_cent_of_the_best_known_braun_schedules() -> None:
    """On average: in which of many near optima one ends depends on the last digits of the prices."""
    ratios = {}
    for name in (f"u_{c}_{h}.0" for c in "ci" for h in ("hihi", "hilo", "lohi", "lolo")):
        times, best = known(name)
        ratios[name] = run("search", *machines(times)).makespan / best
    assert sum(ratios.values()) / len(ratios) <= 1.005, ratios
    assert max(ratios.values()) <= 1.015, ratios


@needs_data
def test_search_is_within_a_tenth_of_a_per_cent_on_real_kernels() -> None:
    times, best = known("cgo17")
    placements = run("search", *machines(times))
    assert placements.makespan <= 1.001 * best
    assert run("min_min", *machines(times)).makespan > 1.4 * placements.makespan


@pytest.mark.parametrize("name", ["search", "optimal:gap=0"])
def test_small_batches_are_solved_as_by_trying_everything(name: str) -> None:
    generator = np.random.default_rng(4)
    for _ in range(6):
        times = generator.uniform(1.0, 9.0, (6, 3))
        brute = min(
            max(sum(times[i, m] for i in range(6) if assigned[i] == m) for m in range(3))
            for assigned in itertools.product(range(3), repeat=6)
        )
        assert np.isclose(run(name, *machines(times)).makespan, brute, rtol=1e-9)


def test_a_large_batch_is_close_to_its_bound() -> None:
    tasks, cluster = workload("long_tail", 400).with_arrival_times(np.zeros(400)), Cluster.default()
    assert run("search", tasks).makespan <= 1.001 * whole_task_bound(tasks, cluster).makespan


def test_start_loads_count() -> None:
    seconds, kind = np.full((4, 1), 1.0), np.zeros(3, np.int64)
    start = np.array([0.0, 3.0, 9.0])
    device = search_assignment(seconds, kind, start, find_start_prices(seconds, kind, start))
    # The third device is busy until 9 whatever happens; the other two end as early as they can.
    assert finish_times(device, seconds, kind, start).tolist() == [4.0, 3.0, 9.0]


def test_more_effort_is_never_worse_and_no_effort_is_a_descent() -> None:
    times = np.random.default_rng(2).uniform(1.0, 100.0, (60, 6))
    made = [run(f"search:effort={effort}", *machines(times)).makespan for effort in (0, 0.2, 1)]
    assert made[0] >= made[1] >= made[2]


def test_tasks_go_only_where_they_fit() -> None:
    times = np.random.default_rng(5).uniform(1.0, 5.0, 40)
    tasks = Tasks.build(
        np.ones(40),
        np.ones(40),
        np.linspace(0, 400, 40),
        measured={"gpu": times, "cpu": np.where(times > 4, np.inf, 9)},
    )
    classes = (DeviceClass("cpu", kind="cpu"), DeviceClass("gpu", memory=300.0))
    placements = run("search", tasks, Cluster(classes, (Node({"cpu": 1, "gpu": 2}),)))
    check_schedule(placements)
    assert not placements.spilled.any()
    assert placements.rejected.sum() == np.sum((times > 4) & (tasks.memory_required > 300))


def test_isolated_every_task_takes_its_fastest_device() -> None:
    times = np.random.default_rng(6).uniform(1.0, 9.0, (30, 4))
    placements = run("search", *machines(times), mode="isolated")
    assert np.array_equal(placements.finish, times.min(axis=1))


def test_search_beats_min_min_on_a_stream_above_capacity() -> None:
    tasks = workload("long_tail", 1500, load=3.0)
    assert run("search", tasks).makespan < run("min_min", tasks).makespan


def test_optimal_tells_what_is_proved() -> None:
    times = np.random.default_rng(7).uniform(1.0, 9.0, (30, 4))
    tasks, cluster = machines(times)
    policy = registry.schedulers.create("optimal:gap=0.001")
    VirtualMultiGPU(cluster=cluster).run(tasks, policy)
    assert policy.insight["batches"] == policy.insight["proved"] == 1
    assert policy.insight["last_gap"] <= 0.001


def test_a_batch_too_large_to_prove_says_so() -> None:
    times = np.random.default_rng(8).uniform(1.0, 1000.0, (300, 16))
    tasks, cluster = machines(times)
    policy = registry.schedulers.create("optimal:gap=0")
    placements = VirtualMultiGPU(cluster=cluster).run(tasks, policy)
    assert policy.insight["proved"] == 0
    bound = whole_task_bound(tasks, cluster).makespan
    assert 0 < policy.insight["last_gap"] < 0.02
    assert np.isclose(placements.makespan, bound * (1 + policy.insight["last_gap"]), rtol=5e-3)


@pytest.mark.parametrize("spec", ["search:effort=-1", "search:window=0", "optimal:gap=2", "optimal:nodes=-3"])
def test_options_out_of_range_are_refused(spec: str) -> None:
    with pytest.raises(InputError, match="expected"):
        registry.schedulers.create(spec)
