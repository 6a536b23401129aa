"""The docs are true: their code runs, their tables are the code's, their commands and links exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FRONT = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "METHODOLOGY", "RESULTS")]
PAGES = [*FRONT, *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    """Return the code blocks of a language with the page they stand on."""
    return [
        (page.name, code)
        for page in PAGES
        for code in re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    ]


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_blocks_run(page: str, code: str, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def commands() -> list[str]:
    lines = [line for _, code in blocks("sh") for line in code.splitlines() if "hms " in line]
    return sorted({line.split("#")[0].strip() for line in lines})


@pytest.mark.parametrize("command", commands())
def test_commands_of_the_readme_run(command: str) -> None:
    words = shlex.split(command)
    assert words[0] == ".venv/bin/hms"
    hms = Path(sys.executable).parent / "hms"
    done = subprocess.run([hms, *words[1:]], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert max(len(line) for line in done.stdout.splitlines()[1:]) <= 80


def test_the_policy_of_the_readme_is_the_one_in_examples() -> None:
    _, code = next(each for each in blocks("python") if each[0] == "README.md")
    example = (ROOT / "examples" / "cheap_first.py").read_text(encoding="utf-8")
    assert code.strip() == example.split('"""\n\n', 1)[1].strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_tables_are_those_of_the_code() -> None:
    script = [sys.executable, str(ROOT / "docs" / "tables.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_design_page_names_every_room() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "hybrid_scheduler").iterdir():
        if path.is_dir() and not path.name.startswith("__"):
            assert f"`{path.name}/`" in design, path.name
        elif path.suffix == ".py" and path.stem not in ("__init__", "workload_generator"):
            assert f"{path.name}`" in design, path.name
