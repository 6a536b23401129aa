"""Tasks made of a profile: measured times where there are some, the physics elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core.cluster import DEFAULT_GPU
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.profiling.calibration import calibrate, cluster_of
from hybrid_scheduler.profiling.profile_file import save
from hybrid_scheduler.workloads.source import Source, digest_of, kernel_tasks, profiled
from profiles import cpu_only, with_gpu


def test_measured_times_are_taken_as_they_are_with_the_transfer() -> None:
    profile = with_gpu()
    tasks = kernel_tasks(profile, seed=0, count=200)
    times = class_times(tasks, cluster_of(profile))
    known = {point.cpu.seconds: point for point in profile.points}
    for row in range(len(tasks)):
        point = known[times[row, 0]]
        assert point.gpu
        assert times[row, 1] == pytest.approx(point.gpu.seconds + 1e-5 + point.megabytes / 8000.0)


def test_without_a_gpu_its_times_follow_the_reference_model() -> None:
    profile = cpu_only()
    tasks = kernel_tasks(profile, seed=0, count=50)
    assert set(tasks.measured) == {"cpu"}
    times = class_times(tasks, cluster_of(profile))
    expected = tasks.duration_estimate / (1 + 3 * tasks.compute_intensity)
    assert times[:, 1] == pytest.approx(expected + tasks.memory_required / DEFAULT_GPU.bandwidth)


def test_a_kernel_that_the_gpu_lacks_follows_the_fitted_physics() -> None:
    profile = with_gpu()
    points = (*profile.points[:-1], replace(profile.points[-1], gpu=None, gpu_reason="not there"))
    tasks = kernel_tasks(replace(profile, points=points), seed=0, count=300)
    assert np.isnan(tasks.measured["gpu"]).any()
    assert np.isfinite(class_times(tasks, cluster_of(profile))).all()


def test_the_same_seed_draws_the_same_tasks() -> None:
    profile = cpu_only()
    cluster = cluster_of(profile)
    first, again, other = (digest_of(profiled(profile, "profile", seed, cluster)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_preset_gets_the_durations_of_the_machine() -> None:
    profile = cpu_only(scale=1e-8)
    law = calibrate(profile).duration
    tasks = profiled(profile, "mixed", 0, cluster_of(profile), num_tasks=50, load=1.0)
    expected = law.scale * tasks.size**law.exponent / (tasks.compute_intensity + 0.5)
    assert tasks.duration_estimate == pytest.approx(expected)


def test_a_graph_stays_a_graph() -> None:
    profile = cpu_only()
    tasks = profiled(profile, "cholesky", 0, cluster_of(profile))
    assert tasks.has_edges
    assert not tasks.arrival_time.any()


def test_a_source_keeps_the_profile_and_notices_another_one(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    save(cpu_only(), path)
    source = Source.of("profile", 20, profile=path)
    cluster = cluster_of(cpu_only())
    assert Source.from_dict(source.to_dict()) == source
    tasks = source.tasks(0, cluster)
    assert source.describe(tasks)["machine"] == {"cpu": "measured", "gpu": "reference model, not measured"}
    save(cpu_only(scale=2e-9), path)
    with pytest.raises(InputError, match="its SHA-256 differs"):
        source.tasks(0, cluster)


def test_sources_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    save(cpu_only(), tmp_path / "profile.json")
    (tmp_path / "tasks.csv").write_text("size\n", encoding="utf-8")
    with pytest.raises(InputError, match="give --profile FILE too"):
        Source.of("profile")
    with pytest.raises(InputError, match="name a preset or leave it out"):
        Source.of(str(tmp_path / "tasks.csv"), profile=tmp_path / "profile.json")
