"""Renders a document as PDF by Typst: vector images, real tables, embedded fonts, the same bytes every time."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.registry import how_to_install
from hybrid_scheduler.reports import document as doc

TEMPLATE = Path(__file__).with_name("report.typ")


def to_pdf(document: doc.Document) -> bytes:
    """Render a document as PDF."""
    try:
        import typst
    except ImportError:
        raise SchedulerError(
            f"Typst is not installed: {how_to_install('pdf')}, or write the report as HTML"
        ) from None
    with tempfile.TemporaryDirectory(prefix="hms-report-") as name:
        folder = Path(name)
        for block in document.blocks:
            images = (block.left, block.right) if isinstance(block, doc.Pair) else (block,)
            for image in images:
                if isinstance(image, doc.Image):
                    (folder / f"{image.name}.svg").write_bytes(image.svg)
        source = folder / "report.typ"
        source.write_text(to_typst(document), encoding="utf-8")
        # Fonts of the system would make the bytes depend on the machine.
        content: bytes = typst.compile(source, format="pdf", ignore_system_fonts=True)
    return content


def to_typst(document: doc.Document) -> str:
    """Return the document in Typst's language; every text is a string literal, so none can be read as markup."""
    lines = [TEMPLATE.read_text(encoding="utf-8")]
    lines.append(f"#show: report.with(title: {quote(document.title)}, subtitle: {_render_text(document.subtitle)})")
    lines.extend(_render_block(block) for block in document.blocks)
    return "\n".join(lines) + "\n"


def _render_block(block: doc.Block) -> str:
    match block:
        case doc.Heading(text):
            return f"#heading({quote(text)})"
        case doc.Paragraph(text):
            return f"#par({_render_text(text)})"
        case doc.Bullets(items):
            return f"#list({', '.join(_render_text(item) for item in items)})"
        case doc.Code(text):
            return f"#commands({quote(text)})"
        case doc.Image():
            return f"#{_render_image(block)}"
        case doc.Pair(left, right):
            return f"#pair({_render_image(left)}, {_render_image(right)})"
        case doc.Table():
            return _render_table(block)


def _render_image(image: doc.Image) -> str:
    plain = quote("".join(text for _, text in doc.spans(image.caption)))
    return f"picture({quote(f'{image.name}.svg')}, {plain}, {_render_text(image.caption)})"


def _render_table(table: doc.Table) -> str:
    head = ", ".join(_render_text(text) for text in table.head)
    cells = [[_render_text(text) for text in texts] for texts in table.rows]
    for row, column in table.emphasis:
        cells[row][column] = f"best({cells[row][column]})"
    rows = ",\n  ".join(map(", ".join, cells))
    if not table.rows:
        return ""
    # A share of the line for every column: the longest text, of the head the longest word.
    widths = ", ".join(
        f"{max(6.0, *map(_text_width, first.split(' ')), *map(_text_width, texts)):g}"
        for first, *texts in zip(table.head, *table.rows, strict=True)
    )
    return f"#data({_render_text(table.caption)}, ({widths},), {table.text_columns}, ({head},), (\n  {rows},\n))"


def _text_width(text: str) -> float:
    """Return how wide a text is, in letters; those of code are wider."""
    return 1.5 + sum(len(part) * (1.3 if style == "code" else 1.0) for style, part in doc.spans(text))


def _render_text(text: str) -> str:
    calls = {"plain": "text", "code": "raw", "strong": "strong"}
    parts = [f"{calls[style]}({quote(part)})" for style, part in doc.spans(text)]
    return " + ".join(parts) if parts else "[]"


def quote(text: str) -> str:
    """Return a Typst string literal."""
    escapes: dict[str, str | int | None] = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "", "\t": "    "}
    return f'"{text.translate(str.maketrans(escapes))}"'
