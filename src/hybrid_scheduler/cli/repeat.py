"""`hms repeat`: run a kept comparison again and check that every bit is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import output
from hybrid_scheduler.errors import SchedulerError


def repeat(directory: Annotated[Path, typer.Argument(help="A folder that hms compare --out wrote.")]) -> None:
    """Run a kept comparison again from its manifest and compare the measures bit by bit."""
    from hybrid_scheduler.studies import results

    manifest = results.load_manifest(directory)
    with output.progress("repeating", quiet=False) as progress:
        result = results.repeat(manifest, progress)
    if not results.repeats_bit_for_bit(result, directory):
        made = manifest["environment"]
        raise SchedulerError(
            f"{directory} was not repeated bit for bit: it was made by version {manifest['version']} with "
            f"numpy {made['numpy']}, numba {made['numba']} on {made['platform']}; use the same to repeat it"
        )
    typer.echo(f"repeated bit for bit: {len(result.outcomes)} seeds, {len(result.comparison.schedulers)} schedulers")
