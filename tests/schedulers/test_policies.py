"""Each policy does what its name says."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import find_prices
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Placements, Tasks
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.errors import InputError
from instances import machines, workload


def run(name: str, tasks: Tasks, cluster: Cluster | None = None, mode: str = "queued") -> Placements:
    machine = VirtualMultiGPU(cluster=cluster or Cluster.default(), mode=mode)
    return machine.run(tasks, registry.schedulers.create(name, seed=5))


def test_round_robin_alternates_gpu_and_cpu_over_the_gpus_in_turn() -> None:
    placements = run("round_robin", workload("mixed", 10))
    assert placements.gpu.tolist() == [1, -1, 2, -1, 3, -1, 4, -1, 1, -1]
    assert placements.cpu.tolist() == [-1, 0] * 5


def test_random_draws_shares_evenly_and_every_gpu_alike() -> None:
    placements = run("random", workload("gpu_friendly", 4000))
    assert np.isclose(placements.gpu_fraction.mean(), 0.5, atol=0.02)
    assert np.isclose(placements.gpu_fraction.var(), 1 / 12, atol=0.005)
    assert np.all(np.abs(np.bincount(placements.gpu)[1:] - 1000) < 120)


def test_random_follows_its_seed() -> None:
    tasks = workload("mixed", 50)
    one, same, other = (
        VirtualMultiGPU().run(tasks, registry.schedulers.create("random", seed=seed)).gpu_fraction
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_greedy_takes_the_intensity_as_share_on_the_gpu_that_is_free_first() -> None:
    tasks = workload("mixed", 60)
    placements = VirtualMultiGPU(backlog="exact").run(tasks, registry.schedulers.create("greedy"))
    assert np.array_equal(placements.gpu_fraction, tasks.compute_intensity)
    free = np.zeros(5)
    for row in range(len(tasks)):
        assert free[placements.gpu[row]] == free[1:].min()
        free[placements.gpu[row]] = placements.gpu_start[row] + placements.gpu_seconds[row]


def test_oracle_is_the_best_of_all_shares_and_gpus_for_the_next_task() -> None:
    tasks = workload("mixed", 40, load=2.0)
    placements = run("oracle", tasks)
    times = class_times(tasks, Cluster.default())
    free = np.zeros(5)
    for row, ready in enumerate(tasks.arrival_time):
        start = np.maximum(free, ready)
        candidates = [
            max(
                start[gpu] + f * times[row, 1] if f > 0 else 0.0,
                start[0] + (1 - f) * times[row, 0] if f < 1 else 0.0,
            )
            for gpu, f in itertools.product(range(1, 5), np.linspace(0, 1, 21))
        ]
        assert np.isclose(placements.finish[row], min(candidates), rtol=1e-12)
        for device, begin, seconds in (
            (placements.gpu[row], placements.gpu_start[row], placements.gpu_seconds[row]),
            (placements.cpu[row], placements.cpu_start[row], placements.cpu_seconds[row]),
        ):
            if device >= 0:
                free[device] = begin + seconds


def test_oracle_with_finer_steps_approaches_the_closed_form_when_isolated() -> None:
    tasks = workload("mixed", 300)
    best = best_split_times(class_times(tasks, Cluster.default()), Cluster.default()).sum()
    ratios = []
    for step in (0.2, 0.05, 0.001):
        machine = VirtualMultiGPU(mode="isolated")
        placements = machine.run(tasks, registry.schedulers.create(f"oracle:step={step}"))
        ratios.append(placements.execution.sum() / best)
    assert ratios[0] > ratios[1] > ratios[2] >= 1.0
    assert 1.01 < ratios[1] < 1.04  # the 5 % steps cost about 2.4 %
    assert ratios[2] < 1.001


def test_oracle_refuses_a_step_of_zero() -> None:
    with pytest.raises(InputError, match="step is 0"):
        registry.schedulers.create("oracle:step=0")


def test_eft_puts_each_whole_task_where_it_ends_first() -> None:
    times = np.array([[3.0, 1.0], [3.0, 1.0], [3.0, 1.0], [3.0, 1.0]])
    tasks, cluster = machines(times)
    placements = run("eft", tasks, cluster)
    # Ends on machine 1 would be 1, 2, 3 (a tie goes to the lower index), then 3 again on machine 1.
    assert placements.gpu.tolist() == [1, 1, -1, 1]
    assert placements.finish.tolist() == [1.0, 2.0, 3.0, 3.0]


# A textbook instance on which the three batch rules differ: rows are tasks, columns machines.
BATCH = np.array([[2.0, 4.0], [3.0, 5.0], [9.0, 6.0], [4.0, 8.0]])


def textbook(times: np.ndarray[tuple[int, int], np.dtype[np.float64]], rule: str) -> list[int]:
    """Order of the tasks by the published rules, written as the books write them."""
    free, left, order = np.zeros(times.shape[1]), list(range(len(times))), []
    while left:
        finish = free + times[left]
        ranked = np.sort(finish, axis=1)
        key = {"min_min": ranked[:, 0], "max_min": -ranked[:, 0], "sufferage": ranked[:, 0] - ranked[:, 1]}[rule]
        task = left.pop(int(np.argmin(key)))
        machine = int(np.argmin(free + times[task]))
        free[machine] += times[task, machine]
        order.append(task)
    return order


@pytest.mark.parametrize("rule", ["min_min", "max_min", "sufferage"])
def test_batch_rules_follow_the_textbook(rule: str) -> None:
    generator = np.random.default_rng(3)
    for times in (BATCH, *(generator.uniform(1, 100, (30, 4)) for _ in range(10))):
        tasks, cluster = machines(times)
        placements = run(rule, tasks, cluster)
        starts = placements.start
        per_machine = [
            [row for row in np.argsort(starts, kind="stable") if placements.decision(int(row)).device == machine]
            for machine in range(times.shape[1])
        ]
        expected = textbook(times, rule)
        free = np.zeros(times.shape[1])
        wanted: list[list[int]] = [[] for _ in free]
        for task in expected:
            machine = int(np.argmin(free + times[task]))
            free[machine] += times[task, machine]
            wanted[machine].append(task)
        assert per_machine == wanted


def test_batch_rules_do_not_look_into_the_future() -> None:
    tasks = workload("mixed", 60, load=0.8)
    whole = run("max_min", tasks)
    first = run("max_min", tasks.part(0, 30))
    before = tasks.arrival_time[30]
    started = first.start < before
    assert started.sum() > 20
    assert np.array_equal(whole.finish[:30][started], first.finish[started])


# Topcuoglu, Hariri, Wu (2002), figure 2 and table 1.
TOPCUOGLU_TIMES = np.array(
    [
        [14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10],
        [13, 16, 9], [7, 15, 11], [5, 11, 14], [18, 12, 20], [21, 7, 16],
    ],
    np.float64,
)  # fmt: skip
TOPCUOGLU_EDGES = {
    (1, 2): 18, (1, 3): 12, (1, 4): 9, (1, 5): 11, (1, 6): 14, (2, 8): 19, (2, 9): 16, (3, 7): 23,
    (4, 8): 27, (4, 9): 23, (5, 9): 13, (6, 8): 15, (7, 10): 17, (8, 10): 11, (9, 10): 13,
}  # fmt: skip


def topcuoglu() -> tuple[Tasks, Cluster]:
    """Return the paper's graph; a link moves one unit of data a second."""
    ids = list(range(1, 11))
    parents = [[one for one, other in TOPCUOGLU_EDGES if other == task] for task in ids]
    data = [[float(TOPCUOGLU_EDGES[one, task]) for one in row] for row, task in zip(parents, ids, strict=True)]
    ones = np.ones(10)
    tasks = Tasks.build(
        ones,
        ones,
        ones,
        task_id=ids,
        edges=edges_from_ids(ids, parents, data),
        measured={f"p{k + 1}": TOPCUOGLU_TIMES[:, k] for k in range(3)},
    )
    classes = (DeviceClass("p1", kind="cpu", bandwidth=1.0), *(DeviceClass(f"p{k}", bandwidth=1.0) for k in (2, 3)))
    return tasks, Cluster(classes, (Node({"p1": 1, "p2": 1, "p3": 1}),))


