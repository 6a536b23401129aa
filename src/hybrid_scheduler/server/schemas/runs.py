"""Runs, their figures with intervals, comparisons of runs, experiments, and the models that runs leave."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from hybrid_scheduler.live.settings import MAX_GPUS, MAX_LOAD, MAX_RATE, MIN_LOAD, MIN_RATE
from hybrid_scheduler.server.schemas.base import MAX_ID, Number, Request, Schema
from hybrid_scheduler.server.schemas.race import SchedulerSpec, check_schedulers

MAX_SEEDS, MAX_TASKS, MAX_TITLE = 30, 100_000, 200
ExperimentState = Literal["queued", "running", "finished", "failed", "cancelled", "interrupted"]
ExportFormat = Literal["csv", "parquet"]
Method = Literal["seeds", "batch_means"]
Mode = Literal["queued", "isolated"]
RunKind = Literal["live", "comparison"]
Seed = Annotated[int, Field(ge=0, le=MAX_ID)]
Title = Annotated[str, Field(min_length=1, max_length=MAX_TITLE, pattern=r"\S", description="A name for people.")]


class Headline(Schema):
    """The best scheduler, by mean turnaround."""

    scheduler: str = Field(examples=["eft"])
    mean_turnaround: Number = Field(description="Seconds from arrival to finish.")
    tied: list[str] = Field(default=[], description="Schedulers of a comparison that cannot be told apart from it.")


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
    current: bool = Field(description="Whether it is the current run.")
    title: str | None = Field(description="A name that a person gave it.")
    measured: bool = Field(description="Whether its tasks really ran, rather than in simulated time.")
    schedulers: list[str] = Field(description="Schedulers at its start.")
    workload: str = Field(description="Preset or `upload:NAME@…` at its start.", examples=["mixed"])
    load: Number = Field(description="Offered load at its start; null: a rate was given.")
    rate: Number
    num_gpus: int | None
    tasks: int | None = Field(description="Tasks so far, of a comparison those of all seeds; null: not known yet.")
    duration: Number = Field(description="Seconds of wall time, until now if it is running.")
    headline: Headline | None = Field(description="The best scheduler; null if it is not known yet.")


class RunPage(Schema):
    """Some runs, newest first."""

    runs: list[RunLine]
    next: int | None = Field(description="Pass it as `after` for the next page; null: this is the last one.")


class RunChange(Request):
    """What can be changed about a run."""

    title: Title | None = Field(description="null removes the name.")


class SettingsChange(Schema):
    """A change of the settings during a run."""

    at_task: int = Field(description="Before this task.")
    at_time: float = Field(description="Simulated seconds.")
    change: dict[str, Any] = Field(examples=[{"load": 1.2}])
    created_at: datetime


class RunDetail(RunLine):
    """Everything about a run; seed, settings and changes are what it takes to repeat it."""

    owner: str | None = Field(description="The server that ran it.")
    heartbeat_at: datetime
    cluster: dict[str, Any]
    settings: dict[str, Any] = Field(description="The settings at its start.")
    changes: list[SettingsChange] = Field(description="Oldest first.")
    summary: dict[str, Any] | None = Field(description="Its results; null while it is running.")
    last_task: int | None = Field(description="Number of the newest task that is stored.")


class Resumed(Schema):
    """A run that was resumed."""

    run_id: int


class MeasureInfo(Schema):
    """A measure and its meaning."""

    name: str = Field(examples=["mean_turnaround"])
    unit: str = Field(examples=["s"])
    meaning: str = Field(examples=["mean time from arrival to finish"])
    less_is_better: bool


class Estimate(Schema):
    """A measure with its 95 % interval."""

    mean: Number
    low: Number = Field(description="null: there is no interval, as for a single number.")
    high: Number
    n: int = Field(description="Number of seeds or batches.")


class SchedulerEstimates(Schema):
    """One scheduler of a run."""

    scheduler: str = Field(examples=["eft"])
    estimates: dict[str, Estimate] = Field(description="By measure; unknown ones are left out.")


class RunFigures(Schema):
    """The figures of a run."""

    run_id: int
    title: str | None
    kind: str = Field(examples=["comparison"])
    status: str = Field(examples=["finished"])
    workload: str = Field(examples=["mixed"])
    load: Number
    rate: Number
    num_gpus: int | None
    seeds: list[int] = Field(description="Seeds of a comparison; of a live run its one.")
    tasks: int = Field(description="Tasks of a seed, or of a live run those that are stored.")
    method: Method = Field(
        description="seeds: mean over the seeds, percentile bootstrap of 2000 resamples. batch_means: the tasks in "
        "their order are cut into batches of equal size, the first is dropped as warm-up, and the means of the "
        "others are resampled in the same way."
    )
    explanation: str = Field(description="How the intervals were made, for people.")
    measures: list[MeasureInfo]
    schedulers: list[SchedulerEstimates] = Field(description="Best mean turnaround first.")


class Difference(Schema):
    """How one scheduler differs between a run and the baseline."""

    scheduler: str
    measure: str
    run_id: int
    baseline: int
    mean: Number = Field(description="Of the run minus that of the baseline.")
    low: Number
    high: Number
    relative: Number = Field(description="The difference against the baseline's mean, 0.1 is 10 % more.")
    paired: bool = Field(description="Whether both ran on the same tasks from the same seeds.")
    differs: bool = Field(description="Whether the interval excludes 0.")


class RunComparison(Schema):
    """A comparison of several runs."""

    baseline: int = Field(description="The first run that was named.")
    runs: list[RunFigures]
    differences: list[Difference]
    notes: list[str] = Field(description="What to keep in mind, such as runs on different workloads.")


class ExperimentCreate(Request):
    """An experiment to run."""

    title: Title | None = Field(None, examples=["long tails overnight"])
    schedulers: list[SchedulerSpec] = Field(
        min_length=1, max_length=20, description="Schedulers to compare.", examples=[["greedy", "eft"]]
    )
    workload: str = Field("mixed", max_length=200, description="A preset, or `upload:NAME`.", examples=["long_tail"])
    load: float | None = Field(
        None, ge=MIN_LOAD, le=MAX_LOAD, description="Offered load; or give a rate.", examples=[0.8]
    )
    rate: float | None = Field(
        None, ge=MIN_RATE, le=MAX_RATE, description="Tasks per simulated second.", examples=[None]
    )
    num_gpus: int = Field(4, ge=0, le=MAX_GPUS, description="Number of GPUs.")
    tasks: int | None = Field(
        None, ge=1, le=MAX_TASKS, description="Tasks of a seed; null: as many as the preset or file has."
    )
    seeds: (
        Annotated[int, Field(ge=1, le=MAX_SEEDS)] | Annotated[list[Seed], Field(min_length=1, max_length=MAX_SEEDS)]
    ) = Field(10, description="How many seeds, counted from 0, or a list of them.", examples=[10])
    mode: Mode = Field("queued", description="queued: devices have queues; isolated: every task has them to itself.")

    _check_schedulers = field_validator("schedulers")(check_schedulers)


class Experiment(Schema):
    """An experiment and its progress; its results are the figures of the run with the same number."""

    id: int = Field(description="Number of its run.")
    title: str | None
    state: ExperimentState
    done: int = Field(description="Seeds that are done.")
    of: int = Field(description="Seeds in all.")
    ahead: int | None = Field(description="Experiments queued before it; null if it is not queued.")
    error: str = Field(description="Why it failed; empty: it did not.", examples=[""])
    schedulers: list[str]
    workload: str = Field(examples=["long_tail"])
    load: Number
    rate: Number
    num_gpus: int
    tasks: int | None = Field(description="Tasks of a seed; null: as many as the preset or file has.")
    seeds: list[int]
    mode: Mode
    asked_at: datetime
    ended_at: datetime | None
    headline: Headline | None = Field(description="null until it is finished")


class ExperimentPage(Schema):
    """Some experiments, newest first."""

    experiments: list[Experiment]
    next: int | None = Field(description="Pass it as `after` for the next page; null: this is the last one.")
    waiting: int = Field(description="Experiments that are queued or running.")
    most_waiting: int = Field(description="More are refused.")


class StoredModel(Schema):
    """A model that a run has trained."""

    id: int
    run_id: int | None
    scheduler_name: str = Field(examples=["hybrid_ml"])
    path: str
    sha256: str
    training: dict[str, Any] = Field(description="What it was trained on, and its validation errors.")
    created_at: datetime


class ModelFile(Schema):
    """A model file and its manifest."""

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
