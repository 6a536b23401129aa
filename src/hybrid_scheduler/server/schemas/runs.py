"""Runs and models."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Number, Request, Schema
from hybrid_scheduler.server.schemas.experiments import Headline, Title


class RunLine(Schema):
    """A run in a list."""

    id: int
    kind: str = Field(description="live or comparison", examples=["live"])
    status: str = Field(
        description="running, finished, interrupted or failed; an experiment says more", examples=["finished"]
    )
    seed: int
    version: str = Field(description="Version of this program.")
    started_at: datetime
    ended_at: datetime | None
    current: bool = Field(description="Whether it is the run that goes on now.")
    title: str | None = Field(description="A name that a person gave it.")
    measured: bool = Field(description="Whether its tasks really ran, rather than in simulated time.")
    schedulers: list[str] = Field(description="Who took part at its beginning.")
    workload: str = Field(description="Preset or `upload:NAME@…` at its beginning.", examples=["mixed"])
    load: Number = Field(description="Offered load at its beginning; null: a rate was given.")
    rate: Number
    num_gpus: int | None
    tasks: int | None = Field(description="Tasks so far, of a comparison those of all seeds; null: not known yet.")
    duration: Number = Field(description="Seconds of wall time, until now if it goes on.")
    headline: Headline | None = Field(description="Who did best; null if it is not known.")


class RunChange(Request):
    """What can be changed about a run."""

    title: Title | None = Field(description="null takes the name away.")


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
RunKind = Literal["live", "comparison"]
