"""StarPU's own model files give the same tasks as a table of their entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader, starpu
from workloads.formats.instances import starpu_model_files, write_file


def test_files_of_several_codelets_become_kernels_of_one_machine(tmp_path: Path) -> None:
    found = reader.read_all(starpu_model_files(tmp_path))
    assert (found.rows, dict(found.skipped)) == (6, {starpu.OTHER_DEVICE: 1, starpu.SEVERAL_CORES: 1})
    assert found.tasks.measured["left_1_cpu"] == pytest.approx([100e-6, 7e-6])
    assert found.tasks.measured["left_1_gpu"] == pytest.approx([20e-6, float("inf")])
    assert found.tasks.features["gflop"][0] == pytest.approx(2e-6)
    assert found.cluster is not None
    assert found.cluster.shape == {"left_1_cpu": 12, "left_1_gpu": 2}


def test_a_model_is_known_by_its_content_and_named_by_its_file(tmp_path: Path) -> None:
    model = starpu_model_files(tmp_path)[0]
    assert reader.detect_format(model).name == "starpu_models"
    nameless = write_file(tmp_path / "model", model.read_text(encoding="utf-8"))
    assert list(reader.read(nameless).measured) == ["host_cpu", "host_gpu"]


def test_a_model_of_another_version_is_refused(tmp_path: Path) -> None:
    model = starpu_model_files(tmp_path)[0]
    model.write_text(model.read_text(encoding="utf-8").replace("\n45\n", "\n42\n"), encoding="utf-8")
    with pytest.raises(InputError, match="no whole performance model of version 45"):
        reader.read(model)
