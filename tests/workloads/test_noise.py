"""Noise: actual times differ from estimates by factors of mean 1 whose spread is measured or said to be assumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.physics import apply_expected_times, class_times
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.studies.compare import run_lanes
from hybrid_scheduler.workloads.noise import parse_noise
from hybrid_scheduler.workloads.source import Source, compute_digest
from instances import TWO_NODES, workload

CLUSTER = Cluster.default()
STARPU = (
    "machine,codelet,device_type,device_id,ncores,impl,footprint_hash,size_bytes,flops,mean_us,dev_us,n_samples,derived\n"
    "box,gemm,cpu,0,1,0,a,1000,0,100,10,9,\n"
    "box,gemm,cuda,0,1,0,a,1000,0,50,20,9,\n"
)


def factors(noise: str, count: int = 20_000, seed: int = 1) -> dict[str, np.ndarray]:
    tasks = parse_noise(noise).apply(workload("mixed", count), CLUSTER, seed)
    return {name: tasks.measured[name] / tasks.expected[name] for name in ("cpu", "gpu")}


def variation(values: np.ndarray) -> float:
    return float(values.std() / values.mean())


@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0])
def test_factors_have_mean_one_and_the_spread_that_was_asked_for(spread: float) -> None:
    for each in factors(str(spread)).values():
        assert each.mean() == pytest.approx(1.0, abs=4 * spread / np.sqrt(20_000))
        assert variation(each) == pytest.approx(spread, rel=0.1)
        assert (each > 0).all()


def test_estimates_are_the_times_without_noise_and_policies_are_told_those() -> None:
    plain = workload("mixed", 50)
    noisy = parse_noise("0.5").apply(plain, CLUSTER, 3)
    true = class_times(noisy, CLUSTER)
    assert np.array_equal(apply_expected_times(noisy, CLUSTER, true), class_times(plain, CLUSTER))
    assert not np.isclose(true, class_times(plain, CLUSTER)).any()


def test_no_noise_is_no_noise() -> None:
    plain = workload("mixed", 50)
    assert np.array_equal(
        class_times(parse_noise("0").apply(plain, CLUSTER, 3), CLUSTER), class_times(plain, CLUSTER)
    )


def test_what_a_class_cannot_run_stays_impossible() -> None:
    tasks = Tasks.build([1.0, 1.0], [1.0, 1.0], [1.0, 1.0], measured={"gpu": [np.inf, 2.0]})
    assert class_times(parse_noise("0.5").apply(tasks, CLUSTER, 0), CLUSTER)[:, 1].tolist()[0] == np.inf


def test_each_class_has_its_own_stream_whatever_other_classes_there_are() -> None:
    cpu_only = Cluster.default(gpus=0)
    one = parse_noise("0.5").apply(workload("mixed", 50), CLUSTER, 3)
    other = parse_noise("0.5").apply(workload("mixed", 50), cpu_only, 3)
    assert np.array_equal(one.measured["cpu"], other.measured["cpu"])
    assert abs(np.corrcoef(list(factors("0.5").values()))[0, 1]) < 0.05


def test_seeds_repeat_and_differ() -> None:
    source = Source.of("mixed", 40, noise="0.2")
    assert compute_digest(source.tasks(1, CLUSTER)) == compute_digest(source.tasks(1, CLUSTER))
    assert not np.array_equal(factors("0.2", 50, seed=1)["cpu"], factors("0.2", 50, seed=2)["cpu"])


def test_spreads_of_starpu_are_measured_by_kind_of_device(tmp_path: Path) -> None:
    (tmp_path / "starpu_kernel_times.csv").write_text(STARPU, encoding="utf-8")
    drawn = factors(f"starpu:{tmp_path}")
    assert variation(drawn["cpu"]) == pytest.approx(0.1, rel=0.05)
    assert variation(drawn["gpu"]) == pytest.approx(0.4, rel=0.05)
    said = parse_noise(f"starpu:{tmp_path}").describe()
    assert "measured (2 kernels × devices of StarPU)" in said
    assert "median cpu 0.1, gpu 0.4" in said


def test_a_file_of_ratios_gives_their_spread_to_a_class_a_kind_or_all(tmp_path: Path) -> None:
    path = tmp_path / "ratios.csv"
    path.write_text("cpu,ratio\n0.9,0.5\n1.1,1.5\n", encoding="utf-8")
    noise = parse_noise(str(path))
    assert noise.find_variation(TWO_NODES.classes[0]).tolist() == [pytest.approx(0.1 * np.sqrt(2))]
    assert noise.find_variation(TWO_NODES.classes[1]).tolist() == [pytest.approx(0.5 * np.sqrt(2))]
    assert noise.ground == "measured"


def test_a_plain_number_is_said_to_be_assumed() -> None:
    assert parse_noise("0.2").describe().count("0.2, assumed (a number that was given)") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-1", "expected a coefficient of variation from 0 to 10"),
        ("20", "expected a coefficient of variation"),
        ("nan", "expected a coefficient of variation"),
        ("nowhere.csv", "is no file: give a number such as 0.2"),
        ("starpu:nowhere", "give the folder that holds starpu_kernel_times.csv"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_noise(text)


@pytest.mark.parametrize("table", ["ratio\n1\n", "ratio\n1\n-1\n", "ratio\n1\nx\n", "gpu\n1\n2\n"])
def test_ratios_that_make_no_sense_are_refused(tmp_path: Path, table: str) -> None:
    path = tmp_path / "ratios.csv"
    path.write_text(table, encoding="utf-8")
    with pytest.raises(InputError, match=r"ratios\.csv"):
        parse_noise(str(path)).apply(workload("mixed", 5), CLUSTER, 0)


def test_tasks_with_expectations_of_their_own_take_no_noise() -> None:
    tasks = replace(workload("mixed", 3), expected={"cpu": np.ones(3)})
    with pytest.raises(InputError, match="leave out noise"):
        parse_noise("0.2").apply(tasks, CLUSTER, 0)


def test_a_changed_measurement_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ratios.csv"
    path.write_text("ratio\n1\n2\n", encoding="utf-8")
    source = Source.of("mixed", 5, noise=str(path))
    assert Source.from_dict(source.to_dict()) == source
    path.write_text("ratio\n1\n3\n", encoding="utf-8")
    with pytest.raises(InputError, match="SHA-256 differs"):
        source.tasks(0, CLUSTER)


def test_sighted_policies_lose_their_eyesight_and_blind_shares_see_none_of_it() -> None:
    plain = workload("long_tail", 1500, load=0.9)
    noisy = parse_noise("1.0").apply(plain, CLUSTER, 0)
    known = replace(noisy, expected={})  # the same times, told to all beforehand
    told, misled = (run_lanes(tasks, ["eft", "random"], CLUSTER) for tasks in (known, noisy))
    assert misled["eft"][0].turnaround.mean() > 1.2 * told["eft"][0].turnaround.mean()
    assert np.array_equal(misled["random"][0].finish, told["random"][0].finish)
