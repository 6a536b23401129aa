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

    found = list_models(directory)
    if json:
        output.print_json({"models": found})
        return
    if not found:
        typer.echo(f"no models in {directory}: make one with hms train")
        return
    table = output.table("file", "kind", "version", "intact")
    for each in found:
        table.add_row(each["file"], each["kind"], each["version"], "yes" if each["intact"] else "NO")
    output.console().print(table)
