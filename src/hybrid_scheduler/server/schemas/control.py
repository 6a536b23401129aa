"""Orders to the simulation, and what it says about itself."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.server.schemas.base import Id, Number, Request, Schema
from hybrid_scheduler.server.schemas.race import MEASURED

State = Literal["none", "ready", "running", "paused", "stopped", "failed"]
MOST_SEED = 2**53 - 1


def known_schedulers(specs: list[str] | None) -> list[str] | None:
    """Take names only: a file of policies is code, and nobody runs code here from afar."""
    for spec in specs or []:
        name, *options = spec.split(":")
        if name not in registry.schedulers.table or any(part.startswith("model=") for part in options):
            raise ValueError(f"'{spec}' is no scheduler of this server, GET /api/schedulers lists them")
    return specs


class SettingsChange(Request):
    """Settings to change; what is left out stays as it is."""

    schedulers: list[str] | None = Field(
        None, max_length=50, description="Who takes part.", examples=[["greedy", "eft"]]
    )
    preset: str | None = Field(
        None, max_length=200, description="Workload: a preset, or `upload:NAME`.", examples=["long_tail"]
    )
    load: float | None = Field(None, description="Offered load; replaces a rate.", examples=[0.8])
    rate: float | None = Field(None, description="Tasks per simulated second; replaces a load.", examples=[None])
    energy_weight: float | None = Field(None, description="What energy counts against time, 0 to 1.", examples=[0.5])
    num_gpus: int | None = Field(None, description="Number of GPUs.", examples=[4])
    failed_gpus: list[int] | None = Field(None, max_length=64, description="GPUs that do not work.", examples=[[1]])
    pace: float | None = Field(None, description="Tasks per second of wall time; null: as fast as possible.")
    max_queue: int | None = Field(None, description="Tasks that may wait in a lane; null: any number.")
    seed: int | None = Field(None, ge=0, le=MOST_SEED, description="Seed of the tasks to come.")

    _known = field_validator("schedulers")(known_schedulers)

    def values_given(self) -> dict[str, Any]:
        """Return what is to be changed; null counts where it means something."""
        given = self.model_dump(exclude_unset=True)
        for name, value in given.items():
            if value is None and name not in ("pace", "max_queue", "load", "rate"):
                raise InputError(f"{name} is null: leave it out or give it a value")
        if given.get("load", 0) is None and given.get("rate", 0) is None:
            raise InputError("load and rate are null: give one of them a value")
        return {name: value for name, value in given.items() if value is not None or name in ("pace", "max_queue")}


class StepOrder(Request):
    """How far to go."""

    tasks: int = Field(1, ge=1, le=10_000, description="Tasks that are to pass.", examples=[10])


class ResumeOrder(Request):
    """What to go on with."""

    run_id: Id | None = Field(
        None, description="A run that was interrupted or finished; left out: the one that is paused.", examples=[None]
    )


class LiveSettings(Schema):
    """The settings as they stand."""

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
    backend: str = Field(description="simulated, or what really runs the tasks", examples=["simulated"])
    devices: str = Field(description="What it runs them on; empty if simulated.", examples=[""])


class Choices(Schema):
    """What the settings may be."""

    schedulers: list[str]
    presets: list[str] = Field(description="Workloads that the live race can run on, uploaded ones as `upload:NAME`.")
    most_gpus: int


class SettingsAnswer(Schema):
    """Settings, and what may be chosen."""

    settings: LiveSettings
    choices: Choices


class ChangeAnswer(Schema):
    """What was written to the run's log, and the settings as they are now."""

    at_task: int
    at_time: float = Field(description="Simulated seconds.")
    change: dict[str, Any]
    settings: LiveSettings


class Status(Schema):
    """How the simulation stands."""

    is_running: bool = Field(examples=[True])
    state: State = Field(description="none: no simulation has been started.", examples=["running"])
    measured: bool = Field(description=MEASURED, examples=[False])
    run_id: int | None = Field(examples=[3])
    tasks_processed: int = Field(examples=[500])
    sim_time: float = Field(description="Simulated seconds.", examples=[12.5])
    tasks_per_second: Number = Field(description="Of wall time, lately.", examples=[20.0])
    arrival_rate: Number = Field(description="Tasks per simulated second.", examples=[40.5])
    bound: Number = Field(description="Nobody can have ended all tasks so far before this moment.")
    schedulers: list[str]
    saturated: list[str] = Field(description="Schedulers whose queue keeps growing.", examples=[["round_robin"]])
    error: str = Field(description="Why it halted or failed; empty: it did not.", examples=[""])
    notice: str = Field(description="What is wrong at the moment; empty: nothing.", examples=[""])


class Part(Schema):
    """Health of one part."""

    state: Literal["ok", "degraded", "down", "none"]
    kind: str = Field(examples=["sqlite"])
    milliseconds: Number = Field(description="How long it took to answer.")
    message: str = Field(examples=[""])


class Health(Schema):
    """Health of the service."""

    state: Literal["ok", "degraded", "down"]
    version: str
    uptime: float = Field(description="Seconds.")
    store: Part
    cache: Part
    engine: Part
