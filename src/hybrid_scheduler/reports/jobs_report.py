"""The report of wide jobs on a shared cluster: who waits least, figures, all measures, how to repeat it."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.formatting import format_interval
from hybrid_scheduler.core.job_metrics import JOB_MEASURES
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.comparison_report import build_repetition, build_threats
from hybrid_scheduler.reports.data import JobsData
from hybrid_scheduler.reports.document import Block, Bullets, Document, Heading, Image, Paragraph, Table
from hybrid_scheduler.reports.style import render_svg
from hybrid_scheduler.reports.text import quote_name
from hybrid_scheduler.studies.compare import Progress
from hybrid_scheduler.studies.jobs import JobResult

THREATS = (
    "**Everything here is simulated**: jobs run as long as the log or the preset says; networks and disks slow "
    "nobody down.",
    "The bound counts work as if it could be poured: on wide jobs it is not tight.",
)
COLUMNS = 4  # policies side by side


def build(data: JobsData, progress: Progress) -> Document:
    """Build the report of a study."""
    result = data.result
    origin, *proofs = result.describe()
    blocks: list[Block] = [
        Heading("In short"),
        Bullets((f"{result.verdict(quote_name)} (mean bounded slowdown).", *map(_end_sentence, proofs))),
        Heading("Figures"),
        Paragraph(f"The first window: {data.window.title}."),
        *_draw_images(data, progress),
        Heading("Tables"),
        Paragraph("Means over the windows, in brackets the 95 % bootstrap interval; best policy first."),
        *_build_tables(result),
        *build_threats([], THREATS),
        *build_repetition(data.manifest, "hms report RUN", "writes this report again"),
    ]
    return Document(f"{result.study.name} on a shared cluster", f"{origin}.", tuple(blocks))


def _end_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _draw_images(data: JobsData, progress: Progress) -> list[Image]:
    images, suitable = [], gallery.list_suitable(data)
    for number, each in enumerate(suitable):
        progress(number, len(suitable))
        images.append(Image(each.name, render_svg(gallery.draw(each.name, data)), each.caption))
    return images


def _build_tables(result: JobResult) -> list[Table]:
    """Build tables of all measures, a few policies side by side."""
    ranking = result.ranking()
    groups = [ranking[first : first + COLUMNS] for first in range(0, len(ranking), COLUMNS)]
    return [_build_table(result, group, "Every measure." if group[0] == ranking[0] else "More.") for group in groups]


def _build_table(result: JobResult, policies: list[str], caption: str) -> Table:
    rows = tuple(
        (name.replace("_", " "), *(format_interval(result.interval(each, name), measure.unit) for each in policies))
        for name, measure in JOB_MEASURES.items()
        if any(np.isfinite(result.values(each, name)).any() for each in result.study.policies)
    )
    return Table(caption, ("measure", *map(quote_name, policies)), rows)
