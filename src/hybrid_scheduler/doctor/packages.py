"""Packages: torch and the devices it sees, the extras, Node for those who work on the dashboard."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version

from hybrid_scheduler.doctor.check import Check

OURS = "hybrid-ml-scheduler"
OLDEST_NODE = 20
NEEDED_FOR = {
    "notebooks": "running the notebooks",
    "postgres": "storing in PostgreSQL",
    "ray": "running tasks on Ray",
    "redis": "a shared cache and web workers",
    "xgboost": "hybrid_ml with XGBoost",
}
"""The extras and what each is for."""


def torch() -> Check:
    """Look at torch and the devices it finds."""
    from hybrid_scheduler.profiling.profiler import HardwareProfiler, silent

    try:
        with silent():
            looked = HardwareProfiler("auto", quick=True)
    except ImportError as error:
        advice = f"pip install 'torch{_wanted('torch')}'; until then rl_agent and hms profile do not work"
        return Check("torch", "fail", f"cannot be imported ({error})", advice)
    if looked.gpu is None:
        found = f"{version('torch')}, CPU only: {looked.reason}"
        return Check(
            "torch", "note", found, "nothing to do: simulated GPUs need no real one; hms profile measures real ones"
        )
    memory = f", {looked.gpu.memory_mb / 1000:.0f} GB" if looked.gpu.memory_mb else ""
    return Check(
        "torch", "ok", f"{version('torch')}, {looked.gpu.count} × {looked.gpu.name} ({looked.gpu.type}{memory})"
    )


def of_extra(name: str) -> Check:
    """Look whether the packages of an extra are there."""
    there, missing = [], []
    for package in _packages_of(name):
        try:
            there.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    purpose = NEEDED_FOR[name]
    if not there and not missing:
        return Check(f"[{name}]", "note", "this install does not know it", f"only for {purpose}: reinstall {OURS}")
    if missing:
        advice = f"only for {purpose}: pip install '{OURS}[{name}]'"
        return Check(f"[{name}]", "note", f"{', '.join(missing)} not installed", advice)
    return Check(f"[{name}]", "ok", f"{', '.join(there)}: {purpose}")


def _packages_of(extra_name: str) -> list[str]:
    wanted = [line for line in _requirements() if re.search(rf"extra == ['\"]{extra_name}['\"]", line)]
    return sorted({re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted})


def _wanted(package: str) -> str:
    """Return the version of a package that this one asks for, such as ==2.13.0."""
    lines = [line for line in _requirements() if re.match(rf"{package}\b", line)]
    return lines[0].removeprefix(package).split(";")[0].strip() if lines else ""


def _requirements() -> Iterable[str]:
    return requires(OURS) or ()


def node() -> Check:
    """Look at Node, which only those need who work on the dashboard."""
    program = shutil.which("node")
    if program is None:
        return Check(
            "Node", "note", "not installed", "only needed to work on the dashboard: install Node 20 or newer"
        )
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603  # node itself
    found = done.stdout.strip() or "does not run"
    if not (number := re.match(r"v(\d+)", found)) or int(number[1]) < OLDEST_NODE:
        return Check("Node", "note", found, "only needed to work on the dashboard: install Node 20 or newer")
    return Check("Node", "ok", f"{found}, only needed to work on the dashboard")
