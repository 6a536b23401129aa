"""First tables: runs, claims, tasks, results, training data, settings changes, models."""

from __future__ import annotations

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
    _runs()
    _tasks()
    _beside_the_run()


def downgrade() -> None:
    """Drop everything; children before their parents."""
    for name in ("models", "settings_changes", "training_data", "scheduler_results", "tasks", "claims", "runs"):
        op.drop_table(name)


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT),
        sa.Column("owner", sa.String()),
        sa.Column("heartbeat_at", MOMENT, nullable=False),
        sa.Column("cluster", DOCUMENT, nullable=False),
        sa.Column("settings", DOCUMENT, nullable=False),
        sa.Column("summary", DOCUMENT),
        sa.Column("last_batch", sa.String()),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.CheckConstraint("status IN ('running', 'finished', 'interrupted', 'failed')", name=op.f("ck_runs_status")),
    )
    op.create_index("ix_runs_status", "runs", ["status"])
    op.create_table(
        "claims",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_claims"),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("run_id", SERIAL, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.Double(), nullable=False),
        sa.Column("compute_intensity", sa.Double(), nullable=False),
        sa.Column("memory_required", sa.Double(), nullable=False),
        sa.Column("arrival_time", sa.Double(), nullable=False),
        sa.Column("dependencies", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "task_id", name="pk_tasks"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_tasks_run_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "scheduler_results",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("run_id", SERIAL, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("scheduler_name", sa.String(), nullable=False),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("gpu_fraction", sa.Double()),
        sa.Column("device", sa.Integer(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("start_time", sa.Double()),
        sa.Column("finish_time", sa.Double()),
        sa.Column("actual_time", sa.Double()),
        sa.Column("waiting_time", sa.Double()),
        sa.Column("turnaround_time", sa.Double()),
        sa.Column("energy_consumption", sa.Double()),
        sa.Column("execution_cost", sa.Double()),
        sa.Column("measured", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scheduler_results"),
        sa.ForeignKeyConstraint(
            ["run_id", "task_id"], ["tasks.run_id", "tasks.task_id"], name="fk_scheduler_results_run_id"
        ),
        sa.UniqueConstraint("run_id", "task_id", "scheduler_name", "attempt", name="uq_scheduler_results"),
    )


def _beside_the_run() -> None:
    op.create_table(
        "training_data",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("run_id", SERIAL, nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.Double(), nullable=False),
        sa.Column("compute_intensity", sa.Double(), nullable=False),
        sa.Column("memory_required", sa.Double(), nullable=False),
        sa.Column("optimal_gpu_fraction", sa.Double(), nullable=False),
        sa.Column("optimal_time", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_training_data"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_training_data_run_id"),
        sa.UniqueConstraint("run_id", "task_id", name="uq_training_data"),
    )
    op.create_table(
        "settings_changes",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("run_id", SERIAL, nullable=False),
        sa.Column("at_task", sa.BigInteger(), nullable=False),
        sa.Column("at_time", sa.Double(), nullable=False),
        sa.Column("change", DOCUMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_settings_changes"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_settings_changes_run_id"),
    )
    op.create_index("ix_settings_changes_run_id", "settings_changes", ["run_id"])
    op.create_table(
        "models",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("run_id", SERIAL),
        sa.Column("scheduler_name", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("training", DOCUMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_models_run_id"),
    )
