"""What runs have measured, with intervals, and several runs side by side."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Number, Schema

Method = Literal["seeds", "batch_means"]


class MeasureInfo(Schema):
    """What a measure says."""

    name: str = Field(examples=["mean_turnaround"])
    unit: str = Field(examples=["s"])
    meaning: str = Field(examples=["mean time from arrival to finish"])
    less_is_better: bool


class Estimate(Schema):
    """A measure with its 95 % interval."""

    mean: Number
    low: Number = Field(description="null: there is no interval, as of one single number.")
    high: Number
    n: int = Field(description="Seeds or batches that it is made of.")


class SchedulerEstimates(Schema):
    """One scheduler of a run."""

    scheduler: str = Field(examples=["eft"])
    estimates: dict[str, Estimate] = Field(description="By measure; what is not known is left out.")


class RunFigures(Schema):
    """What a run has measured."""

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
    paired: bool = Field(description="Whether the same seeds drew the same tasks for both, so that luck cancels.")
    differs: bool = Field(description="Whether the interval excludes 0.")


class RunComparison(Schema):
    """Several runs side by side."""

    baseline: int = Field(description="The first run that was named.")
    runs: list[RunFigures]
    differences: list[Difference]
    notes: list[str] = Field(description="What to keep in mind, such as runs on different workloads.")
