"""The live race: commands, settings, status and health, then the figures that compare its schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from hybrid_scheduler import registry
from hybrid_scheduler.core.float_or_nan import FloatOrNaN
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.insight import History
from hybrid_scheduler.live import settings as limits
from hybrid_scheduler.live.snapshot import CertifiedWindow, Quantiles, SchedulerFigures
from hybrid_scheduler.server.schemas.base import Id, Number, Request, Schema

State = Literal["none", "ready", "running", "paused", "stopped", "failed"]
RankBy = Literal["mean_turnaround", "p95_turnaround", "avg_time", "mean_waiting", "energy", "cost"]
SchedulerSpec = Annotated[str, Field(max_length=limits.MAX_SPEC)]
GpuNumber = Annotated[int, Field(ge=0, lt=limits.MAX_GPUS)]
NULLABLE = ("pace", "max_queue")  # settings for which null is a value
MEASURED = (
    "Whether tasks really run: execution times are measured then, and queues follow from them; else everything is "
    "simulated."
)
FEATURES = (
    "size (problem size N), intensity (0 to 1), memory (MB), GPU share (the best one, were the cluster idle), best "
    "time (shortest whole time on any device, s), then every scheduler by its name: its turnaround, s."
)
LOG_SIZES = "Whether the edges of the sizes grow by factors, as they do if the largest is over 20 times the least."


def check_schedulers(specs: list[str] | None) -> list[str] | None:
    """Accept registered names only: a file of policies is code, and no client may run code on the server."""
    for spec in specs or []:
        name, *options = spec.split(":")
        if name not in registry.schedulers.table or any(part.startswith("model=") for part in options):
            raise ValueError(f"'{spec}' is no scheduler of this server, GET /api/schedulers lists them")
    return specs


class SettingsChange(Request):
    """Settings to change; what is left out stays as it is."""

    schedulers: list[SchedulerSpec] | None = Field(
        None, max_length=50, description="Schedulers that take part.", examples=[["greedy", "eft"]]
    )
    preset: str | None = Field(
        None, max_length=200, description="Workload: a preset, or `upload:NAME`.", examples=["long_tail"]
    )
    load: float | None = Field(
        None, ge=limits.MIN_LOAD, le=limits.MAX_LOAD, description="Offered load; replaces a rate.", examples=[0.8]
    )
    rate: float | None = Field(
        None,
        ge=limits.MIN_RATE,
        le=limits.MAX_RATE,
        description="Tasks per simulated second; replaces a load.",
        examples=[None],
    )
    energy_weight: float | None = Field(
        None, ge=0.0, le=1.0, description="Weight of energy against time, 0 to 1.", examples=[0.5]
    )
    num_gpus: int | None = Field(None, ge=0, le=limits.MAX_GPUS, description="Number of GPUs.", examples=[4])
    failed_gpus: list[GpuNumber] | None = Field(
        None, max_length=limits.MAX_GPUS, description="GPUs that do not work.", examples=[[1]]
    )
    pace: float | None = Field(
        None,
        ge=limits.MIN_PACE,
        le=limits.MAX_PACE,
        description="Tasks per second of wall time; null: as fast as possible.",
    )
    max_queue: int | None = Field(
        None, ge=1, le=limits.MAX_QUEUE, description="Tasks that may wait in a lane; null: any number."
    )
    seed: int | None = Field(None, ge=0, le=limits.MAX_SEED, description="Seed of the tasks to come.")

    _check_schedulers = field_validator("schedulers")(check_schedulers)

    def to_changes(self) -> dict[str, Any]:
        """Return the settings to change; null counts where it is a value."""
        given = self.model_dump(exclude_unset=True)
        for name, value in given.items():
            if value is None and name not in (*NULLABLE, "load", "rate"):
                raise InputError(f"{name} is null: leave it out or give it a value")
        if given.get("load", 0) is None and given.get("rate", 0) is None:
            raise InputError("load and rate are null: give one of them a value")
        return {name: value for name, value in given.items() if value is not None or name in NULLABLE}


class StepOrder(Request):
    """How many tasks to process."""

    tasks: int = Field(1, ge=1, le=10_000, description="Tasks to process.", examples=[10])


class ResumeOrder(Request):
    """Which run to resume."""

    run_id: Id | None = Field(
        None, description="A run that was interrupted or finished; left out: the one that is paused.", examples=[None]
    )


class LiveSettings(Schema):
    """The current settings."""

    schedulers: list[str]
    preset: str
    load: Number
    rate: Number
    energy_weight: float
    num_gpus: int
    failed_gpus: list[int]
    pace: Number = Field(description="null: as fast as possible")
    max_queue: int | None
    seed: int
    repeatable: bool = Field(description="Whether the same seed and commands give the same run.")
    backend: str = Field(description="simulated, or what really runs the tasks", examples=["simulated"])
    devices: str = Field(description="Devices of the backend; empty if simulated.", examples=[""])


class Choices(Schema):
    """Possible values of the settings."""

    schedulers: list[str]
    presets: list[str] = Field(description="Workloads that the live race can run on, uploaded ones as `upload:NAME`.")
    most_gpus: int


class SettingsAnswer(Schema):
    """The settings and their possible values."""

    settings: LiveSettings
    choices: Choices


class ChangeAnswer(Schema):
    """The change as the run's log has it, and the new settings."""

    at_task: int
    at_time: float = Field(description="Simulated seconds.")
    change: dict[str, Any]
    settings: LiveSettings


