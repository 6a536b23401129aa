"""Compositions: columns from different files, drawn by seed, and always said to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers_cli import hms
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import sha256
from hybrid_scheduler.studies.experiments import split_groups, split_kernels
from hybrid_scheduler.workloads import composition
from hybrid_scheduler.workloads.composition import compose
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.source import Source, compute_digest
from workloads.formats.real_data import DATA, needs_data
from workloads.formats.samples import alibaba_files

KERNELS = DATA / "opencl_cpu_gpu_cgo17" / "opencl_cpu_gpu_times.csv"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """Times with a feature, arrivals in another order, memory: three files of four, three and two rows."""
    texts = {
        "times": "size,compute_intensity,memory_required,time_cpu,time_gpu,feature_loads\n"
        "100,0.1,1,1,4,10\n200,0.2,2,2,3,20\n300,0.3,3,3,2,30\n400,0.4,4,4,inf,40\n",
        "arrivals": "size,compute_intensity,memory_required,arrival_time\n1,1,1,12\n1,1,1,10\n1,1,1,16\n",
        "memory": "size,compute_intensity,memory_required\n1,1,700\n1,1,800\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return {name: tmp_path / f"{name}.csv" for name in texts}


def test_a_row_of_times_keeps_its_features_and_takes_its_memory_from_elsewhere(files: dict[str, Any]) -> None:
    tasks = compose(400, 1, **files).tasks
    assert np.array_equal(tasks.measured["cpu"] * 100, tasks.size)
    assert np.array_equal(tasks.features["loads"], tasks.size / 10)
    assert set(tasks.measured["gpu"]) == {4.0, 3.0, 2.0, np.inf}
    assert set(tasks.memory_required) == {700.0, 800.0}
    assert abs(np.corrcoef(tasks.memory_required, tasks.size)[0, 1]) < 0.15


def test_arrivals_keep_their_order_and_go_round_with_a_mean_gap_between(files: dict[str, Any]) -> None:
    assert compose(8, 1, **files).tasks.arrival_time.tolist() == [0, 2, 6, 9, 11, 15, 18, 20]
    assert compose(2, 1, **files).tasks.arrival_time.tolist() == [0, 2]


def test_arrivals_are_stretched_to_a_rate_or_a_load(files: dict[str, Any]) -> None:
    assert compose(50, 1, **files, rate=4.0).tasks.arrival_time[-1] == pytest.approx(50 / 4)
    slow, fast = (compose(50, 1, **files, load=load).tasks.arrival_time[-1] for load in (0.5, 1.0))
    assert slow == pytest.approx(2 * fast)


def test_every_column_is_accounted_for_with_file_and_digest(files: dict[str, Any]) -> None:
    found = compose(10, 1, **files)
    origin = {column: part for part in found.parts for column in part.columns}
    assert {name: Path(part.file).name for name, part in origin.items()} == {
        **dict.fromkeys(("time_cpu", "time_gpu", "feature_loads", "size"), "times.csv"),
        **dict.fromkeys(("compute_intensity", "duration_estimate"), "times.csv"),
        "memory_required": "memory.csv",
        "arrival_time": "arrivals.csv",
    }
    assert all(part.sha256 == sha256(part.file) for part in found.parts)


def test_without_times_they_are_said_to_be_by_formula(files: dict[str, Any]) -> None:
    found = compose(10, 1, arrivals=files["arrivals"])
    assert found.tasks.measured == {}
    assert found.parts[0].describe() == "time_<class>, duration_estimate: by formula, not measured"


def test_without_arrivals_a_poisson_stream_at_load_is_drawn(files: dict[str, Any]) -> None:
    found = compose(3000, 1, times=files["times"], load=0.8)
    gaps = np.diff(found.tasks.arrival_time)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, rel=0.1)
    assert found.pace == "stretched to load 0.8 on 1 node: 1 cpu, 4 gpu"


def test_one_seed_gives_the_same_bytes_and_another_others(files: dict[str, Any], tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("three", 4)):
        composition.write(compose(30, seed, **files), tmp_path / f"{name}.parquet")
    one, two, three = ((tmp_path / f"{name}.parquet").read_bytes() for name in ("one", "two", "three"))
    assert one == two
    assert one != three


def test_each_column_has_its_own_stream(files: dict[str, Any]) -> None:
    alone, together = compose(30, 3, times=files["times"]).tasks, compose(30, 3, **files).tasks
    assert np.array_equal(alone.measured["cpu"], together.measured["cpu"])


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_what_is_written_is_read_back_with_where_it_came_from(
    files: dict[str, Any], tmp_path: Path, suffix: str
) -> None:
    found, path = compose(30, 3, **files), tmp_path / f"tasks.{suffix}"
    composition.write(found, path)
    assert compute_digest(reader.read(path)) == compute_digest(found.tasks)
    shape = Source.of(str(path)).describe(found.tasks)
    assert shape["composition"]["parts"][0]["sha256"] == sha256(files["times"])
    assert composition.format_lines(shape["composition"]) == composition.format_lines(found.to_dict())


def test_words_of_another_file_are_not_believed(files: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    composition.write(compose(5, 3, **files), path)
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert composition.load_composition(path, sha256(path)) is None
    assert composition.load_composition(files["times"], "") is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing to compose: give --times, --arrivals or --memory"),
        ({"times": "memory"}, "holds no measured times"),
        ({"arrivals": "memory"}, "all its tasks come at once"),
        ({"memory": "memory", "count": 0}, "0 tasks of seed 1"),
        ({"memory": "memory", "rate": 1.0, "load": 1.0}, "both a rate and a load"),
    ],
)
def test_what_cannot_be_composed_is_refused(files: dict[str, Any], options: dict[str, Any], words: str) -> None:
    given = {name: files.get(str(value), value) for name, value in options.items()}
    with pytest.raises(InputError, match=words):
        compose(int(given.pop("count", 5)), 1, **given)


def test_the_command_says_where_columns_come_from_and_a_comparison_repeats_it(
    files: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "tasks.parquet"
    words = [f"--{name}={path}" for name, path in files.items()]
    done = hms("compose", *words, "--tasks=40", "--seed=2", "--load=0.9", f"--out={out}")
    assert done.code in (0, None), done.err
    assert "memory_required: memory.csv (as given there; SHA-256" in done.out
    kept = json.loads((tmp_path / "tasks.composition.json").read_text(encoding="utf-8"))
    assert kept["sha256"] == sha256(out)
    raced = hms("compare", str(out), "--seeds=1", "--schedulers=eft", "--noise=0.3", f"--out={tmp_path / 'run'}")
    assert "memory_required: memory.csv" in raced.out
    assert "0.3, assumed" in " ".join(raced.out.split())
    assert "repeated bit for bit" in hms("repeat", str(tmp_path / "run")).out


def test_memory_that_a_file_does_not_tell_is_not_passed_off_as_measured(tmp_path: Path) -> None:
    pods, nodes = alibaba_files(tmp_path)
    with pytest.raises(InputError, match=r"pods\.csv holds no memory, all its tasks need 0 MB: leave out --memory"):
        compose(5, 1, memory=pods)
    imported = tmp_path / "pods.parquet"
    assert hms("import", str(pods), str(nodes), "-o", str(imported)).code == 0
    assert compose(5, 1, memory=imported).tasks.memory_required.min() > 1000


def test_an_unknown_ending_is_refused_before_the_work(tmp_path: Path) -> None:
    done = hms("compose", "--times=nowhere", f"--out={tmp_path / 'tasks.txt'}")
    assert done.code == 2
    assert "neither in .parquet nor in .csv" in done.err


def test_groups_stand_on_one_side_only() -> None:
    group = np.array([0, 1, 2, 0, 1, 2, 3])
    for seed in range(20):
        one, other = split_groups(group, seed, 0.5)
        assert sorted([*one, *other]) == list(range(7))
        assert not set(group[one]) & set(group[other])
        assert len(set(group[one])) == 2


@needs_data
def test_kernels_to_be_tried_on_are_unseen_and_arrive_at_the_load() -> None:
    found = split_kernels(KERNELS, seed=1, count=500)
    table = reader.read(KERNELS)
    seen, tried = (set(table.measured["cpu"][rows]) for rows in (found.train_rows, found.test_rows))
    assert len(found.train_rows) + len(found.test_rows) == 680
    assert set(found.train.measured["cpu"]) <= seen
    assert set(found.test.measured["cpu"]) <= tried
    assert isinstance(found.cluster, Cluster)
    assert found.test.features.keys() == table.features.keys()
    again = split_kernels(KERNELS, seed=1, count=500)
    assert compute_digest(again.test) == compute_digest(found.test)
