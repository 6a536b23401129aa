"""Small parts of Markdown pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(text: object) -> str:
    """Return text that fits into one cell of a table."""
    parts = " ".join(str(text).split()).replace("|", "\\|").split("`")
    parts[::2] = [each.replace("<", "&lt;") for each in parts[::2]]  # between backquotes it is text already
    return "`".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; nothing if it has no rows."""
    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    rule = "|" + "---|" * len(head)
    return "\n".join([f"| {' | '.join(head)} |", rule, *lines]) if lines else ""


def join(*parts: str) -> str:
    """Return paragraphs as one page; empty ones are left out."""
    return "\n\n".join(part for part in parts if part) + "\n"


def code(text: object) -> str:
    """Return text set as code."""
    return f"`{text}`"
