"""`hms doctor`: look at this machine and say what is missing and how to get it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from hybrid_scheduler.doctor.check import Check

MARKS = {"ok": "ok", "note": "–", "fail": "NO"}


def doctor(json: options.Json = False) -> None:
    """Check this machine: Python, memory, the compiled loop, torch, database, Redis, dashboard, port, extras.

    Every line says what was found; below it, what to do where something is missing. The exit code is 1 if something
    keeps hms from working, else 0.
    """
    from hybrid_scheduler.doctor.examine import examine

    checks: list[Check] = []
    for check in examine():
        checks.append(check)
        if not json:
            _print(check)
    failed = [check.name for check in checks if check.state == "fail"]
    if json:
        from hybrid_scheduler.runs import to_json

        typer.echo(to_json({"ok": not failed, "checks": [asdict(check) for check in checks]}), nl=False)
    else:
        typer.echo(
            f"\nput right: {', '.join(failed)}"
            if failed
            else "\nready: hms serve shows the race, hms compare runs one"
        )
    raise typer.Exit(1 if failed else 0)


def _print(check: Check) -> None:
    typer.echo(f"{MARKS[check.state]:3} {check.name:14} {check.found}")
    if check.advice:
        typer.echo(f"{'':18} → {check.advice}")
