"""What `make run` sets up: only what running needs, by uv or pip, told of the same indexes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import install

ROOT = Path(__file__).parents[1]


def plan(target: str) -> str:
    done = subprocess.run(
        ["make", "-n", "-B", "VENV=.no-venv", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_running_installs_no_tools_of_tests_and_testing_adds_them() -> None:
    assert "scripts/install.py .no-venv rl" in plan("run")
    assert "scripts/install.py .no-venv dev" not in plan("run")
    assert "scripts/install.py .no-venv dev" in plan(".no-venv/.ready")


def test_uv_is_told_what_pip_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels more")
    found = install.read_pip_settings(Path(sys.executable))
    assert found["find-links"] == ["wheels", "more"]
    assert install.build_uv_options(found)[:4] == ["--find-links", "wheels", "--find-links", "more"]


def test_a_machine_without_settings_gets_the_torch_that_suits_it() -> None:
    assert install.build_uv_options({}) == ["--torch-backend=auto"]
