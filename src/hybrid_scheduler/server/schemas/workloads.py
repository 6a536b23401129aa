"""Workloads: what there is to race on, and what it looks like."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Number, Schema


class WorkloadLine(Schema):
    """A workload in a list."""

    name: str = Field(examples=["trace.csv"])
    spec: str = Field(description="What settings and experiments call it.", examples=["upload:trace.csv"])
    kind: Literal["upload", "preset"]
    format: str | None = Field(description="Of the file; null for a preset.", examples=["csv"])
    summary: str = Field(description="What a preset is; empty for a file.", examples=[""])
    tasks: int = Field(description="In the file; of a preset as many as are drawn for its shape.", examples=[5000])
    bytes: int | None = Field(description="Size of the file; null for a preset.")
    sha256: str | None = Field(description="Of the file; null for a preset.")
    uploaded_at: datetime | None = Field(description="null for a preset")
    duration: Number = Field(description="From the first arrival to the last, s; null for a preset.")
    dependencies: bool = Field(description="Whether tasks wait for others.")
    live: bool = Field(description="Whether the live race can run on it.")
    obstacle: str = Field(description="Why the live race cannot run on it; empty: it can.", examples=[""])
    in_use: bool = Field(
        description="Whether the live race or an experiment needs it now; then it cannot be deleted."
    )


class Workloads(Schema):
    """All workloads, files first."""

    workloads: list[WorkloadLine]
    most_bytes: int = Field(description="Largest file that can be uploaded.", examples=[50_000_000])
    formats: list[str] = Field(description="Files that can be read.", examples=[["csv", "parquet"]])
    problems: list[str] = Field(description="Files in the folder that cannot be used, and why.")


class Distribution(Schema):
    """How one quantity is spread over the tasks."""

    minimum: float
    p25: float
    median: float
    p75: float
    p90: float
    p99: float
    maximum: float
    mean: float
    scale: Literal["linear", "log"] = Field(description="Of the bins; log where the values are heavy-tailed.")
    edges: list[float] = Field(description="Limits of the bins, one more than bins.")
    counts: list[int] = Field(description="Tasks in each bin.")


class Arrivals(Schema):
    """When tasks arrive."""

    edges: list[float] = Field(description="Seconds, one more than bins.")
    counts: list[int] = Field(description="Tasks that arrive in each bin.")


class WorkloadShape(WorkloadLine):
    """A workload in numbers; a preset is drawn once, with seed 0."""

    num_gpus: int = Field(description="GPUs of the server's cluster, for which load, share and bound are told.")
    span: float = Field(description="Seconds from the first arrival to the last.")
    arrival_rate: Number = Field(description="Tasks a second; null if all arrive at once.")
    offered_load: Number = Field(
        description="Work that arrives against what the cluster can do at best; null if all arrive at once."
    )
    burstiness: Number = Field(
        description="Standard deviation of the gaps between arrivals over their mean; a Poisson stream has 1."
    )
    dependency_share: float = Field(description="Tasks that wait for others, 0 to 1.")
    gpu_faster_share: Number = Field(description="Tasks that are faster whole on a GPU than on a CPU, 0 to 1.")
    unfit_share: float = Field(description="Tasks that no device of the cluster can run, 0 to 1.")
    measured_classes: list[str] = Field(description="Device classes for which the file has measured times.")
    bound: Number = Field(
        description="Certified: nobody can end all tasks before this moment, s; null if there are too many to ask."
    )
    size: Distribution
    compute_intensity: Distribution
    memory_required: Distribution
    arrivals: Arrivals


class Removed(Schema):
    """Something that is gone now."""

    removed: str = Field(examples=["upload:trace.csv"])
