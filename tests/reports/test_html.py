"""The HTML report is one well-formed file that loads nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from hybrid_scheduler.reports.html import to_html
from hybrid_scheduler.reports.reporting import build_document
from reports.sample_runs import build_run_data, build_run_document


class TagParser(HTMLParser):
    """Collects tags and checks that each is closed."""

    EMPTY = ("meta", "img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_one_file_without_scripts() -> None:
    check_page(to_html(build_run_document()))


@pytest.mark.usefixtures("blank_pictures")
def test_so_is_that_of_an_isolated_race() -> None:
    check_page(to_html(build_document(build_run_data("isolated"))))


def check_page(page: str) -> None:
    parser = TagParser()
    parser.feed(page)
    assert parser.open == []
    assert "script" not in parser.tags
    assert "link" not in parser.tags
    assert parser.tags.count("img") >= 8
    assert all(source.startswith("data:image/svg+xml;base64,") for source in re.findall(r'src="([^"]{0,40})', page))
    assert not re.search(r"https?://", page)
    assert "prefers-color-scheme: dark" in page