class Status(Schema):
    """State of the simulation."""

    is_running: bool = Field(examples=[True])
    state: State = Field(description="none: no simulation has been started.", examples=["running"])
    measured: bool = Field(description=MEASURED, examples=[False])
    run_id: int | None = Field(examples=[3])
    tasks_processed: int = Field(examples=[500])
    sim_time: float = Field(description="Simulated seconds.", examples=[12.5])
    tasks_per_second: Number = Field(description="Of wall time, lately.", examples=[20.0])
    arrival_rate: Number = Field(description="Tasks per simulated second.", examples=[40.5])
    bound: Number = Field(description="Lower bound: no schedule ends all tasks so far before this time.")
    schedulers: list[str]
    saturated: list[str] = Field(description="Schedulers whose queue keeps growing.", examples=[["round_robin"]])
    error: str = Field(description="Why it halted or failed; empty: it did not.", examples=[""])
    notice: str = Field(description="Present problem of the service; empty: none.", examples=[""])


class Part(Schema):
    """Health of one part."""

    state: Literal["ok", "degraded", "down", "none"]
    kind: str = Field(examples=["sqlite"])
    milliseconds: Number = Field(description="Latency of its answer.")
    message: str = Field(examples=[""])


class Health(Schema):
    """Health of the service."""

    state: Literal["ok", "degraded", "down"]
    version: str
    uptime: float = Field(description="Seconds.")
    store: Part
    cache: Part
    engine: Part
    disk: Part = Field(description="Space for the database; degraded if little is left.")
    database_bytes: int | None = Field(
        description="Size of the database, a minute old at most; null: not measured by this process.",
        examples=[1_200_000],
    )
    disk_free_bytes: int | None = Field(
        description="Left on its disk, with PostgreSQL on that of DATA_DIR.", examples=[10**10]
    )
    tasks: Part = Field(description="Background work of the server, which is started again when it fails.")


class SchedulerEntry(Schema):
    """A line of the registry."""

    name: str = Field(examples=["eft"])
    label: str = Field(description="Its name for people, options included.", examples=["Hybrid ML"])
    short: str = Field(description="A few letters for narrow columns.", examples=["ML"])
    kind: registry.Kind
    style: registry.Style
    summary: str = Field(examples=["whole task where it ends first (StarPU's dm)"])
    sighted: str = Field(description="What it knows of the true execution times.", examples=["yes"])
    featured: bool = Field(description="Takes part by default.")
    racing: bool = Field(description="Takes part now.")


