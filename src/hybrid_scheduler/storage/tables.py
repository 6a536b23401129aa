"""The tables: a run has tasks, and a task has a result for each scheduler and attempt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

STATUSES = ("running", "finished", "interrupted", "failed")

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


class Moment(TypeDecorator[datetime]):
    """A point in time with its time zone; stored as UTC, since SQLite has no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC."""
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Mark as UTC."""
        return value and (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC))


Serial = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows only in an INTEGER column
Document = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _not_null(name: str, *rest: Any) -> Column[Any]:
    return Column(name, *rest, nullable=False)


def _doubles(*names: str, nullable: bool = False) -> list[Column[Any]]:
    return [Column(name, Double, nullable=nullable) for name in names]


runs = Table(
    "runs",
    metadata,
    Column("id", Serial, primary_key=True),
    _not_null("kind", String),
    _not_null("status", String),
    _not_null("seed", BigInteger),
    _not_null("version", String),
    _not_null("started_at", Moment),
    Column("ended_at", Moment),
    Column("owner", String),
    _not_null("heartbeat_at", Moment),
    _not_null("cluster", Document),
    _not_null("settings", Document),
    Column("summary", Document),
    Column("last_batch", String),  # the key of the batch committed last, by which a retry is recognised
    Column("title", String),  # given by a user
    Column("progress", Document),  # of a comparison, and why it ended
    CheckConstraint(f"status IN ({', '.join(map(repr, STATUSES))})", name="status"),
    Index(None, "status"),
)

claims = Table(  # which server runs the simulation of this database
    "claims",
    metadata,
    Column("name", String, primary_key=True),
    _not_null("owner", String),
    _not_null("expires_at", Moment),
)

counters = Table(  # the largest number that was ever given, where the database itself would give it again
    "counters",
    metadata,
    Column("name", String, primary_key=True),
    _not_null("value", BigInteger),
)

checkpoints = Table(  # the state of a race, from which it goes on
    "checkpoints",
    metadata,
    _not_null("run_id", Serial, ForeignKey("runs.id")),
    _not_null("at_task", BigInteger),
    _not_null("changes", BigInteger),  # commands that had been executed
    _not_null("version", String),
    _not_null("state", LargeBinary),
    PrimaryKeyConstraint("run_id", "at_task"),
)

tasks = Table(
    "tasks",
    metadata,
    _not_null("run_id", Serial, ForeignKey("runs.id")),
    _not_null("task_id", BigInteger),
    *_doubles("size", "compute_intensity", "memory_required", "arrival_time"),
    _not_null("dependencies", Document),
    PrimaryKeyConstraint("run_id", "task_id"),
    sqlite_with_rowid=False,
)

scheduler_results = Table(
    "scheduler_results",
    metadata,
    Column("id", Serial, primary_key=True),
    _not_null("run_id", Serial),
    _not_null("task_id", BigInteger),
    _not_null("scheduler_name", String),
    _not_null("attempt", SmallInteger),  # 2 and more: restarted after a device failed
    Column("gpu_fraction", Double),  # NULL here and below: does not apply, as to a rejected task
    _not_null("device", Integer),  # index in the run's cluster, -1 is none
    _not_null("status", SmallInteger),
    *_doubles("start_time", "finish_time", "actual_time", "waiting_time", "turnaround_time", nullable=True),
    *_doubles("energy_consumption", "execution_cost", nullable=True),
    _not_null("measured", Boolean),
    ForeignKeyConstraint(["run_id", "task_id"], ["tasks.run_id", "tasks.task_id"]),
    UniqueConstraint("run_id", "task_id", "scheduler_name", "attempt"),
)

training_data = Table(
    "training_data",
    metadata,
    Column("id", Serial, primary_key=True),
    _not_null("run_id", Serial, ForeignKey("runs.id")),
    _not_null("task_id", BigInteger),
    *_doubles("size", "compute_intensity", "memory_required", "optimal_gpu_fraction", "optimal_time"),
    UniqueConstraint("run_id", "task_id"),
)

settings_changes = Table(
    "settings_changes",
    metadata,
    Column("id", Serial, primary_key=True),
    _not_null("run_id", Serial, ForeignKey("runs.id")),
    _not_null("at_task", BigInteger),
    _not_null("at_time", Double),  # simulated seconds
    _not_null("change", Document),
    _not_null("created_at", Moment),
    Index(None, "run_id"),
)

models = Table(
    "models",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("run_id", Serial, ForeignKey("runs.id")),
    _not_null("scheduler_name", String),
    _not_null("path", String),
    _not_null("sha256", String),
    _not_null("training", Document),
    _not_null("created_at", Moment),
)
