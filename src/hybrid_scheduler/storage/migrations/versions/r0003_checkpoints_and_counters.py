"""Races go on from checkpoints, and numbers of runs are never given twice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables, empty."""
    op.create_table(
        "counters",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "checkpoints",
        sa.Column("run_id", SERIAL, nullable=False),
        sa.Column("at_task", sa.BigInteger(), nullable=False),
        sa.Column("changes", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_checkpoints_run_id"),
        sa.PrimaryKeyConstraint("run_id", "at_task", name="pk_checkpoints"),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("checkpoints")
    op.drop_table("counters")
