"""A document as PDF, set by Typst: vector pictures, real tables, embedded fonts, the same bytes every time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.reports.document import (
    Block,
    Bullets,
    Code,
    Document,
    Heading,
    Image,
    Pair,
    Paragraph,
    Table,
    spans,
)

TEMPLATE = Path(__file__).with_name("report.typ")


def to_pdf(document: Document) -> bytes:
    """Set a document in PDF."""
    try:
        import typst
    except ImportError:
        raise SchedulerError("Typst is not installed: pip install typst, or write the report as HTML") from None
    with tempfile.TemporaryDirectory(prefix="hms-report-") as name:
        folder = Path(name)
        for image in _images(document):
            (folder / f"{image.name}.svg").write_bytes(image.svg)
        source = folder / "report.typ"
        source.write_text(to_typst(document), encoding="utf-8")
        # Only the fonts inside Typst: those of this machine would make another document of it.
        made: bytes = typst.compile(source, format="pdf", ignore_system_fonts=True)
    return made


def _images(document: Document) -> Iterator[Image]:
    for block in document.blocks:
        if isinstance(block, Image):
            yield block
        elif isinstance(block, Pair):
            yield from (block.left, block.right)


def to_typst(document: Document) -> str:
    """Return the document in Typst's language; every text is a string literal, so none can be read as markup."""
    lines = [TEMPLATE.read_text(encoding="utf-8")]
    lines.append(f"#show: report.with(title: {quoted(document.title)}, subtitle: {_text(document.subtitle)})")
    lines.extend(_block(block) for block in document.blocks)
    return "\n".join(lines) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"#heading({quoted(text)})"
        case Paragraph(text):
            return f"#par({_text(text)})"
        case Bullets(items):
            return f"#list({', '.join(_text(item) for item in items)})"
        case Code(text):
            return f"#commands({quoted(text)})"
        case Image():
            return f"#{_image(block)}"
        case Pair(left, right):
            return f"#pair({_image(left)}, {_image(right)})"
        case Table():
            return _table(block)


def _image(image: Image) -> str:
    plain = quoted("".join(text for _, text in spans(image.caption)))
    return f"picture({quoted(f'{image.name}.svg')}, {plain}, {_text(image.caption)})"


def _table(table: Table) -> str:
    head = ", ".join(_text(text) for text in table.head)
    rows = ",\n  ".join(
        ", ".join(_cell(table, row, column, text) for column, text in enumerate(texts))
        for row, texts in enumerate(table.rows)
    )
    if not table.rows:
        return ""
    widths = ", ".join(f"{width:g}" for width in _widths(table))
    return f"#data({_text(table.caption)}, ({widths},), {table.words}, ({head},), (\n  {rows},\n))"


def _widths(table: Table) -> list[float]:
    """Return a share of the line for every column: the longest text, of the head the longest word."""
    columns = zip(table.head, *table.rows, strict=True)
    return [
        max(6.0, *(_length(word) for word in head.split(" ")), *(_length(text) for text in texts))
        for head, *texts in columns
    ]


def _length(text: str) -> float:
    """Return how wide a text is, in letters; those of code are wider."""
    return 1.5 + sum(len(part) * (1.3 if style == "code" else 1.0) for style, part in spans(text))


def _cell(table: Table, row: int, column: int, text: str) -> str:
    return f"best({_text(text)})" if (row, column) in table.emphasis else _text(text)


def _text(text: str) -> str:
    calls = {"plain": "text", "code": "raw", "strong": "strong"}
    parts = [f"{calls[style]}({quoted(part)})" for style, part in spans(text)]
    return " + ".join(parts) if parts else "[]"


def quoted(text: str) -> str:
    """Return a Typst string literal."""
    escapes: dict[str, str | int | None] = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "", "\t": "    "}
    return f'"{text.translate(str.maketrans(escapes))}"'
