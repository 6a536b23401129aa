"""The docs are true: their code runs, their tables are the code's, their commands and links exist."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.reference import PAGES as WRITTEN
from helpers_cli import hms

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FRONT = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "METHODOLOGY", "RESULTS", "SECURITY")]
PAGES = [*FRONT, *sorted(DOCS.rglob("*.md"))]
STORIES = [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]
"""Pages whose blocks belong together: they are carried out from top to bottom in one empty folder."""
FENCE = re.compile(r"```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)```", flags=re.DOTALL)
SHORTER = ["-n", "300", "--seeds", "2"]
"""For comparisons: the numbers of tasks and seeds change how long they take, not what is shown."""


def blocks(language: str) -> list[tuple[str, str]]:
    """Return the code blocks of a language with the page they stand on; stories are told apart."""
    return [
        (page.name, code)
        for page in PAGES
        if page not in STORIES
        for kind, _, code in FENCE.findall(page.read_text(encoding="utf-8"))
        if kind == language
    ]


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_blocks_run(page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as a script in an empty folder, but in this process: imports take longer than most of them do."""
    script = tmp_path / "block.py"
    script.write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")


def commands() -> list[str]:
    lines = [line for _, code in blocks("sh") for line in code.splitlines() if "hms " in line]
    return sorted({line.split("#")[0].strip() for line in lines})


@pytest.mark.parametrize("command", commands())
def test_commands_of_the_readme_run(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(command)
    assert words[0] == ".venv/bin/hms"
    monkeypatch.chdir(ROOT)
    done = hms(*words[1:], *(SHORTER if words[1] in ("compare", "capacity") else []))
    assert done.code == 0, done.err
    assert max(len(line) for line in done.out.splitlines()[1:]) <= 80


@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.stem)
def test_stories_can_be_followed_step_by_step(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, title, code in FENCE.findall(page.read_text(encoding="utf-8")):
        assert title or kind in ("sh", "text"), f"a block of {kind} that nothing is done with"
        if title:
            Path(title).write_text(code, encoding="utf-8")
        elif kind == "sh":
            for line in code.splitlines():
                follow(shlex.split(line))
    if page.stem == "tutorial":
        check_what_the_tutorial_says()


def follow(words: list[str]) -> None:
    """Do one line of a story: `hms` in this process, Python as a process of its own."""
    if words[0] == "python":
        subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True)
        return
    assert words[0] == "hms"
    done = hms(*words[1:])
    assert done.code in (0, None), f"{shlex.join(words)}\n{done.err}"


def check_what_the_tutorial_says() -> None:
    raced = json.loads(Path("first/result.json").read_text(encoding="utf-8"))["schedulers"]
    ratio = {name: figures["makespan_over_bound"] for name, figures in raced.items()}
    assert 1 <= ratio["price"] < ratio["hybrid_ml"] < ratio["oracle"] < ratio["greedy"]
    assert Path("first.png").read_bytes().startswith(b"\x89PNG")
    assert "patient" in Path("second.html").read_text(encoding="utf-8")


def test_the_policy_of_the_readme_is_the_one_in_examples() -> None:
    _, code = next(each for each in blocks("python") if each[0] == "policies.md")
    example = (ROOT / "examples" / "cheap_first.py").read_text(encoding="utf-8")
    assert code.strip() == example.split('"""\n\n', 1)[1].strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        there = (page.parent / target).resolve()
        written = there.is_relative_to(DOCS) and there.relative_to(DOCS).as_posix() in WRITTEN
        assert written or there.exists() or target.startswith("https://"), target


def test_tables_are_those_of_the_code() -> None:
    script = [sys.executable, str(ROOT / "docs" / "tables.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_design_page_names_every_room() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "hybrid_scheduler").iterdir():
        if path.is_dir() and not path.name.startswith("__"):
            assert f"`{path.name}/`" in design, path.name
        elif path.suffix == ".py" and path.stem != "__init__":
            assert f"{path.name}`" in design, path.name
