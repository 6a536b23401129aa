"""`hms prune`: delete old runs of the service's database and give their space back."""

from __future__ import annotations

from typing import Annotated

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.errors import InputError

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def prune(
    size: Annotated[
        str | None, typer.Option("--bytes", help="Largest size of the database, as 5GB; KEEP_BYTES if absent.")
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", min=0.0, help="Delete runs that ended earlier; KEEP_DAYS if absent.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted, and stop.")] = False,
    database: options.Database = None,
) -> None:
    """Delete the oldest runs until the limits hold and give their space back, whether the server runs or not.

    Runs that go on are kept, and so is the newest; if it alone is too large, its oldest tasks are deleted.
    """
    import asyncio

    from hybrid_scheduler.settings import load_settings
    from hybrid_scheduler.storage import retention
    from hybrid_scheduler.storage.store import Store

    settings = load_settings(database_url=database)
    limit = settings.keep_bytes if size is None else parse_bytes(size)

    async def run() -> None:
        store = await Store.open(settings.database)
        try:
            plan = await retention.plan_retention(store, limit, settings.keep_days if days is None else days)
            before = await retention.measure_disk(store)
            if dry_run:
                typer.echo(f"would delete {plan.describe()} of {before.used / 1e6:,.1f} MB")
                return
            await retention.apply_retention(store, plan)
            freed = before.used - (after := await retention.measure_disk(store)).used
            typer.echo(f"deleted {plan.describe()}: {freed / 1e6:,.1f} MB freed, {after.used / 1e6:,.1f} MB left")
        finally:
            await store.close()

    asyncio.run(run())


def parse_bytes(given: str) -> int:
    """Return a size such as 5GB in bytes."""
    number = given.strip().upper().rstrip("KMGTB")
    unit = given.strip().upper()[len(number) :]
    try:
        size = float(number) * UNITS[unit]
        return int(size) if 0 <= size <= 1e18 else int("none")
    except (KeyError, ValueError, OverflowError):
        raise InputError(f"--bytes is '{given}', expected a size such as 500MB or 5GB") from None
