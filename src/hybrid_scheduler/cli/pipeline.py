"""`hms pipeline`: from this machine's hardware to a report, in five phases."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_scheduler.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress

    from hybrid_scheduler.pipeline.phases import Phase
    from hybrid_scheduler.pipeline.pipeline import Record

TITLE = 19  # letters of a phase's title


def pipeline(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A file of options; config.yaml if absent.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look in under a minute.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of everything random.")] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Your own tasks: any file that hms compare takes.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder in which data/ and models/ are written.")] = Path(),
    start: Annotated[
        str,
        typer.Option(
            "--from",
            help="Run this phase and all after it again: profiling, workload, training, scheduling or evaluation.",
        ),
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace earlier results; without it they move to data/earlier.")
    ] = False,
) -> None:
    """Profile, generate, train, schedule and evaluate; an interrupted run continues with the missing phase."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from hybrid_scheduler.pipeline.config import read_options
    from hybrid_scheduler.pipeline.pipeline import Plan, run

    with _log_to_file(out):
        options = read_options(config, quick=quick, seed=seed, trace=trace)
        console = output.console()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            printer = PhasePrinter(bar)
            try:
                records = run(Plan(options, out, start, force), printer)
            except KeyboardInterrupt:
                typer.echo("finished phases are kept: the same command continues with the next one", err=True)
                raise
    _print_summary(records[-1], printer, out)


@contextmanager
def _log_to_file(out: Path) -> Iterator[None]:
    """Log to `logs/app.log` below the folder while a block runs; the screen shows warnings only."""
    from loguru import logger

    from hybrid_scheduler.server.logs import FILE, RETENTION, ROTATION

    logger.remove()
    screen = logger.add(sys.stderr, format="{message}", level="WARNING")
    options: dict[str, Any] = {"format": FILE, "rotation": ROTATION, "retention": RETENTION, "level": "DEBUG"}
    file = logger.add(out / "logs" / "app.log", delay=True, **options)  # no file before there is a line
    try:
        yield
    finally:
        logger.remove(screen)
        logger.remove(file)
        logger.add(sys.stderr)


class PhasePrinter:
    """Prints a line for every phase that ends, and shows the progress of the running one."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.seconds, self.done = 0.0, 0
        self._task = bar.add_task("", total=None, visible=False)

    def begin(self, number: int, phase: Phase, reason: str) -> None:
        """Show the bar of a phase."""
        if reason:
            self._print(f"{number + 1}  {phase.title:<{TITLE}} is run again: {reason}")
        self.bar.reset(self._task, total=None, description=f"{number + 1}  {phase.title}", visible=True)

    def step(self, done: int, total: int) -> None:
        """Update the bar."""
        self.bar.update(self._task, completed=done, total=total)

    def note_moved(self, lines: list[str]) -> None:
        """Print where earlier results were moved to."""
        for line in lines:
            self._print(f"    kept: {line}")

    def end(self, number: int, phase: Phase, record: Record, fresh: bool) -> None:
        """Print what a phase found and how long it took."""
        from hybrid_scheduler.pipeline.pipeline import describe_phase

        self.bar.update(self._task, visible=False)
        took = record.measured["seconds"]
        if fresh:
            self.seconds, self.done = self.seconds + took, self.done + 1
        time = output.quantity(took, "s") if fresh else "before"
        self._print(f"{number + 1}  {phase.title:<{TITLE}} {time:>8}  {describe_phase(record)}")

    def _print(self, text: str) -> None:
        from loguru import logger

        logger.info(text)
        self.bar.console.print(text, markup=False, soft_wrap=True)


def _print_summary(record: Record, printer: PhasePrinter, out: Path) -> None:
    from hybrid_scheduler.pipeline.evaluate import list_conclusions, list_rows
    from hybrid_scheduler.pipeline.phases import COMPARISON
    from hybrid_scheduler.studies.results import load_result

    result = load_result(out / COMPARISON)
    score = "time / best" if result.comparison.mode == "isolated" else "makespan / bound"
    table = output.table("policy", score, "vs round robin", "vs greedy", "balance")
    for row in list_rows(result):
        table.add_row(*row)
    console = output.console()
    console.print("\nsimulated, new tasks, 95 % intervals; 1.000 is proved to be unbeatable\n", highlight=False)
    console.print(table)
    for line in list_conclusions(result, record.facts.get("shift")):
        console.print(line, markup=False)
    time = output.quantity(printer.seconds, "s")
    done = f"{printer.done} of 5 phases in {time}" if printer.done else "nothing to do"
    report = next((out / place for place in record.outputs if place.endswith(("report.html", "report.pdf"))), None)
    where = f"open {report}" if report else f"results are in {out / 'data' / 'results'}"
    console.print(f"{done}; {where}", markup=False, soft_wrap=True)
