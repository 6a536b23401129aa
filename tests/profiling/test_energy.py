"""Joules are read where they can be; where not, a reason takes their place."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from hybrid_scheduler.profiling.timing import cpu_meter, gpu_meter


def package(folder: Path, number: int, microjoules: int, full: int = 1_000_000_000) -> Path:
    place = folder / f"intel-rapl:{number}"
    place.mkdir(exist_ok=True)
    (place / "energy_uj").write_text(f"{microjoules}\n", encoding="ascii")
    (place / "max_energy_range_uj").write_text(f"{full}\n", encoding="ascii")
    return place


def test_packages_add_up_and_counters_wrap(tmp_path: Path) -> None:
    package(tmp_path, 0, 999_000_000)
    package(tmp_path, 1, 5_000_000)
    (tmp_path / "intel-rapl:0:0").mkdir()  # a part of package 0, counted there already
    meter, reason = cpu_meter(tmp_path)
    assert meter
    assert reason == ""
    assert meter.joules() == 0
    package(tmp_path, 0, 2_000_000)  # over the top: 1 J to the end, 2 J after it
    package(tmp_path, 1, 9_000_000)
    assert meter.joules() == pytest.approx(3 + 4)


def test_a_counter_that_goes_away_gives_nothing(tmp_path: Path) -> None:
    place = package(tmp_path, 0, 1)
    meter, _ = cpu_meter(tmp_path)
    assert meter
    (place / "energy_uj").unlink()
    assert meter.joules() is None


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    assert cpu_meter(tmp_path)[1].startswith("no RAPL counters")


def test_a_torn_counter_says_so(tmp_path: Path) -> None:
    (package(tmp_path, 0, 1) / "energy_uj").write_text("many", encoding="ascii")
    assert cpu_meter(tmp_path) == (None, "the RAPL counters cannot be read (ValueError)")


class FakeNvml(ModuleType):
    """NVML with a GPU that has used 1500 mJ, or one that does not count."""

    class NVMLError(Exception):
        """NVML's own error."""

    def __init__(self, counts: bool) -> None:
        super().__init__("fake_nvml")
        self.counts = counts

    def nvmlInit(self) -> None:  # noqa: N802  # NVML's own names
        """Start."""

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802  # NVML's own names
        return index

    def nvmlDeviceGetTotalEnergyConsumption(self, _handle: int) -> int:  # noqa: N802  # NVML's own names
        if not self.counts:
            raise self.NVMLError
        return 1500


def test_nvml_counts_millijoules(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(counts=True)
    monkeypatch.setitem(sys.modules, "fake_nvml", nvml)
    meter, _ = gpu_meter("cuda", "fake_nvml")
    assert meter
    assert meter.joules() == 1.5
    nvml.counts = False
    assert meter.joules() is None


def test_a_gpu_that_does_not_count_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fake_nvml", FakeNvml(counts=False))
    assert gpu_meter("cuda", "fake_nvml") == (None, "NVML does not count this GPU's energy (NVMLError)")


def test_without_nvml_the_next_step_is_named() -> None:
    assert gpu_meter("cuda", "no_such_nvml") == (None, "NVML cannot be read: install nvidia-ml-py")


@pytest.mark.parametrize("kind", ["mps", "xpu"])
def test_other_gpus_have_no_counter(kind: str) -> None:
    assert gpu_meter(kind)[0] is None
