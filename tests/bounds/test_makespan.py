"""The certified bound is valid, tight, verifiable, and equal to what other methods find."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from hybrid_scheduler import registry
from hybrid_scheduler.bounds import makespan
from hybrid_scheduler.bounds.makespan import (
    Bound,
    batch_work,
    critical_path_bound,
    find_prices,
    lower_bound,
    verify_bound,
    whole_task_bound,
)
from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.cluster import DEFAULT_CPU, DeviceClass, Node
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.formats import kernels, reader
from instances import TWO_NODES, workload
from workloads.formats.real_data import DATA, needs_data, references

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def primal(times: Matrix, counts: list[int]) -> float:
    """Return the LP optimum from the other side: the shortest fractional schedule."""
    tasks, classes = times.shape
    cost = np.zeros(tasks * classes + 1)
    cost[-1] = 1.0
    equal = np.zeros((tasks, tasks * classes + 1))
    below = np.zeros((classes, tasks * classes + 1))
    for i, c in itertools.product(range(tasks), range(classes)):
        equal[i, i * classes + c] = 1.0
        below[c, i * classes + c] = times[i, c]
    below[:, -1] = -np.asarray(counts)
    return float(linprog(cost, A_ub=below, b_ub=np.zeros(classes), A_eq=equal, b_eq=np.ones(tasks)).fun)


def dual(times: Matrix, prices: Matrix) -> float:
    return float((times * prices).min(axis=1).sum())


@pytest.mark.parametrize("counts", [[1, 4], [2, 3], [1, 1, 2], [2, 1, 3, 1]])
def test_prices_reach_the_optimum_of_the_fractional_schedule(counts: list[int]) -> None:
    times = np.random.default_rng(len(counts)).uniform(0.1, 10, (40, len(counts)))
    prices = find_prices(times, np.array(counts))
    assert np.isclose(prices @ counts, 1.0)
    assert np.isclose(dual(times, prices), primal(times, counts), rtol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_prices_are_guessed_the_same_are_found(seed: int) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, 12)
    counts[0] = 1
    times = random.lognormal(0.0, 1.0, (80, 12))
    times[random.random(times.shape) < 0.2] = np.inf
    times[:, 0] = 5.0
    found = find_prices(times, counts)
    for guess in (found, np.zeros(12), np.ones(12), random.random(12) ** 8, 1e-300 * found, np.eye(12)[3]):
        assert np.allclose(find_prices(times, counts, guess), found, rtol=1e-9, atol=1e-12)


def test_two_classes_are_cut_once_by_the_ratio_of_their_times() -> None:
    tasks = workload("mixed", 300)
    times = class_times(tasks, Cluster.default())
    prices = find_prices(times, np.array([1, 4]))
    on_gpu = prices[1] * times[:, 1] < prices[0] * times[:, 0]
    ratio = times[:, 0] / times[:, 1]
    assert ratio[on_gpu].min() >= ratio[~on_gpu].max()


def test_a_class_without_devices_has_no_price() -> None:
    prices = find_prices(np.array([[1.0, 2.0, 3.0]]), np.array([1, 0, 1]))
    assert prices[1] == 0.0


def test_the_bound_with_arrivals_is_the_best_over_all_suffixes() -> None:
    tasks, cluster = workload("long_tail", 60, load=1.5), Cluster.default()
    times = class_times(tasks, cluster)
    shortest = best_split_times(times, cluster)
    by_hand = max(
        max(tasks.arrival_time[j] + dual(times[j:], find_prices(times[j:], cluster.counts)) for j in range(60)),
        float((tasks.arrival_time + shortest).max()),
    )
    found = lower_bound(tasks, cluster).makespan
    assert found <= by_hand * (1 + 1e-9)
    assert found >= 0.999 * by_hand


def test_a_single_task_is_bounded_by_its_best_split() -> None:
    tasks, cluster = Tasks.build([10_000.0], [0.5], [1600.0]), Cluster.default()
    bound = lower_bound(tasks, cluster)
    assert bound.kind == "path"
    assert np.isclose(bound.makespan, 1.0 * 0.5 / 1.5)
    fine = VirtualMultiGPU().run(tasks, registry.schedulers.create("oracle:step=0.001"))
    assert bound.makespan <= fine.makespan <= 1.002 * bound.makespan


def test_a_chain_is_bounded_by_the_sum_of_its_fastest_times() -> None:
    edges = edges_from_ids([7, 8, 9], [[], [7], [8]])
    tasks = Tasks.build(
        [2000.0] * 3, [0.5] * 3, [10.0] * 3, task_id=[7, 8, 9], arrival_time=[1.0, 0.0, 0.0], edges=edges
    )
    bound = lower_bound(tasks, Cluster.default())
    assert bound.path == (7, 8, 9)
    assert np.isclose(
        bound.makespan, 1.0 + best_split_times(class_times(tasks, Cluster.default()), Cluster.default()).sum()
    )
    assert verify_bound(bound, tasks, Cluster.default())


def test_the_critical_path_bound_ignores_queues() -> None:
    tasks = workload("mixed", 100, load=50.0)
    assert critical_path_bound(tasks, Cluster.default()).makespan < lower_bound(tasks, Cluster.default()).makespan


def test_large_instances_with_many_classes_are_priced_on_a_sample_and_still_verified() -> None:
    tasks = workload("mixed", 30_000)
    bound = lower_bound(tasks, TWO_NODES)
    assert verify_bound(bound, tasks, TWO_NODES)
    placements = VirtualMultiGPU(cluster=TWO_NODES).run(tasks, registry.schedulers.create("eft"))
    assert bound.makespan <= placements.makespan


@pytest.mark.parametrize(
    "forge",
    [
        lambda bound: replace(bound, makespan=bound.makespan * 1.01),
        lambda bound: replace(bound, prices={name: 2 * price for name, price in bound.prices.items()}),
        lambda bound: replace(bound, prices={"cpu": -0.5, "gpu": 0.375}),
        lambda bound: replace(bound, since=bound.since + 10.0),
        lambda bound: replace(bound, kind="path", path=(0, 1)),
        lambda bound: replace(bound, kind="path", path=()),
    ],
)
def test_a_forged_bound_is_found_out(forge: object) -> None:
    assert callable(forge)
    tasks = workload("long_tail", 200, load=3.0)
    bound = lower_bound(tasks, Cluster.default())
    assert bound.kind == "work"
    assert verify_bound(bound, tasks, Cluster.default())
    forged = forge(bound)
    assert isinstance(forged, Bound)
    assert not verify_bound(forged, tasks, Cluster.default())


def test_no_tasks_have_the_bound_zero() -> None:
    tasks = Tasks.build([], [], [])
    assert lower_bound(tasks, Cluster.default()).makespan == 0.0
    assert batch_work(tasks, Cluster.default()) == 0.0


def known_instance(*path: str) -> tuple[Tasks, Cluster]:
    """Return tasks and machines of a file of reference data."""
    found = reader.read_all([DATA.joinpath(*path)])
    assert found.cluster is not None
    return found.tasks, found.cluster


@needs_data
@pytest.mark.parametrize("name", [f"u_{c}_{h}.0" for c in "ci" for h in ("hihi", "hilo", "lohi", "lolo")])
def test_braun_instances_are_bounded_within_one_per_cent(name: str) -> None:
    known = references()[name]
    tasks, cluster = known_instance("braun_etc", name)
    bound = lower_bound(tasks, cluster)
    assert verify_bound(bound, tasks, cluster)
    assert bound.makespan <= known["best_makespan"]
    assert bound.makespan >= 0.99 * known["lower_bound"]
    assert np.isclose(bound.makespan, known["lp_bound"], rtol=1e-6)
    min_min = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create("min_min"))
    assert np.isclose(min_min.makespan, known["minmin"], rtol=1e-6)


@needs_data
def test_real_kernels_are_bounded_by_the_fractional_optimum() -> None:
    # 23 291 ms is the optimum of whole tasks, 1.5 % above what splitting could reach: a gap of the model itself.
    known = {name: value * kernels.SECONDS for name, value in references()["cgo17"].items()}
    tasks, cluster = known_instance("opencl_cpu_gpu_cgo17", "opencl_cpu_gpu_times.csv")
    for bound in (lower_bound(tasks, cluster), whole_task_bound(tasks, cluster)):
        assert verify_bound(bound, tasks, cluster)
        assert known["lp_bound"] * (1 - 1e-6) <= bound.makespan <= known["best_makespan"]


def many_classes() -> tuple[Tasks, Cluster]:
    """Return tasks of a few shapes, scaled at random, on one CPU and eleven classes of GPUs."""
    random = np.random.default_rng(3)
    classes = (DEFAULT_CPU, *(DeviceClass(f"g{number}") for number in range(11)))
    cluster = Cluster(classes, tuple(Node({"cpu": 1, each.name: 2}) for each in classes[1:]))
    kinds = np.where(random.random((6, 12)) < 0.6, random.uniform(1.0, 4.0, (6, 12)), np.inf)
    kinds[:, 0] = 20.0
    times = kinds[random.integers(0, 6, 300)] * random.exponential(10.0, (300, 1))
    measured = {each.name: times[:, place] for place, each in enumerate(classes)}
    ones = np.ones(300)
    return Tasks.build(ones, ones, ones, arrival_time=random.uniform(0, 50, 300), measured=measured), cluster


def test_pricing_kinds_of_tasks_proves_as_much_as_pricing_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, cluster = many_classes()
    together = lower_bound(tasks, cluster)
    monkeypatch.setattr(makespan, "FEW_CLASSES", 12)
    apart = lower_bound(tasks, cluster)
    assert together.makespan == pytest.approx(apart.makespan, rel=1e-7)
    assert verify_bound(together, tasks, cluster)
    assert verify_bound(apart, tasks, cluster)


def test_tasks_that_differ_by_a_factor_become_one() -> None:
    times = np.array([[1.0, 2.0, np.inf], [3.0, 6.0, np.inf], [1.0, 1.0, 1.0], [0.1, 0.2, np.inf]])
    merged = makespan._merge_proportional(times)
    assert sorted(merged.tolist()) == [[1.0, 1.0, 1.0], [4.1, 8.2, np.inf]]


def small_gpus(memory: float) -> Cluster:
    return Cluster.default(gpus=2, memory=memory)


def test_a_share_that_does_not_fit_a_gpu_is_work_for_a_cpu() -> None:
    # Half of it fits the GPU: 10 s of work on the CPU that no GPU can take over, and 10 s that one can in 2 s.
    tasks = Tasks.build([1.0], [0.5], [1000.0], measured={"cpu": [20.0], "gpu": [4.0]})
    bound = lower_bound(tasks, small_gpus(500.0))
    assert bound.makespan == pytest.approx(10.0)
    assert verify_bound(bound, tasks, small_gpus(500.0))
    assert lower_bound(tasks, small_gpus(1000.0)).makespan == pytest.approx(20.0 * 4.0 / 24.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_with_memory_is_the_optimum_of_the_linear_programme_with_limited_shares(seed: int) -> None:
    random = np.random.default_rng(seed)
    times, memory = random.uniform(1.0, 9.0, (7, 2)), random.uniform(100.0, 2000.0, 7)
    tasks = Tasks.build(np.ones(7), np.ones(7), memory, measured={"cpu": times[:, 0], "gpu": times[:, 1]})
    # Minimise T over the shares x on the two GPUs: Σ (1 − x)·cpu ≤ T and Σ x·gpu ≤ 2·T, no share above what fits.
    load = np.array([[*-times[:, 0], -1.0], [*times[:, 1], -2.0]])
    limits = [(0.0, min(1.0, 500.0 / each)) for each in memory]
    least = linprog([*np.zeros(7), 1.0], A_ub=load, b_ub=[-times[:, 0].sum(), 0.0], bounds=[*limits, (0.0, None)])
    assert batch_work(tasks, small_gpus(500.0)) == pytest.approx(least.fun)


@pytest.mark.parametrize("memory", [300.0, 500.0, 3000.0])
@pytest.mark.parametrize("preset", ["cpu_friendly", "mixed"])
def test_no_policy_beats_the_bound_on_gpus_that_hold_only_shares(preset: str, memory: float) -> None:
    cluster = small_gpus(memory)
    tasks = workload(preset, 60, seed=3)
    bound = lower_bound(tasks, cluster)
    assert verify_bound(bound, tasks, cluster)
    for name in ("oracle", "greedy", "random", "eft", "round_robin"):
        placed = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create(name, seed=1))
        assert placed.makespan >= bound.makespan * (1 - 1e-9), name


def test_small_gpus_no_longer_make_every_policy_look_bad() -> None:
    cluster = Cluster.default(gpus=4, memory=500.0)
    tasks = WorkloadGenerator(1).generate_preset("cpu_friendly", 300, load=2.0, cluster=cluster)
    makespans = VirtualMultiGPU(cluster=cluster).run(tasks, registry.schedulers.create("oracle")).makespan
    assert makespans / lower_bound(tasks, cluster).makespan < 1.1


def test_offered_load_counts_only_the_shares_that_fit() -> None:
    tasks = WorkloadGenerator(1).generate_preset("cpu_friendly", 300, rate=1.0)
    small, large = Cluster.default(gpus=4, memory=500.0), Cluster.default(gpus=4)
    assert batch_work(tasks, small) > 1.2 * batch_work(tasks, large)


def chain(indivisible: list[float]) -> Tasks:
    edges = edges_from_ids([0, 1, 2], [[], [0], [1]])
    ones, measured = [1.0] * 3, {"cpu": [3.0] * 3, "gpu": [2.0] * 3}
    return Tasks.build(ones, ones, ones, edges=edges, measured=measured, traits={"indivisible": indivisible})


def test_a_chain_of_tasks_that_are_never_split_has_a_sharper_bound() -> None:
    cluster = Cluster.default(gpus=2)
    for marks, expected in (([0.0] * 3, 3.6), ([1.0, np.nan, 0.0], 4.4), ([1.0] * 3, 6.0)):
        bound = lower_bound(chain(marks), cluster)
        assert bound.makespan == pytest.approx(expected)
        assert verify_bound(bound, chain(marks), cluster)


@pytest.mark.parametrize("name", ["oracle", "greedy", "random"])
@pytest.mark.parametrize("interpreted", [False, True])
def test_no_policy_splits_a_task_that_is_indivisible(name: str, interpreted: bool) -> None:
    policy = registry.schedulers.create(name, seed=1)
    placed = VirtualMultiGPU(num_gpus=2).run(chain([1.0, 0.0, 1.0]), policy, interpreted=interpreted)
    assert not placed.split[[0, 2]].any()
    if name == "oracle":
        assert placed.split[1]
        assert placed.makespan == pytest.approx(2.0 + 1.2 + 2.0, rel=0.01)  # shares in steps of 5 %
