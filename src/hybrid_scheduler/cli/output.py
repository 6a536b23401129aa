"""Terminal output: numbers with units, tables of at most 80 columns, progress bars on stderr."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from hybrid_scheduler.core.cluster import Cluster
    from hybrid_scheduler.workloads.formats.reader import Imported


class Step(Protocol):
    """Moves a progress bar: how much is done, of how much, and what is at work."""

    def __call__(self, done: int, total: int, what: str = "") -> None: ...  # noqa: D102  # said above


COMPILING = "compiling the loops of these policies, once: 2 to 10 s each; they are kept for the next time …"
"""What takes long the first time, and how long, as measured on two busy cores."""


def quantity(value: float, unit: str) -> str:
    """Format a number with three digits and a prefix: 0.00123 s is '1.23 ms'."""
    from hybrid_scheduler.core.formatting import format_quantity

    return format_quantity(value, unit)


def count(number: int, noun: str) -> str:
    """Format '1 seed', '10 seeds'."""
    from hybrid_scheduler.core.formatting import format_count

    return format_count(number, noun)


def describe_rows(found: Imported) -> list[str]:
    """Return lines on how many rows became tasks and why others were skipped."""
    from hybrid_scheduler.workloads.source import describe_assumptions

    tasks = len(found.tasks)
    became = f"{found.used:,} became {'one task each' if tasks == found.used else f'{tasks:,} tasks'}"
    lines = [f"{found.rows:,} rows: {became}, {found.rows - found.used:,} were skipped"]
    lines += [f"  {count:>9,} {reason}" for reason, count in found.skipped.items()]
    return [*lines, *textwrap.wrap(" ".join(describe_assumptions(found.tasks)), 80)]


def print_json(document: Any) -> None:
    """Print one strict JSON document."""
    from hybrid_scheduler.studies.results import to_json

    typer.echo(to_json(document), nl=False)


def print_lines(lines: Iterable[str]) -> None:
    """Print texts as they are, however wide the terminal is."""
    terminal = console()
    for line in lines:
        terminal.print(line, markup=False, soft_wrap=True)


def command_line() -> list[str]:
    """Return the command that is running, as manifests keep it."""
    return ["hms", *sys.argv[1:]]


def console() -> Console:
    """Return the terminal's console; 80 columns wide if the output is redirected."""
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
def progress(title: str, quiet: bool) -> Iterator[Step]:
    """Show a progress bar on stderr while a block runs, with a note if something has to be compiled first."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from hybrid_scheduler.core.compiler import on_compile

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
    compiled: list[str] = []

    def report(name: str) -> None:
        if not compiled and errors.is_terminal and not quiet:
            bar.console.print(COMPILING, style="dim", soft_wrap=True)
        compiled.append(name)

    on_compile.append(report)
    try:
        with bar:
            task = bar.add_task(title, total=None)

            def step(done: int, total: int, what: str = "") -> None:
                bar.update(task, completed=done, total=total, description=f"{title} {what}".rstrip())

            yield step
    finally:
        on_compile.remove(report)


def pretrain_missing(specs: Iterable[str], cluster: Cluster, mode: str, quiet: bool, warm: bool = False) -> None:
    """Train the learners that have no cached model for this cluster, with a progress bar."""
    from hybrid_scheduler.studies.pretraining import find_missing_models, find_or_train_model

    for spec in find_missing_models(specs, cluster, mode, warm_start=warm):
        with progress(f"training {spec} for this cluster, once", quiet=quiet) as step:
            find_or_train_model(spec, cluster, mode, step)
