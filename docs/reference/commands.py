"""The page of all commands: what `hms COMMAND --help` says, as tables."""

from __future__ import annotations

from typing import Any

import typer

from docs.reference.markdown import code, join, table
from hybrid_scheduler.cli.main import app

INTRODUCTION = (
    "Every command explains itself with `--help`. A mistake of the user ends with one line and exit code 2, Ctrl-C "
    "with 130; results go to standard output, progress and warnings to standard error."
)


def page() -> str:
    """Return the page."""
    group: Any = typer.main.get_command(app)  # Typer gives its commands no public type
    parts = [_command(name, command) for name, command in group.commands.items()]
    return join("# Commands", INTRODUCTION, *parts)


def _command(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name)
    usage = " ".join(["hms", name, *command.collect_usage_pieces(context)])
    records = [each.get_help_record(context) for each in command.params]
    rows = [(code(record[0]), record[1]) for record in records if record]
    said = " ".join(command.help.split())
    return join(f"## hms {name}", said, f"```text\n{usage}\n```", table(("argument or option", "meaning"), rows))
