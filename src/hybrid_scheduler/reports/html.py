"""Renders a document as one HTML file: images inside, no scripts, light and dark, fit for print."""

from __future__ import annotations

import base64
from html import escape

from hybrid_scheduler.reports import document as doc

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #566273; --line: #d5dae1; --paper: #fff; --tint: #f3f5f8;
  --mark: #0b7a96; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a6b0be; --line: #38424f; --paper: #12181f;
  --tint: #1b232d; --mark: #4fc3dd; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
.subtitle { color: var(--soft); margin: 0 0 1.4rem; }
li { margin: .3rem 0; }
code, pre { font: .88em ui-monospace, monospace; }
pre { background: var(--tint); padding: .8rem 1rem; border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption, figcaption { text-align: left; color: var(--soft); font-size: .86rem; padding: 0 0 .4rem; }
caption { caption-side: top; }
th, td { padding: .28rem .55rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { border-bottom: 2px solid var(--ink); font-weight: 600; white-space: normal; vertical-align: bottom; }
.w { text-align: left; white-space: normal; }
.breaks { white-space: normal; }
td.best { font-weight: 700; color: var(--mark); }
figure { margin: 1.6rem 0; }
figure img { width: 100%; height: auto; display: block; background: #fff; padding: .5rem; border-radius: 6px;
  border: 1px solid var(--line); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 0 1rem; }
figcaption { padding: .45rem 0 0; }
@media print { @page { margin: 16mm; } body { font-size: 10pt; background: #fff; color: #000; }
  main { max-width: none; padding: 0; } h2 { break-after: avoid; } figure, tr, pre { break-inside: avoid; }
  .wide { overflow: visible; } table { font-size: 8pt; } figure img { border: 0; padding: 0; } }
"""


def to_html(document: doc.Document) -> str:
    """Return the whole page; tables and figures are numbered as they come."""
    counts = {"Table": 0, "Figure": 0}
    body = "\n".join(_render_block(block, counts) for block in document.blocks)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(document.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(document.title)}</h1>\n<p class="subtitle">{_render_text(document.subtitle)}</p>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def _render_block(block: doc.Block, counts: dict[str, int]) -> str:
    match block:
        case doc.Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case doc.Paragraph(text):
            return f"<p>{_render_text(text)}</p>"
        case doc.Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{_render_text(item)}</li>" for item in items) + "\n</ul>"
        case doc.Code(text):
            return f"<pre>{escape(text)}</pre>"
        case doc.Table():
            return _render_table(block, _number("Table", counts))
        case doc.Pair(left, right):
            both = (_render_image(each, _number("Figure", counts)) for each in (left, right))
            return f'<div class="pair">{"".join(both)}</div>'
        case doc.Image():
            return _render_image(block, _number("Figure", counts))


def _number(kind: str, counts: dict[str, int]) -> str:
    counts[kind] += 1
    return f"{kind} {counts[kind]}"


def _render_table(table: doc.Table, number: str) -> str:
    head = "".join(
        f"<th{_classes(w=column < table.text_columns)}>{_render_text(text)}</th>"
        for column, text in enumerate(table.head)
    )
    rows = "\n".join(
        f"<tr>{''.join(_render_cell(table, row, column, text) for column, text in enumerate(texts))}</tr>"
        for row, texts in enumerate(table.rows)
    )
    caption = f"<caption><b>{number}.</b> {_render_text(table.caption)}</caption>"
    return (
        f'<div class="wide"><table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'
    )


def _render_cell(table: doc.Table, row: int, column: int, text: str) -> str:
    is_best, breaks = (row, column) in table.emphasis, "\u00a0" in text  # non-breaking spaces: it may break elsewhere
    return f"<td{_classes(w=column < table.text_columns, best=is_best, breaks=breaks)}>{_render_text(text)}</td>"


def _classes(**applies: bool) -> str:
    names = [name for name, applied in applies.items() if applied]
    return f' class="{" ".join(names)}"' if names else ""


def _render_image(image: doc.Image, number: str) -> str:
    data = base64.b64encode(image.svg).decode()
    plain = "".join(text for _, text in doc.spans(image.caption))
    return (
        f'<figure><img alt="{escape(plain)}" src="data:image/svg+xml;base64,{data}">\n'
        f"<figcaption><b>{number}.</b> {_render_text(image.caption)}</figcaption></figure>"
    )


def _render_text(text: str) -> str:
    return "".join(
        escape(part) if style == "plain" else f"<{style}>{escape(part)}</{style}>" for style, part in doc.spans(text)
    )
