"""Alembic runs this file; the connection and its transaction come from `migrate.upgrade`."""

from __future__ import annotations

from alembic import context

from hybrid_scheduler.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,  # on SQLite too: a start that is killed half-way leaves the database as it was
)
with context.begin_transaction():
    context.run_migrations()