def test_heft_reaches_the_published_makespan() -> None:
    tasks, cluster = topcuoglu()
    placements = run("heft", tasks, cluster)
    assert placements.makespan == 80.0


def test_peft_is_not_worse_than_heft_on_the_same_graph_by_much() -> None:
    tasks, cluster = topcuoglu()
    assert run("peft", tasks, cluster).makespan <= 1.1 * 80.0


def test_cpop_reaches_the_published_makespan_with_the_critical_path_on_one_device() -> None:
    tasks, cluster = topcuoglu()
    placements = run("cpop", tasks, cluster)
    assert placements.makespan == 86.0
    assert [placements.decision(task - 1).device for task in (1, 2, 9, 10)] == [1, 1, 1, 1]  # p2, as in the paper


def test_heft_fills_gaps() -> None:
    # Task 2 (rank above 3) waits for data until 11; task 3 fits into the gap before it on the same machine.
    tasks = Tasks.build(
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        edges=edges_from_ids([0, 1, 2, 3], [[], [0], [1], []], [[], [10.0], [0.0], []]),
        measured={"p1": [1.0, np.inf, np.inf, np.inf], "p2": [np.inf, 5.0, 5.0, 2.0]},
    )
    classes = (DeviceClass("p1", kind="cpu", bandwidth=1.0), DeviceClass("p2", bandwidth=1.0))
    placements = run("heft", tasks, Cluster(classes, (Node({"p1": 1, "p2": 1}),)))
    assert placements.start[3] == 0.0
    assert placements.start[1] == 11.0


