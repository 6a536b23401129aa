"""The calls of the project's guide work as it writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler import VirtualMultiGPU
from hybrid_scheduler.core import Tasks
from hybrid_scheduler.workloads.generator import WorkloadGenerator

GENERATED = ["task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate"]


@pytest.fixture(scope="module")
def generator() -> WorkloadGenerator:
    drawn = WorkloadGenerator(seed=42)
    drawn.generate_workload(
        num_tasks=10000,
        task_size_range=(100, 5000),
        compute_intensity_range=(0.1, 1.0),
        memory_range=(10, 500),
        arrival_rate=100.0,
    )
    return drawn


def _tasks(generator: WorkloadGenerator) -> Tasks:
    assert generator.tasks is not None
    return generator.tasks


def test_generate_workload_returns_what_the_generator_keeps() -> None:
    generator = WorkloadGenerator(seed=99)
    tasks = generator.generate_workload(num_tasks=1000)
    assert generator.tasks is tasks
    assert len(tasks) == 1000


def test_the_tasks_can_be_walked_one_by_one_with_the_features_of_the_guide(generator: WorkloadGenerator) -> None:
    tasks = _tasks(generator)
    seen = list(tasks)
    assert len(seen) == 10000
    for name in GENERATED:
        assert [getattr(task, name) for task in seen] == getattr(tasks, name).tolist()


def test_defaults_are_those_of_the_guide(generator: WorkloadGenerator) -> None:
    given, default = _tasks(generator), WorkloadGenerator(seed=42).generate_workload(num_tasks=10000)
    assert default.size.tolist() == given.size.tolist()
    assert default.arrival_time.tolist() == given.arrival_time.tolist()
    assert len(WorkloadGenerator().generate_workload()) == 1000


def test_the_statistics_are_those_of_the_columns(generator: WorkloadGenerator) -> None:
    tasks, stats = _tasks(generator), generator.get_statistics()
    assert stats["num_tasks"] == 10000
    assert stats["avg_size"] == pytest.approx(np.mean(tasks.size))
    assert stats["avg_intensity"] == pytest.approx(np.mean(tasks.compute_intensity))
    assert stats["avg_memory"] == pytest.approx(np.mean(tasks.memory_required))
    assert stats["avg_duration"] == pytest.approx(np.mean(tasks.duration_estimate))
    assert (stats["min_size"], stats["max_size"]) == (tasks.size.min(), tasks.size.max())
    assert stats["arrival_rate"] == pytest.approx(100.0)
    assert stats["total_duration"] == pytest.approx(100.0)
    assert stats["num_dependencies"] == 0


def test_a_saved_workload_is_loaded_as_it_was(generator: WorkloadGenerator, tmp_path: Path) -> None:
    path = tmp_path / "data" / "workload_traces" / "training_workload.csv"
    generator.save_workload(str(path))
    loaded = WorkloadGenerator.load(str(path))
    assert list(_tasks(loaded)) == list(_tasks(generator))
    assert loaded.get_statistics() == generator.get_statistics()


def test_the_table_has_the_features_of_the_guide(generator: WorkloadGenerator) -> None:
    frame, tasks = generator.to_dataframe(), _tasks(generator)
    features = frame[["task_size", "compute_intensity", "memory_required"]]
    assert features.shape == (10000, 3)
    assert features["task_size"].tolist() == tasks.size.tolist()
    assert frame["duration_estimate"].tolist() == tasks.duration_estimate.tolist()
    assert set(GENERATED) <= set(frame.columns)


def test_the_duration_grows_with_size_and_falls_with_intensity(generator: WorkloadGenerator) -> None:
    tasks = _tasks(generator)
    assert tasks.duration_estimate == pytest.approx(
        1e-6 * tasks.size**1.5 / (tasks.compute_intensity + 0.5), rel=1e-12
    )


def test_the_baselines_have_the_figures_of_the_guide() -> None:
    simulator = VirtualMultiGPU(num_gpus=4, memory_per_gpu=8000)
    tasks = WorkloadGenerator(seed=123).generate_workload(num_tasks=500)
    baselines = simulator.evaluate_baseline_schedulers(tasks)
    assert list(baselines) == ["round_robin", "random", "greedy"]
    for metrics in baselines.values():
        assert {"makespan", "avg_time", "max_time"} <= set(metrics)
        assert 0 < metrics["avg_time"] <= metrics["max_time"] <= metrics["makespan"]
        assert metrics["total_time"] == pytest.approx(500 * metrics["avg_time"])
        assert metrics["makespan"] > tasks.arrival_time.max()


def test_the_baselines_take_a_plain_list_of_tasks_too() -> None:
    simulator = VirtualMultiGPU(num_gpus=2)
    tasks = WorkloadGenerator(seed=123).generate_workload(num_tasks=40)
    assert simulator.evaluate_baseline_schedulers(list(tasks)) == simulator.evaluate_baseline_schedulers(tasks)


def test_a_round_robin_of_two_tasks_is_one_gpu_task_and_one_cpu_task() -> None:
    tasks = WorkloadGenerator(seed=1).generate_workload(num_tasks=2)
    gpu, cpu = tasks
    assert gpu.duration_estimate is not None
    assert cpu.duration_estimate is not None
    on_gpu = gpu.duration_estimate / (1 + 3 * gpu.compute_intensity) + gpu.memory_required / 16000
    metrics = VirtualMultiGPU(num_gpus=4).evaluate_baseline_schedulers(tasks)["round_robin"]
    assert metrics["total_time"] == pytest.approx(on_gpu + cpu.duration_estimate)
    assert metrics["max_time"] == pytest.approx(max(on_gpu, cpu.duration_estimate))
    ends = [gpu.arrival_time + on_gpu, cpu.arrival_time + cpu.duration_estimate]
    assert metrics["makespan"] == pytest.approx(max(ends))
    assert metrics["energy"] == pytest.approx(50 * on_gpu + 30 * cpu.duration_estimate)
    assert metrics["cost"] == pytest.approx(1e-4 * on_gpu + 2e-5 * cpu.duration_estimate)


def test_no_tasks_at_all_take_no_time() -> None:
    for metrics in VirtualMultiGPU().evaluate_baseline_schedulers([]).values():
        assert metrics["makespan"] == 0.0
        assert metrics["max_time"] == 0.0
        assert metrics["total_time"] == 0.0
