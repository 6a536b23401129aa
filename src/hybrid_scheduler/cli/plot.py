"""`hms plot`: draw figures of a kept run or experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import output
from hybrid_scheduler.errors import InputError


def plot(
    directory: Annotated[
        Path | None, typer.Argument(help="A folder of hms compare, run, experiment or capacity --out.")
    ] = None,
    figure: Annotated[str, typer.Option("--figure", "-f", help="A figure's name, or all.")] = "all",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file, or a folder for several; RUN/figures if absent.")
    ] = None,
    kind: Annotated[str, typer.Option("--format", help="png, svg or pdf; a file's ending decides by itself.")] = "",
    names: Annotated[bool, typer.Option("--list", help="List the figures and what they need.")] = False,
) -> None:
    """Draw one figure of a kept run, or all that can be drawn from it."""
    from hybrid_scheduler.reports import gallery

    if names:
        for each in gallery.list_figures():
            typer.echo(f"{each.name:<20} {each.summary}\n{'':<20} needs {each.requirement}")
        return
    if directory is None:
        raise InputError("no run to draw: hms plot RUN --figure NAME, with the folder of hms compare --out")
    with output.progress("drawing", quiet=False) as progress:
        written = gallery.plot(directory, figure, out, kind, progress)
    for path in written:
        typer.echo(f"wrote {path}")
