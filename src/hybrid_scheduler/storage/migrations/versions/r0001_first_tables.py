"""First tables: runs, claims, tasks, results, training data, settings changes, models."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create everything; parents before their children."""
    op.create_table(
        "runs",
        *_columns(SERIAL, "id"),
        *_columns(sa.String(), "kind", "status"),
        *_columns(sa.BigInteger(), "seed"),
        *_columns(sa.String(), "version"),
        *_columns(MOMENT, "started_at"),
        sa.Column("ended_at", MOMENT),
        sa.Column("owner", sa.String()),
        *_columns(MOMENT, "heartbeat_at"),
        *_columns(DOCUMENT, "cluster", "settings"),
        sa.Column("summary", DOCUMENT),
        sa.Column("last_batch", sa.String()),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.CheckConstraint("status IN ('running', 'finished', 'interrupted', 'failed')", name=op.f("ck_runs_status")),
    )
    op.create_index("ix_runs_status", "runs", ["status"])
    op.create_table(
        "claims",
        *_columns(sa.String(), "name", "owner"),
        *_columns(MOMENT, "expires_at"),
        sa.PrimaryKeyConstraint("name", name="pk_claims"),
    )
    op.create_table(
        "tasks",
        *_columns(SERIAL, "run_id"),
        *_columns(sa.BigInteger(), "task_id"),
        *_columns(sa.Double(), "size", "compute_intensity", "memory_required", "arrival_time"),
        *_columns(DOCUMENT, "dependencies"),
        sa.PrimaryKeyConstraint("run_id", "task_id", name="pk_tasks"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_tasks_run_id"),
        sqlite_with_rowid=False,
    )
    times = ("start_time", "finish_time", "actual_time", "waiting_time", "turnaround_time")
    op.create_table(
        "scheduler_results",
        *_columns(SERIAL, "id", "run_id"),
        *_columns(sa.BigInteger(), "task_id"),
        *_columns(sa.String(), "scheduler_name"),
        *_columns(sa.SmallInteger(), "attempt"),
        sa.Column("gpu_fraction", sa.Double()),
        *_columns(sa.Integer(), "device"),
        *_columns(sa.SmallInteger(), "status"),
        *_columns(sa.Double(), *times, "energy_consumption", "execution_cost", nullable=True),
        *_columns(sa.Boolean(), "measured"),
        sa.PrimaryKeyConstraint("id", name="pk_scheduler_results"),
        sa.ForeignKeyConstraint(
            ["run_id", "task_id"], ["tasks.run_id", "tasks.task_id"], name="fk_scheduler_results_run_id"
        ),
        sa.UniqueConstraint("run_id", "task_id", "scheduler_name", "attempt", name="uq_scheduler_results"),
    )
    labels = ("optimal_gpu_fraction", "optimal_time")
    op.create_table(
        "training_data",
        *_columns(SERIAL, "id", "run_id"),
        *_columns(sa.BigInteger(), "task_id"),
        *_columns(sa.Double(), "size", "compute_intensity", "memory_required", *labels),
        sa.PrimaryKeyConstraint("id", name="pk_training_data"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_training_data_run_id"),
        sa.UniqueConstraint("run_id", "task_id", name="uq_training_data"),
    )
    op.create_table(
        "settings_changes",
        *_columns(SERIAL, "id", "run_id"),
        *_columns(sa.BigInteger(), "at_task"),
        *_columns(sa.Double(), "at_time"),
        *_columns(DOCUMENT, "change"),
        *_columns(MOMENT, "created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_settings_changes"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_settings_changes_run_id"),
    )
    op.create_index("ix_settings_changes_run_id", "settings_changes", ["run_id"])
    op.create_table(
        "models",
        *_columns(SERIAL, "id"),
        sa.Column("run_id", SERIAL),
        *_columns(sa.String(), "scheduler_name", "path", "sha256"),
        *_columns(DOCUMENT, "training"),
        *_columns(MOMENT, "created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_models_run_id"),
    )


def _columns(kind: sa.types.TypeEngine[Any], *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable) for name in names]


def downgrade() -> None:
    """Drop everything; children before their parents."""
    for name in ("models", "settings_changes", "training_data", "scheduler_results", "tasks", "claims", "runs"):
        op.drop_table(name)
