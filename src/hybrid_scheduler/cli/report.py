"""`hms report`: a kept run or experiment as a document to send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import output


def report(
    directory: Annotated[Path, typer.Argument(help="A folder of hms compare, run, experiment or capacity --out.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .html or .pdf file, or a folder; RUN/report if absent.")
    ] = None,
    kind: Annotated[str, typer.Option("--format", help="html, pdf or both; a file's ending decides by itself.")] = "",
) -> None:
    """Write a report: who won, how clearly, how far from the proven bound, and how to repeat it."""
    from hybrid_scheduler.reports import reporting

    with output.progress("writing the report", quiet=False) as progress:
        written = reporting.report(directory, out, kind, progress)
    for path in written:
        typer.echo(f"wrote {path}")
