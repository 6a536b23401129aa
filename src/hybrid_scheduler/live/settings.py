"""Settings of a live race, simulated or on real devices, and the log entries of its changes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.errors import InputError, check_number, unknown_name
from hybrid_scheduler.workloads.generator import find_preset
from hybrid_scheduler.workloads.library import is_upload, parse_name

if TYPE_CHECKING:
    from hybrid_scheduler.runtime.devices import DeviceSpec

MAX_GPUS = 64
MIN_PACE, MAX_PACE = 0.1, 1e6  # tasks per second of wall time
MIN_LOAD, MAX_LOAD = 1e-6, 100.0
MIN_RATE, MAX_RATE = 1e-6, 1e6  # tasks per simulated second
MAX_QUEUE = 10**9  # tasks
MAX_SEED = 2**53 - 1  # largest integer of a browser; both databases can count further
MAX_SPEC = 300  # characters of a scheduler with its options
BLOCKS_PER_SECOND, MAX_BLOCK = 20, 100  # at the default pace a block is one task, so every task is explained
SIMULATED = "simulated"
DEFAULT_SCHEDULERS = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")
MEASURED_SCHEDULERS = ("round_robin", "greedy", "hybrid_ml", "eft")  # fewer: each lane takes time of the devices


@dataclass(frozen=True)
class LiveSettings:
    """Settings of a live race, checked when built."""

    schedulers: tuple[str, ...] = field(
        default_factory=lambda: registry.schedulers.leave_out_missing(DEFAULT_SCHEDULERS)
    )
    preset: str = "mixed"  # or upload:NAME@SHA8, a file of the library
    load: float | None = 0.9  # offered load; 1 is the capacity of the cluster with all its GPUs
    rate: float | None = None  # or tasks per simulated second
    energy_weight: float = 0.0
    num_gpus: int = 4
    failed_gpus: tuple[int, ...] = ()
    pace: float | None = 20.0  # tasks per second of wall time; None: as fast as possible
    max_queue: int | None = None  # tasks that may wait in a lane; more are rejected
    seed: int = 0
    repeatable: bool = True  # False: learners are never waited for, so another race decides differently
    backend: str = SIMULATED  # or a backend of the runtime
    devices: str = ""  # of that backend

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedulers", tuple(self.schedulers))
        object.__setattr__(self, "failed_gpus", tuple(sorted(set(self.failed_gpus))))
        if not self.schedulers:
            raise InputError("no scheduler is left to race: choose at least one, hms schedulers shows them")
        if len(set(self.schedulers)) < len(self.schedulers):
            raise InputError(f"a scheduler is named twice in {', '.join(self.schedulers)}: name each once")
        for spec in self.schedulers:
            if len(spec) > MAX_SPEC:
                raise InputError(f"scheduler '{spec[:40]}…' has {len(spec)} characters, expected {MAX_SPEC} at most")
            registry.schedulers.create(spec)  # raises if it is unknown
        self._check_workload()
        self._check_devices()
        for gpu in self.failed_gpus:
            if not 0 <= gpu < self.num_gpus:
                raise InputError(f"GPU {gpu} cannot fail: the cluster has GPUs 0 to {self.num_gpus - 1}")
        if self.pace is not None:
            check_number("pace", self.pace, MIN_PACE, MAX_PACE)
        if self.max_queue is not None:
            check_number("max_queue", self.max_queue, 1, MAX_QUEUE, whole=True)
        check_number("seed", self.seed, 0, MAX_SEED, whole=True)

    def _check_workload(self) -> None:
        if is_upload(self.preset):
            parse_name(self.preset)  # raises if it is malformed; the stream looks the file up
        elif find_preset(self.preset).graph is not None:
            raise InputError(
                f"preset '{self.preset}' has dependencies, which an endless stream has not: choose another"
            )
        if (self.load is None) == (self.rate is None):
            raise InputError("give either a load or a rate")
        if self.load is not None:
            check_number("load", self.load, MIN_LOAD, MAX_LOAD)
        if self.rate is not None:
            check_number("rate", self.rate, MIN_RATE, MAX_RATE)
        check_number("energy_weight", self.energy_weight, 0, 1)

    def _check_devices(self) -> None:
        if self.backend != SIMULATED or self.devices:
            raise InputError(
                f"backend '{self.backend}' with devices '{self.devices}' is not simulated: use MeasuredSettings"
            )
        check_number("num_gpus", self.num_gpus, 0, MAX_GPUS, whole=True)

    def with_changes(self, **values: Any) -> Self:
        """Return settings with some values changed; a new load replaces a rate and the other way round."""
        known = [each.name for each in fields(self)]
        for name in values:
            if name not in known:
                raise unknown_name("setting", name, known)
            if name in ("backend", "devices"):
                raise InputError(f"{name} stays as it is while the server runs: start it with another --{name}")
            if name == "repeatable":
                raise InputError("repeatable stays as it is while the server runs: start it with another REPEATABLE")
        if values.get("load") is not None:
            values.setdefault("rate", None)
        elif values.get("rate") is not None:
            values.setdefault("load", None)
        if "num_gpus" in values and "failed_gpus" not in values:
            values["failed_gpus"] = tuple(gpu for gpu in self.failed_gpus if gpu < values["num_gpus"])
        return replace(self, **values)

    @property
    def is_measured(self) -> bool:
        """Whether tasks really run."""
        return self.backend != SIMULATED

    @property
    def can_replay(self) -> bool:
        """Whether seed and commands are enough to repeat a race."""
        return self.repeatable and not self.is_measured

    @property
    def cluster(self) -> Cluster:
        """The cluster with all its GPUs, failed ones included."""
        return Cluster.default(self.num_gpus)

    @property
    def block(self) -> int:
        """Tasks per block: few at a slow pace, so that the dashboard keeps moving."""
        if self.pace is None:
            return MAX_BLOCK
        return max(1, min(MAX_BLOCK, math.ceil(self.pace / BLOCKS_PER_SECOND)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `LiveSettings(**data)` builds the same settings."""
        return {**asdict(self), "schedulers": list(self.schedulers), "failed_gpus": list(self.failed_gpus)}


