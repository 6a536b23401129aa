"""Experiments: comparisons over seeds that the server runs beside the live race."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, field_validator

from hybrid_scheduler.engine.settings import MOST_GPUS
from hybrid_scheduler.server.schemas.base import Number, Request, Schema
from hybrid_scheduler.server.schemas.control import MOST_SEED, known_schedulers

MOST_SEEDS, MOST_TASKS, MOST_TITLE = 30, 100_000, 200
ExperimentState = Literal["queued", "running", "finished", "failed", "cancelled", "interrupted"]
Mode = Literal["queued", "isolated"]
Seed = Annotated[int, Field(ge=0, le=MOST_SEED)]
Title = Annotated[str, Field(min_length=1, max_length=MOST_TITLE, pattern=r"\S", description="A name for people.")]


class ExperimentCreate(Request):
    """What to compare."""

    title: Title | None = Field(None, examples=["a night of long tails"])
    schedulers: list[str] = Field(
        min_length=1, max_length=20, description="Who is compared.", examples=[["greedy", "eft"]]
    )
    workload: str = Field("mixed", max_length=200, description="A preset, or `upload:NAME`.", examples=["long_tail"])
    load: float | None = Field(None, gt=0.0, le=100.0, description="Offered load; or give a rate.", examples=[0.8])
    rate: float | None = Field(None, gt=0.0, le=1e6, description="Tasks per simulated second.", examples=[None])
    num_gpus: int = Field(4, ge=0, le=MOST_GPUS, description="Number of GPUs.")
    tasks: int | None = Field(
        None, ge=1, le=MOST_TASKS, description="Tasks of a seed; null: as many as the preset or file has."
    )
    seeds: (
        Annotated[int, Field(ge=1, le=MOST_SEEDS)] | Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)]
    ) = Field(10, description="How many seeds, counted from 0, or a list of them.", examples=[10])
    mode: Mode = Field("queued", description="queued: devices have queues; isolated: every task has them to itself.")

    _known = field_validator("schedulers")(known_schedulers)


class Headline(Schema):
    """Who did best, by mean turnaround."""

    scheduler: str = Field(examples=["eft"])
    mean_turnaround: Number = Field(description="Seconds from arrival to finish.")


class Experiment(Schema):
    """A comparison and how far it is; its results are the figures of the run with the same number."""

    id: int = Field(description="Number of its run.")
    title: str | None
    state: ExperimentState
    done: int = Field(description="Seeds that are done.")
    of: int = Field(description="Seeds in all.")
    ahead: int | None = Field(description="Experiments that come before it; null if it does not wait.")
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
    waiting: int = Field(description="Experiments that wait or run.")
    most_waiting: int = Field(description="More are refused.")
