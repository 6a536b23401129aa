"""The tables: a run has tasks, a task has one result a scheduler and attempt; all else hangs on the run."""

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
    """A point in time, always with its time zone; SQLite, which knows none, is given UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn any time zone into UTC."""
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Read what came back as UTC."""
        return value and (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC))


Serial = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in an INTEGER
Document = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _must(name: str, *rest: Any) -> Column[Any]:
    return Column(name, *rest, nullable=False)


runs = Table(
    "runs",
    metadata,
    Column("id", Serial, primary_key=True),
    _must("kind", String),
    _must("status", String),
    _must("seed", BigInteger),
    _must("version", String),
    _must("started_at", Moment),
    Column("ended_at", Moment),
    Column("owner", String),
    _must("heartbeat_at", Moment),
    _must("cluster", Document),
    _must("settings", Document),
    Column("summary", Document),
    Column("last_batch", String),  # the key of the batch committed last: tells a retry that it was done already
    Column("title", String),  # a name that a person gave it
    Column("progress", Document),  # of a comparison: how far it is, and why it ended
    CheckConstraint(f"status IN ({', '.join(map(repr, STATUSES))})", name="status"),
    Index(None, "status"),
)

claims = Table(  # who runs the simulation of this database
    "claims",
    metadata,
    Column("name", String, primary_key=True),
    _must("owner", String),
    _must("expires_at", Moment),
)

tasks = Table(
    "tasks",
    metadata,
    _must("run_id", Serial, ForeignKey("runs.id")),
    _must("task_id", BigInteger),
    _must("size", Double),
    _must("compute_intensity", Double),
    _must("memory_required", Double),
    _must("arrival_time", Double),
    _must("dependencies", Document),
    PrimaryKeyConstraint("run_id", "task_id"),
    sqlite_with_rowid=False,
)

scheduler_results = Table(
    "scheduler_results",
    metadata,
    Column("id", Serial, primary_key=True),
    _must("run_id", Serial),
    _must("task_id", BigInteger),
    _must("scheduler_name", String),
    _must("attempt", SmallInteger),  # 2 and more: restarted after a device failed
    Column("gpu_fraction", Double),  # empty here and below: does not apply, as to a rejected task
    _must("device", Integer),  # index in the run's cluster, -1 is none
    _must("status", SmallInteger),
    Column("start_time", Double),
    Column("finish_time", Double),
    Column("actual_time", Double),
    Column("waiting_time", Double),
    Column("turnaround_time", Double),
    Column("energy_consumption", Double),
    Column("execution_cost", Double),
    _must("measured", Boolean),
    ForeignKeyConstraint(["run_id", "task_id"], ["tasks.run_id", "tasks.task_id"]),
    UniqueConstraint("run_id", "task_id", "scheduler_name", "attempt"),
)

training_data = Table(
    "training_data",
    metadata,
    Column("id", Serial, primary_key=True),
    _must("run_id", Serial, ForeignKey("runs.id")),
    _must("task_id", BigInteger),
    _must("size", Double),
    _must("compute_intensity", Double),
    _must("memory_required", Double),
    _must("optimal_gpu_fraction", Double),
    _must("optimal_time", Double),
    UniqueConstraint("run_id", "task_id"),
)

settings_changes = Table(
    "settings_changes",
    metadata,
    Column("id", Serial, primary_key=True),
    _must("run_id", Serial, ForeignKey("runs.id")),
    _must("at_task", BigInteger),
    _must("at_time", Double),  # simulated seconds
    _must("change", Document),
    _must("created_at", Moment),
    Index(None, "run_id"),
)

models = Table(
    "models",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("run_id", Serial, ForeignKey("runs.id")),
    _must("scheduler_name", String),
    _must("path", String),
    _must("sha256", String),
    _must("training", Document),
    _must("created_at", Moment),
)
