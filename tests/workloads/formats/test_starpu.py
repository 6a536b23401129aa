"""StarPU's tables: several rows make one kernel, what is no measurement of its own is skipped, spreads are kept."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.starpu import DERIVED, read_variation
from workloads.formats.instances import STARPU, starpu_file, write_file
from workloads.formats.real_data import DATA, needs_data

FOLDER = DATA / "starpu_perfmodels"
EVERY, PAIRED = FOLDER / "starpu_kernel_times.csv", FOLDER / "starpu_cpu_vs_cuda_paired.csv"


def test_a_kernel_is_a_task_with_its_mean_times_on_every_machine(tmp_path: Path) -> None:
    tasks = reader.read_all(starpu_file(tmp_path)).tasks
    assert list(tasks.measured) == ["left_cpu", "left_gpu", "right_cpu"]
    assert np.allclose(tasks.measured["left_cpu"], [100e-6, 7e-6], rtol=1e-12)
    assert np.allclose(tasks.measured["left_gpu"], [20e-6, math.inf], rtol=1e-12)
    assert np.allclose(tasks.measured["right_cpu"], [200e-6, math.inf], rtol=1e-12)
    assert np.allclose(tasks.duration_estimate, [150e-6, 7e-6], rtol=1e-12)
    assert tasks.memory_required.tolist() == [0.0012, 0.0]
    assert tasks.features["codelet"].tolist() == [0, 1]


def test_rows_are_skipped_for_their_reasons(tmp_path: Path) -> None:
    found = reader.read_all(starpu_file(tmp_path))
    assert (found.rows, found.used) == (9, 5)
    assert found.skipped[DERIVED] == 1
    assert sorted(found.skipped.values()) == [1, 1, 1, 1]


def test_the_bus_tells_cores_gpus_and_links(tmp_path: Path) -> None:
    table, config, bandwidth = starpu_file(tmp_path)
    cluster = reader.read_all([table, config, bandwidth]).cluster
    assert cluster is not None
    assert cluster.shape == {"left_cpu": 12, "left_gpu": 2, "right_cpu": 1}
    assert cluster.classes[1].bandwidth == 5500.0
    alone = reader.read_all([table]).cluster
    assert alone is not None
    assert alone.shape == {"left_cpu": 1, "left_gpu": 2, "right_cpu": 1}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("left.config", "none\n", "left.config is no config as StarPU writes it"),
        ("left.config", "0 # CPUs\n2 # GPUs\n", "left.config is no config as StarPU writes it"),
        ("left.bandwidth", "0.0 6000.0\n", "left.bandwidth is no bandwidth as StarPU writes it"),
        ("other.config", "12 # CPUs\n2 # GPUs\n", "other.config does not belong to this table"),
    ],
)
def test_a_companion_that_is_none_is_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    table = write_file(tmp_path / "times.csv", STARPU)
    with pytest.raises(InputError, match=said):
        reader.read_all([table, write_file(tmp_path / name, content)])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2000.0,100.0,", "2000.0,0,", "line 2: .* a time is not above 0"),
        ("2000.0,100.0,", "2000.0,long,", "line 2: mean_us is 'long', expected a number"),
        ("left,gemm,cpu", ",gemm,cpu", "line 2: a machine has no name"),
        (",10,\n", ",10\n", "line 2: there are 12 fields, expected 13"),
        ("impl", "implement", "column 'impl' is missing"),
    ],
)
def test_what_is_no_measurement_is_refused_with_its_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        reader.read_all([write_file(tmp_path / "bad.csv", STARPU.replace(old, new, 1))], "starpu")


def test_spreads_stand_beside_the_times(tmp_path: Path) -> None:
    found = read_variation(starpu_file(tmp_path)[0])
    assert list(found) == ["left_cpu", "left_gpu", "right_cpu"]
    assert np.allclose(found["left_cpu"], [0.05, 0.0])
    assert np.allclose(found["left_gpu"], [0.1, math.nan], equal_nan=True)
    assert np.allclose(found["right_cpu"], [0.025, math.nan], equal_nan=True)


@needs_data
def test_every_row_of_the_real_table_is_accounted_for() -> None:
    found = reader.read_all([EVERY, *(FOLDER / "bus").glob("*.config"), *(FOLDER / "bus").glob("*.bandwidth")])
    assert (found.rows, found.skipped[DERIVED], found.used) == (1065, 138, 906)
    assert sum(found.skipped.values()) == 159  # the other 21 are those of hannibal, whose CPU was not measured
    assert len(found.tasks) == 112
    assert found.cluster is not None
    assert found.cluster.shape == {
        **{"attila_cpu": 12, "attila_gpu": 3},
        **{"idgraf_cpu": 12, "idgraf_gpu": 8},
        **{"mirage_cpu": 12, "mirage_gpu": 3},
    }


@needs_data
def test_the_table_of_pairs_says_the_same_as_that_of_all_measurements() -> None:
    pairs, every = reader.read_all([PAIRED]), reader.read_all([EVERY])
    assert (pairs.rows, pairs.used) == (149, 149)
    cells = sum(int(np.isfinite(times).sum()) for times in pairs.tasks.measured.values())
    assert cells == 2 * 149
    for name, times in pairs.tasks.measured.items():
        known = every.tasks.measured[name]
        for seconds in times[np.isfinite(times)]:
            assert np.isclose(known, seconds, rtol=1e-9).any()


@needs_data
@pytest.mark.parametrize("table", [EVERY, PAIRED], ids=lambda path: path.stem)
def test_real_spreads_are_known_where_times_are(table: Path) -> None:
    tasks = reader.read(table)
    found = read_variation(table)
    assert list(found) == list(tasks.measured)
    for name, times in tasks.measured.items():
        assert (np.isfinite(found[name]) == np.isfinite(times)).all()
        assert 0 < np.nanmedian(found[name]) < 0.25
