"""Tables of measured kernels: times by class, static features beside them, groups of kernels apart from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import kernels, reader
from workloads.formats.instances import kernels_file, write_file
from workloads.formats.real_data import DATA, needs_data, references

OPENCL = DATA / "opencl_cpu_gpu_cgo17" / "opencl_cpu_gpu_times.csv"


def test_times_are_milliseconds_on_every_class(tmp_path: Path) -> None:
    found = reader.read_all(kernels_file(tmp_path))
    assert list(found.tasks.measured) == ["cpu", "gpu_amd", "gpu_nvidia"]
    assert np.allclose(found.tasks.measured["gpu_nvidia"], [0.25e-3, 75e-3, 0.5e-3], rtol=1e-15)
    assert found.tasks.duration_estimate.tolist() == found.tasks.measured["cpu"].tolist()
    assert found.cluster is not None
    assert found.cluster.describe() == "1 node: 1 cpu, 1 gpu_amd, 1 gpu_nvidia"


def test_static_counts_become_features_and_give_size_memory_and_intensity(tmp_path: Path) -> None:
    tasks = reader.read(kernels_file(tmp_path)[0])
    assert tasks.features["comp"].tolist() == [12, 12, 0]
    assert tasks.features["wgsize_nvidia"].tolist() == [128, 128, 64]
    assert not {"benchmark", "suite", "dataset", "runtime_cpu"} & set(tasks.features)
    assert tasks.memory_required.tolist() == [0.008192, 400.0, 0.0]
    assert tasks.size.tolist() == [np.sqrt(2048), 10_000.0, 1.0]
    assert tasks.compute_intensity.tolist() == [0.75, 0.75, 0.5]


def test_rows_of_the_same_kernel_are_one_group(tmp_path: Path) -> None:
    path = kernels_file(tmp_path)[0]
    assert kernels.groups(path).tolist() == [0, 0, 1]
    assert kernels.groups(path, "suite").tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0.125", "-1", r"line 4: (duration_estimate|time_cpu) is -0.001"),
        ("one-sort-pass,large,12", "one-sort-pass,large,many", "line 3: comp is 'many', expected a number"),
        ("64,64,", "64,", "line 4: there are 15 fields, expected 16"),
        ("runtime_gpu_amd", "runtime_cpu", "column 'runtime_cpu' is there 2 times"),
        ("benchmark,", "name,", "column 'benchmark' is there 0 times"),
        ("runtime_gpu_amd", "runtime_", "names no class of devices"),
    ],
)
def test_what_is_no_table_of_kernels_is_refused_with_its_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    content = kernels_file(tmp_path)[0].read_text(encoding="utf-8").replace(old, new, 1)
    with pytest.raises(InputError, match=said):
        reader.read_all([write_file(tmp_path / "bad.csv", content)], "kernels")


@needs_data
def test_the_real_table_has_its_counts_and_the_known_bound() -> None:
    found = reader.read_all([OPENCL])
    assert (found.rows, found.used, len(found.tasks)) == (680, 680, 680)
    assert found.cluster is not None
    bound = lower_bound(found.tasks, found.cluster).makespan / kernels.SECONDS
    assert np.isclose(bound, references()["cgo17"]["lp_bound"], rtol=1e-6)
    groups = kernels.groups(OPENCL)
    assert (len(groups), len(set(groups.tolist()))) == (680, 256)
    assert len(set(kernels.groups(OPENCL, "suite").tolist())) == 7
