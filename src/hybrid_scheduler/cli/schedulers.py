"""`hms schedulers`: the table of policies."""

from __future__ import annotations

import typer

from hybrid_scheduler.cli import options, show


def schedulers(json: options.Json = False) -> None:
    """List the policies, what they decide by and whether they know the true times."""
    from hybrid_scheduler import registry
    from hybrid_scheduler.runs import to_json

    if json:
        rows = {
            each.name: {"summary": each.summary, "knows_times": each.sighted, "module": each.target}
            for each in registry.schedulers
        }
        typer.echo(to_json({"schedulers": rows}), nl=False)
        return
    table = show.table("name", "knows times", "decides by")
    table.columns[1].justify = table.columns[2].justify = "left"
    table.columns[2].no_wrap = False
    for each in registry.schedulers:
        table.add_row(each.name, each.sighted, each.summary)
    show.console().print(table)
