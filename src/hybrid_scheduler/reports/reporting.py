"""The report of a kept run or experiment as files; nothing is replaced, nothing half-written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import require_absent, written_whole
from hybrid_scheduler.reports import comparison_report, study_report
from hybrid_scheduler.reports.document import Document
from hybrid_scheduler.reports.html import to_html
from hybrid_scheduler.reports.material import Material, RunMaterial, load_material
from hybrid_scheduler.reports.pdf import to_pdf

Progress = Callable[[int, int], None]
KINDS = ("html", "pdf")


def report(directory: Path, out: Path | None, kind: str, progress: Progress) -> list[Path]:
    """Write the report of a run directory and return the files."""
    places = _places(directory, out, kind)
    for path in places.values():
        require_absent(path)
    document = document_of(load_material(directory), progress)
    made = {each: _made(document, each) for each in places}
    for each, path in places.items():
        require_absent(path)  # somebody may have written it while this was drawn
        with written_whole(path) as scratch:
            scratch.write_bytes(made[each])
    return list(places.values())


def document_of(material: Material, progress: Progress = lambda _done, _total: None) -> Document:
    """Return the report of a comparison or an experiment, not set yet."""
    if isinstance(material, RunMaterial):
        return comparison_report.build(material, progress)
    return study_report.build(material, progress)


def _made(document: Document, kind: str) -> bytes:
    return to_html(document).encode() if kind == "html" else to_pdf(document)


def _places(directory: Path, out: Path | None, kind: str) -> dict[str, Path]:
    """Return where each format goes: beside each other, under the name that was given."""
    if kind and kind not in (*KINDS, "both"):
        raise unknown_name("format", kind, (*KINDS, "both"))
    target = out or directory / "report"
    if target.is_dir():
        target = target / "report"
    ending = target.suffix.lstrip(".").lower()
    if ending in KINDS:
        if kind in KINDS and kind != ending:
            raise InputError(f"--out is {out} and --format is {kind}: let them say the same, or leave one out")
        wanted = KINDS if kind == "both" else (ending,)
        return {each: target.with_suffix(f".{each}") for each in wanted}
    wanted = (kind,) if kind in KINDS else KINDS
    return {each: target.with_name(f"{target.name}.{each}") for each in wanted}
