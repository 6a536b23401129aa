"""`hms backup` and `hms restore`: copy the database of the service to a file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options


def backup(
    copy: Annotated[Path, typer.Argument(help="File to write; it must not exist.")], database: options.Database = None
) -> None:
    """Copy the service's database to a file, as of one moment, while it runs."""
    from hybrid_scheduler.settings import load_settings
    from hybrid_scheduler.storage import backup as storage

    storage.backup(load_settings(database_url=database).database, copy)
    typer.echo(f"wrote {copy}, {copy.stat().st_size / 1e6:.1f} MB")


def restore(
    copy: Annotated[Path, typer.Argument(help="File that hms backup wrote.")],
    database: options.Database = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the runs that are there.")] = False,
) -> None:
    """Replace the service's database by a copy; stop the server first."""
    import asyncio

    from hybrid_scheduler.settings import load_settings
    from hybrid_scheduler.storage import backup as storage

    asyncio.run(storage.restore(load_settings(database_url=database).database, copy, force))
    typer.echo(f"restored {copy}")
