"""Without torch everything but the agent works, and says how to get it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from hybrid_scheduler import registry
from hybrid_scheduler.cli import options
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live.settings import DEFAULT_SCHEDULERS, LiveSettings
from hybrid_scheduler.pipeline.config import read_options
from hybrid_scheduler.profiling.kernels import KERNELS, convolve
from hybrid_scheduler.settings import load_settings

ADVICE = "pip install 'hybrid-ml-scheduler[rl]'"
BLOCK = """\
import sys


class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


sys.meta_path.insert(0, NoTorch())
"""
DECIDE = """\
from hybrid_scheduler import VirtualMultiGPU, WorkloadGenerator
from hybrid_scheduler.schedulers.rl_agent import RLAgent
print(VirtualMultiGPU().run(WorkloadGenerator(1).generate_preset("mixed", 20), RLAgent(online=False)).ran.all())
"""
EXECUTOR = """\
from hybrid_scheduler import HybridScheduler
if __name__ == "__main__":
    with HybridScheduler("eft", devices="auto") as executor:
        print([future.result() for future in [executor.submit(pow, 2, k) for k in range(4)]])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that shuts torch out of every Python that finds it on its path, child processes included."""
    (tmp_path / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, *words]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def hms(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-c", "from hybrid_scheduler.cli.main import run; run()", *words)


def test_the_default_race_leaves_the_agent_out_with_one_line(folder: Path) -> None:
    done = hms(folder, "compare", "--tasks", "60", "--seeds", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [f"without rl_agent: torch is not installed, {ADVICE}"]
    raced = set(json.loads(done.stdout)["schedulers"])
    assert raced == set(registry.schedulers.featured) - {"rl_agent"}


def test_asking_for_the_agent_alone_is_an_error_of_one_line(folder: Path) -> None:
    done = hms(folder, "compare", "--tasks", "20", "-s", "rl_agent")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"hms: 'rl_agent' needs torch, which is not installed: {ADVICE}"]


def test_tables_bounds_and_the_executor_work(folder: Path) -> None:
    (folder / "work.py").write_text(EXECUTOR, encoding="utf-8")
    for done in (hms(folder, "schedulers"), hms(folder, "bound", "mixed", "--tasks", "30")):
        assert done.returncode == 0, done.stderr
    done = run(folder, "work.py")
    assert (done.stdout.strip(), done.returncode) == ("[1, 2, 4, 8]", 0), done.stderr


def test_torch_is_not_loaded_to_decide(folder: Path) -> None:
    done = run(folder, "-c", DECIDE)
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.EXTRA_MODULES, "rl", "a_module_that_nobody_has")


@pytest.mark.usefixtures("no_torch")
def test_live_race_and_pipeline_start_without_the_agent(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rest = tuple(name for name in DEFAULT_SCHEDULERS if name != "rl_agent")
    assert LiveSettings().schedulers == rest
    assert load_settings().live_settings().schedulers == rest
    chosen = read_options(quick=True)
    assert "rl_agent" not in chosen.evaluation.schedulers
    assert chosen.scheduling.agent_tasks == 0
    assert options.parse_schedulers("eft, rl_agent:gamma=0.5") == ("eft",)
    assert "without rl_agent:gamma=0.5: " in capsys.readouterr().err


@pytest.mark.usefixtures("no_torch")
def test_a_race_that_is_told_to_take_the_agent_is_refused() -> None:
    with pytest.raises(InputError, match=r"needs a_module_that_nobody_has, .* pip install"):
        LiveSettings().with_changes(schedulers=("eft", "rl_agent"))


def test_numpy_does_the_work_of_every_kernel() -> None:
    for each in KERNELS.values():
        each.on_numpy(16)()
    image = np.random.default_rng(1).random((12, 12), np.float32)
    filters = np.random.default_rng(2).random((3, 5, 5), np.float32)
    expected = torch.nn.functional.conv2d(
        torch.from_numpy(image)[None, None], torch.from_numpy(filters)[:, None], padding=2
    )
    assert np.allclose(convolve(image, filters), expected[0].numpy(), atol=1e-5)
