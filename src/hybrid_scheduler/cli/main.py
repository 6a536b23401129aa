"""`hms`: the door to everything; errors end in one line and exit code 2."""

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
    help="Race CPU/GPU scheduling policies on one stream of tasks and see how far each is from a proven optimum.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compare", short_help="Race policies on the same tasks; how far is each from the best?")(compare.compare)
app.command("generate", short_help="Draw tasks and write them to a CSV file.")(generate.generate)
app.command("compose", short_help="Draw tasks whose columns come from different files.")(compose.compose)
app.command("import", short_help="Turn files of any known format into tasks, rows accounted for.")(import_.import_)
app.command("inspect", short_help="Show what a file holds: tasks, arrivals, times, a picture.")(inspect.inspect)
app.command("bound", short_help="Print a time below which no schedule can end, with its proof.")(bound.bound)
app.command("capacity", short_help="Find the highest arrival rate that each policy sustains.")(capacity.capacity)
app.command("schedulers", short_help="List the policies, what they decide by and what they know.")(
    schedulers.schedulers
)
app.command("experiment", short_help="Run a study of the learners over several seeds.")(experiment.experiment)
app.command("train", short_help="Train a policy that learns and write its model.")(train.train)
app.command("models", short_help="List the model files of a folder from their manifests.")(models.models)
app.command("profile", short_help="Measure this machine and fit the model's physics to it.")(profile.profile)
app.command("pipeline", short_help="Profile, generate, train, schedule, evaluate, in a row.")(pipeline.pipeline)
app.command("bench-suite", short_help="Run every policy on every instance of a folder: a scoreboard.")(
    bench_suite.bench_suite
)
app.command("validate", short_help="Simulate and run the same tasks; how far off was simulation?")(validate.validate)
app.command("sweep", short_help="Spread many comparisons over processes or a Ray cluster.")(sweep.sweep)
app.command("run", short_help="Run real work on real devices, placed by a policy.")(run_command.run)
app.command("repeat", short_help="Run a kept comparison again and compare to the last bit.")(repeat.repeat)
app.command("plot", short_help="Draw figures of a kept run.")(plot.plot)
app.command("report", short_help="Write a report of a kept run as HTML and PDF.")(report.report)
app.command("serve", short_help="Serve the live race: a dashboard, REST and a WebSocket.")(serve.serve)
app.command("doctor", short_help="Check this machine and say what is missing.")(doctor.doctor)
app.command("backup", short_help="Copy the service's database to a file.")(backup.backup)
app.command("restore", short_help="Put a copy in the place of the service's database.")(backup.restore)


@app.callback(invoke_without_command=True)
def front_door(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Race CPU/GPU scheduling policies on one stream of tasks and see how far each is from a proven optimum."""
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
