"""`hms schedulers`: the table of policies."""

from __future__ import annotations

from typing import Annotated

import typer

from hybrid_scheduler import registry
from hybrid_scheduler.cli import options, output


def schedulers(
    name: Annotated[str, typer.Argument(help="Show the options of this one.")] = "", json: options.Json = False
) -> None:
    """List the policies, what they decide by and whether they know the true times; or the options of one."""
    if name:
        _print_options(name, json)
        return
    if json:
        rows = {
            each.name: {"summary": each.summary, "knows_times": each.clairvoyant, "module": each.target}
            for each in registry.schedulers
        }
        output.print_json({"schedulers": rows})
        return
    table = output.table("name", "knows times", "decides by")
    table.columns[1].justify = table.columns[2].justify = "left"
    table.columns[2].no_wrap = False
    for each in registry.schedulers:
        table.add_row(each.name, each.clairvoyant, each.summary)
    output.console().print(table)


def _print_options(name: str, json: bool) -> None:
    found = registry.schedulers.options(name)
    if json:
        rows = {each.name: {"type": each.kind, "default": each.default, "help": each.help} for each in found}
        output.print_json({"scheduler": name, "options": rows})
        return
    if not found:
        typer.echo(f"{name} has no options")
        return
    table = output.table("option", "default", "meaning")
    table.columns[2].justify = "left"
    table.columns[2].no_wrap = False
    for each in found:
        table.add_row(each.name, str(each.default), each.help)
    output.console().print(table)
    typer.echo(f"such as: hms compare -s {name}:{found[0].name}={found[0].default}")
