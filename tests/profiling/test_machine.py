"""A machine is described without saying whose it is."""

from __future__ import annotations

import getpass
import json
import platform
from pathlib import Path

import pytest

from hybrid_scheduler.profiling import devices


def test_the_cpu_is_named_by_its_model(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Some  CPU @ 3 GHz\n", encoding="utf-8")
    assert devices.cpu_name(info) == "Some CPU @ 3 GHz"


def test_a_machine_without_cpuinfo_has_some_name(tmp_path: Path) -> None:
    assert devices.cpu_name(tmp_path / "absent")


def test_names_in_the_release_of_the_system_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-annas-laptop")
    assert "6.1.0" in devices.system()
    assert "anna" not in devices.system()


def test_nothing_personal_is_told() -> None:
    told = json.dumps([devices.cpu_name(), devices.system(), devices.libraries()]).lower()
    assert platform.node().lower() not in told
    assert f'"{getpass.getuser().lower()}"' not in told


def test_there_are_cores_and_versions() -> None:
    assert devices.cores() >= 1
    assert {"python", "numpy", "torch"} <= set(devices.libraries())
