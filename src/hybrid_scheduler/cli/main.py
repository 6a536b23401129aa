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
app.command("compare")(compare.compare)
app.command("generate")(generate.generate)
app.command("compose")(compose.compose)
app.command("import")(import_.import_)
app.command("inspect")(inspect.inspect)
app.command("bound")(bound.bound)
app.command("capacity")(capacity.capacity)
app.command("schedulers")(schedulers.schedulers)
app.command("experiment")(experiment.experiment)
app.command("train")(train.train)
app.command("models")(models.models)
app.command("profile")(profile.profile)
app.command("pipeline")(pipeline.pipeline)
app.command("bench-suite")(bench_suite.bench_suite)
app.command("validate")(validate.validate)
app.command("sweep")(sweep.sweep)
app.command("run")(run_command.run)
app.command("repeat")(repeat.repeat)
app.command("plot")(plot.plot)
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("doctor")(doctor.doctor)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)


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
