"""Tasks, their results, explanations of decisions, and the workloads that tasks come from."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hybrid_scheduler.core.placements import REASONS, WAITING
from hybrid_scheduler.server.schemas.base import Id, Number, Request, Schema
from hybrid_scheduler.workloads.statistics import Arrivals, Distribution

MAX_SIZE = 1e6
MAX_MEMORY = 1e9  # MB

_STATUS = "0 it ran; 1 it ran elsewhere than the scheduler said, because it does not fit there; " + "; ".join(
    [*(f"{status} rejected, {reason}" for status, reason in REASONS.items()), f"{WAITING} it has not started yet"]
)
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class TaskCreate(Request):
    """A task to submit."""

    task_id: Id | None = Field(
        None, description="A number of your own; the race numbers its tasks itself and returns its own number."
    )
    size: float = Field(gt=0.0, le=MAX_SIZE, description="Problem size N.", examples=[2500.0])
    compute_intensity: Share = Field(description="How much the task gains from a GPU, 0 to 1.", examples=[0.8])
    memory_required: float = Field(
        ge=0.0, le=MAX_MEMORY, description="Memory in MB; a task that fits nowhere is rejected.", examples=[200.0]
    )


class SchedulerResultCreate(Request):
    """A result that was measured elsewhere, for a task that is stored already."""

    scheduler_name: str = Field(
        min_length=1,
        max_length=100,
        pattern=r"^[\w.:=-]+$",
        description="Name of the scheduler.",
        examples=["my_cluster"],
    )
    attempt: int = Field(1, ge=1, le=1000, description="2 and more: the task had to start again.")
    gpu_fraction: Share = Field(description="Share of the task that ran on a GPU.", examples=[0.75])
    device: int = Field(-1, ge=-1, le=10_000, description="Device of the run's cluster, -1 if it was none of them.")
    actual_time: float = Field(gt=0.0, le=1e12, description="Execution time, s.", examples=[0.42])
    waiting_time: float = Field(0.0, ge=0.0, le=1e12, description="Time between arrival and execution, s.")
    energy_consumption: float = Field(0.0, ge=0.0, le=1e15, description="J", examples=[21.0])
    execution_cost: float = Field(0.0, ge=0.0, le=1e12, description="USD", examples=[0.0001])


class Task(Schema):
    """A task of a run."""

    task_id: int = Field(description="Number of the task in its run.", examples=[101])
    size: float = Field(description="Problem size N.", examples=[2500.0])
    compute_intensity: float = Field(description="How much it gains from a GPU, 0 to 1.", examples=[0.8])
    memory_required: float = Field(description="Memory in MB.", examples=[200.0])
    arrival_time: float = Field(description="When it arrived, simulated seconds.", examples=[34.5])
    dependencies: list[int] = Field(default=[], description="Tasks that must end before it starts.")


class SchedulerResult(Schema):
    """The placement of one task by one scheduler, in one attempt."""

    task_id: int = Field(description="Number of the task in its run.", examples=[101])
    scheduler_name: str = Field(description="Name of the scheduler.", examples=["oracle"])
    attempt: int = Field(1, description="2 and more: started again because its GPU failed.")
    gpu_fraction: Number = Field(description="Share of the task on a GPU.", examples=[0.75])
    device: int = Field(description="Device that did it (of a split task the GPU), -1: none.", examples=[2])
    status: int = Field(description=_STATUS, examples=[0])
    start_time: Number = Field(description="When its first share started, simulated seconds.", examples=[34.6])
    finish_time: Number = Field(description="When its last share ended.", examples=[35.0])
    actual_time: Number = Field(description="Execution time, s.", examples=[0.4])
    waiting_time: Number = Field(description="Time in queues, s.", examples=[0.1])
    turnaround_time: Number = Field(description="From arrival to finish, s.", examples=[0.5])
    energy_consumption: Number = Field(description="J", examples=[20.0])
    execution_cost: Number = Field(description="USD", examples=[0.0001])
    measured: bool = Field(default=False, description="Whether it really ran, rather than in simulated time.")


class HistoryRow(SchedulerResult, Task):
    """A result together with its task."""


class TrainingRecord(Schema):
    """A training example: a task and its best split, found by exhaustive search."""

    id: int
    run_id: int
    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    optimal_gpu_fraction: float = Field(description="Best share on a GPU, 0 to 1.", examples=[0.75])
    optimal_time: float = Field(description="Execution time of that split, s.", examples=[0.38])


class TaskPage(Schema):
    """Some tasks of a run."""

    run_id: int | None = Field(description="The run; null if there is none yet.")
    tasks: list[Task]
    next: int | None = Field(description="Pass it as `after` for the next page; null: this is the last one.")


class Candidate(Schema):
    """A device as the scheduler sees it; null is what the scheduler does not know."""

    device: int
    device_name: str = Field(examples=["gpu0"])
    kind: str = Field(description="cpu or gpu", examples=["gpu"])
    predicted_time: Number = Field(description="Seconds of the whole task there, transfer included.")
    wait: Number = Field(description="Seconds until it could start there.")
    transfer: Number = Field(description="Seconds to transfer its memory there.")
    finish: Number = Field(description="When it would end there, simulated seconds.")
    energy: Number = Field(description="J")
    cost: Number = Field(description="USD")
    score: Number = Field(description="The scheduler's own score, larger is better; null if it has none.")
    chosen: bool


class Explanation(Schema):
    """Why a scheduler decided as it did."""

    gpu_fraction: Number
    device: int
    rule: str = Field(description="What the scheduler does.", examples=["whole task where it ends first"])
    why: str = Field(
        description="The decision in one sentence.",
        examples=["whole on gpu1: would end 0.31 s from now, 0.12 s before gpu0, the next best"],
    )
    expected_time: Number = Field(
        description="Execution time that it expected of its decision, s; null: it predicts no times."
    )
    expected_finish: Number = Field(
        description="When it expected the task to end, simulated seconds; null: it predicts no times."
    )
    candidates: list[Candidate]
    contributions: dict[str, Number] = Field(
        description="Contribution of each feature of the task, of a scheduler that learns; else empty.",
        examples=[{"size": 0.41, "compute_intensity": 0.52}],
    )


class TaskAudit(Schema):
    """A task and all its results."""

    run_id: int
    task: Task
    results: list[SchedulerResult] = Field(
        description="Every attempt of every scheduler; of one that a failure cut short, the times that were planned."
    )
    attempts: dict[str, int] = Field(description="Attempts by scheduler.", examples=[{"oracle": 1, "random": 2}])
    fastest: str | None = Field(description="The scheduler that ended it first.", examples=["oracle"])
    explanations: dict[str, Explanation] = Field(
        description="Why each scheduler decided as it did. Kept of the last 500 explained tasks, else empty; at "
        "up to 20 tasks a second all tasks are explained, else about 20 a second."
    )


class Verdict(Schema):
    """One scheduler's decision about a submitted task."""

    result: SchedulerResult
    explanation: Explanation


