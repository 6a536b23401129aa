"""A profile: the measured times of a machine, kernel by kernel, and what was not measured."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling.kernels import normalise_intensity
from hybrid_scheduler.profiling.timing import Timing

MEASURED = "measured"
REFERENCE = "reference model, not measured"
WALL, CPU_TIME = "wall clock", "CPU time"
TO_DEVICE, TO_HOST = "host_to_device", "device_to_host"
UNKNOWN_INTENSITY = 0.5
DATA_IN_PLACE = Cluster((DEFAULT_CPU, replace(DEFAULT_GPU, bandwidth=math.inf)), (Node({"cpu": 1, "gpu": 1}),))
HEADLINE = "matmul"  # the kernel that the CPU/GPU ratio refers to


def _require(name: str, value: float, above_zero: bool = True) -> None:
    # Beyond any machine, yet sums and ratios of such numbers stay finite.
    if not (1e-30 < value < 1e30 or (value == 0 and not above_zero)):
        raise InputError(f"{name} is {value!r}, expected a number {'above 0' if above_zero else '0 or more'}")


@dataclass(frozen=True, slots=True)
class Point:
    """One kernel at one size: its times on the CPU and, if measured, on a GPU with the data in place."""

    kernel: str
    size: float
    traffic: float  # bytes: every array once
    operations: float | None  # None: not known
    unit: str
    cpu: Timing
    gpu: Timing | None = None
    gpu_reason: str = ""  # why an existing GPU has no time

    def __post_init__(self) -> None:
        _require("size", self.size)
        _require("traffic", self.traffic)
        if self.operations is not None:
            _require("operations", self.operations, above_zero=False)

    @property
    def megabytes(self) -> float:
        """Memory of all arrays, which a GPU receives and sends back."""
        return self.traffic / 1e6

    @property
    def compute_intensity(self) -> float:
        """Compute intensity of the execution model, 0 to 1."""
        return UNKNOWN_INTENSITY if self.operations is None else normalise_intensity(self.operations, self.traffic)

    def rates(self, timing: Timing) -> dict[str, float | None]:
        """Return GFLOP/s (None unless floating-point operations were counted) and GB/s of a time."""
        flops = self.operations if self.unit == "flop" else None
        return {
            "gflops": flops / timing.seconds / 1e9 if flops else None,
            "gb_per_second": self.traffic / timing.seconds / 1e9,
        }


@dataclass(frozen=True, slots=True)
class Transfer:
    """Megabytes moved between host and device."""

    direction: str
    megabytes: float
    timing: Timing

    def __post_init__(self) -> None:
        _require("megabytes", self.megabytes)


@dataclass(frozen=True, slots=True)
class Link:
    """A link between host and device: seconds = latency + megabytes / bandwidth."""

    direction: str
    bandwidth: float  # MB/s
    latency: float = 0.0  # s
    error: float = 0.0  # median relative error of the fit

    def __post_init__(self) -> None:
        _require("bandwidth", self.bandwidth)
        _require("latency", self.latency, above_zero=False)

    def seconds(self, megabytes: float) -> float:
        """Return the duration of a transfer."""
        return self.latency + megabytes / self.bandwidth


@dataclass(frozen=True, slots=True)
class Machine:
    """The computer, without the names of its host or users."""

    cpu: str
    cores: int
    memory_mb: float | None
    system: str
    libraries: dict[str, str] = field(default_factory=dict)
    load_average: float | None = None  # of the last minute before the measurement


@dataclass(frozen=True, slots=True)
class Processor:
    """The CPUs or the GPUs of the machine, and whether their times were measured."""

    name: str
    count: int
    source: str  # MEASURED or REFERENCE
    reason: str = ""  # why it was not measured
    type: str = "cpu"
    threads: int | None = None  # of a kernel on the CPU
    clock: str = WALL
    memory_mb: float | None = None
    energy: str = ""  # the energy meter, or why there is none

    def __post_init__(self) -> None:
        if self.memory_mb is not None:
            _require("memory_mb", self.memory_mb)
        if self.source not in (MEASURED, REFERENCE):
            raise InputError(f"source is {self.source!r}, expected '{MEASURED}' or '{REFERENCE}'")
        if self.count < 1:
            raise InputError(f"count is {self.count}, expected a whole number above 0")


@dataclass(frozen=True)
class Profile:
    """Everything that was measured of one machine."""

    machine: Machine
    cpu: Processor
    gpu: Processor
    points: tuple[Point, ...]
    transfers: tuple[Transfer, ...] = ()
    links: tuple[Link, ...] = ()
    created: str = ""  # ISO 8601, UTC

    def __post_init__(self) -> None:
        if not self.points:
            raise InputError("the profile has no kernel: measure at least one")
        if self.gpu_measured and self.link(TO_DEVICE) is None:
            raise InputError(f"the GPU was measured, but no link '{TO_DEVICE}' is given")

    @property
    def gpu_measured(self) -> bool:
        """Whether the GPU times were measured."""
        return self.gpu.source == MEASURED

    @property
    def sources(self) -> dict[str, str]:
        """Origin of the times of CPU and GPU."""
        return {"cpu": self.cpu.source, "gpu": self.gpu.source}

    def link(self, direction: str) -> Link | None:
        """Return the link of a direction, None if it was not measured."""
        return next((each for each in self.links if each.direction == direction), None)

    @cached_property
    def tasks(self) -> Tasks:
        """The points as tasks whose base duration is the measured CPU time."""
        return Tasks.build(
            size=[each.size for each in self.points],
            compute_intensity=[each.compute_intensity for each in self.points],
            memory_required=[each.megabytes for each in self.points],
            duration_estimate=[each.cpu.seconds for each in self.points],
        )

    @cached_property
    def reference_seconds(self) -> Floats:
        """Seconds of every point on the reference GPU with the data in place: modelled, not measured."""
        times: Floats = class_times(self.tasks, DATA_IN_PLACE)[:, 1]
        return times

    @property
    def cpu_gpu_ratio(self) -> float:
        """CPU seconds over GPU seconds of matrix multiplication, geometric mean over the sizes."""
        chosen = [row for row, each in enumerate(self.points) if each.kernel == HEADLINE] or range(len(self.points))
        if self.gpu_measured:
            seconds = [each.gpu.seconds if each.gpu else None for each in self.points]
        else:
            seconds = self.reference_seconds.tolist()
        pairs = [(self.points[row].cpu.seconds, seconds[row]) for row in chosen]
        logs = [math.log(cpu / gpu) for cpu, gpu in pairs if gpu is not None]
        return math.exp(sum(logs) / len(logs)) if logs else 1.0

    @property
    def gpu_fraction(self) -> float:
        """Share of the work for the GPU at which both sides end together."""
        return self.cpu_gpu_ratio / (1.0 + self.cpu_gpu_ratio)

    @property
    def sizes(self) -> list[float]:
        """The measured sizes in ascending order."""
        return sorted({each.size for each in self.points})

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, in order of measurement."""
        return list(dict.fromkeys(each.kernel for each in self.points))

    def select_kernel(self, name: str) -> list[Point]:
        """Return the points of a kernel."""
        return [each for each in self.points if each.kernel == name]

    def __getitem__(self, key: str) -> Any:
        """Return an entry of the profile's document by name, such as `cpu_gpu_ratio`."""
        document = self.to_dict()
        if key not in document:
            raise unknown_name("entry of the profile", key, document)
        return document[key]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the measurements and the figures derived from them."""
        document = asdict(self)
        for row, (entry, point) in enumerate(zip(document["points"], self.points, strict=True)):
            entry["compute_intensity"] = point.compute_intensity
            entry["cpu"] |= point.rates(point.cpu)
            if point.gpu:
                entry["gpu"] |= point.rates(point.gpu)
            elif not self.gpu_measured:
                entry["gpu_model_seconds"] = float(self.reference_seconds[row])
        document["sizes"] = self.sizes
        document["cpu_gpu_ratio"], document["gpu_fraction"] = self.cpu_gpu_ratio, self.gpu_fraction
        document["ratio_source"] = self.gpu.source
        return document
