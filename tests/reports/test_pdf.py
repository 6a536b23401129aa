"""The PDF holds the whole report, and no text is read as Typst markup."""

from __future__ import annotations

import pypdfium2  # type: ignore[import-untyped]  # ships no types

from hybrid_scheduler.reports.document import Document, Table
from hybrid_scheduler.reports.html import to_html
from hybrid_scheduler.reports.pdf import quote, to_pdf, to_typst
from hybrid_scheduler.reports.style import label
from reports.sample_runs import SPECS, build_run_document


def read_pages(content: bytes) -> list[str]:
    """Return the text of every page."""
    document = pypdfium2.PdfDocument(content)
    texts = [document[number].get_textpage().get_text_bounded() for number in range(len(document))]
    document.close()
    return texts


def test_the_pdf_holds_the_headline_every_policy_and_no_empty_page() -> None:
    texts = read_pages(to_pdf(build_run_document()))
    assert "mixed: 5 policies compared" in texts[0]
    assert "came first of 5 policies" in texts[0]
    assert 4 <= len(texts) <= 9
    for spec in SPECS:
        assert label(spec) in texts[0]
    assert all(len(text) > 150 for text in texts)
    assert "hms repeat RUN" in "".join(texts)


def test_text_is_never_read_as_markup() -> None:
    assert quote('a "b" \\ #c') == '"a \\"b\\" \\\\ #c"'
    strange = Table("#let x = <b>", ("a",), (("$x$ `#sys` <script>",),))
    odd = Document("odd", "", (strange,))
    assert "<script>" not in to_html(odd)
    assert "#let x = <b>" in read_pages(to_pdf(odd))[0]
    assert 'raw("#sys")' in to_typst(odd)
