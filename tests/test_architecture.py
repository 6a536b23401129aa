"""The house: dependencies point one way, heavy libraries have one home, and help is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "hybrid_scheduler"
FLOORS = [
    {"deprecated", "errors", "files", "registry", "processes"},
    {"core"},
    {"bounds", "profiling"},
    {"learning", "workloads"},
    {"schedulers"},
    {"studies", "storage"},
    {"env", "runtime"},
    {"live", "reports"},
    {"settings"},
    {"pipeline"},
    {"server"},
    {"cli"},
]
"""From the ground up: a room may call on its own floor and on those below."""
HOMES = {
    "numba": {"core", "bounds", "schedulers", "learning"},
    "scipy": {"bounds"},
    "sklearn": {"learning"},
    "torch": {"learning", "schedulers", "reports", "profiling", "runtime"},  # reports: writes TensorBoard events
    "gymnasium": {"env"},
    "xgboost": {"learning"},
    "pandas": {"workloads", "learning"},
    "matplotlib": {"reports"},
    "typst": {"reports"},
    "typer": {"cli"},
    "rich": {"cli"},
    "yaml": {"core", "settings", "studies"},
    "sqlalchemy": {"storage"},
    "alembic": {"storage"},
    "asyncpg": {"storage"},
    "redis": {"storage"},
    "limits": {"storage"},
    "fastapi": {"server"},
    "starlette": {"server"},
    "uvicorn": {"server", "cli"},
    "pydantic": {"server", "settings", "pipeline"},
    "pydantic_settings": {"settings"},
    "prometheus_client": {"server"},
    "pyarrow": {"server", "workloads", "studies", "live"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if room != "__init__":
            yield room, path


@cache
def imported(path: Path, everywhere: bool) -> tuple[str, ...]:
    """Names imported at the top of a file, or anywhere in it; type-checking imports do not count."""
    return tuple(_imported(path, everywhere))


def _imported(path: Path, everywhere: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def test_every_room_is_on_the_plan() -> None:
    assert {room for room, _ in modules()} == set().union(*FLOORS)


@pytest.mark.parametrize(
    ("room", "path"), list(modules()), ids=lambda each: each if isinstance(each, str) else each.stem
)
def test_imports_point_down(room: str, path: Path) -> None:
    for name in imported(path, everywhere=False):
        parts = name.split(".")
        if parts[0] == "hybrid_scheduler" and len(parts) > 1 and not parts[1].startswith("__"):
            assert floor(parts[1]) <= floor(room), f"{room} calls up on {parts[1]}"


@pytest.mark.parametrize("library", HOMES)
def test_heavy_libraries_have_their_homes(library: str) -> None:
    users = {
        room for room, path in modules() for name in imported(path, everywhere=True) if name.split(".")[0] == library
    }
    assert users <= HOMES[library]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['hms', '--help']\n"
        "from hybrid_scheduler.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pandas', 'matplotlib', 'yaml'} & set(sys.modules)\n"
        "sys.exit(f'help loads {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "compare" in done.stdout
