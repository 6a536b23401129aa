"""What can be set in a live race, and the log of what was changed when."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.workloads.generator import preset
from hybrid_scheduler.workloads.library import is_upload, name_of

MOST_GPUS = 64
SLOWEST, FASTEST = 0.1, 1e6  # tasks a second, paced
BLOCKS_A_SECOND, LARGEST_BLOCK = 20, 100  # at the usual pace every task is a block, and so is explained
SIMULATED = "simulated"
SIX = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")


@dataclass(frozen=True)
class LiveSettings:
    """One state of the settings; checked when built."""

    schedulers: tuple[str, ...] = SIX
    preset: str = "mixed"  # or upload:NAME@SHA8, a file of the library
    load: float | None = 0.9  # offered load, 1 is all that the cluster with all its GPUs can do
    rate: float | None = None  # or tasks per simulated second
    energy_weight: float = 0.5
    num_gpus: int = 4
    failed_gpus: tuple[int, ...] = ()
    pace: float | None = 20.0  # tasks per second of wall time; None: as fast as possible
    max_queue: int | None = None  # tasks that may wait in a lane; more are rejected
    seed: int = 0
    backend: str = SIMULATED  # or what really runs the tasks
    devices: str = ""  # that it runs them on

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedulers", tuple(self.schedulers))
        object.__setattr__(self, "failed_gpus", tuple(sorted(set(self.failed_gpus))))
        self._check_schedulers()
        self._check_workload()
        self._check_devices()
        if self.pace is not None and not SLOWEST <= self.pace <= FASTEST:
            raise InputError(f"pace is {self.pace}, expected {SLOWEST:g} to {FASTEST:g} tasks a second, or none")
        if self.max_queue is not None and self.max_queue < 1:
            raise InputError(f"max_queue is {self.max_queue}, expected a whole number above 0, or none")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}, expected a whole number, 0 or more")

    def _check_schedulers(self) -> None:
        if not self.schedulers:
            raise InputError("no scheduler is left to race: choose at least one, hms schedulers shows them")
        if len(set(self.schedulers)) < len(self.schedulers):
            raise InputError(f"a scheduler is named twice in {', '.join(self.schedulers)}: name each once")
        for spec in self.schedulers:
            registry.schedulers.create(spec)  # fails here if it is unknown

    def _check_workload(self) -> None:
        if is_upload(self.preset):
            name_of(self.preset)  # fails here if it can be no name; the stream looks whether there is such a file
        elif preset(self.preset).graph is not None:
            raise InputError(
                f"preset '{self.preset}' has dependencies, which an endless stream has not: choose another"
            )
        if (self.load is None) == (self.rate is None):
            raise InputError("give either a load or a rate")
        for name, value, most in (("load", self.load, 100.0), ("rate", self.rate, 1e6)):
            if value is not None and not 0 < value <= most:
                raise InputError(f"{name} is {value}, expected a number above 0, at most {most:g}")
        if not 0 <= self.energy_weight <= 1:
            raise InputError(f"energy_weight is {self.energy_weight}, expected a number from 0 to 1")

    def _check_devices(self) -> None:
        if self.backend != SIMULATED or self.devices:
            raise InputError(
                f"backend '{self.backend}' with devices '{self.devices}' is not simulated: use MeasuredSettings"
            )
        if not 0 <= self.num_gpus <= MOST_GPUS:
            raise InputError(f"num_gpus is {self.num_gpus}, expected 0 to {MOST_GPUS}")
        self._check_failed()

    def _check_failed(self) -> None:
        for gpu in self.failed_gpus:
            if not 0 <= gpu < self.num_gpus:
                raise InputError(f"GPU {gpu} cannot fail: the cluster has GPUs 0 to {self.num_gpus - 1}")

    def changed(self, **values: Any) -> LiveSettings:
        """Return settings with some values changed; a new load replaces a rate and the other way round."""
        known = [each.name for each in fields(self)]
        for name in values:
            if name not in known:
                raise unknown_name("setting", name, known)
            if name in ("backend", "devices"):
                raise InputError(f"{name} stays as it is while the server runs: start it with another --{name}")
        if values.get("load") is not None:
            values.setdefault("rate", None)
        elif values.get("rate") is not None:
            values.setdefault("load", None)
        if "num_gpus" in values and "failed_gpus" not in values:
            values["failed_gpus"] = tuple(gpu for gpu in self.failed_gpus if gpu < values["num_gpus"])
        return replace(self, **values)

    @property
    def measured(self) -> bool:
        """Whether tasks really run."""
        return self.backend != SIMULATED

    @property
    def cluster(self) -> Cluster:
        """The cluster with all its GPUs, failed or not."""
        return Cluster.default(self.num_gpus)

    @property
    def block(self) -> int:
        """Tasks that are decided together: few when they come slowly, so that the picture moves."""
        if self.pace is None:
            return LARGEST_BLOCK
        return max(1, min(LARGEST_BLOCK, math.ceil(self.pace / BLOCKS_A_SECOND)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `LiveSettings(**data)` builds the same settings."""
        return {**asdict(self), "schedulers": list(self.schedulers), "failed_gpus": list(self.failed_gpus)}


@dataclass(frozen=True)
class Change:
    """Something that was done to a live race before a task: changed settings, a `step`, a `task` by hand."""

    at_task: int
    at_time: float  # simulated seconds
    change: dict[str, Any] = field(default_factory=dict)
