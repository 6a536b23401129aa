"""The site builds without a warning, has no link to nowhere, fetches nothing, and its reference is the code's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import typer

from docs.reference import PAGES
from hybrid_scheduler import registry
from hybrid_scheduler.cli.main import app
from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.schemas.messages import schema
from hybrid_scheduler.settings import AppSettings, load_settings
from hybrid_scheduler.workloads.formats.reader import load_formats
from hybrid_scheduler.workloads.generator import PRESETS

ROOT = Path(__file__).parents[1]
FETCHED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """What a page links to, what it fetches, and where it can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif tag == "a" and name == "href":
                self.links.add(value or "")
            elif (tag, name) in FETCHED:
                self.fetched.add(value or "")


def test_the_site_builds_leads_nowhere_else_and_fetches_nothing(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    pages = {path: Page(path) for path in tmp_path.rglob("*.html") if path.name != "404.html"}
    assert {tmp_path / place.replace(".md", ".html") for place in PAGES} <= set(pages)
    for path, page in pages.items():
        assert not [each for each in page.fetched if re.match(r"(https?:)?//", each)], path
        for link in {each for each in page.links if not re.match(r"https?:", each)}:
            place, _, anchor = link.partition("#")
            target = (path.parent / unquote(place)).resolve() if place else path
            assert target.exists(), f"{path.name} leads to {link}"
            assert target not in pages or unquote(anchor) in pages[target].anchors, f"{path.name} leads to {link}"
    styles = "".join(each.read_text(encoding="utf-8") for each in tmp_path.rglob("*.css"))
    assert not re.findall(r"url\(\"?(?:https?:)?//[^)]*", styles)


def test_every_command_and_option_is_in_the_reference() -> None:
    text, group = PAGES["reference/commands.md"](), typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]  # a group, to Typer just a command
        section = text.split(f"\n## hms {name}\n")[1].split("\n## ")[0]
        assert " ".join(command.help.split()) in section
        for each in command.params:
            assert each.name in section or all(word in section for word in each.opts), (name, each.name)


def test_every_request_and_every_object_is_in_the_reference() -> None:
    text, described = PAGES["reference/http.md"](), create_app(load_settings()).openapi()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            section = text.split(f"### {method.upper()} {path}\n")[1].split("\n### ")[0]
            assert operation["summary"] in section
            assert all(f"`{each['name']}`" in section for each in operation.get("parameters", ()))
    for name, each in described["components"]["schemas"].items():
        section = text.split(f"### {name} {{ #")[1].split("\n### ")[0]
        assert all(f"`{field}`" in section for field in each.get("properties", {})), name


def test_every_message_and_its_fields_are_in_the_reference() -> None:
    text = PAGES["reference/websocket.md"]()
    for name, each in schema()["$defs"].items():
        section = text.split(f"### {name} {{ #")[1].split("\n### ")[0]
        assert all(f"`{field}`" in section for field in each.get("properties", {})), name


def test_every_scheduler_setting_preset_format_and_measure_is_in_the_reference() -> None:
    for entry in registry.schedulers.entries:
        section = PAGES["reference/schedulers.md"]().split(f"\n## {entry.name}\n")[1].split("\n## ")[0]
        assert all(f"`{each.name}`" in section for each in registry.schedulers.options(entry.name)), entry.name
    named = {
        "settings": [name.upper() for name in AppSettings.model_fields],
        "workloads": list(PRESETS),
        "measures": list(MEASURES),
    }
    for place, names in named.items():
        text = PAGES[f"reference/{place}.md"]()
        assert [each for each in names if f"`{each}`" not in text] == []
    formats = PAGES["reference/formats.md"]()
    assert [each.name for each in load_formats() if f"\n## {each.name}\n" not in formats] == []


def test_every_name_to_import_is_in_the_reference() -> None:
    import hybrid_scheduler

    text = PAGES["reference/python.md"]()
    names = [name for name in hybrid_scheduler.__all__ if not name.startswith("_")]
    assert [name for name in names if f"\n### {name}\n" not in text] == []


def test_every_test_that_the_threat_model_names_exists() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    paths = list((ROOT / "tests").rglob("test_*.py"))  # some share a name: rooms mirror each other
    code = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    files = set(re.findall(r"`(?:tests/(?:\w+/)*)?(test_\w+\.py)`", text))
    assert len(files) > 10
    assert files <= {path.name for path in paths}
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 20
    assert sorted(each for each in named if f"def {each}(" not in code) == []
