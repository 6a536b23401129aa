"""`hms`: the command line; expected errors end in one line on stderr and exit code 2."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import SchedulerError

COMMANDS = (
    ("compare", "compare", "Compare policies on the same tasks with a proven bound."),
    ("generate", "generate", "Generate tasks and write them to a CSV file."),
    ("compose", "compose", "Draw tasks whose columns come from different files."),
    ("import", "import_", "Convert files of any known format into tasks."),
    ("inspect", "inspect", "Show what a file holds: tasks, arrivals, times, histograms."),
    ("bound", "bound", "Print a time below which no schedule can end, with its proof."),
    ("jobs", "jobs", "Run wide jobs and pods on a shared cluster."),
    ("capacity", "capacity", "Find the highest arrival rate that each policy sustains."),
    ("schedulers", "schedulers", "List the policies, what they decide by and what they know."),
    ("adversary", "adversary", "Search tasks on which one policy does worst against another."),
    ("experiment", "experiment", "Run a prepared experiment over several seeds."),
    ("train", "train", "Train a policy that learns and write its model."),
    ("models", "models", "List the model files of a folder from their manifests."),
    ("profile", "profile", "Measure this machine and fit the model's physics to it."),
    ("pipeline", "pipeline", "Profile, generate, train, schedule and evaluate."),
    ("bench-suite", "bench_suite", "Run every policy on every instance of a folder."),
    ("validate", "validate", "Simulate and run the same tasks; print the simulation error."),
    ("sweep", "sweep", "Run a grid of comparisons in processes or on a Ray cluster."),
    ("run", "run", "Run real work on real devices, placed by policies."),
    ("simulate", "simulate", "Simulate a run that was kept with other policies."),
    ("repeat", "repeat", "Run a kept comparison again and check every bit."),
    ("plot", "plot", "Draw figures of a kept run."),
    ("report", "report", "Write a report of a kept run as HTML and PDF."),
    ("serve", "serve", "Serve the live race: a dashboard, REST and a WebSocket."),
    ("doctor", "doctor", "Check this machine and say what is missing."),
    ("backup", "backup", "Copy the service's database to a file."),
    ("prune", "prune", "Delete old runs of the service and give their space back."),
    ("restore", "backup:restore", "Restore the service's database from a copy."),
)
"""Name, module of this package with the function's name if it is another one, and the line of `hms --help`."""

app = typer.Typer(
    name="hms",
    help="Compare CPU/GPU scheduling policies on the same tasks, each against a proven lower bound.",
    no_args_is_help=True,
    epilog="Begin with hms compare. The first time takes longer: some of its code is compiled, once.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, target, summary in COMMANDS:
    module, _, function = target.partition(":")
    command = getattr(import_module(f"hybrid_scheduler.cli.{module}"), function or module)
    app.command(name, short_help=summary)(command)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Compare CPU/GPU scheduling policies on the same tasks, each against a proven lower bound."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def run() -> None:
    """Run the command line."""
    try:
        app()
    except SchedulerError as error:
        typer.echo(f"hms: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    except MemoryError:
        typer.echo("hms: there is not enough memory for this: take fewer tasks, or a machine with more", err=True)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, as `head` does; nothing is wrong
        sys.exit(0)
    except OSError as error:  # a name that is too long, a full disk, a file that is none
        name = f"{error.filename}: " if error.filename else ""
        typer.echo(f"hms: {name[:120]}{error.strerror or error}: check the path and the disk", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("hms: stopped", err=True)
        sys.exit(130)
