"""A source is pinned to its files, brings the machines that they name, and draws tasks of a measured machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers_cli import hms
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.cluster import DEFAULT_GPU
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.profiling.calibration import build_cluster, calibrate
from hybrid_scheduler.profiling.profile_file import save_profile
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.source import (
    Source,
    compute_digest,
    describe_assumptions,
    draw_kernels,
    generate_profiled,
)
from profiles import cpu_only, with_gpu
from workloads.formats.instances import etc_file, starpu_folder
from workloads.formats.samples import swf_file


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return f"cholesky@{starpu_folder(tmp_path)}:box:3"


def test_a_factorisation_is_a_source_with_its_machine(spec: str) -> None:
    source = Source.of(spec)
    machine = source.cluster()
    assert machine is not None
    assert machine.shape == {"cpu": 12, "gpu": 2}
    assert len(source.tasks(0, machine)) == 10
    assert source.title == "cholesky:box:3"
    assert Source.of(f"{spec}:10").title == "cholesky:box:3:10"
    assert source.is_file


def test_a_source_is_the_same_after_it_was_kept(spec: str) -> None:
    source = Source.of(spec)
    again = Source.from_dict(source.to_dict())
    cluster = Cluster.default()
    first, second = source.tasks(0, cluster), again.tasks(1, cluster)
    assert source.describe(first)["digest"] == again.describe(second)["digest"]


def test_measurements_that_changed_are_noticed(spec: str, tmp_path: Path) -> None:
    source = Source.of(spec)
    config = tmp_path / "bus" / "box.config"
    config.write_text(config.read_text(encoding="utf-8").replace("12", "8"), encoding="utf-8")
    with pytest.raises(InputError, match="does not hold the measurements that were compared"):
        source.tasks(0, Cluster.default())
    config.unlink()
    with pytest.raises(InputError, match=r"box.config is gone: restore it"):
        source.cluster()


def test_a_file_of_an_instance_brings_its_machines_and_our_own_tables_bring_none(tmp_path: Path) -> None:
    machines = Source.of(str(etc_file(tmp_path)[0])).cluster()
    assert machines is not None
    assert machines.shape == {"m00": 1, "m01": 1, "m02": 1, "m03": 1}
    generator = WorkloadGenerator(1)
    generator.generate_preset("mixed", 5)
    generator.save_workload(tmp_path / "own.csv")
    assert Source.of(str(tmp_path / "own.csv")).cluster() is None
    assert Source.of("mixed").cluster() is None


def test_commands_take_the_machines_of_the_tasks_unless_told_otherwise(spec: str, tmp_path: Path) -> None:
    matrix = str(etc_file(tmp_path)[0])
    assert "4 nodes: 1 m00, 1 m01, 1 m02, 1 m03" in hms("bound", matrix).out
    assert "1 node: 12 cpu, 2 gpu" in hms("bound", spec).out
    assert "1 node: 1 cpu, 1 gpu" in hms("bound", spec, "--gpus", "1").out


def test_generate_writes_a_factorisation_that_reads_back(spec: str, tmp_path: Path) -> None:
    out = tmp_path / "tasks.csv"
    done = hms("generate", spec, "--out", str(out))
    assert done.code == 0
    assert "10 tasks" in done.out
    assert "assumed: SYRK takes half the time of GEMM" in done.out
    kept, drawn = Source.of(str(out)).tasks(0, Cluster.default()), Source.of(spec).tasks(0, Cluster.default())
    assert list(kept) == list(drawn)
    assert np.array_equal(kept.edges.megabytes, drawn.edges.megabytes)


# --- measured machines -------------------------------------------------------------------------------------------


def test_measured_times_are_taken_as_they_are_with_the_transfer() -> None:
    profile = with_gpu()
    tasks = draw_kernels(profile, seed=0, count=200)
    times = class_times(tasks, build_cluster(profile))
    known = {point.cpu.seconds: point for point in profile.points}
    for row in range(len(tasks)):
        point = known[times[row, 0]]
        assert point.gpu
        assert times[row, 1] == pytest.approx(point.gpu.seconds + 1e-5 + point.megabytes / 8000.0)


def test_without_a_gpu_its_times_follow_the_reference_model() -> None:
    profile = cpu_only()
    tasks = draw_kernels(profile, seed=0, count=50)
    assert np.isnan(tasks.measured["gpu"]).all()  # the model's, and marked as such
    assert describe_assumptions(tasks) == ["ASSUMED: times on gpu follow the formula, nobody measured them"]
    times = class_times(tasks, build_cluster(profile))
    expected = tasks.duration_estimate / (1 + 3 * tasks.compute_intensity)
    assert times[:, 1] == pytest.approx(expected + tasks.memory_required / DEFAULT_GPU.bandwidth)


def test_a_kernel_that_the_gpu_lacks_follows_the_fitted_physics() -> None:
    profile = with_gpu()
    points = (*profile.points[:-1], replace(profile.points[-1], gpu=None, gpu_reason="not there"))
    tasks = draw_kernels(replace(profile, points=points), seed=0, count=300)
    assert np.isnan(tasks.measured["gpu"]).any()
    assert np.isfinite(class_times(tasks, build_cluster(profile))).all()


def test_the_same_seed_draws_the_same_tasks() -> None:
    profile = cpu_only()
    cluster = build_cluster(profile)
    first, again, other = (compute_digest(generate_profiled(profile, "profile", seed, cluster)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_preset_gets_the_durations_of_the_machine() -> None:
    profile = cpu_only(scale=1e-8)
    law = calibrate(profile).duration
    tasks = generate_profiled(profile, "mixed", 0, build_cluster(profile), num_tasks=50, load=1.0)
    expected = law.scale * tasks.size**law.exponent / (tasks.compute_intensity + 0.5)
    assert tasks.duration_estimate == pytest.approx(expected)


def test_a_graph_stays_a_graph() -> None:
    profile = cpu_only()
    tasks = generate_profiled(profile, "cholesky", 0, build_cluster(profile))
    assert tasks.has_edges
    assert not tasks.arrival_time.any()


def test_a_source_keeps_the_profile_and_notices_another_one(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    save_profile(cpu_only(), path)
    source = Source.of("profile", 20, profile=path)
    cluster = build_cluster(cpu_only())
    assert Source.from_dict(source.to_dict()) == source
    tasks = source.tasks(0, cluster)
    assert source.describe(tasks)["machine"] == {"cpu": "measured", "gpu": "reference model, not measured"}
    save_profile(cpu_only(scale=2e-9), path)
    with pytest.raises(InputError, match="its SHA-256 differs"):
        source.tasks(0, cluster)


def test_sources_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    save_profile(cpu_only(), tmp_path / "profile.json")
    (tmp_path / "tasks.csv").write_text("size\n", encoding="utf-8")
    with pytest.raises(InputError, match="give --profile FILE too"):
        Source.of("profile")
    with pytest.raises(InputError, match="name a preset or leave it out"):
        Source.of(str(tmp_path / "tasks.csv"), profile=tmp_path / "profile.json")


def test_jobs_of_several_processors_are_refused_unless_they_may_be_serialised(tmp_path: Path) -> None:
    (log,) = swf_file(tmp_path)
    with pytest.raises(InputError, match=r"log\.swf: 1 of 3 jobs took several processors at once.*--serialise"):
        Source.of(str(log)).tasks(0, Cluster.default())
    source = Source.of(str(log), serialise=True)
    tasks = source.tasks(0, Cluster.default())
    assert source.describe(tasks)["assumed"] == describe_assumptions(tasks)
    assert describe_assumptions(tasks)[0].startswith("SERIALISED: 1 of 3 jobs")


def test_imported_jobs_do_not_forget_that_they_are_wide(tmp_path: Path) -> None:
    (log,) = swf_file(tmp_path)
    hms("import", str(log), "-o", str(tmp_path / "tasks.csv"))
    with pytest.raises(InputError, match="--serialise"):
        Source.of(str(tmp_path / "tasks.csv")).tasks(0, Cluster.default())


def test_times_that_a_file_lacks_are_assumed_only_if_asked_for(tmp_path: Path) -> None:
    path, cluster = tmp_path / "tasks.csv", Cluster.default(gpus=1)
    path.write_text("size,compute_intensity,memory_required,time_cpu\n1000,0.5,10,2580\n", encoding="utf-8")
    tasks = Source.of(str(path)).tasks(0, cluster)
    assert class_times(tasks, cluster)[0, 1] == np.inf
    assert describe_assumptions(tasks, cluster) == [
        "no task can run on gpu: there are no times for it (--assume formula takes the model's)"
    ]
    assumed = Source.of(str(path), assume="formula").tasks(0, cluster)
    assert class_times(assumed, cluster)[0, 1] < 1.0
    assert describe_assumptions(assumed, cluster) == [
        "ASSUMED: times on gpu follow the formula, nobody measured them"
    ]
    with pytest.raises(UnknownNameError, match=r"unknown rule .*'formule'.*did you mean 'formula'"):
        Source.of(str(path), assume="formule")


def test_logs_of_parallel_machines_bound_slowdown_by_ten_seconds(tmp_path: Path) -> None:
    assert Source.of(str(swf_file(tmp_path)[0]), serialise=True).slowdown_floor == 10.0
    assert Source.of("mixed").slowdown_floor == 0.01
