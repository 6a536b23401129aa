"""Every module that the guide names stands beside the package in `src/`: a docstring and names of the package."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from guide.blocks import ROOT, documents, needs_guide
from hybrid_scheduler.workloads.generator import WorkloadGenerator

MODULES = {
    "dashboard_server": ["app"],
    "dashboard_server_v2": ["app"],
    "dqn_scheduler": ["DQNScheduler"],
    "ml_models": ["RandomForestPredictor", "XGBoostPredictor"],
    "offline_trainer": ["OfflineTrainer"],
    "online_scheduler": ["OnlineScheduler"],
    "pipeline": ["run"],
    "profiler": ["HardwareProfiler"],
    "reporting": ["report"],
    "simulation_engine": ["ContinuousSimulation"],
    "simulator": ["VirtualMultiGPU"],
    "workload_generator": ["Task", "WorkloadGenerator"],
}
"""Modules of the guide and the names it uses from them."""
SERVERS = ("dashboard_server", "dashboard_server_v2")  # importing one sets up logs: see test_server.py


def tree(name: str) -> ast.Module:
    return ast.parse((ROOT / "src" / f"{name}.py").read_text(encoding="utf-8"))


def test_there_are_no_others() -> None:
    assert {path.stem for path in (ROOT / "src").glob("*.py")} == set(MODULES)


@needs_guide
def test_every_file_in_src_that_the_guide_names_is_there() -> None:
    named = {name for text in documents() for name in re.findall(r"\bsrc[/.](\w+)(?:\.py\b| import |:app)", text)}
    assert len(named) > 8
    assert named <= set(MODULES)


@pytest.mark.parametrize("name", sorted(set(MODULES) - set(SERVERS)))
def test_a_module_offers_names_of_the_package_and_defines_nothing(name: str) -> None:
    module = importlib.import_module(f"src.{name}")
    assert set(MODULES[name]) <= set(module.__all__)
    for each in module.__all__:
        assert getattr(module, each).__module__.startswith("hybrid_scheduler.")
    assert ast.get_docstring(tree(name))
    assert not any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree(name).body)


def test_the_page_on_installing_says_where_each_name_really_is() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`src\..*?) \| `([\w.]+)`: (.*) \|$", page, flags=re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"src\.(\w+)", row[0])} == set(MODULES)
    for _, home, names in rows:
        module = importlib.import_module(home)
        assert hasattr(module, re.findall(r"`(\w+)`", names)[0])


def test_the_agent_of_the_guide_is_pretrained_saved_and_loaded(tmp_path: Path) -> None:
    scheduler_class = importlib.import_module("src.dqn_scheduler").DQNScheduler
    cluster = importlib.import_module("src.simulator").VirtualMultiGPU(num_gpus=4).cluster
    scheduler = scheduler_class(energy_weight=0.0, model="none")
    scheduler.pretrain(WorkloadGenerator(seed=42).generate_workload(num_tasks=20), cluster)
    scheduler.save_model(tmp_path / "agent.pth")
    again = scheduler_class(model="none")
    again.load_model(tmp_path / "agent.pth")
    assert (again.w1 == scheduler.w1).all()
