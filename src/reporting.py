"""`src.reporting` of the guide: writes the report of a kept run as HTML and PDF."""

from hybrid_scheduler.reports.html import to_html
from hybrid_scheduler.reports.pdf import to_pdf
from hybrid_scheduler.reports.reporting import build_document, report

__all__ = ["build_document", "report", "to_html", "to_pdf"]
