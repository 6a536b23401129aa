"""`hms pipeline`: from this machine's hardware to a report, in five phases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress

    from hybrid_scheduler.pipeline.phases import Phase
    from hybrid_scheduler.pipeline.workspace import Record

TITLE = 19  # letters of a phase's title
INDENT = " " * 4


def pipeline(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A file of options; config.yaml if there is one.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look in under a minute.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of everything that is drawn by lot.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder in which data/ and models/ are written.")] = Path(),
    start: Annotated[
        str,
        typer.Option(
            "--from",
            help="Do this phase and all after it again: profiling, workload, training, scheduling or evaluation.",
        ),
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace results of before; without it they move to data/earlier.")
    ] = False,
) -> None:
    """Profile, generate, train, schedule, evaluate; what is finished is not done again, so it can be interrupted."""
    from hybrid_scheduler.pipeline.config import read_options
    from hybrid_scheduler.pipeline.pipeline import Plan, run

    options = read_options(config, quick=quick, seed=seed)
    with _bar() as bar:
        watcher = Follower(bar)
        try:
            records = run(Plan(options, out, start, force), watcher)
        except KeyboardInterrupt:
            typer.echo("finished phases are kept: the same command goes on with the next one", err=True)
            raise
    _conclude(records[-1], options.mode, watcher, out)


class Follower:
    """Prints a line for every phase that ends, and moves the bar of the one that is at work."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.seconds, self.done = 0.0, 0
        self._task = bar.add_task("", total=None, visible=False)

    def begin(self, number: int, phase: Phase, reason: str) -> None:
        """Show the bar of a phase."""
        if reason:
            self._say(f"{number + 1}  {phase.title:<{TITLE}} is done again: {reason}")
        self.bar.reset(self._task, total=None, description=f"{number + 1}  {phase.title}", visible=True)

    def step(self, done: int, total: int) -> None:
        """Move the bar."""
        self.bar.update(self._task, completed=done, total=total)

    def kept(self, lines: list[str]) -> None:
        """Say where results of before are now."""
        for line in lines:
            self._say(f"{INDENT}kept: {line}")

    def end(self, number: int, phase: Phase, record: Record, fresh: bool) -> None:
        """Say what a phase found and how long it took."""
        from hybrid_scheduler.pipeline.summary import in_words

        self.bar.update(self._task, visible=False)
        took = record.measured["seconds"]
        if fresh:
            self.seconds, self.done = self.seconds + took, self.done + 1
        time = output.quantity(took, "s") if fresh else "before"
        self._say(f"{number + 1}  {phase.title:<{TITLE}} {time:>8}  {in_words(record)}")

    def _say(self, text: str) -> None:
        self.bar.console.print(text, markup=False, soft_wrap=True)


def _bar() -> Progress:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = output.console()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _conclude(record: Record, mode: str, watcher: Follower, out: Path) -> None:
    from hybrid_scheduler.pipeline.summary import ranking, verdict

    score = "time / best" if mode == "isolated" else "makespan / bound"
    table = output.table("policy", score, "vs round robin", "vs greedy", "balance")
    for row in ranking(record, mode):
        table.add_row(*row)
    console = output.console()
    console.print("\nsimulated, new tasks, 95 % intervals; 1.000 is proved to be unbeatable\n", highlight=False)
    console.print(table)
    for line in verdict(record):
        console.print(line, markup=False)
    done = (
        f"{watcher.done} of 5 phases in {output.quantity(watcher.seconds, 's')}" if watcher.done else "nothing to do"
    )
    report = next((out / place for place in record.outputs if place.endswith(("report.html", "report.pdf"))), None)
    results = f"open {report}" if report else f"results are in {out / 'data' / 'results'}"
    console.print(f"{done}; {results}", markup=False, soft_wrap=True)
