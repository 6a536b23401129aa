"""What MkDocs calls while it builds the site: pages from the code, pages from the root, links that fit both."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from docs.reference import PAGES

ROOT = Path(__file__).parents[1]
FRONT = ("METHODOLOGY.md", "RESULTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Files beside `docs/` that are pages of the site too."""
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", flags=re.DOTALL)
_FAR = re.compile(r"[a-z]+:|/")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show pages that no section names under "More", so that a new page is never lost."""
    named = set(re.findall(r"[\w/.-]+\.md", str(config.nav)))
    found = {each.relative_to(config.docs_dir).as_posix() for each in Path(config.docs_dir).rglob("*.md")}
    if rest := sorted(found - named):
        nav: list[Any] = config.nav or []  # as mkdocs.yml has it
        nav.append({"More": rest})
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that the code writes, and those that stand at the root."""
    for place, write in PAGES.items():
        files.append(File.generated(config, place, content=write()))
    for name in FRONT:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: Any) -> str:
    """Let links point where their targets stand in the site; what is no page becomes its path in the repository."""
    here = page.file.src_uri
    below = "" if here in FRONT else "docs/"

    def moved(match: re.Match[str]) -> str:
        picture, words, target, anchor = match[1], match[2], match[3], match[4] or ""
        if _FAR.match(target):
            return match[0]
        path = posixpath.normpath(posixpath.join(below + posixpath.dirname(here), target))
        place = path.removeprefix("docs/")
        found = files.get_file_from_path(place)
        if found is None or found.inclusion == InclusionLevel.EXCLUDED:
            if not (ROOT / path).exists():
                return match[0]  # MkDocs says which page has a broken link
            return words if words.strip("`") == path else f"{words} (`{path}`)"
        return f"{picture}[{words}]({posixpath.relpath(place, posixpath.dirname(here) or '.')}{anchor})"

    parts = _CODE.split(markdown)
    parts[::2] = [_LINK.sub(moved, each) for each in parts[::2]]
    return "".join(parts)
