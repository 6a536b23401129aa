"""A small run in a folder, as `hms compare --out` keeps it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helpers_cli import hms


@pytest.fixture(scope="session")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that no test may change."""
    folder = tmp_path_factory.mktemp("kept") / "run"
    race = ("compare", "mixed", "-n", "80", "-s", "eft,random,round_robin", "--seeds", "3")
    assert hms(*race, "--out", str(folder)).code == 0
    return folder


@pytest.fixture
def run(kept_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that run, `run` in the working directory."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(kept_run, tmp_path / "run"))