class Device(Schema):
    """A device of the cluster."""

    index: int
    name: str = Field(description="A GPU that a CPU stands in for is called (emulated).", examples=["gpu0"])
    kind: str = Field(description="cpu or gpu", examples=["gpu"])
    device_class: str
    failed: bool


@dataclass(frozen=True)
class Ranked(SchedulerFigures):
    """The figures of a scheduler (SchedulerFigures) and its place."""

    rank: Annotated[int, Field(ge=1, description="1 is the best.")]
    over_best: Annotated[FloatOrNaN, Field(description="Its figure divided by the best one's.", examples=[1.25])]


class Comparison(Schema):
    """The ranking, and how far from optimal each scheduler is."""

    state: str = Field(description="ready, running, paused, stopped or failed", examples=["running"])
    tasks_processed: int
    sim_time: float = Field(description="Simulated seconds.")
    bound: Number = Field(description="Lower bound: no schedule ends all tasks so far before this time.")
    certified_window: CertifiedWindow | None = Field(
        description="Tasks whose turnaround is certified, and the bounds; null: too few tasks yet."
    )
    by: RankBy = Field(description="The figure of the last tasks by which they are ranked.")
    ranking: list[Ranked]
    histories: dict[str, History] = Field(description="The last training updates of every scheduler that learns.")


class SchedulerLoad(Schema):
    """How busy one scheduler keeps the devices."""

    name: str
    utilisation: list[Number] = Field(description="Busy share by device, 0 to 1.")
    cpu: Number = Field(description="Mean of the CPUs; null without any.")
    gpu: Number = Field(description="Mean of the GPUs that work; null without any.")
    backlog: Number = Field(description="Seconds of work queued on the mean device.")
    queue_length: int
    saturated: bool


class Utilization(Schema):
    """Busy shares by scheduler and device."""

    sim_time: float
    seconds: float = Field(description="Length of the window, simulated seconds.")
    devices: list[Device]
    schedulers: list[SchedulerLoad]


class WinMatrix(Schema):
    """Pairwise wins over the last tasks (2000 at most)."""

    tasks: int
    schedulers: list[str]
    wins: list[list[int]] = Field(description="[i][j]: tasks that scheduler i ended before scheduler j.")
    share: list[list[Number]] = Field(description="[i][j]: of the tasks that one of the two ended first, i's share.")


class CorrelationMatrix(Schema):
    """Correlations over the last tasks (2000 at most)."""

    tasks: int
    features: list[str] = Field(description=FEATURES, examples=[["size", "intensity", "memory", "eft", "oracle"]])
    correlation: list[list[Number]] = Field(description="[i][j]: Pearson's r of features i and j, -1 to 1.")


class SizeDistribution(Schema):
    """Histogram of the sizes of the last tasks (2000 at most)."""

    tasks: int
    edges: list[float] = Field(
        validation_alias="size_edges", description="Edges of the bins; one more than there are counts."
    )
    counts: list[int] = Field(validation_alias="size_counts")
    log_sizes: bool = Field(description=LOG_SIZES)
    quantiles: Quantiles = Field(validation_alias="size_quantiles", description="Of the sizes.")


class Heatmap(Schema):
    """Where the GPU pays, by size and intensity, over the last tasks (2000 at most)."""

    tasks: int
    size_edges: list[float]
    log_sizes: bool = Field(description=LOG_SIZES)
    intensity_edges: list[float]
    best_gpu_share: list[list[Number]] = Field(
        validation_alias="heatmap",
        description="[size][intensity]: best share on a GPU of the mean task there; null: none seen.",
    )
    gpu_wins: list[list[Number]] = Field(
        description="[size][intensity]: tasks that are faster whole on a GPU, 0 to 1."
    )
    speedup: list[list[Number]] = Field(
        description="[size][intensity]: median of log2(time on a CPU / time on a GPU) of the tasks there, whole; "
        "1: the GPU takes half the time, below 0: the CPU is faster; null: none seen that both can run."
    )
