"""Runs and models."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Schema


class RunLine(Schema):
    """A run in a list."""

    id: int
    kind: str = Field(examples=["live"])
    status: str = Field(description="running, finished, interrupted or failed", examples=["finished"])
    seed: int
    version: str = Field(description="Version of this program.")
    started_at: datetime
    ended_at: datetime | None
    current: bool = Field(description="Whether it is the run that goes on now.")


class RunPage(Schema):
    """Some runs, newest first."""

    runs: list[RunLine]
    next: int | None = Field(description="Pass it as `after` for the next page; null: this is the last one.")


class SettingsChange(Schema):
    """Something that was changed while a run went on."""

    at_task: int = Field(description="Before this task.")
    at_time: float = Field(description="Simulated seconds.")
    change: dict[str, Any] = Field(examples=[{"load": 1.2}])
    created_at: datetime


class RunDetail(RunLine):
    """Everything about a run; seed, settings and changes are what it takes to repeat it."""

    owner: str | None = Field(description="The server that ran it.")
    heartbeat_at: datetime
    cluster: dict[str, Any]
    settings: dict[str, Any] = Field(description="The settings it began with.")
    changes: list[SettingsChange] = Field(description="Oldest first.")
    summary: dict[str, Any] | None = Field(description="How it ended; null while it goes on.")
    last_task: int | None = Field(description="Number of the newest task that is stored.")


class StoredModel(Schema):
    """A model that a run has left."""

    id: int
    run_id: int | None
    scheduler_name: str = Field(examples=["hybrid_ml"])
    path: str
    sha256: str
    training: dict[str, Any] = Field(description="What it was trained on and how well it does.")
    created_at: datetime


class Resumed(Schema):
    """A run that goes on."""

    run_id: int


class ModelFile(Schema):
    """A model file and what its manifest says."""

    folder: str = Field(examples=["models"])
    file: str = Field(examples=["hybrid_ml.pkl"])
    kind: str = Field(examples=["forest"])
    version: str = Field(description="Version of this program that wrote it.")
    training: dict[str, Any]
    intact: bool = Field(description="Whether the file is the one its manifest describes.")


class Models(Schema):
    """Models of runs, and model files of this machine."""

    stored: list[StoredModel] = Field(description="Newest first.")
    files: list[ModelFile]
    problems: list[str] = Field(description="Folders that cannot be read, and why.")


ExportFormat = Literal["csv", "parquet"]
