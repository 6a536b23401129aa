"""Workloads: presets and uploaded files, and their statistics."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Number, Schema
from hybrid_scheduler.workloads.statistics import Arrivals, Distribution


class WorkloadLine(Schema):
    """A workload in a list."""

    name: str = Field(examples=["trace.csv"])
    spec: str = Field(description="Its name in settings and experiments.", examples=["upload:trace.csv"])
    kind: Literal["upload", "preset"]
    format: str | None = Field(description="Of the file; null for a preset.", examples=["csv"])
    summary: str = Field(description="What a preset is; empty for a file.", examples=[""])
    tasks: int = Field(description="In the file; of a preset as many as its statistics are made of.", examples=[5000])
    bytes: int | None = Field(description="Size of the file; null for a preset.")
    sha256: str | None = Field(description="Of the file; null for a preset.")
    uploaded_at: datetime | None = Field(description="null for a preset")
    duration: Number = Field(description="From the first arrival to the last, s; null for a preset.")
    dependencies: bool = Field(description="Whether tasks depend on others.")
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


class WorkloadShape(WorkloadLine):
    """Statistics of a workload; a preset is generated with seed 0."""

    num_gpus: int = Field(description="GPUs of the server's cluster, to which load, share and bound apply.")
    span: float = Field(description="Seconds from the first arrival to the last.")
    arrival_rate: Number = Field(description="Tasks a second; null if all arrive at once.")
    offered_load: Number = Field(
        description="Work that arrives over the capacity of the cluster; null if all arrive at once."
    )
    burstiness: Number = Field(
        description="Standard deviation of the gaps between arrivals over their mean; a Poisson stream has 1."
    )
    dependency_share: float = Field(description="Share of tasks that depend on others.")
    gpu_faster_share: Number = Field(description="Tasks that are faster whole on a GPU than on a CPU, 0 to 1.")
    unfit_share: float = Field(description="Tasks that no device of the cluster can run, 0 to 1.")
    measured_classes: list[str] = Field(description="Device classes for which the file has measured times.")
    bound: Number = Field(
        description="Certified lower bound of the makespan, s; null if there are too many tasks to compute it."
    )
    size: Distribution
    compute_intensity: Distribution
    memory_required: Distribution
    arrivals: Arrivals


class Removed(Schema):
    """What was deleted."""

    removed: str = Field(examples=["upload:trace.csv"])