class TaskOutcome(Schema):
    """A submitted task, and the decisions of all schedulers."""

    run_id: int | None
    your_id: int | None = Field(description="The number that came with the request.")
    task: Task
    optimal_gpu_fraction: Number = Field(description="Best share on a GPU, were the cluster idle.")
    optimal_time: Number = Field(description="Execution time of that split, s.")
    decisions: dict[str, Verdict] = Field(description="By scheduler.")


class WorkloadLine(Schema):
    """A workload in a list."""

    name: str = Field(examples=["trace.csv"])
    spec: str = Field(description="Its name in settings and experiments.", examples=["upload:trace.csv"])
    kind: Literal["upload", "preset"]
    format: str | None = Field(default=None, description="Of the file; null for a preset.", examples=["csv"])
    summary: str = Field(default="", description="What a preset is; empty for a file.", examples=[""])
    tasks: int = Field(description="In the file; of a preset as many as its statistics are made of.", examples=[5000])
    bytes: int | None = Field(default=None, description="Size of the file; null for a preset.")
    sha256: str | None = Field(default=None, description="Of the file; null for a preset.")
    uploaded_at: datetime | None = Field(default=None, description="null for a preset")
    duration: Number = Field(default=None, description="From the first arrival to the last, s; null for a preset.")
    dependencies: bool = Field(description="Whether tasks depend on others.")
    live: bool = Field(description="Whether the live race can run on it.")
    obstacle: str = Field(description="Why the live race cannot run on it; empty: it can.", examples=[""])
    in_use: bool = Field(
        description="Whether an experiment needs it, or the live run, which may be replayed with it; then it stays."
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