def test_price_takes_the_class_with_the_smallest_price_times_time() -> None:
    tasks = workload("long_tail", 500, load=3.0)
    placements = run("price", tasks)
    times = class_times(tasks, Cluster.default())
    priced = times * find_prices(times, Cluster.default().counts)
    assert np.array_equal(placements.gpu_fraction, np.argmin(priced, axis=1).astype(float))


def test_price_beats_perfect_eyesight_when_the_load_is_high() -> None:
    tasks = workload("long_tail", 3000, load=3.6)
    assert run("price", tasks).makespan < run("eft", tasks).makespan < run("oracle", tasks).makespan


@pytest.mark.parametrize("name", ["heft", "peft", "cpop"])
def test_tasks_that_no_device_can_run_do_not_disturb_the_plan_of_the_others(name: str) -> None:
    tasks = Tasks.build(
        size=[762.0, 3635.0, 2674.0, 1620.0, 2481.0, 4458.0],
        compute_intensity=[0.93, 0.36, 0.57, 0.32, 0.59, 0.34],
        memory_required=[196.0, 445.0, 114.0, 312.0, 42.0, 416.0],
        edges=edges_from_ids(
            list(range(6)), [[], [], [1], [], [], [0, 3, 4]], [[], [], [800.0], [], [], [50.0, 800.0, 50.0]]
        ),
        measured={"cpu": [np.inf, np.inf, 1.73, 1.09, 0.61, 0.85], "gpu": [np.nan] * 6},
    )
    cluster = Cluster((DeviceClass("cpu", kind="cpu"), DeviceClass("gpu", memory=200.0, bandwidth=500.0)), (
        Node({"cpu": 1, "gpu": 1}),
    ))  # fmt: skip
    placements = run(name, tasks, cluster)
    check_schedule(placements)
    assert placements.rejected.tolist() == [False, True, True, False, False, False]


def on_one_machine(name: str, seconds: list[float], arrivals: list[float]) -> list[float]:
    tasks, cluster = machines(np.array(seconds)[:, None])
    starts: list[float] = run(name, tasks.with_arrival_times(arrivals), cluster).start.tolist()
    return starts


def test_gcmu_weighs_age_against_seconds() -> None:
    assert on_one_machine("gcmu", [5.0, 4.0, 0.5], [0.0, 0.0, 4.0]) == [0.0, 5.5, 5.0]  # at 5: 5/4 against 1/0.5
    assert on_one_machine("gcmu", [5.0, 4.0, 1.0], [0.0, 0.0, 4.0]) == [0.0, 5.0, 9.0]  # 5/4 against 1/1
    assert on_one_machine("gcmu:power=1", [5.0, 4.0, 1.0], [0.0, 0.0, 4.0]) == [5.0, 0.0, 4.0]  # shortest first


def test_maxweight_serves_the_type_with_the_most_tasks_per_second() -> None:
    """Four of 5 s (4/5, then 3/5, 2/5, 1/5) against one of 3 s (1/3)."""
    starts = on_one_machine("maxweight", [1.0, 3.0, 5.0, 5.0, 5.0, 5.0], [0.0, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert starts == [0.0, 16.0, 1.0, 6.0, 11.0, 19.0]


def test_dmdas_serves_the_longest_way_to_the_end_first_and_is_eft_without_a_graph() -> None:
    tasks, cluster = machines(np.array([[1.0], [1.0], [1.0], [2.0]]))
    graph = replace(tasks, edges=edges_from_ids([0, 1, 2, 3], [[], [], [], [2]]))
    assert run("dmdas", graph, cluster).finish.tolist() == [1.0, 5.0, 2.0, 4.0]
    independent = workload("mixed", 200)
    assert np.array_equal(run("dmdas", independent).finish, run("eft", independent).finish)


def test_jsq_joins_a_queue_with_the_fewest_tasks_of_those_it_looks_at() -> None:
    tasks = workload("mixed", 300, load=0.9)
    excess = {}
    for d in (0, 1, 2, 4):
        placements = run(f"jsq:d={d}", tasks)
        excess[d] = 0
        for row, now in enumerate(tasks.arrival_time):
            there = placements.device[:row][placements.finish[:row] > now]
            counts = np.bincount(there, minlength=5)
            excess[d] += counts[placements.device[row]] - counts.min()
        assert np.bincount(placements.device).min() > 0
    assert excess[1] > excess[2] > excess[4] > excess[0] == 0


def test_work_stealing_takes_what_waits_for_a_busy_device() -> None:
    tasks, cluster = machines(np.tile([[10.0], [1.0], [1.0], [1.0]], 2))
    assert run("work_stealing", tasks, cluster).finish.tolist() == [10.0, 1.0, 3.0, 2.0]


@pytest.mark.parametrize("spec", ["gcmu:power=0.5", "jsq:d=-1", "jsq:d=true", "work_stealing:victim=shortest"])
def test_options_that_make_no_sense_are_refused(spec: str) -> None:
    with pytest.raises(InputError, match=r"is .*, expected"):
        registry.schedulers.create(spec)
