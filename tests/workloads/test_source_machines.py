"""A source that knows its machines brings them along: factorisations on StarPU's machines, files of instances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers_cli import hms
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.source import Source
from workloads.formats.instances import etc_file, starpu_folder


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