@dataclass(frozen=True)
class MeasuredSettings(LiveSettings):
    """Settings of a race whose tasks really run; the number of GPUs follows from the devices."""

    schedulers: tuple[str, ...] = MEASURED_SCHEDULERS
    backend: str = "local"
    devices: str = "auto"

    def _check_devices(self) -> None:
        if self.backend not in registry.backends.table:
            raise unknown_name("backend", self.backend, [SIMULATED, *registry.backends.table])
        object.__setattr__(self, "num_gpus", len(self.cluster.gpus))

    def with_changes(self, **values: Any) -> Self:
        """Return settings with some values changed; the devices stay."""
        if values.get("num_gpus", self.num_gpus) != self.num_gpus:
            raise InputError(
                f"num_gpus stays {self.num_gpus}: tasks really run here; start the server with other --devices"
            )
        return super().with_changes(**values)

    @property
    def specs(self) -> tuple[DeviceSpec, ...]:
        """The devices."""
        return _find_devices(self.devices)[0]

    @property
    def cluster(self) -> Cluster:
        """The cluster that schedulers see."""
        return _find_devices(self.devices)[1]

    @property
    def block(self) -> int:
        """Tasks per decision: one, so that the next decision knows how long it took."""
        return 1


@cache
def _find_devices(devices: str) -> tuple[tuple[DeviceSpec, ...], Cluster]:
    # Imported here so that a simulated race does not load the runtime.
    from hybrid_scheduler.runtime.devices import build_cluster, parse_devices

    specs = parse_devices(devices)
    return specs, build_cluster(specs)


@dataclass(frozen=True)
class Change:
    """A logged command: changed settings, a `step`, or a submitted `task`; or whether there are `long_blocks`."""

    at_task: int  # the next task to arrive
    at_time: float  # simulated seconds
    change: dict[str, Any] = field(default_factory=dict)
