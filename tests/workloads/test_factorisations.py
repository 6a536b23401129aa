"""Tiled factorisations with measured kernels: times and bytes are those of the table, the machine that of its bus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.workloads.factorisations import FactorisationSpec, build_factorisation
from workloads.formats.instances import starpu_folder
from workloads.formats.real_data import DATA, needs_data

STARPU = DATA / "starpu_perfmodels"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return starpu_folder(tmp_path)


def test_kernels_take_the_times_of_their_codelets(folder: Path) -> None:
    found = build_factorisation("cholesky", folder, "box", 2)
    assert found.kernels == ("potrf", "trsm", "syrk", "potrf")
    assert np.allclose(found.tasks.measured["cpu"], [40e-6, 60e-6, 50e-6, 40e-6])
    assert np.allclose(found.tasks.measured["gpu"], [30e-6, 21e-6, 5e-6, 30e-6])
    assert np.allclose(found.variation["cpu"], 0.1)
    assert np.allclose(found.variation["gpu"], [1 / 30, 1 / 21, 0.2, 1 / 30])


def test_edges_carry_tiles_and_kernels_need_their_operands(folder: Path) -> None:
    found = build_factorisation("lu", folder, "box", 3)
    assert np.allclose(found.tasks.edges.megabytes, 400e-6)
    operands = {"getrf": 1, "trsm_ll": 2, "trsm_ru": 2, "gemm": 3}
    assert np.allclose(found.tasks.memory_required, [operands[kernel] * 400e-6 for kernel in found.kernels])
    assert found.tasks.size.tolist() == [10.0] * 14
    gemm = found.kernels.index("gemm")
    assert found.tasks.features["gflop"][gemm] == 2e-6
    assert found.tasks.compute_intensity[gemm] > found.tasks.compute_intensity[0]


def test_the_machine_is_that_of_the_bus(folder: Path) -> None:
    cluster = build_factorisation("cholesky", folder, "box", 1).cluster
    assert cluster.shape == {"cpu": 12, "gpu": 2}
    assert cluster.classes[1].bandwidth == 5500.0


def test_qr_is_said_to_be_assumed_and_takes_times_in_proportion_to_its_operations(folder: Path) -> None:
    found = build_factorisation("qr", folder, "box", 2)
    assert found.kernels == ("geqrt", "ormqr", "tsqrt", "tsmqr", "geqrt")
    assert np.allclose(found.tasks.measured["gpu"], [160e-6, 12e-6, 240e-6, 24e-6, 160e-6])
    assert "no kernel of QR was measured" in found.assumed
    assert build_factorisation("lu", folder, "box", 2).assumed == ""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("cholesky", "box", 2, 5), "tiles of 5 × 5 was not measured on box: known are 10"),
        (("cholesky", "box", 0), "the number of tiles is 0, expected 1 to 128"),
        (("cholesky", "dark", 2), "unknown machine with cores and GPUs 'dark': .*known: box"),
        (("svd", "box", 2), "unknown factorisation 'svd'"),
        (("cholesky", "box", 2, None, "double"), "precision of cholesky is 'double', expected single"),
        (("lu", "box", 2, None, "double"), "lu with tiles of 0 × 0 was not measured on box: known are none"),
    ],
)
def test_what_was_not_measured_is_refused(call: tuple[str, str, int], said: str, folder: Path) -> None:
    name, machine, *rest = call
    with pytest.raises((InputError, UnknownNameError), match=said):
        build_factorisation(name, folder, machine, *rest)  # type: ignore[arg-type]  # the table above holds what each may be


def test_a_factorisation_can_be_written_down(folder: Path) -> None:
    spec = FactorisationSpec.parse(f"lu@{folder}:box:4:10")
    assert spec == FactorisationSpec("lu", folder, "box", 4, 10)
    assert spec is not None
    assert FactorisationSpec.parse(str(spec)) == spec
    assert len(spec.build().tasks) == 30
    assert all(path.is_file() for path in spec.files)
    assert FactorisationSpec.parse("mixed") is None
    with pytest.raises(InputError, match="write lu@FOLDER:MACHINE:TILES"):
        FactorisationSpec.parse("lu@somewhere")


@needs_data
@pytest.mark.parametrize(("machine", "gpus"), [("attila", 3), ("idgraf", 8), ("mirage", 3)])
def test_real_machines_have_three_sizes_of_tiles_and_their_gpus(machine: str, gpus: int) -> None:
    for name in ("cholesky", "lu", "qr"):
        assert build_factorisation(name, STARPU, machine, 1).tile_size == 960
        with pytest.raises(InputError, match="known are 320, 640, 960"):
            build_factorisation(name, STARPU, machine, 1, 32)
    assert build_factorisation("lu", STARPU, machine, 1, precision="double").tile_size == 960
    assert build_factorisation("cholesky", STARPU, machine, 1).cluster.shape == {"cpu": 12, "gpu": gpus}


@needs_data
@pytest.mark.parametrize("machine", ["attila", "idgraf", "mirage"])
def test_a_real_cholesky_is_bounded_and_heft_beats_round_robin(machine: str) -> None:
    found = build_factorisation("cholesky", STARPU, machine, 10)
    assert (len(found.tasks), len(found.tasks.edges.parents)) == (220, 495)
    bound = lower_bound(found.tasks, found.cluster).makespan
    spans = {
        name: VirtualMultiGPU(cluster=found.cluster).run(found.tasks, registry.schedulers.create(name)).makespan
        for name in ("heft", "round_robin")
    }
    assert bound <= spans["heft"] < 2 * bound
    assert spans["heft"] < spans["round_robin"]


def test_kernels_are_measured_whole_and_never_split_unless_asked_for(folder: Path) -> None:
    found = build_factorisation("cholesky", folder, "box", 4)
    assert not found.tasks.divisible.any()
    placed = VirtualMultiGPU(cluster=found.cluster).run(found.tasks, registry.schedulers.create("oracle"))
    assert not placed.split.any()
    some = build_factorisation("cholesky", folder, "box", 4, indivisible=("potrf",))
    assert some.tasks.divisible.tolist() == [kernel != "potrf" for kernel in some.kernels]
    free = build_factorisation("cholesky", folder, "box", 4, indivisible=())
    bounds = [lower_bound(each.tasks, each.cluster).makespan for each in (free, some, found)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[2] <= placed.makespan
    with pytest.raises(UnknownNameError, match="'portf'"):
        build_factorisation("cholesky", folder, "box", 4, indivisible=("portf",))
