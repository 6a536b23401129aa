"""The messages of `/ws`, as models; their JSON Schema is served at `/api/schema/ws`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from hybrid_scheduler.server.schemas.base import Number, Schema, without_titles
from hybrid_scheduler.server.schemas.control import LiveSettings
from hybrid_scheduler.server.schemas.race import (
    FEATURES,
    HISTORIES,
    LOG_SIZES,
    MEASURED,
    SPEEDUP,
    Device,
    Histories,
    Quantiles,
    SchedulerFigures,
)

State = Literal["ready", "running", "paused", "stopped", "failed"]
Level = Literal["info", "warning", "error"]
Span = tuple[str, int, float, float, int, int]


class Numbered(Schema):
    """What numbered messages share: reconnect with `?cursor=SEQ&stream=STREAM` to get what came after."""

    seq: int = Field(description="Number of the message in its stream; a gap means skipped messages.")
    time: float = Field(description="When it was made, seconds since 1970.")


class LatestTask(Schema):
    """The newest task."""

    id: int
    size: float
    intensity: float
    memory: float = Field(description="MB")
    arrival_time: float


class Compared(Schema):
    """A line of the comparison in short."""

    name: str
    avg_time: Number = Field(description="Mean execution time, s.")
    mean_turnaround: Number
    makespan: Number
    makespan_over_bound: Number
    wins: int
    saturated: bool


class LiveResult(Schema):
    """What one scheduler made of one task; null where a task was rejected."""

    gpu_fraction: Number
    device: int = Field(description="-1: rejected")
    start: Number
    finish: Number
    time: Number = Field(description="Execution, s.")
    waiting: Number
    turnaround: Number
    energy: Number = Field(description="J")
    cost: Number = Field(description="USD")
    status: int
    attempt: int


class LiveRecord(Schema):
    """One task and what all schedulers made of it."""

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    optimal_gpu_fraction: Number
    optimal_time: Number
    explained: bool = Field(description="Whether GET /api/tasks/{task_id} tells why; the last 500 of them are kept.")
    measured: bool = Field(description="Whether it really ran.")
    results: dict[str, LiveResult]


class Mark(Schema):
    """Something that was done to the race."""

    at_task: int
    at_time: float = Field(description="Simulated seconds.")
    change: dict[str, Any] = Field(description="Changed settings, or a task by hand.")


class Pictures(Schema):
    """What changes slowly; about the last tasks (2000 at most)."""

    tasks: int
    schedulers: list[str]
    wins: list[list[int]] = Field(description="[i][j]: tasks that i ended before j.")
    features: list[str] = Field(description=FEATURES)
    correlation: list[list[Number]] = Field(description="[i][j]: Pearson's r of features i and j, -1 to 1.")
    size_edges: list[float]
    size_counts: list[int]
    log_sizes: bool = Field(description=LOG_SIZES)
    size_quantiles: Quantiles = Field(description="Of the sizes.")
    intensity_edges: list[float]
    heatmap: list[list[Number]] = Field(description="[size][intensity]: best GPU share of the mean task there.")
    gpu_wins: list[list[Number]] = Field(description="[size][intensity]: share of tasks faster whole on a GPU.")
    speedup: list[list[Number]] = Field(description=SPEEDUP)
    histories: Histories = Field(description=HISTORIES)


class SimulationUpdate(Numbered):
    """The whole race at one moment, and what is new since the update before.

    Figures have six significant digits, moments four decimals; REST has all digits.
    """

    type: Literal["simulation_update"]
    run_id: int | None
    state: State
    measured: bool = Field(description=MEASURED)
    tasks_processed: int
    sim_time: float
    tasks_per_second: Number = Field(description="Of wall time, lately.")
    arrival_rate: Number = Field(description="Tasks per simulated second.")
    bound: Number = Field(description="Nobody can have ended all tasks so far before this moment.")
    settings: LiveSettings
    devices: list[Device]
    schedulers: list[SchedulerFigures]
    error: str
    task: LatestTask | None
    comparison: list[Compared]
    latest_results: dict[str, LiveResult]
    records: list[LiveRecord] = Field(description="New tasks, the newest 50 at most.")
    records_total: int = Field(description="New tasks, all of them.")
    spans: list[Span] = Field(
        description="New shares of tasks on devices, the newest 300 at most: scheduler, device, start, end, task, "
        "attempt. An attempt above 1 replaces the shares of that task that had not ended when its device failed."
    )
    spans_total: int = Field(description="New shares, all of them.")
    marks: list[Mark]
    analysis: Pictures | None = Field(description="Once a second at most, else null.")


class Notification(Numbered):
    """Something that people should notice."""

    type: Literal["notification"]
    level: Level
    message: str


class Log(Numbered):
    """A line of the log."""

    type: Literal["log"]
    level: str
    message: str
    source: str


class Hello(Schema):
    """The first message of a connection."""

    type: Literal["hello"]
    stream: str = Field(description="Which numbering this is; it changes when the server starts anew.")
    seq: int = Field(description="Number of the newest message.")
    notice: str = Field(description="What is wrong at the moment; empty: nothing.")


class Reset(Schema):
    """What came after the cursor is not known any more: begin with the next update."""

    type: Literal["reset"]
    seq: int


class Skipped(Schema):
    """The client was too slow: so many messages were left out here."""

    type: Literal["skipped"]
    count: int


Message = Annotated[
    SimulationUpdate | Notification | Log | Hello | Reset | Skipped,
    Field(discriminator="type"),
]
messages: TypeAdapter[Message] = TypeAdapter(Message)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of everything that `/ws` sends."""
    made = messages.json_schema(mode="serialization")
    for definition in made["$defs"].values():
        without_titles(definition)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Message", **made}
