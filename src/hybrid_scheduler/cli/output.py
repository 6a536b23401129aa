"""How things look on a terminal: numbers with units, tables of at most 80 columns, progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hybrid_scheduler.reports.numbers import quantity as quantity  # commands write output.quantity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from hybrid_scheduler.core.cluster import Cluster


def console() -> Console:
    """Return the terminal, 80 columns wide unless it says otherwise."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 80
    return Console(width=wide, highlight=False)


def table(*columns: str) -> Table:
    """Return an empty table; the first column is text, the others are numbers."""
    from rich import box
    from rich.table import Table

    built = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for number, name in enumerate(columns):
        built.add_column(name, justify="right" if number else "left", no_wrap=True)
    return built


@contextmanager
def progress(title: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on stderr while a block runs, and say once when something is being compiled."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from hybrid_scheduler.core.compiling import on_compile

    errors = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=quiet or not errors.is_terminal,
    )
    told: list[str] = []

    def say(name: str) -> None:
        if not told and errors.is_terminal and not quiet:
            bar.console.print("compiling the loop for these policies, once …", style="dim")
        told.append(name)

    on_compile.append(say)
    try:
        with bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        on_compile.remove(say)


def give_lessons(specs: Iterable[str], cluster: Cluster, mode: str, quiet: bool, warm: bool = False) -> None:
    """Train the learners among the schedulers for this cluster if the cache has no model of them, and say so."""
    from hybrid_scheduler.studies.pretraining import kept_model, missing_models

    for spec in missing_models(specs, cluster, mode, warm=warm):
        with progress(f"training {spec} for this cluster, once", quiet=quiet) as step:
            kept_model(spec, cluster, mode, step)
