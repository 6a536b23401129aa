"""The method checked on real machines: StarPU's kernels on CPU cores and GPUs, predicted at sizes left out."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import pytest

from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.profiling.calibration import HoldOut, build_cluster, calibrate, cross_validate, fit_power_law
from hybrid_scheduler.profiling.profile import TO_DEVICE
from hybrid_scheduler.profiling.profile_file import dump_profile, parse_profile
from hybrid_scheduler.profiling.starpu import read_starpu
from workloads.formats import real_data
from workloads.formats.real_data import needs_data

DATA = real_data.DATA / "starpu_perfmodels"
MACHINES = {"attila": 3, "idgraf": 8, "mirage": 3}


def middle_error(tried: list[HoldOut], side: str, position: str) -> float:
    return median(each.error for each in tried if (each.side, each.position) == (side, position))


@needs_data
@pytest.mark.parametrize("machine", MACHINES)
def test_times_of_sizes_left_out_are_predicted(machine: str) -> None:
    tried = cross_validate(read_starpu(DATA, machine))
    assert middle_error(tried, "cpu", "inside") < 0.03
    assert middle_error(tried, "cpu", "outside") < 0.06
    assert middle_error(tried, "gpu", "inside") < 0.15
    assert middle_error(tried, "gpu", "outside") < 0.3


@needs_data
@pytest.mark.parametrize("machine", MACHINES)
def test_a_real_machine_becomes_a_cluster(machine: str) -> None:
    profile = read_starpu(DATA, machine)
    cluster = build_cluster(profile)
    assert cluster.shape == {"cpu": 12, "gpu": MACHINES[machine]}
    assert cluster.classes[1].bandwidth == pytest.approx(6000, rel=0.01)
    link = profile.link(TO_DEVICE)
    assert link
    assert 5e-6 < link.latency < 2e-5
    assert parse_profile(dump_profile(profile)) == profile


@needs_data
def test_dense_matrix_kernels_are_cubic_in_the_edge() -> None:
    laws = calibrate(read_starpu(DATA, "mirage")).cpu_laws
    assert laws["starpu_sgemm_gemm"].exponent == pytest.approx(3.0, abs=0.1)
    assert laws["chol_model_trsm"].exponent == pytest.approx(3.0, abs=0.15)


@needs_data
def test_every_second_of_many_sizes_predicts_the_others() -> None:
    with (DATA / "starpu_kernel_times.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["machine"], row["codelet"]) == ("mirage", "log_arr")]
    timed = sorted((float(row["size_bytes"]), float(row["mean_us"])) for row in rows if float(row["size_bytes"]) > 0)
    assert len(timed) > 15
    law = fit_power_law(*zip(*timed[::2], strict=True))
    ratios = [law(size) / time for size, time in timed[1::2]]
    assert 0.3 < median(ratios) < 3


@needs_data
def test_an_unknown_machine_is_guessed() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'mirage'"):
        read_starpu(DATA, "mirag")


def test_a_folder_without_figures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give the folder that holds it"):
        read_starpu(tmp_path, "mirage")


HEAD = "machine,codelet,cpu_us,cpu_dev_us,size_bytes,flops,n_cpu,gpu_us,gpu_dev_us,n_gpu\n"


def written(folder: Path, row: str, bandwidth: str = "0 6000\n6500 0\n") -> Path:
    (folder / "bus").mkdir()
    (folder / "starpu_cpu_vs_cuda_paired.csv").write_text(HEAD + row, encoding="utf-8")
    (folder / "bus" / "m.config").write_text("# c\n2 # CPUs\n1 # CUDA\n", encoding="utf-8")
    (folder / "bus" / "m.bandwidth").write_text(f"# to 0\n{bandwidth}", encoding="utf-8")
    (folder / "bus" / "m.latency").write_text("# to 0\n0 10\n10 0\n", encoding="utf-8")
    return folder


def test_figures_are_read_with_their_units(tmp_path: Path) -> None:
    profile = read_starpu(written(tmp_path, "m,k,2000,20,4000000,0,9,1000,10,8\n"), "m")
    (point,) = profile.points
    assert (point.size, point.cpu.seconds, point.operations) == (1000.0, 0.002, None)
    assert profile.cpu_gpu_ratio == 2.0
    assert profile.link(TO_DEVICE) is not None


@pytest.mark.parametrize("row", ["m,k,x,20,4,0,9,1000,10,8\n", "m,k,0,20,4,0,9,1000,10,8\n", "m,k,1\n"])
def test_damaged_figures_are_refused_in_one_line(tmp_path: Path, row: str) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        read_starpu(written(tmp_path, row), "m")


def test_a_damaged_bus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="damaged"):
        read_starpu(written(tmp_path, "m,k,2000,20,4000000,0,9,1000,10,8\n", bandwidth="0\n"), "m")
