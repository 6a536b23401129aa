"""`hms repeat`: run a kept comparison, kept jobs or a kept suite again and check that every bit is the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import output
from hybrid_scheduler.errors import SchedulerError


def repeat(
    directory: Annotated[Path, typer.Argument(help="A folder that hms compare, jobs or bench-suite --out wrote.")],
) -> None:
    """Run what was kept again from its manifest and compare the measures bit by bit."""
    from hybrid_scheduler.studies import jobs, results, suite

    with output.progress("repeating", quiet=False) as progress:
        if jobs.is_jobs(directory):
            found, same = jobs.repeat_jobs(directory, progress)
            ran = f"{len(found.outcomes)} {found.noun}s, {len(found.study.policies)} policies"
        elif jobs.is_jobs(directory, jobs.FILLING):
            filled, same = jobs.repeat_filling(directory, progress)
            ran = f"{len(filled.seeds)} seeds, {len(filled.measures)} fit rules"
        elif suite.is_scoreboard(directory):
            board, same = suite.repeat_scoreboard(directory, progress, os.cpu_count() or 1)
            ended = sum(not each.problem for each in board.scores)
            instances = output.count(len(board.instances), "instance")
            ran = f"{instances}, {len(board.policies)} policies, {ended} cells that ended"
        else:
            result = results.repeat(results.load_manifest(directory), progress)
            same = results.repeats_bit_for_bit(result, directory)
            ran = f"{len(result.outcomes)} seeds, {len(result.comparison.schedulers)} schedulers"
    if not same:
        manifest = results.read_manifest(directory)
        made = manifest["environment"]
        raise SchedulerError(
            f"{directory} was not repeated bit for bit: it was made by version {manifest['version']} with "
            f"numpy {made['numpy']}, numba {made['numba']} on {made['platform']}; use the same to repeat it"
        )
    typer.echo(f"repeated bit for bit: {ran}")
