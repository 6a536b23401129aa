"""Writes the report of a kept run or experiment as HTML and PDF; existing files are never replaced."""

from __future__ import annotations

from pathlib import Path

from loguru import logger

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import atomic_write, require_absent
from hybrid_scheduler.registry import how_to_install, is_installed
from hybrid_scheduler.reports import comparison_report, experiment_report, jobs_report
from hybrid_scheduler.reports.data import JobsData, ReportData, RunData, load_report_data
from hybrid_scheduler.reports.document import Document
from hybrid_scheduler.reports.html import to_html
from hybrid_scheduler.reports.pdf import to_pdf
from hybrid_scheduler.studies.compare import Progress

FORMATS = ("html", "pdf")


def report(directory: Path, out: Path | None, kind: str, progress: Progress) -> list[Path]:
    """Write the report of a run directory and return the files."""
    paths = _target_paths(directory, out, kind)
    for path in paths.values():
        require_absent(path)
    document = build_document(load_report_data(directory), progress)
    contents = {each: to_html(document).encode() if each == "html" else to_pdf(document) for each in paths}
    for each, path in paths.items():
        require_absent(path)  # it may have appeared while the figures were drawn
        with atomic_write(path) as scratch:
            scratch.write_bytes(contents[each])
    return list(paths.values())


def list_formats() -> tuple[str, ...]:
    """Return the formats that this install can write; a line in the log says how to get the others."""
    if is_installed("typst"):
        return FORMATS
    logger.warning(f"no PDF: Typst is not installed, {how_to_install('pdf')}")
    return ("html",)


def build_document(data: ReportData, progress: Progress = lambda _done, _total: None) -> Document:
    """Build the report of a comparison or an experiment, to be rendered as HTML or PDF."""
    if isinstance(data, RunData):
        return comparison_report.build(data, progress)
    if isinstance(data, JobsData):
        return jobs_report.build(data, progress)
    return experiment_report.build(data, progress)


def _target_paths(directory: Path, out: Path | None, kind: str) -> dict[str, Path]:
    """Return the file of each format: beside each other, under the given name."""
    if kind and kind not in (*FORMATS, "both"):
        raise unknown_name("format", kind, (*FORMATS, "both"))
    target = out or directory / "report"
    if target.is_dir():
        target = target / "report"
    suffix = target.suffix.lstrip(".").lower()
    if suffix in FORMATS:
        if kind in FORMATS and kind != suffix:
            raise InputError(f"--out is {out} and --format is {kind}: let them say the same, or leave one out")
        formats = FORMATS if kind == "both" else (suffix,)
        return {each: target.with_suffix(f".{each}") for each in formats}
    chosen = (kind,) if kind in FORMATS else FORMATS if kind == "both" else list_formats()
    return {each: target.with_name(f"{target.name}.{each}") for each in chosen}
