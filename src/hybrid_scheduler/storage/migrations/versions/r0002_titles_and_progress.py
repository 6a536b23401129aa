"""Runs get a title, and comparisons say how far they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"

DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Add the columns, empty for the runs that are there."""
    op.add_column("runs", sa.Column("title", sa.String()))
    op.add_column("runs", sa.Column("progress", DOCUMENT))


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("runs", "progress")
    op.drop_column("runs", "title")
