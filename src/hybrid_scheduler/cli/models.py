"""`hms models`: list model files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output


def models(
    directory: Annotated[Path, typer.Argument(help="Where to look.")] = Path("models"), json: options.Json = False
) -> None:
    """List the model files of a folder, from their manifests; no model is opened."""
    from hybrid_scheduler.learning.model_files import list_models

    problems: list[str] = []
    found = list_models(directory, problems)
    for each in problems:
        typer.echo(f"hms: {each}", err=True)
    if json:
        output.print_json({"models": found})
        return
    if not found:
        typer.echo(f"no models in {directory}: make one with hms train")
        return
    table = output.table("file", "kind", "version", "intact")
    for row in found:
        table.add_row(row["file"], row["kind"], row["version"], "yes" if row["intact"] else "NO")
    output.console().print(table)
