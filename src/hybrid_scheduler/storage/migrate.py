"""Runs the migrations inside one transaction, one server at a time."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from hybrid_scheduler.storage.errors import StorageError

_LOCK = 0x686D7331  # "hms1": the number of our advisory lock


async def upgrade(engine: AsyncEngine) -> None:
    """Bring the database to this version's tables; of two servers that start together, one waits."""
    async with engine.connect() as connection:
        # The lock is taken before anything is read, and ends with the transaction.
        if engine.dialect.name == "postgresql":
            await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        else:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
        await connection.run_sync(_upgrade)
        await connection.commit()


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    there = MigrationContext.configure(connection).get_current_heads()
    if unknown := sorted(set(there) - known):
        raise StorageError(
            f"the database was made by a newer version (revision {unknown[0]}, this one knows up to {max(known)}): "
            "upgrade hybrid-ml-scheduler or choose another database"
        )
    if max(known) not in there:
        command.upgrade(config, "head")
