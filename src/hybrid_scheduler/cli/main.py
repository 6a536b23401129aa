"""`hms`: the command line; expected errors end in one line on stderr and exit code 2."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hybrid_scheduler import __version__
from hybrid_scheduler.cli import (
    backup,
    bench_suite,
    bound,
    capacity,
    compare,
    compose,
    doctor,
    experiment,
    generate,
    import_,
    inspect,
    models,
    pipeline,
    plot,
    profile,
    repeat,
    report,
    schedulers,
    serve,
    sweep,
    train,
    validate,
)
from hybrid_scheduler.cli import run as run_command
from hybrid_scheduler.errors import SchedulerError

app = typer.Typer(
    name="hms",
    help="Compare CPU/GPU scheduling policies on the same tasks, each against a proven lower bound.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compare", short_help="Compare policies on the same tasks with a proven bound.")(compare.compare)
app.command("generate", short_help="Generate tasks and write them to a CSV file.")(generate.generate)
app.command("compose", short_help="Draw tasks whose columns come from different files.")(compose.compose)
app.command("import", short_help="Convert files of any known format into tasks.")(import_.import_)
app.command("inspect", short_help="Show what a file holds: tasks, arrivals, times, histograms.")(inspect.inspect)
app.command("bound", short_help="Print a time below which no schedule can end, with its proof.")(bound.bound)
app.command("capacity", short_help="Find the highest arrival rate that each policy sustains.")(capacity.capacity)
app.command("schedulers", short_help="List the policies, what they decide by and what they know.")(
    schedulers.schedulers
)
app.command("experiment", short_help="Run a prepared experiment over several seeds.")(experiment.experiment)
app.command("train", short_help="Train a policy that learns and write its model.")(train.train)
app.command("models", short_help="List the model files of a folder from their manifests.")(models.models)
app.command("profile", short_help="Measure this machine and fit the model's physics to it.")(profile.profile)
app.command("pipeline", short_help="Profile, generate, train, schedule and evaluate.")(pipeline.pipeline)
app.command("bench-suite", short_help="Run every policy on every instance of a folder.")(bench_suite.bench_suite)
app.command("validate", short_help="Simulate and run the same tasks; print the simulation error.")(validate.validate)
app.command("sweep", short_help="Run a grid of comparisons in processes or on a Ray cluster.")(sweep.sweep)
app.command("run", short_help="Run real work on real devices, placed by policies.")(run_command.run)
app.command("repeat", short_help="Run a kept comparison again and check every bit.")(repeat.repeat)
app.command("plot", short_help="Draw figures of a kept run.")(plot.plot)
app.command("report", short_help="Write a report of a kept run as HTML and PDF.")(report.report)
app.command("serve", short_help="Serve the live race: a dashboard, REST and a WebSocket.")(serve.serve)
app.command("doctor", short_help="Check this machine and say what is missing.")(doctor.doctor)
app.command("backup", short_help="Copy the service's database to a file.")(backup.backup)
app.command("restore", short_help="Restore the service's database from a copy.")(backup.restore)


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
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
    except KeyboardInterrupt:
        typer.echo("hms: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, as `head` does; nothing is wrong
        sys.exit(0)
