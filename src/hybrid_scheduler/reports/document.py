"""A document as blocks; `html.py` and `pdf.py` render it.

Text may hold `code` between backticks and **strong words** between double stars; everything else is literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Rows of texts below a head; the first `text_columns` columns are text, the others are figures."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    emphasis: frozenset[tuple[int, int]] = frozenset()  # cells set in bold, by row and column


@dataclass(frozen=True)
class Image:
    """A picture as SVG, with what it shows."""

    name: str
    svg: bytes
    caption: str


@dataclass(frozen=True)
class Pair:
    """Two small pictures side by side."""

    left: Image
    right: Image


@dataclass(frozen=True)
class Code:
    """Lines for a terminal."""

    text: str


Style = Literal["plain", "code", "strong"]
Block = Heading | Paragraph | Bullets | Table | Image | Pair | Code


@dataclass(frozen=True)
class Document:
    """A title, a line below it, and blocks."""

    title: str
    subtitle: str
    blocks: tuple[Block, ...] = ()


def spans(text: str) -> Iterator[tuple[Style, str]]:
    """Cut a text into plain, code and strong parts."""
    for part in re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", text.replace(" %", "\u00a0%")):
        if part.startswith("`") and len(part) > 2:
            yield "code", part[1:-1]
        elif part.startswith("**") and len(part) > 4:
            yield "strong", part[2:-2]
        elif part:
            yield "plain", part
