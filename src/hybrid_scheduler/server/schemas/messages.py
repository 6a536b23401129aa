"""The messages of `/ws`; their JSON Schema is served at `/api/schema/ws`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from hybrid_scheduler.live.snapshot import Analysis, CertifiedWindow, SchedulerFigures, TaskRecord, TaskResult
from hybrid_scheduler.server.feed import TaskUpdate
from hybrid_scheduler.server.schemas.base import Number, Schema, tidy_definition
from hybrid_scheduler.server.schemas.race import MEASURED, Device, LiveSettings

State = Literal["ready", "running", "paused", "stopped", "failed"]
Level = Literal["info", "warning", "error"]
Span = tuple[str, int, float, float, int, int]


class Numbered(Schema):
    """A numbered message: reconnect with `?cursor=SEQ&stream=STREAM` to get those that came after it."""

    seq: int = Field(description="Number of the message in its stream; a gap means skipped messages.")
    time: float = Field(description="When it was sent, seconds since 1970.")


class LatestTask(Schema):
    """The newest task."""

    id: int
    size: float
    intensity: float
    memory: float = Field(description="MB")
    arrival_time: float


class Compared(Schema):
    """Key figures of a scheduler."""

    name: str
    avg_time: Number = Field(description="Mean execution time, s.")
    mean_turnaround: Number
    makespan: Number
    makespan_over_bound: Number
    turnaround_over_bound: Number
    wins: int
    saturated: bool


class Mark(Schema):
    """A command that changed the race."""

    at_task: int
    at_time: float = Field(description="Simulated seconds.")
    change: dict[str, Any] = Field(description="Changed settings, or a submitted task.")


class SimulationUpdate(Numbered):
    """The state of the race, and what is new since the update before.

    Figures have six significant digits, times four decimals; REST has all digits.
    """

    type: Literal["simulation_update"]
    run_id: int | None
    state: State
    measured: bool = Field(description=MEASURED)
    tasks_processed: int
    sim_time: float
    tasks_per_second: Number = Field(description="Of wall time, lately.")
    arrival_rate: Number = Field(description="Tasks per simulated second.")
    bound: Number = Field(description="Lower bound: no schedule ends all tasks so far before this time.")
    settings: LiveSettings
    devices: list[Device]
    schedulers: list[SchedulerFigures]
    certified_window: CertifiedWindow | None = Field(description="The certified window; null: too few tasks yet.")
    error: str
    task: LatestTask | None
    comparison: list[Compared]
    latest_results: dict[str, TaskResult]
    records: list[TaskRecord] = Field(description="New tasks, the newest 50 at most.")
    records_total: int = Field(description="New tasks, all of them.")
    updates: list[TaskUpdate] = Field(
        description="Tasks of earlier updates that waited in an ordered queue and have started since."
    )
    spans: list[Span] = Field(
        description="New shares of tasks on devices, the newest 300 at most: scheduler, device, start, end, task, "
        "attempt. An attempt above 1 replaces the shares of that task that had not ended when its device failed."
    )
    spans_total: int = Field(description="New shares, all of them.")
    marks: list[Mark]
    analysis: Analysis | None = Field(description="Once a second at most, else null.")


class Notification(Numbered):
    """A message for people."""

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
    stream: str = Field(description="Id of the numbering; it changes when the server restarts.")
    seq: int = Field(description="Number of the newest message.")
    notice: str = Field(description="Present problem of the service; empty: none.")


class SchedulerHistory(Schema):
    """Figures of a scheduler at the moments of a history; null before it joined."""

    turnaround: list[Number] = Field(description="Mean of the last tasks, s.")
    p95: list[Number] = Field(description="Turnaround, s.")
    execution: list[Number] = Field(description="Mean of the last tasks, s.")
    backlog: list[Number]
    over_bound: list[Number] = Field(description="Makespan over its bound.")
    turnaround_over_bound: list[Number]
    utilisation: list[list[Number]] = Field(description="[device][moment]: busy share.")


class History(Schema):
    """The last five minutes before the next update, for clients that join; about a moment every two seconds."""

    type: Literal["history"]
    seq: int = Field(description="Number of the newest message.")
    run_id: int | None
    clock: list[float] = Field(description="Moments, seconds since 1970.")
    time: list[float] = Field(description="The same, simulated seconds.")
    rate: list[Number] = Field(description="Tasks per second of wall time.")
    bound: list[Number]
    schedulers: dict[str, SchedulerHistory]
    marks: list[Mark]
    log: list[Log] = Field(description="The last lines, 200 at most.")
    notifications: list[Notification] = Field(description="The last ones, 20 at most.")


class Reset(Schema):
    """The messages after the cursor are gone: start with the next update."""

    type: Literal["reset"]
    seq: int


class Skipped(Schema):
    """The client was too slow: so many messages were dropped here."""

    type: Literal["skipped"]
    count: int


Message = Annotated[
    SimulationUpdate | Notification | Log | Hello | History | Reset | Skipped, Field(discriminator="type")
]
messages: TypeAdapter[Message] = TypeAdapter(Message)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of everything that `/ws` sends."""
    document = messages.json_schema(mode="serialization")
    for definition in document["$defs"].values():
        tidy_definition(definition)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Message", **document}
