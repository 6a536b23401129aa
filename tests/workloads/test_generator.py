"""The generator draws what it was asked for, the same for the same seed, on every run."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers_cli import python
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Tasks
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.generator import PRESETS, saturation_rate, scale_to_rate

INDEPENDENT = [name for name, preset in PRESETS.items() if preset.graph is None]
GRAPHS = [name for name, preset in PRESETS.items() if preset.graph is not None]


def _bytes(tasks: Tasks) -> bytes:
    columns = (
        *(tasks.size, tasks.compute_intensity, tasks.memory_required, tasks.arrival_time, tasks.duration_estimate),
        *(tasks.task_id, tasks.edges.start, tasks.edges.parents, tasks.edges.megabytes),
    )
    return b"".join(column.tobytes() for column in columns)


# --- seeds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(preset: str) -> None:
    one, same, other = (WorkloadGenerator(seed).generate_preset(preset, 120) for seed in (5, 5, 6))
    assert _bytes(one) == _bytes(same)
    assert _bytes(one) != _bytes(other) or preset == "cholesky"


def test_a_second_call_draws_new_tasks_that_the_seed_fixes_too() -> None:
    one, same = WorkloadGenerator(5), WorkloadGenerator(5)
    first, second = one.generate_workload(50), one.generate_workload(50)
    assert _bytes(first) != _bytes(second)
    assert _bytes(same.generate_workload(50)) == _bytes(first)
    assert _bytes(same.generate_workload(50)) == _bytes(second)


def test_the_bytes_do_not_depend_on_the_hash_seed_of_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import hashlib, pathlib, tempfile\n"
        "from hybrid_scheduler.workloads import WorkloadGenerator\n"
        "from hybrid_scheduler.workloads.generator import PRESETS\n"
        "digest = hashlib.sha256()\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    for preset in PRESETS:\n"
        "        generator = WorkloadGenerator(11)\n"
        "        generator.generate_preset(preset, 60)\n"
        "        generator.save_workload(pathlib.Path(folder, 'tasks.csv'))\n"
        "        digest.update(pathlib.Path(folder, 'tasks.csv').read_bytes())\n"
        "print(digest.hexdigest())"
    )
    exec(code, {})  # noqa: S102  # the lines above
    here = capsys.readouterr().out
    assert len(here.strip()) == hashlib.sha256().digest_size * 2
    assert python(code, env={"PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"}) == here


def test_more_tasks_of_a_seed_begin_with_the_fewer() -> None:
    few, many = (WorkloadGenerator(3).generate_preset("mixed", count, rate=1.0) for count in (50, 80))
    assert many.size[:50].tolist() == few.size.tolist()
    assert many.compute_intensity[:50].tolist() == few.compute_intensity.tolist()


def test_a_policy_that_draws_sizes_otherwise_leaves_the_other_columns_alone() -> None:
    mixed, tail = (WorkloadGenerator(3).generate_preset(name, 50, rate=1.0) for name in ("mixed", "long_tail"))
    assert mixed.compute_intensity.tolist() == tail.compute_intensity.tolist()
    assert mixed.arrival_time.tolist() == tail.arrival_time.tolist()


@pytest.mark.parametrize("seed", [-1, -7])
def test_a_negative_seed_is_an_error_for_the_user(seed: int) -> None:
    with pytest.raises(SchedulerError, match=rf"seed is {seed}, expected"):
        WorkloadGenerator(seed).generate_workload(5)


# --- ranges --------------------------------------------------------------------------------------------------


def test_the_ranges_of_generate_workload_are_respected_and_used_to_the_full() -> None:
    tasks = WorkloadGenerator(1).generate_workload(5000, (10, 20), (0.3, 0.4), (7, 9), arrival_rate=4.0)
    for column, low, high in (
        (tasks.size, 10, 20),
        (tasks.compute_intensity, 0.3, 0.4),
        (tasks.memory_required, 7, 9),
    ):
        assert low <= column.min() < low + 0.01 * (high - low)
        assert high >= column.max() > high - 0.01 * (high - low)
        assert column.mean() == pytest.approx((low + high) / 2, rel=0.01)
    assert len(tasks) == 5000
    assert 5000 / tasks.arrival_time[-1] == pytest.approx(4.0, rel=1e-12)


def test_a_range_of_one_point_gives_that_point() -> None:
    tasks = WorkloadGenerator(1).generate_workload(5, (10, 10), (1, 1), (0, 0))
    assert set(tasks.size) == {10.0}
    assert set(tasks.compute_intensity) == {1.0}
    assert set(tasks.memory_required) == {0.0}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_keeps_to_its_ranges_and_is_in_order(preset: str) -> None:
    kind = PRESETS[preset]
    tasks = WorkloadGenerator(2).generate_preset(preset, 1000)
    for column, (low, high) in (
        (tasks.size, kind.size_range),
        (tasks.compute_intensity, kind.intensity_range),
        (tasks.memory_required, kind.memory_range),
    ):
        assert low <= column.min()
        assert column.max() <= high
    assert tasks.in_order
    assert tasks.task_id.tolist() == list(range(len(tasks)))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_its_own_number_of_tasks_unless_told(preset: str) -> None:
    assert len(WorkloadGenerator(2).generate_preset(preset)) == PRESETS[preset].num_tasks
    if preset in INDEPENDENT:
        assert len(WorkloadGenerator(2).generate_preset(preset, 1)) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"num_tasks": 0}, "number of tasks is 0, expected a whole number above 0"),
        ({"num_tasks": -1}, "number of tasks is -1"),
        ({"num_tasks": 2.5}, "number of tasks is 2.5"),
        ({"num_tasks": True}, "number of tasks is True"),
        ({"task_size_range": (20, 10)}, r"task_size_range is \(20, 10\), expected the smaller number first"),
        ({"task_size_range": (1, 2, 3)}, "task_size_range"),
        ({"task_size_range": (math.nan, 10)}, "task_size_range"),
        ({"task_size_range": (0, 0)}, "size is 0"),
        ({"compute_intensity_range": (0.5, 0.1)}, "compute_intensity_range"),
        ({"compute_intensity_range": (1.5, 2.0)}, "compute_intensity is"),
        ({"memory_range": (9, 8)}, "memory_range"),
        ({"memory_range": (0, math.inf)}, "memory_range"),
        ({"arrival_rate": 0}, "rate is 0, expected a number above 0"),
        ({"arrival_rate": -3.5}, "rate is -3.5"),
        ({"arrival_rate": math.nan}, "rate is nan"),
        ({"arrival_rate": math.inf}, "rate is inf"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_for_the_user(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        WorkloadGenerator(1).generate_workload(**{"num_tasks": 10, **options})


# --- distributions -------------------------------------------------------------------------------------------


def test_long_tail_has_its_median_near_600_and_a_log_normal_spread() -> None:
    size = WorkloadGenerator(4).generate_preset("long_tail", 20_000).size
    assert np.median(size) == pytest.approx(600, rel=0.03)
    lower, upper = np.quantile(size, [0.1587, 0.8413])
    assert np.log(upper / lower) / 2 == pytest.approx(1.0, abs=0.03)
    assert size.mean() > 1.3 * np.median(size)


def test_pareto_has_the_tail_of_its_exponent() -> None:
    size = WorkloadGenerator(4).generate_preset("pareto", 50_000).size
    for threshold in (500, 1000, 2000, 4000):
        assert np.mean(size > threshold) == pytest.approx((300 / threshold) ** 1.2, rel=0.05)
    assert size.min() >= 300


def test_mixed_is_spread_evenly() -> None:
    size = WorkloadGenerator(4).generate_preset("mixed", 20_000).size
    assert np.quantile(size, [0.25, 0.5, 0.75]) == pytest.approx([1325, 2550, 3775], rel=0.02)


def _dispersion(arrival: np.ndarray[Any, np.dtype[np.float64]], window: float) -> float:
    counts = np.bincount((arrival / window).astype(np.int64))
    return float(counts.var() / counts.mean())


def test_bursts_have_an_index_of_dispersion_far_above_poisson() -> None:
    calm, bursty = (
        WorkloadGenerator(4).generate_preset(name, 50_000, rate=1.0).arrival_time for name in ("mixed", "bursty")
    )
    assert _dispersion(calm, 20.0) == pytest.approx(1.0, abs=0.15)
    assert _dispersion(bursty, 20.0) > 5.0


def test_bursts_come_at_two_speeds_nine_times_apart() -> None:
    gaps = np.diff(WorkloadGenerator(4).generate_preset("bursty", 50_000, rate=1.0).arrival_time)
    # A mixture of two exponentials of mean 0.2 and 1.8 in equal parts has this second moment.
    assert np.mean(gaps**2) / np.mean(gaps) ** 2 == pytest.approx(0.2**2 + 1.8**2, rel=0.06)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("rate", [0.25, 300.0])
def test_tasks_come_at_the_rate_that_was_asked_for(preset: str, rate: float) -> None:
    tasks = WorkloadGenerator(4).generate_preset(preset, 500, rate=rate)
    assert len(tasks) / tasks.arrival_time.max() == pytest.approx(rate, rel=1e-12)
    assert tasks.arrival_time.min() > 0


# --- load ----------------------------------------------------------------------------------------------------

CLUSTERS = {
    "one CPU, four GPUs": Cluster.default(),
    "no GPU": Cluster.default(gpus=0),
    "several classes": Cluster(
        (
            DeviceClass("cpu", kind="cpu"),
            DeviceClass("fast", speed=2.0, bandwidth=900.0),
            DeviceClass("slow", speed=0.4),
        ),
        (Node({"cpu": 2, "fast": 1, "slow": 2}), Node({"cpu": 1, "slow": 1})),
    ),
}


def _least_seconds(tasks: Tasks, cluster: Cluster) -> float:
    """Solve the linear programme of the work from first principles: shares of tasks on classes, least time."""
    classes = [each for each, count in zip(cluster.classes, cluster.counts, strict=True) if count]
    counts = [int(count) for count in cluster.counts if count]
    seconds = np.array(
        [
            [
                task.duration_estimate / each.speed
                if each.kind == "cpu"
                else task.duration_estimate / (each.speed * (1 + each.speedup_slope * task.compute_intensity))
                + task.memory_required / each.bandwidth
                for each in classes
            ]
            for task in tasks
            if task.duration_estimate is not None
        ]
    )
    rows, width = seconds.shape
    work = np.zeros((width, rows * width + 1))
    for column in range(width):
        work[column, column : rows * width : width] = seconds[:, column]
        work[column, -1] = -counts[column]
    whole = np.kron(np.eye(rows), np.ones(width))
    solved = linprog(
        np.append(np.zeros(rows * width), 1.0),
        A_ub=work,
        b_ub=np.zeros(width),
        A_eq=np.hstack([whole, np.zeros((rows, 1))]),
        b_eq=np.ones(rows),
    )
    return float(solved.fun)


@pytest.mark.parametrize("name", CLUSTERS)
def test_offered_load_1_brings_the_work_as_fast_as_the_linear_programme_can_do_it(name: str) -> None:
    cluster = CLUSTERS[name]
    tasks = WorkloadGenerator(8).generate_preset("mixed", 40, load=1.0, cluster=cluster)
    assert tasks.arrival_time.max() == pytest.approx(_least_seconds(tasks, cluster), rel=1e-6)
    assert saturation_rate(tasks, cluster) == pytest.approx(40 / _least_seconds(tasks, cluster), rel=1e-6)


def test_twice_the_load_is_twice_the_rate_and_nothing_else() -> None:
    one, two = (WorkloadGenerator(8).generate_preset("mixed", 40, load=load) for load in (0.6, 1.2))
    assert one.arrival_time == pytest.approx(2 * two.arrival_time, rel=1e-12)
    assert one.size.tolist() == two.size.tolist()


def test_without_rate_or_load_independent_tasks_come_at_load_nine_tenths() -> None:
    asked, default = (WorkloadGenerator(8).generate_preset("mixed", 40, load=load) for load in (0.9, None))
    assert asked.arrival_time.tolist() == default.arrival_time.tolist()


@pytest.mark.parametrize("preset", GRAPHS)
def test_without_rate_or_load_a_graph_is_there_at_once(preset: str) -> None:
    assert not WorkloadGenerator(8).generate_preset(preset, 60).arrival_time.any()


def test_a_rate_and_a_load_together_are_refused() -> None:
    with pytest.raises(InputError, match="rate and a load were given"):
        WorkloadGenerator(8).generate_preset("mixed", 40, rate=1.0, load=1.0)


@pytest.mark.parametrize("given", [{"load": 1e-320}, {"rate": 1e-300}])
def test_a_load_at_which_times_would_overflow_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="give a higher rate or load"):
        WorkloadGenerator(0).generate_preset("mixed", 5, **given)


def test_a_load_without_a_device_that_fits_is_refused() -> None:
    cluster = Cluster((DeviceClass("cpu", kind="cpu", memory=1.0),), (Node({"cpu": 1}),))
    with pytest.raises(InputError, match="no task of this workload fits the cluster"):
        WorkloadGenerator(8).generate_preset("mixed", 40, cluster=cluster)


def test_a_rate_for_tasks_that_all_come_at_once_is_refused_or_kept_but_never_ignored() -> None:
    tasks = Tasks.build([1.0, 2.0], [0.5, 0.5], [1.0, 1.0])
    try:
        paced = scale_to_rate(tasks, 5.0)
    except InputError:
        return
    assert 2 / paced.arrival_time.max() == pytest.approx(5.0)


# --- graphs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 60, 500])
@pytest.mark.parametrize("preset", ["layered", "fork_join"])
def test_a_drawn_graph_has_as_many_tasks_as_asked_and_parents_come_first(preset: str, count: int) -> None:
    tasks = WorkloadGenerator(8).generate_preset(preset, count)
    assert len(tasks) == count
    assert np.all(tasks.edges.parents < tasks.edges.child)
    assert len(set(zip(tasks.edges.parents.tolist(), tasks.edges.child.tolist(), strict=True))) == len(
        tasks.edges.parents
    )


@pytest.mark.parametrize("tiles", [1, 2, 3, 8, 16])
def test_a_cholesky_factorisation_of_t_tiles_has_t_t1_t2_over_6_tasks(tiles: int) -> None:
    count = tiles * (tiles + 1) * (tiles + 2) // 6
    following = (tiles + 1) * (tiles + 2) * (tiles + 3) // 6
    for asked in (count, following - 1):
        tasks = WorkloadGenerator(8).generate_preset("cholesky", asked)
        assert len(tasks) == count
        assert np.all(tasks.edges.parents < tasks.edges.child)
    assert len(WorkloadGenerator(8).generate_preset("cholesky", following)) == following


def test_a_cholesky_factorisation_has_a_critical_path_of_three_tasks_a_tile() -> None:
    tasks = WorkloadGenerator(8).generate_preset("cholesky", 120)  # 8 tiles
    depth = np.zeros(len(tasks), np.int64)
    for row in tasks.topological:
        depth[row] = 1 + max((int(depth[parent]) for parent in tasks.edges.neighbours(row)), default=0)
    assert depth.max() == 3 * 8 - 2
    assert np.count_nonzero(np.diff(tasks.edges.start) == 0) == 1


def test_in_layers_every_task_but_the_first_layer_waits_for_one_to_three() -> None:
    tasks = WorkloadGenerator(8).generate_preset("layered", 400)
    waits = np.diff(tasks.edges.start)
    first = int(np.argmax(waits > 0))
    assert first > 1
    assert set(waits[first:].tolist()) == {1, 2, 3}


def test_fork_and_join_alternate_with_one_root_and_every_task_on_a_path_from_it() -> None:
    tasks = WorkloadGenerator(8).generate_preset("fork_join", 400)
    waits = np.diff(tasks.edges.start)
    assert waits[0] == 0
    assert np.all(waits[1:] >= 1)
    assert waits.max() > 2
    assert np.diff(tasks.children.start).max() > 2


def test_an_unknown_preset_is_named_with_the_nearest() -> None:
    with pytest.raises(SchedulerError, match="unknown preset 'mixt': did you mean 'mixed'"):
        WorkloadGenerator(8).generate_preset("mixt")


def test_nothing_can_be_saved_or_summed_up_before_something_is_drawn(tmp_path: Path) -> None:
    generator = WorkloadGenerator(8)
    for call in (
        generator.get_statistics,
        generator.to_dataframe,
        lambda: generator.save_workload(tmp_path / "x.csv"),
    ):
        with pytest.raises(InputError, match="no workload yet: call generate_workload or load first"):
            call()
    assert list(tmp_path.iterdir()) == []
