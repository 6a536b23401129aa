"""GPUs are found through torch, here faked, and the machine is described without personal names."""

from __future__ import annotations

import getpass
import json
import platform
from pathlib import Path
from types import SimpleNamespace as Fake
from typing import Any

import pytest

from hybrid_scheduler.errors import UnknownNameError
from hybrid_scheduler.profiling import devices
from hybrid_scheduler.profiling.devices import find_gpu


def accelerator(name: str, count: int = 1, there: bool = True) -> Fake:
    properties = Fake(name=name, total_memory=8_000_000_000)
    return Fake(
        is_available=lambda: there,
        get_device_properties=lambda _index: properties,
        device_count=lambda: count,
        synchronize=lambda: None,
    )


def fake_torch(cuda: bool = False, mps: bool = False, xpu: bool = False) -> Any:
    return Fake(
        __version__="9.9",
        cuda=accelerator("A100", 2, cuda),
        xpu=accelerator("Arc", 1, xpu),
        backends=Fake(mps=Fake(is_available=lambda: mps)),
        mps=Fake(recommended_max_memory=lambda: 24_000_000_000, synchronize=lambda: None),
    )


def test_cuda_devices_are_counted_and_named() -> None:
    found, reason = find_gpu("cuda", fake_torch(cuda=True))
    assert found
    assert (found.type, found.name, found.place, found.count) == ("cuda", "A100", "cuda:0", 2)
    assert found.memory_mb == 8000.0
    assert reason == ""


def test_mps_shares_the_machines_memory() -> None:
    found, _ = find_gpu("mps", fake_torch(mps=True))
    assert found
    assert (found.type, found.place, found.memory_mb) == ("mps", "mps", 24_000.0)


def test_xpu_is_like_cuda() -> None:
    found, _ = find_gpu("xpu", fake_torch(xpu=True))
    assert found
    assert (found.name, found.place) == ("Arc", "xpu:0")


@pytest.mark.parametrize("kind", ["cuda", "mps", "xpu"])
def test_auto_takes_the_one_that_is_there(kind: str) -> None:
    found, _ = find_gpu("auto", fake_torch(**{kind: True}))
    assert found
    assert found.type == kind


def test_auto_prefers_cuda() -> None:
    found, _ = find_gpu("auto", fake_torch(cuda=True, mps=True, xpu=True))
    assert found
    assert found.type == "cuda"


@pytest.mark.parametrize("kind", ["auto", "cuda", "mps", "xpu"])
def test_a_missing_device_has_a_reason(kind: str) -> None:
    found, reason = find_gpu(kind, fake_torch())
    assert found is None
    assert "torch 9.9 finds no" in reason


def test_an_old_torch_without_xpu_and_mps_is_no_problem() -> None:
    old = Fake(__version__="1.0", cuda=accelerator("", there=False), backends=Fake())
    assert find_gpu("auto", old)[0] is None


def test_the_cpu_asked_for_is_no_gpu() -> None:
    assert find_gpu("cpu", fake_torch(cuda=True)) == (None, "only the CPU was asked for")


def test_a_mistyped_device_is_guessed() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'cuda'"):
        find_gpu("cuba", fake_torch())


def test_the_cpu_is_named_by_its_model(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Some  CPU @ 3 GHz\n", encoding="utf-8")
    assert devices.cpu_name(info) == "Some CPU @ 3 GHz"


def test_a_machine_without_cpuinfo_has_some_name(tmp_path: Path) -> None:
    assert devices.cpu_name(tmp_path / "absent")


def test_names_in_the_release_of_the_system_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-annas-laptop")
    assert "6.1.0" in devices.system_name()
    assert "anna" not in devices.system_name()


def test_nothing_personal_is_told() -> None:
    told = json.dumps([devices.cpu_name(), devices.system_name(), devices.library_versions()]).lower()
    assert platform.node().lower() not in told
    assert f'"{getpass.getuser().lower()}"' not in told


def test_there_are_cores_and_versions() -> None:
    assert devices.usable_cores() >= 1
    assert {"python", "numpy", "torch"} <= set(devices.library_versions())
